"""Batch orthogonal matching pursuit: sparse codes of many signals over one dictionary.

Reference: Rubinstein, Zibulevsky, Elad, "Efficient implementation of the K-SVD algorithm using batch orthogonal
matching pursuit", Technion CS-2008-08.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from kcrc._base.arrays import Array
from kcrc.errors import ParameterError
from kcrc.native import native

_CHUNK_BYTES = 32 * 2**20
"""What the NumPy stages keep at a time of the directions (signals × sparsity × atoms)."""


@dataclass(frozen=True, eq=False)
class SparseCodes:
    """At most T atoms a signal: atoms (N, T) in the order they were picked, −1 where unused; values (N, T)."""

    atoms: Array
    values: Array
    n_atoms: int

    def matrix(self) -> sparse.csr_array:
        """The codes as a sparse (N, K) matrix."""
        used = self.atoms >= 0
        starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
        shape = (len(self.atoms), self.n_atoms)
        matrix = sparse.csr_array((self.values[used], self.atoms[used], starts), shape=shape)
        matrix.sort_indices()
        return matrix

    def where(self, chosen: Array, other: SparseCodes) -> SparseCodes:
        """These codes in the rows ``chosen`` (N,), those of ``other`` elsewhere."""
        rows = chosen[:, None]
        atoms = np.where(rows, self.atoms, other.atoms)
        return SparseCodes(atoms, np.where(rows, self.values, other.values), self.n_atoms)


def tolerance(dtype: np.dtype[np.floating]) -> float:
    """What counts as zero beside 1: below it a correlation is rounding and picks an atom by chance."""
    return float(np.finfo(dtype).eps ** (2 / 3))


def batch_omp(gram: Array, correlations: Array, *, sparsity: int) -> SparseCodes:
    """Greedy x ≈ argmin ‖y − D x‖² with at most ``sparsity`` atoms a signal, for unit atoms.

    Each step picks argmax |dᵀr| (the lowest number where equal) and projects y on all atoms picked so far. It ends
    early where the residual is zero, at right angles to all atoms, or the atom depends on those picked.

    gram (K, K) = DᵀD; correlations (N, K) = rows of Dᵀy; both float32 or both float64.
    """
    n_atoms = gram.shape[0]
    if gram.shape != (n_atoms, n_atoms) or correlations.ndim != 2 or correlations.shape[1] != n_atoms:
        raise ParameterError(f"gram is (K, K) and correlations (N, K); got {gram.shape} and {correlations.shape}.")
    if sparsity < 1:
        raise ParameterError(f"sparsity is 1 or more; got {sparsity!r}.")
    sparsity = min(int(sparsity), n_atoms)
    dtype = np.result_type(gram, correlations, np.float32)
    gram = np.ascontiguousarray(gram, dtype)
    correlations = np.ascontiguousarray(correlations, dtype)
    zero = tolerance(dtype)
    if native is not None:
        atoms, values = native.batch_omp(gram, correlations, sparsity, zero)
        return SparseCodes(atoms, values, n_atoms)
    step = max(1, _CHUNK_BYTES // (sparsity * n_atoms * dtype.itemsize))
    parts = [_pursue(gram, correlations[i : i + step], sparsity, zero) for i in range(0, len(correlations), step)]
    if not parts:
        return SparseCodes(np.empty((0, sparsity), np.int64), np.empty((0, sparsity), dtype), n_atoms)
    return SparseCodes(np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]), n_atoms)


def _pursue(gram: Array, correlations: Array, sparsity: int, zero: float) -> tuple[Array, Array]:
    """The steps of omp.cpp, all signals at once.

    V (N, T, K) holds vⱼ = Dᵀqⱼ for the orthonormal directions qⱼ of the picked atoms: column i of V is the row of
    the Cholesky factor that atom i would add, so no step solves a system.
    """
    n, n_atoms = correlations.shape
    rows = np.arange(n)
    residual = correlations.copy()
    floor = zero * np.abs(residual).max(axis=1, initial=0)
    free = np.ones((n, n_atoms), bool)
    alive = np.ones(n, bool)
    V = np.zeros((n, sparsity, n_atoms), gram.dtype)
    L = np.zeros((n, sparsity, sparsity), gram.dtype)
    weights = np.zeros((n, sparsity), gram.dtype)
    atoms = np.full((n, sparsity), -1, np.int64)
    for t in range(sparsity):
        strength = np.where(free, np.abs(residual), -1)
        best = strength.argmax(axis=1)
        alive &= strength[rows, best] > floor
        row = V[rows, :t, best]
        whole = gram[best, best]
        pivot = whole - np.einsum("ij,ij->i", row, row)
        alive &= pivot > zero * whole
        if not alive.any():
            break
        pivot = np.sqrt(np.where(alive, pivot, 1))
        # A signal that has ended takes a unit row: its weight stays 0 and the system below stays solvable.
        L[:, t, :t] = np.where(alive[:, None], row, 0)
        L[:, t, t] = pivot
        weights[alive, t] = residual[rows, best][alive] / pivot[alive]
        atoms[alive, t] = best[alive]
        free[rows, best] = False
        V[:, t] = (gram[best] - np.matmul(row[:, None], V[:, :t])[:, 0]) / pivot[:, None]
        residual -= weights[:, t, None] * V[:, t]
    values = np.zeros_like(weights)
    diagonal = L[:, range(sparsity), range(sparsity)]
    diagonal[diagonal == 0] = 1
    for i in reversed(range(sparsity)):
        later = np.einsum("ij,ij->i", L[:, i + 1 :, i], values[:, i + 1 :])
        values[:, i] = (weights[:, i] - later) / diagonal[:, i]
    return atoms, values
