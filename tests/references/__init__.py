"""Independent slow formulas: one row for every entry of every registry. The contract tests run over the registries, so
an entry without a row here fails them. Nothing here uses anything of ours (``tests/method/test_references.py``).

A row of a distance or kernel is the samples it is asked about and ``f(a, b, known) -> float`` for two of them, where
``known`` is what it was fitted on and the fields it has then. Those of coders, projections and metrics are plain
functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from references import coders, metrics, pixel, projections, shape, texture, vectors
from references.samples import Samples, histograms, images, matrices
from references.samples import vectors as points


class Known(NamedTuple):
    """The examples X with their labels y, the shape of a sample, and the fields of what was fitted on them."""

    X: Any
    y: Any
    shape: tuple[int, ...]
    options: Any


class Row(NamedTuple):
    samples: Callable[[], Samples]
    formula: Callable[[Any, Any, Known], float]


def _of_images(formula: Callable[[Any, Any, Any, Any], float]) -> Row:
    """Of a formula that looks at images, and at the images of the examples."""

    def flat(a: Any, b: Any, known: Known) -> float:
        every = known.X.reshape(-1, *known.shape)
        return formula(a.reshape(known.shape), b.reshape(known.shape), known.options, every)

    return Row(images, flat)


IMAGES = {
    "lbp-chi2": texture.lbp_chi2,
    "texton-chi2": texture.texton_chi2,
    "marginal": texture.marginal,
    "sift": shape.sift,
    "shape-context": shape.shape_context,
    "geometric-blur": shape.geometric_blur,
}
DISTANCES = {
    "euclidean": Row(points, vectors.euclidean),
    "sqeuclidean": Row(points, vectors.sqeuclidean),
    "manhattan": Row(points, vectors.manhattan),
    "chessboard": Row(points, vectors.chessboard),
    "cosine": Row(points, vectors.cosine),
    "correlation": Row(points, vectors.correlation),
    "mahalanobis": Row(points, vectors.mahalanobis),
    "unified": Row(points, vectors.unified),
    "chi2": Row(histograms, pixel.chi_square),
    "intersection": Row(histograms, pixel.intersection),
    "tangent": Row(images, pixel.tangent),
    "precomputed": Row(matrices, vectors.given),
    **{name: _of_images(formula) for name, formula in IMAGES.items()},
}
KERNELS = {
    "linear": Row(points, vectors.linear),
    "rbf": Row(points, vectors.rbf),
    "polynomial": Row(points, vectors.polynomial),
    "exp": Row(points, vectors.exp),
    "polarisation": Row(points, vectors.polarisation),
    "precomputed": Row(matrices, vectors.given),
}
CODERS = {
    "ridge": coders.ridge,
    "robust": lambda D, y, mu: coders.programme(D, y, mu=mu),
    "lasso": coders.lasso,
    "bpdn": coders.constrained,
    "l1l1": lambda D, y, mu: coders.programme(D, y, lam=mu),
    "probabilistic": coders.probabilistic,
    "tikhonov": coders.tikhonov,
    "nrs": coders.by_class,
    "nonnegative": coders.nonnegative,
    "augmented": coders.augmented,
}
# mu in the contract tests: to bpdn it is the share of y left over, which their dictionaries cannot make small.
CODER_MU = {"bpdn": 0.9}
PROJECTIONS = {
    "identity": projections.identity,
    "kpca": projections.kpca,
    "kfda": projections.kfda,
    "graph": projections.graph,
    "random": projections.random,
}
METRICS = {
    "plain": metrics.plain,
    "unit": metrics.unit,
    "standard": metrics.standard,
    "within": metrics.within,
}
