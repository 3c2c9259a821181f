"""
Whose label is wrong?
=====================

Ten of 500 labels were changed on purpose. ``audit`` classifies each example as if it were not stored, and lists first
those whose neighbours contradict the label most clearly.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from kcrc import KCRCClassifier

plt.style.use("kcrc.files.style")
X, y = load_digits(return_X_y=True)
X, y = X[:500], y[:500]
rng = np.random.default_rng(0)
wrong = np.sort(rng.choice(500, 10, replace=False))
noisy = y.copy()
noisy[wrong] = (y[wrong] + rng.integers(1, 10, 10)) % 10

audit = KCRCClassifier(tuning_seconds=2).fit(X, noisy).audit()
found = audit.rows[:10]
print(f"{np.isin(found, wrong).sum()} of the first {len(found)} are indeed wrong")

figure, axes = plt.subplots(2, 5, figsize=(8, 3.6))
for axis in axes.flat:
    axis.axis("off")
for axis, row in zip(axes.flat, found, strict=False):
    axis.imshow(X[row].reshape(8, 8))
    axis.set_title(f"labelled {noisy[row]}", color="C1" if row in wrong else "0.3")
figure.suptitle("Likely mislabelled, the surest first (orange: it was changed)")
plt.show()
