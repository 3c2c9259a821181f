"""
Pixels with a spectrum
======================

In a hyperspectral picture each pixel is a spectrum. The scene is artificial: five materials, each a different mixture
of its own three substances in every pixel, in uneven light and with noise. Twelve pixels of each are labelled. None of
them has just the mixture of a new pixel, so the most similar one (NN) is often of another material, but all examples of
the right material together can mix it (the method NRS). Adjacent pixels are mostly of one material, so the mean of
their probabilities says more than one pixel alone.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter, uniform_filter

from kcrc import methods

plt.style.use("kcrc.files.style")
rng = np.random.default_rng(0)
side, bands, kinds = 64, 60, 5
bumps = gaussian_filter(rng.normal(size=(kinds, 3, bands)), (0, 0, 5))
substances = 0.5 + 0.12 * bumps / bumps.std(axis=2, keepdims=True)
truth = np.argmax(gaussian_filter(rng.normal(size=(kinds, side, side)), (0, 7, 7)), axis=0)
mixtures = rng.dirichlet([0.7, 0.7, 0.7], (side, side))
light = np.exp(8 * gaussian_filter(rng.normal(size=(side, side, 1)), (8, 8, 0)))
scene = light * np.einsum("hwk,hwkb->hwb", mixtures, substances[truth]) + rng.normal(0, 0.04, (side, side, bands))

pixels, y = scene.reshape(-1, bands), truth.ravel()
labelled = np.concatenate([rng.permutation(np.flatnonzero(y == kind))[:12] for kind in range(kinds)])
shown = {"what is there": truth}
for name, clf in {"NN": methods.make("NN", scaling="unit"), "NRS": methods.make("NRS-GD", mu=0.1)}.items():
    probable = clf.fit(pixels[labelled], y[labelled]).predict_proba(pixels).reshape(side, side, kinds)
    shown[name] = probable.argmax(axis=2)
    shown[f"{name}, means of 3 × 3"] = uniform_filter(probable, (3, 3, 0)).argmax(axis=2)

figure, axes = plt.subplots(2, 3, figsize=(8, 5.6))
axes[0, 0].imshow(np.clip(scene[..., [50, 30, 10]] / np.percentile(scene, 99), 0, 1))
axes[0, 0].set_title("three of the 60 bands")
for axis, (name, found) in zip(axes.T.flat[1:], shown.items(), strict=True):
    axis.imshow(found, cmap="Set2", interpolation="nearest")
    axis.set_title(name if found is truth else f"{name}: {np.mean(found == truth):.0%} right")
for axis in axes.flat:
    axis.axis("off")
plt.show()
