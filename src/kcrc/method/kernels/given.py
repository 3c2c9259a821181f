"""Kernels that the caller gives: a matrix, or a function of two sets of vectors."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.validation import call_function, to_numbers
from kcrc.errors import DataError
from kcrc.method.distances.base import VECTORS, prepare_vectors
from kcrc.method.distances.precomputed import prepare_columns
from kcrc.method.kernels.base import Kernel, register
from kcrc.method.preparation import POSITION, Prepared


@register("precomputed")
@dataclass(frozen=True)
class PrecomputedKernel(Kernel):
    """A kernel that is given as a matrix: ``fit`` takes that of the examples (n, n), queries are rows of it (B, n).

    A query's k(y, y) is not among them; it is known only when all examples share one value on the diagonal, as they do
    for RBF and other normalised kernels. Labels and scores of ``form="gram"`` with ``n_neighbors=None`` never need it.

    Parameters
    ----------
    self_value : float or None, default=None
        The value that all examples share on the diagonal; ``fit`` finds it.
    """

    given_as_matrix: ClassVar[bool] = True

    self_value: float | None = None

    def fit(self, X: Array) -> PrecomputedKernel:
        if X.shape[0] != X.shape[1]:
            raise DataError(
                f"A precomputed kernel matrix is square, examples by examples; got {X.shape[0]} × {X.shape[1]}."
            )
        diagonal = np.diagonal(X)
        constant = bool(np.allclose(diagonal, diagonal[0], rtol=1e-9, atol=0.0))
        return PrecomputedKernel(float(diagonal[0]) if constant else None)

    def prepare(self, X: Array) -> Prepared:
        return prepare_columns(X)

    def gram(self, a: Prepared, b: Prepared) -> Array:
        return a["to_examples"][:, b[POSITION]]

    def diagonal(self, a: Prepared) -> Array:
        if self.self_value is not None:
            return np.full(len(a), self.self_value)
        if (a[POSITION] < 0).any():
            self.check_own_values()
        return np.asarray(a["to_examples"][np.arange(len(a)), a[POSITION]])

    def check_own_values(self) -> None:
        if self.self_value is None:
            raise DataError(
                "A precomputed kernel with a varying diagonal does not tell k(y, y) of a query. Normalise it to a "
                'constant diagonal; only predict, predict_proba and decision_function, with form="gram" and '
                "n_neighbors=None, do without."
            )


@dataclass(frozen=True)
class CallableKernel(Kernel):
    """A kernel that is a Python function of two sets of vectors.

    Parameters
    ----------
    function : callable
        f(A, B) -> (len(A), len(B)).
    """

    function: Callable[[Array, Array], Array]

    @property
    def preparation(self) -> Hashable:
        return VECTORS

    def prepare(self, X: Array) -> Prepared:
        return prepare_vectors(X)

    def gram(self, a: Prepared, b: Prepared) -> Array:
        left, right = a["vectors"], b["vectors"]

        def about() -> str:
            return f"sets of {len(left)} and {len(right)} vectors"

        wanted = f"it must return ({len(left)}, {len(right)}) numbers"
        value = call_function("kernel function", self.function, about, left, right)
        values = to_numbers("kernel function", self.function, value, about, wanted)
        if values.shape != (len(left), len(right)):
            raise DataError(
                f"The kernel function {self.function!r} returned shape {values.shape} for sets of {len(left)} and "
                f"{len(right)} vectors; it must return ({len(left)}, {len(right)})."
            )
        if not np.isfinite(values).all():
            raise DataError(
                f"The kernel function {self.function!r} returned NaN or infinite values for {about()}; {wanted}, all "
                "finite."
            )
        return values

    def diagonal(self, a: Prepared) -> Array:
        return np.array([self.gram(one, one)[0, 0] for one in (a.take(slice(i, i + 1)) for i in range(len(a)))])
