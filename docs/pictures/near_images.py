"""Draws what each image distance sees as near: `python docs/pictures/near_images.py` (needs matplotlib).

Five of scikit-learn's digits, and to the right of each its six nearest among 600 others; another digit has a red frame.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from kcrc import distances

NAMES = ("lbp-chi2", "texton-chi2", "marginal", "sift", "geometric-blur", "shape-context")
HERE = Path(__file__).parent
STAMP = HERE / "near-made-of.txt"


def digest() -> str:
    """The SHA-256 of this file: pictures drawn by another are others."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


def draw(name: str) -> None:
    X, y = load_digits(return_X_y=True)
    X, y, queries = X[:600], y[:600], np.array([1203, 1208, 1215, 1222, 1309])
    everything, labels = load_digits(return_X_y=True)
    distance = distances.make(name).fit(X, y, sample_shape=(8, 8))
    values = distance.pairwise(distance.prepare(everything[queries]), distance.prepare(X))
    near = np.argsort(values, axis=1, kind="stable")[:, :6]
    figure, axes = plt.subplots(len(queries), 7, figsize=(3.5, 2.5))
    for row, query, found in zip(axes, queries, near, strict=True):
        row[0].imshow(everything[query].reshape(8, 8), cmap="Greys")
        for axis, i in zip(row[1:], found, strict=True):
            axis.imshow(X[i].reshape(8, 8), cmap="Greys")
            if y[i] != labels[query]:
                plt.setp(axis.spines.values(), color="red", linewidth=2)
        for axis in row:
            axis.set(xticks=[], yticks=[])
    figure.subplots_adjust(0.01, 0.01, 0.99, 0.99, 0.05, 0.05)
    figure.savefig(HERE / f"near-{name}.png", dpi=80)
    plt.close(figure)


if __name__ == "__main__":
    for each in NAMES:
        draw(each)
    STAMP.write_text(digest() + "\n", "utf-8")
