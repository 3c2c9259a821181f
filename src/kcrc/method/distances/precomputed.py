"""Distances the caller has computed: rows of a matrix against the examples, in the order they were fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError
from kcrc.method.distances.base import Distance, register
from kcrc.method.preparation import POSITION, Prepared


def prepare_columns(X: Array) -> Prepared:
    """Rows of a matrix whose columns are the examples. An example also knows which column it is itself, from who stores
    it (``Samples``): −1, none, is true of queries."""
    return Prepared({"to_examples": X, POSITION: np.full(len(X), -1)})


@register("precomputed")
@dataclass(frozen=True)
class PrecomputedDistance(Distance):
    """fit takes the (n, n) distances among the examples, queries are (B, n) distances to them."""

    formula: ClassVar[str] = "given"
    metric: ClassVar[bool] = False
    power: ClassVar[int] = 1
    symmetric: ClassVar[bool] = False  # unknown, and of a query
    directed: ClassVar[bool] = True  # one direction alone is given
    rules: ClassVar[tuple[str, ...]] = ("exp",)

    @property
    def given_as_matrix(self) -> bool:
        return True

    @property
    def learns(self) -> bool:
        return False

    def fit(self, X: Array, y: Array, *, sample_shape: tuple[int, ...]) -> PrecomputedDistance:
        if X.shape[0] != X.shape[1]:
            raise DataError(
                f"A precomputed distance matrix is square, examples by examples; got {X.shape[0]} × {X.shape[1]}."
            )
        return self

    def prepare(self, X: Array) -> Prepared:
        if (X < 0).any():
            raise DataError("Precomputed distances hold a negative value; a distance is 0 or more.")
        return prepare_columns(X)

    def pairwise(self, a: Prepared, b: Prepared) -> Array:
        return a["to_examples"][:, b[POSITION]]

    def rowwise(self, a: Prepared, b: Prepared, rows: Array) -> Array:
        return np.take_along_axis(a["to_examples"], b[POSITION][rows], axis=1)

    def within(self, b: Prepared, rows: Array) -> Array:
        return b["to_examples"][rows[:, :, None], b[POSITION][rows][:, None, :]]
