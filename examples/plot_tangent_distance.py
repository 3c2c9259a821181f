"""
A distance that forgives a small turn
=====================================

The tangent distance measures how far apart two pictures remain if each of them may be shifted, turned, enlarged and
thickened a little. To use it, pass its name; the classifier makes a kernel from it and chooses the kernel's width.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from kcrc import KCRCClassifier

plt.style.use("kcrc.files.style")
X, y = load_digits(return_X_y=True)
pictures = X.reshape(-1, 8, 8)
rng = np.random.default_rng(3)
order = rng.permutation(len(X))
train, test = order[:100], order[100:700]

right = {}
for name in ("euclidean", "tangent"):
    clf = KCRCClassifier(distance=name, n_neighbors=20, tuning_seconds=2).fit(pictures[train], y[train])
    right[name] = clf.predict(pictures[test]) == y[test]

figure, axes = plt.subplots(1, 2, width_ratios=[1, 2])
axes[0].bar(right.keys(), [100 * r.mean() for r in right.values()], width=0.5, color=["C0", "C1"])
axes[0].set(ylim=(80, 100), ylabel="% right of 600")
mended = test[~right["euclidean"] & right["tangent"]][:8]
axes[1].imshow(np.hstack(pictures[mended]) if len(mended) else np.zeros((8, 8)))
axes[1].set_title("right by the tangent distance alone")
axes[1].axis("off")
plt.show()
