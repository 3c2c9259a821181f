"""
What if these examples were not there?
======================================

An answer names the examples that decided it. Here, the strongest example is taken away again and again, and each time
the answer is computed anew, without fitting anything. When its support falls below one half, the answer changes. From
then on it goes back and forth, because each step takes away the strongest example of the class that is ahead.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from kcrc import KCRCClassifier

X, y = load_digits(return_X_y=True)
clf = KCRCClassifier(
    n_neighbors=15, metric="unit", kernel="linear", mu=0.3, form="rkhs", decision="residual", locality="atoms"
).fit(X[:600], y[:600])
sure = clf.predict_proba(X[600:900]).max(axis=1)
query = X[600 + np.argmin(np.abs(sure - 0.95))][None]  # one it is fairly sure of

gone, steps = [], []
for _ in range(7):
    evidence = clf.what_if(query, without=gone)
    strongest = int(evidence.rows[0, np.argmax(evidence.shares[0])])
    steps.append((strongest, evidence.labels[0], evidence.support[0]))
    gone.append(strongest)

figure, axes = plt.subplots(2, 8, figsize=(8.6, 2.8), height_ratios=[1, 1.2])
axes[0, 0].imshow(query.reshape(8, 8))
axes[0, 0].set_title("the query", fontsize=8)
axes[1, 0].axis("off")
for step, (row, label, support) in enumerate(steps, start=1):
    axes[0, step].imshow(X[row].reshape(8, 8))
    axes[0, step].set_title(f"a {y[row]} decides", fontsize=8)
    axes[1, step].bar([f"{label}"], [100 * support], width=0.6, color="C0" if label == steps[0][1] else "C1")
    axes[1, step].axhline(50, color="0.5", linewidth=0.8)
    axes[1, step].set(ylim=(0, 100), yticks=[])
    axes[1, step].set_title(f"{support:.0%} for it", fontsize=8)
for axis in axes[0]:
    axis.axis("off")
plt.show()
