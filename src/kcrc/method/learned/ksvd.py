"""K-SVD: learn atoms so that every signal is near a combination of a few of them.

References: Aharon, Elad, Bruckstein, "K-SVD", IEEE TSP 2006; the approximate atom update of Rubinstein, Zibulevsky,
Elad, Technion CS-2008-08.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from kcrc._base.arrays import Array, unit_rows
from kcrc._base.progress import count_bar
from kcrc._base.validation import seed_of
from kcrc.errors import ParameterError
from kcrc.native import native

# Batch orthogonal matching pursuit: sparse codes of many signals over one dictionary.
#
# Reference: Rubinstein, Zibulevsky, Elad, "Efficient implementation of the K-SVD algorithm using batch orthogonal
# matching pursuit", Technion CS-2008-08.

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


@dataclass(frozen=True, eq=False)
class Learned:
    """atoms (K, m), unit rows; codes of the N signals; objective (n_iter, 2): after coding and after the update."""

    atoms: Array
    codes: SparseCodes
    objective: Array


def draw_atoms(signals: Array, n_atoms: int, rng: np.random.RandomState) -> Array:
    """``n_atoms`` different signals at random, unit length; random directions where too few are nonzero."""
    usable = np.flatnonzero(np.any(signals != 0, axis=1))
    chosen = rng.permutation(usable)[:n_atoms]
    missing = rng.standard_normal((n_atoms - len(chosen), signals.shape[1]))
    return unit_rows(np.concatenate([signals[chosen], missing.astype(signals.dtype)]))


def encode(signals: Array, atoms: Array, *, sparsity: int) -> SparseCodes:
    """Codes (N, K) of ``signals`` (N, m) over unit ``atoms`` (K, m) by batch-OMP."""
    return batch_omp(atoms @ atoms.T, signals @ atoms.T, sparsity=sparsity)


def learn(
    signals: Array,
    atoms: Array,
    *,
    sparsity: int,
    n_iter: int,
    kin: tuple[Array, Array] | None = None,
    step: Callable[[], Any] = lambda: None,
) -> Learned:
    """min ‖Y − X D‖² over unit atoms D and codes X with at most ``sparsity`` atoms a signal.

    Every iteration codes the signals by OMP, then updates each atom and its coefficients in turn. OMP is greedy and
    can do worse than the code a signal already has; then the signal keeps that one, so no stage raises the objective.
    An atom that no signal uses becomes the signal that is represented worst, which changes no code.

    signals (N, m); atoms (K, m) to start from; kin: the class of each atom (K,) and of each signal (N,), where only a
    signal of its class may replace an atom.
    """
    atoms = unit_rows(atoms)
    objective = np.empty((n_iter, 2))
    codes = encode(signals, atoms, sparsity=sparsity)
    residual = signals - codes.matrix() @ atoms
    for i in range(n_iter):
        if i > 0:
            fresh = encode(signals, atoms, sparsity=sparsity)
            fresh_residual = signals - fresh.matrix() @ atoms
            better = _energies(fresh_residual) <= _energies(residual)
            codes = fresh.where(better, codes)
            residual = np.where(better[:, None], fresh_residual, residual)
        objective[i, 0] = _energies(residual).sum()
        codes = _update_atoms(signals, atoms, codes, residual, kin)
        # The update keeps the residual in step; computed again, its rounding does not pile up.
        residual = signals - codes.matrix() @ atoms
        objective[i, 1] = _energies(residual).sum()
        step()
    return Learned(atoms, codes, objective)


def _energies(residual: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", residual, residual, dtype=np.float64))


def _update_atoms(
    signals: Array, atoms: Array, codes: SparseCodes, residual: Array, kin: tuple[Array, Array] | None
) -> SparseCodes:
    """One pass over the atoms: with E the residual of the atom's users without it and g their coefficients,
    d ← Eᵀg / ‖Eᵀg‖, then g ← E d: each the minimiser given the other. ``atoms`` and ``residual`` change in place."""
    slots = np.argsort(codes.atoms, axis=None, kind="stable")
    ends = np.searchsorted(codes.atoms.ravel()[slots], np.arange(len(atoms) + 1))
    values = codes.values.copy()
    zero = tolerance(signals.dtype)
    if native is not None:
        native.update_atoms(atoms, residual, values, slots.astype(np.int64), ends.astype(np.int64), zero)
    else:
        _update_in_turn(atoms, residual, values, slots, ends, zero)
    _replace_unused(signals, atoms, residual, np.flatnonzero(ends[:-1] == ends[1:]), kin)
    return SparseCodes(codes.atoms, values, len(atoms))


def _update_in_turn(atoms: Array, residual: Array, values: Array, slots: Array, ends: Array, zero: float) -> None:
    """The steps of ``update_atoms`` in omp.cpp; slots[ends[k]:ends[k+1]] are atom k's places in the flat values."""
    flat = values.reshape(-1)
    for k in np.flatnonzero(ends[:-1] < ends[1:]):
        places = slots[ends[k] : ends[k + 1]]
        users, d, g = places // values.shape[1], atoms[k], flat[places]
        R = residual[users]
        direction = g @ R + (g @ g) * d
        length = np.linalg.norm(direction)
        d_new = direction / length if length > zero * np.linalg.norm(g) else d.copy()
        g_new = R @ d_new + g * (d @ d_new)
        R += np.outer(g, d)
        R -= np.outer(g_new, d_new)
        residual[users] = R
        atoms[k] = d_new
        flat[places] = g_new


