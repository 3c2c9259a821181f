"""
Two classes in the same direction
=================================

The samples of one class lie near the origin, and those of the other farther out along the same line. A linear
representation (CRC, left) cannot tell them apart, because the examples of either class can be stretched to reach any
sample. In the space of a kernel (KCRC, right) they are far apart. Section 6.2 of the paper has a similar experiment.
"""

import matplotlib.pyplot as plt
import numpy as np

from kcrc import methods

plt.style.use("kcrc.files.style")
rng = np.random.default_rng(0)
direction = np.array([2.0, 1.0]) / np.sqrt(5)
lengths = np.r_[rng.normal(2, 0.3, 60), rng.normal(5, 0.3, 60)]
X = lengths[:, None] * direction + rng.normal(0, 0.12, (120, 2))
y = np.repeat(["near", "far"], 60)

grid = np.stack(np.meshgrid(np.linspace(0, 6, 60), np.linspace(-0.5, 3.5, 60)), axis=-1)
figure, axes = plt.subplots(1, 2, sharey=True)
for axis, name in zip(axes, ("CRC-GD", "KCRC-LCD"), strict=True):
    clf = methods.make(name, scaling="plain", tuning_seconds=1).fit(X, y)
    answers = clf.predict(grid.reshape(-1, 2)).reshape(60, 60)
    axis.pcolormesh(grid[..., 0], grid[..., 1], answers == "far", cmap="RdBu", alpha=0.25, vmin=0, vmax=1)
    for label, mark in (("near", "o"), ("far", "^")):
        axis.plot(*X[y == label].T, mark, markersize=3, label=label)
    axis.set_title(f"{name}: {np.mean(clf.predict(X) == y):.0%} of the examples right")
axes[0].legend()
plt.show()
