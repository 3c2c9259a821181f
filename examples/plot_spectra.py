"""
Pixels with a spectrum
======================

In a hyperspectral picture, each pixel is a spectrum. Light and shadow scale a spectrum without changing its shape. So
several examples of a material together, weighted by how near they are (the method CRT), explain a pixel better than
the nearest example alone (NN). The scene is artificial: five materials, mixed at their borders, in uneven light.
"""

import matplotlib.pyplot as plt
import numpy as np

from kcrc import methods

rng = np.random.default_rng(0)
bands, side = 60, 48
waves = np.linspace(0, 1, bands)
spectra = np.array([0.4 + 0.3 * np.sin(2 * np.pi * (a * waves + b)) * np.exp(-c * waves)
                    for a, b, c in rng.uniform([0.6, 0, 0], [1.2, 1, 1.5], (5, 3))])  # fmt: skip
places = rng.uniform(0, side, (12, 2))
at = np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij"), -1)
truth = (np.argmin(((at[:, :, None] - places) ** 2).sum(-1), axis=2) % 5).astype(int)
pure = np.eye(5)[truth]
mixed = sum(np.roll(pure, shift, (0, 1)) for shift in ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1))) / 5
light = 0.5 + np.linspace(0, 1, side)[:, None, None]
pixels = (mixed @ spectra) * light + rng.normal(0, 0.12, (side, side, bands))

labelled = np.concatenate([rng.permutation(np.flatnonzero(truth.ravel() == c))[:12] for c in range(5)])
flat = pixels.reshape(-1, bands)
figure, axes = plt.subplots(1, 3)
axes[0].imshow(truth, cmap="Set2")
axes[0].set_title("what is there (12 pixels of each labelled)", fontsize=8)
for axis, name in zip(axes[1:], ("NN", "CRT-LCD"), strict=True):
    options = {} if name == "NN" else {"n_neighbors": 30, "mu": 0.1}
    found = methods.make(name, **options).fit(flat[labelled], truth.ravel()[labelled]).predict(flat).reshape(side, side)
    axis.imshow(found, cmap="Set2")
    axis.set_title(f"{name}: {np.mean(found == truth):.0%} right")
for axis in axes:
    axis.axis("off")
plt.show()
