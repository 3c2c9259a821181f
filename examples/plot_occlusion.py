"""
Faces behind a scarf
====================

A striped scarf hides the lower part of each face. Least squares uses every pixel, so the stripes count against the
right person too; the robust coder allows some pixels to be entirely wrong, and recognises people by the rest. (A plain
dark scarf troubles both alike: it could be a shadow.) The faces are drawn by code: ten people, eight examples of each,
each picture lit from another side.
"""

import matplotlib.pyplot as plt
import numpy as np

from kcrc import methods

plt.style.use("kcrc.files.style")
rng = np.random.default_rng(0)
down, across = np.mgrid[-1.25:1.25:35j, -1:1:28j]


def drawn(width, skin, hair, fringe, eyes, gap, brows, nose, mouth):
    """A face of soft ovals, one over the other: x, y, half the width, half the height, tone."""
    picture = np.full(down.shape, 0.95)
    head = [(0, -0.15, width + 0.14, 1.05, hair), (fringe, 0.25, width, 0.85, skin)]
    middle = [(0, eyes + 0.35, nose, 0.09, 0.75 * skin), (0, 0.6, mouth, 0.07, 0.35)]
    sides = [(eyes, 0.13, 0.08, 1), (eyes, 0.06, 0.07, 0), (eyes - brows, 0.17, 0.04, 0.8 * hair)]
    for x, y, wide, tall, tone in [*head, *middle, *((x, *part) for part in sides for x in (-gap, gap))]:
        edge = np.hypot((across - x) / wide, (down - y) / tall) - 1
        picture += (tone - picture) / (1 + np.exp(12 * edge))
    return picture


least = [0.60, 0.55, 0.05, -0.2, -0.3, 0.25, 0.10, 0.07, 0.2]
most = [0.85, 0.90, 0.45, 0.20, -0.1, 0.38, 0.20, 0.14, 0.4]
people = np.stack([drawn(*person) for person in rng.uniform(least, most, (10, 9))])
y = np.arange(140) % 10
right, up = rng.uniform(-0.5, 0.5, (2, 140, 1, 1))
pictures = people[y] * (1 + right * across + up * down) + rng.normal(0, 0.03, (140, 35, 28))
stripes = np.where(np.sin(14 * across + 9 * down) > 0, 1.1, 0.0)
scarves = {share: np.where(down > 1.25 - 2.5 * share, stripes, pictures[80:]) for share in (0, 0.15, 0.3, 0.45)}

figure, axes = plt.subplot_mosaic("PPPPabc;PPPPdef")
for name, clf in {
    "robust (RCRC)": methods.make("RCRC-GD", mu=1.0),
    "least squares (CRC)": methods.make("CRC-GD", mu=0.1),
    "nearest example": methods.make("NN", scaling="unit"),
}.items():
    clf.fit(pictures[:80].reshape(80, -1), y[:80])
    known = [100 * np.mean(clf.predict(asked.reshape(60, -1)) == y[80:]) for asked in scarves.values()]
    axes["P"].plot([100 * share for share in scarves], known, "o-", label=name)
axes["P"].set(xlabel="% of the picture hidden", ylabel="% recognised", ylim=(0, 103))
axes["P"].legend(loc="lower left")
for place, picture in zip("abcdef", [*pictures[:3], *scarves[0.3][:3]], strict=True):
    axes[place].imshow(picture, cmap="gray", vmin=0, vmax=1.2, interpolation="bicubic")
    axes[place].set_title({"b": "examples", "e": "queries"}.get(place, ""))
    axes[place].axis("off")
plt.show()
