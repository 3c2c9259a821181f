"""p = 2, q = 2: regularised least squares, the coder of CRC and KCRC (paper, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import ParameterError
from kcrc.method.coding.base import Code, Coder, Dictionary, Target, register


@cache
def _lapack() -> Any:
    """SciPy's, loaded when there is something to factorise: most local problems are solved by the compiled stage."""
    from scipy.linalg import lapack

    return lapack


@dataclass(frozen=True, eq=False)
class _Factors:
    """Per dictionary either a Cholesky factor of H + μI, or (where it has none) eigenvalues and eigenvectors."""

    cholesky: list[Array | None]
    spectral: dict[int, tuple[Array, Array]]
    mu: float


@register("ridge")
@dataclass(frozen=True)
class Ridge(Coder):
    """x = argmin ‖y − Dx‖² + μ‖x‖² = (DᵀD + μI)⁻¹ Dᵀy   (paper, eq. for P').

    Where H + μI has no Cholesky factor (μ = 0 with dependent atoms, or a kernel that is not positive), negative
    eigenvalues of H count as 0 and x is the shortest solution.
    """

    effort: ClassVar[float] = 1.0

    mu: float = 0.01

    def __post_init__(self) -> None:
        if isinstance(self.mu, bool) or not isinstance(self.mu, (int, float, np.number)) or not 0 <= self.mu < np.inf:
            raise ParameterError(f"mu is a number, 0 or more; got {self.mu!r}.")

    @property
    def ridge_penalty(self) -> float | None:
        return float(self.mu)

    def factorise(self, dictionary: Dictionary) -> _Factors:
        gram = dictionary.gram
        potrf = _lapack().spotrf if gram.dtype == np.float32 else _lapack().dpotrf
        size = gram.shape[-1]
        diagonal = np.arange(size)
        cholesky: list[Array | None] = []
        spectral = {}
        for i, H in enumerate(gram):
            shifted = H.copy()
            shifted[diagonal, diagonal] += np.where(dictionary.real[i], self.mu, 1.0).astype(gram.dtype)
            # The transpose of a C-ordered symmetric matrix is itself, in the order LAPACK wants: no copy.
            factor, info = potrf(shifted.T, lower=1, overwrite_a=1, clean=0)
            if info == 0 and (self.mu > 0 or self._independent(H, factor, dictionary.real[i])):
                cholesky.append(factor)
            else:
                cholesky.append(None)
                values, vectors = np.linalg.eigh(H)
                spectral[i] = (values, vectors)
        return _Factors(cholesky, spectral, float(self.mu))

    @staticmethod
    def _independent(H: Array, factor: Array, real: Array) -> bool:
        """Whether no real atom is a sum of those before: its pivot would be rounding, beside the longest atom."""
        pivots, squares = np.abs(np.diagonal(factor)[real]), np.diagonal(H)[real]
        least = np.sqrt(np.finfo(H.dtype).eps * squares.max(initial=0.0))
        return bool(len(pivots) and pivots.min() > least)

    def solve(self, state: _Factors, target: Target) -> Code:
        b = target.correlation
        x = np.empty_like(b)
        shared = len(state.cholesky) == 1
        for i in range(len(state.cholesky)):
            # One dictionary for all: all targets at once; else each target over its own.
            rows = slice(None) if shared else slice(i, i + 1)
            x[rows] = self._solve_one(state, i, b[rows].T).T
        return Code(x, np.ones(len(b), bool), np.ones(len(b), np.intp))

    def code(self, dictionary: Dictionary, target: Target) -> Code:
        """The same to rounding for dictionaries that all have a Cholesky factor, by NumPy alone, so that explaining an
        answer on which all neighbours agree need not import SciPy."""
        gram, b = dictionary.gram, target.correlation
        diagonal = np.arange(gram.shape[-1])
        shifted = gram.copy()
        shifted[:, diagonal, diagonal] += np.where(dictionary.real, self.mu, 1.0).astype(gram.dtype)
        try:
            if self.mu > 0:
                np.linalg.cholesky(shifted)
                x = np.linalg.solve(shifted, b[:, :, None])[:, :, 0]
                return Code(x.astype(b.dtype, copy=False), np.ones(len(b), bool), np.ones(len(b), np.intp))
        except np.linalg.LinAlgError:
            pass  # one that has none
        return super().code(dictionary, target)

    @staticmethod
    def _solve_one(state: _Factors, i: int, b: Array) -> Array:
        factor = state.cholesky[i]
        if factor is not None:
            potrs = _lapack().spotrs if factor.dtype == np.float32 else _lapack().dpotrs
            return np.asarray(potrs(factor, b, lower=1)[0])
        values, vectors = state.spectral[i]
        clipped = np.maximum(values, 0.0) + state.mu
        tiny = len(values) * np.finfo(values.dtype).eps * max(0.0, float(values[-1]))
        inverse = np.divide(1.0, clipped, out=np.zeros_like(clipped), where=clipped > tiny)
        return np.asarray(vectors @ (inverse[:, None] * (vectors.T @ b)))
