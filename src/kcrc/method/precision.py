"""Whether a local problem may be solved in single precision, which is twice as fast."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kcrc.method.fitted_model import FittedModel

SQUARED_IN_SINGLE = 1e-16, 1e10  # k(x, x) of the longest example
SINGLE_IS_ENOUGH = 2e-3  # largest (condition number of H + μI) × (single precision) that is solved in single precision


def _squares_fit(model: FittedModel) -> bool:
    """Whether squares of the kernel stay in the range of single precision, for much longer queries too."""
    kernel = model.method.kernel
    if kernel.bounded:
        return True
    largest = np.array([model.longest**2])
    if kernel.of_products is not None:
        largest = kernel.of_products.profile(largest.copy(), largest, largest)
    least, most = SQUARED_IN_SINGLE
    return bool(least <= largest[0] <= most)


def error_in_single(atoms: int, mu: float, *, normalize: bool) -> float:
    """The most that rounding in single precision can do to the ridge coder: (condition number of H + μI) × (precision).

    With unit columns the largest eigenvalue of H is at most K, so the condition number at most (K + μ)/μ. Without
    unit columns there is no such bound, nor without a penalty.
    """
    if mu <= 0 or not normalize:
        return np.inf
    return (atoms + mu) / mu * float(np.finfo(np.float32).eps) / 2


def single_will_do(model: FittedModel) -> bool:
    """Whether rounding in single precision stays far below what tells classes apart, for the ridge coder.

    The gram form squares the kernel, which for most kernels is a square already.
    """
    method = model.method
    if method.space.squares_kernel and not _squares_fit(model):
        return False
    mu = method.coder.ridge_penalty or 0.0
    return error_in_single(model.largest_dictionary, mu, normalize=method.space.normalize) <= SINGLE_IS_ENOUGH


def in_double(model: FittedModel) -> bool:
    """Whether problems are posed in double precision: not where single precision will do for the ridge coder, or the
    coder sees to it itself."""
    coder = model.method.coder
    return not (coder.certifies or (coder.ridge_penalty is not None and single_will_do(model)))
