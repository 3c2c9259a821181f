"""
Something it does not know
==========================

The classifier knows the digits 0 to 6. An 8 is none of them, so its score of strangeness is high, and ``reject`` turns
the answer into "unknown". With ``reject=0.05``, about one in twenty pictures of known digits is rejected too.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from kcrc import KCRCClassifier

plt.style.use("kcrc.files.style")
X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(X))
X, y = X[order], y[order]
known, strange = np.flatnonzero(y < 7), np.flatnonzero(y >= 7)
clf = KCRCClassifier(tuning_seconds=2).fit(X[known[:600]], y[known[:600]].astype(str))

groups = {"digits it knows": X[known[600:]], "digits it does not know": X[strange]}
figure, axis = plt.subplots()
scores = {name: clf.unknown_score(queries) for name, queries in groups.items()}
bins = np.linspace(*np.percentile(np.concatenate(list(scores.values())), (0.5, 99.5)), 60)
for name, queries in groups.items():
    share = np.mean(clf.predict(queries, reject=0.05) == "unknown")
    axis.hist(scores[name], bins, density=True, alpha=0.7, label=f"{name}: {share:.0%} called unknown")
axis.set(xlabel="strangeness", yticks=[])
axis.legend()
plt.show()
