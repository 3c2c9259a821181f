"""
A class it had never seen
=========================

The classifier knows nine digits. Then sevens are added one at a time, each with one call and without training. After
three of them, most sevens are recognised, and the other digits are recognised as well as before.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from kcrc import KCRCClassifier

plt.style.use("kcrc.files.style")
X, y = load_digits(return_X_y=True)
known = np.flatnonzero(y != 7)
sevens = np.flatnonzero(y == 7)
clf = KCRCClassifier(tuning_seconds=2).fit(X[known[:500]], y[known[:500]])

test_known, test_sevens = known[500:900], sevens[30:]
counts, old, new = [], [], []
for count in range(13):
    if count:
        clf.partial_fit(X[sevens[count - 1 : count]], [7])
    counts.append(count)
    old.append(100 * np.mean(clf.predict(X[test_known]) == y[test_known]))
    new.append(100 * np.mean(clf.predict(X[test_sevens]) == 7))

figure, axis = plt.subplots()
axis.plot(counts, new, "o-", label="sevens recognised")
axis.plot(counts, old, "s-", label="other digits recognised")
axis.set(xlabel="sevens it was shown", ylabel="%", ylim=(-3, 103))
axis.legend(loc="lower right")
plt.show()
