"""Whether a kernel that a user gives can be the inner product it is taken for, judged by some of the examples.

``form="gram"`` works on the columns of G, whatever G is. ``form="rkhs"`` takes k(x, x) for squared lengths and G for
inner products, and so does the search among the examples of a precomputed kernel. There a kernel with negative lengths
is refused; one with some negative eigenvalues still has answers, and is warned about. A kernel that is not symmetric,
or negative throughout, is a mistake in every form.
"""

from __future__ import annotations

import warnings

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError
from kcrc.method.distances.base import Distance
from kcrc.method.kernels import Kernel
from kcrc.method.preparation import Samples

SAMPLE = 64  # examples looked at
ROUNDING = 1e-6  # of the largest value: less is nothing
UNEVEN = 1e-3  # of the largest value: how far k(a, b) and k(b, a) may be apart
DISTANCES = {True: 'distance="precomputed"', False: 'distance=f with kernel="exp"'}  # of a matrix, of a function
INDEFINITE = 0.01  # of the positive eigenvalues: as much in negative ones is no rounding


class IndefiniteKernelWarning(UserWarning):
    """A kernel is used as an inner product, and is none."""


def check_definite(kernel: Kernel, X: Array, *, form: str, local: bool, warn: bool) -> None:
    """Raise where the kernel of the examples X (n, d) cannot be meant, warn (if ``warn``) where it is indefinite.

    ``form`` may be "auto"; ``local``: dictionaries are local.
    """
    if kernel.definite:
        return
    rows = np.sort(np.random.default_rng(0).permutation(len(X))[:SAMPLE])
    matrix = kernel.given_as_matrix
    some = Samples(X, columns=np.arange(len(X))).of(kernel).take(rows) if matrix else kernel.prepare(X[rows])
    G = np.asarray(kernel.gram(some, some), np.float64)
    name = "precomputed kernel" if matrix else f"kernel {getattr(kernel, 'function', kernel)!r}"
    of = f"of {len(rows)} examples"
    largest = float(np.abs(G).max(initial=0.0))
    if not 0.0 < largest < np.inf:  # what is not finite is refused by who uses it
        return
    G = G / largest  # sums of the largest numbers would be infinite
    uneven = float(np.abs(G - G.T).max())
    if uneven > UNEVEN:
        raise DataError(
            f"The {name} is not symmetric: k(a, b) and k(b, a) {of} differ by up to {uneven * largest:.3g}, and its "
            f"largest value is {largest:.3g}. Give the mean of both."
        )
    values = np.linalg.eigvalsh((G + G.T) / 2)
    lowest, highest = float(values[0]) * largest, float(values[-1]) * largest
    if values[-1] <= -ROUNDING * values[0]:
        raise DataError(
            f"The {name} is negative definite: no eigenvalue {of} is above 0, and the lowest is {lowest:.3g}. Its "
            "sign seems to be flipped; give −k."
        )
    if form == "gram" and not (matrix and local):
        return
    lengths = np.diagonal(G)
    what = 'form="rkhs" takes for' if form != "gram" else "the search for neighbours takes for"
    if lengths.min() < -ROUNDING:
        raise DataError(
            f"The {name} has k(x, x) below 0 for {int((lengths < -ROUNDING).sum())} {of}, down to "
            f"{float(lengths.min()) * largest:.3g}, which {what} a squared length. Mend the kernel{_instead(matrix)}."
        )
    if lengths.max() <= ROUNDING:
        raise DataError(
            f"The {name} has k(x, x) = 0 for all {of}, which {what} a squared length. If these are distances, give "
            f"them as such: {DISTANCES[matrix]}."
        )
    negative = float(-values[values < 0].sum())
    if warn and negative > INDEFINITE * float(values[values > 0].sum()):
        warnings.warn(
            f"The {name} is not positive definite: its eigenvalues {of} go from {lowest:.3g} to {highest:.3g}. "
            f"It is used all the same; mend it{_instead(matrix)}.",
            IndefiniteKernelWarning,
            stacklevel=2,
        )


def _instead(matrix: bool) -> str:
    condition = " and n_neighbors=None" if matrix else ""
    return f', or use form="gram"{condition}, which needs no definiteness'


# gamma = "scale": how wide a kernel is that is as wide as the data.

_SAMPLE = 64  # examples whose distances are looked at


def of_vectors(X: Array) -> float:
    """1 over the mean squared distance of two of the vectors X (n, d)."""
    return _inverse(2.0 * total_variance(X))


def of_distance(distance: Distance, samples: Samples) -> float:
    """1 over the mean of Dist^power of two of the examples ``samples``."""
    sample = np.random.default_rng(0).permutation(len(samples))[:_SAMPLE]
    some = samples.of(distance).take(sample) if distance.given_as_matrix else distance.prepare(samples.X[sample])
    return _inverse(float(np.mean(distance.pairwise(some, some) ** distance.power)))


def total_variance(X: Array) -> float:
    """The sum of all features' variances, in double precision and without a copy of X."""
    centre = X.mean(axis=0, dtype=np.float64)
    blocks = (X[start : start + 4096] - centre for start in range(0, len(X), 4096))
    return float(sum(np.einsum("ij,ij->", block, block) for block in blocks)) / len(X)


def _inverse(mean: float) -> float:
    return 1.0 / mean if mean > 0 else 1.0