def _replace_unused(
    signals: Array, atoms: Array, residual: Array, unused: Array, kin: tuple[Array, Array] | None
) -> None:
    """Each unused atom becomes the signal (of its kin) that is represented worst; a signal is taken once. Where all
    are represented to rounding there is nothing to learn and the atom stays."""
    if not len(unused):
        return
    energies = _energies(residual)
    squares = _energies(signals)
    energies[energies <= tolerance(signals.dtype) ** 2 * squares] = 0
    for k in unused:
        candidates = energies if kin is None else np.where(kin[1] == kin[0][k], energies, 0)
        worst = int(candidates.argmax())
        if candidates[worst] > 0:
            atoms[k] = signals[worst] / np.sqrt(squares[worst])
            energies[worst] = 0


def check_whole(name: str, value: Any, *, least: int) -> int:
    """``value`` as an int, or an error that names the parameter."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
        raise ParameterError(f"{name} is a whole number, {least} or more; got {value!r}.")
    return int(value)


class KSVD(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Dictionary learning by K-SVD; ``transform`` gives the sparse codes.

    min ‖X − C D‖² subject to ‖dₖ‖ = 1 and at most ``sparsity`` nonzero entries in each row of C.

    Parameters
    ----------
    n_atoms : number of atoms; None: as many as features. Never more than samples.
    sparsity : atoms a sample may use; None: a tenth of the features, at least 1.
    n_iter : iterations, each a coding stage and an atom update.
    random_state : int, RandomState, Generator or None (the seed 0): the samples that start as atoms.
    verbose : True shows progress, False never, None on a terminal when fit takes more than 2 seconds.

    Attributes
    ----------
    components_ : (n_atoms, n_features) unit atoms
    objective_ : (n_iter, 2) the objective after the coding stage and after the atom update; read in order it falls
    sparsity_ : the number of atoms a code may have
    """

    def __init__(
        self,
        n_atoms: int | None = None,
        *,
        sparsity: int | None = None,
        n_iter: int = 20,
        random_state: Any = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_atoms = n_atoms
        self.sparsity = sparsity
        self.n_iter = n_iter
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> KSVD:
        """Learn the atoms from X (n_samples, n_features)."""
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C")
        n_samples, n_features = X.shape
        n_iter = check_whole("n_iter", self.n_iter, least=1)
        wanted = n_features if self.n_atoms is None else check_whole("n_atoms", self.n_atoms, least=1)
        n_atoms = min(wanted, n_samples)
        tenth = max(1, round(n_features / 10))
        wish = tenth if self.sparsity is None else check_whole("sparsity", self.sparsity, least=1)
        self.sparsity_ = min(wish, n_atoms, n_features)
        start = draw_atoms(X, n_atoms, np.random.RandomState(seed_of(self.random_state)))
        with count_bar("K-SVD", n_iter, unit=" steps", show=self.verbose) as bar:
            learned = learn(X, start, sparsity=self.sparsity_, n_iter=n_iter, step=bar.update)
        self.components_ = learned.atoms
        self.objective_ = learned.objective
        return self

    def transform(self, X: Any) -> Array:
        """Codes (n_samples, n_atoms) with at most ``sparsity_`` nonzero entries a row."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=False)
        codes = encode(X, self.components_.astype(X.dtype, copy=False), sparsity=self.sparsity_)
        return np.asarray(codes.matrix().toarray())

    def inverse_transform(self, codes: Any) -> Array:
        """The samples (n_samples, n_features) that codes stand for."""
        check_is_fitted(self)
        return np.asarray(codes @ self.components_)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
