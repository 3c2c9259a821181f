"""
Faces behind a scarf
====================

A block covers part of each query. If a class is judged by how much of the query it leaves unexplained, as in the
paper, the block counts against every class; if it is judged by the sum of its coefficients, the block does not. The
robust coder, which allows some pixels to be entirely wrong, helps if little is covered. The faces are artificial: each
person is a set of smooth patterns, and each picture is a mixture of these, as if lit from different sides.
"""

import matplotlib.pyplot as plt
import numpy as np

from kcrc import methods

rng = np.random.default_rng(0)
height, width, people = 16, 14, 8
rows, columns = np.linspace(0, np.pi, height), np.linspace(0, np.pi, width)
waves = np.array([np.outer(np.cos(i * rows), np.cos(j * columns)) for i in range(6) for j in range(6)])
patterns = np.einsum("pkw,whx->pkhx", rng.normal(size=(people, 4, 36)) / (1 + np.arange(36) / 6), waves)


def pictures(count):
    y = rng.integers(0, people, count)
    mixtures = np.abs(rng.normal(1, 0.6, (count, 4)))
    return np.einsum("nk,nkhx->nhx", mixtures, patterns[y]) + rng.normal(0, 0.2, (count, height, width)), y


def covered(faces, share):
    """With a flat block over this share of the picture."""
    out = faces.copy()
    tall, wide = (round(side * np.sqrt(share)) for side in (height, width))
    for face in out:
        top, left = rng.integers(0, height - tall + 1), rng.integers(0, width - wide + 1)
        face[top : top + tall, left : left + wide] = 6.0
    return out


X, y = pictures(12 * people)
faces, truth = pictures(80)
shares = (0.0, 0.15, 0.3, 0.45)
queries = {share: covered(faces, share) for share in shares}
figure, axes = plt.subplots(1, 2, width_ratios=[2, 1])
for name, clf in {
    "least squares, by what is left over": methods.make("CRC-GD", mu=0.1),
    "least squares, by the sum of coefficients": methods.make("CRC-GD", mu=0.1, decision="sum"),
    "robust, by the sum of coefficients": methods.make("RCRC-GD", mu=5.0, decision="sum"),
}.items():
    clf.fit(X.reshape(len(X), -1), y)
    right = [100 * np.mean(clf.predict(queries[share].reshape(80, -1)) == truth) for share in shares]
    axes[0].plot([100 * share for share in shares], right, "o-", label=name)
axes[0].set(xlabel="% of the picture covered", ylabel="% right")
axes[0].legend()
axes[1].imshow(np.hstack(queries[0.3][:3]))
axes[1].set_title("queries, 30 % covered")
axes[1].axis("off")
plt.show()
