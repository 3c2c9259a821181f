"""A query's nearest examples, and the contract of what finds them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.preparation import Prepared

EXACT = "exact"


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """rows (B, K) of the stored examples, nearest first, ties by row; distances (B, K).

    Where neighbourhoods differ in size the short ones are padded: row −1 at distance ∞.
    """

    rows: Array
    distances: Array

    @property
    def real(self) -> Array:
        """(B, K), False where padding."""
        return self.rows >= 0

    def take(self, which: Array) -> Neighbourhood:
        return Neighbourhood(self.rows[which], self.distances[which])


class NeighbourIndex(ABC):
    """Finds the k nearest examples: ascending, ties broken by row, k cut to the number of examples.

    An index is a value: ``append`` and ``keep`` give a new one and leave this one as it was.
    """

    compiled: ClassVar[bool] = False
    """Whether it searches in compiled code: without arrays as long as the examples are many, and with distances that
    follow from ‖y − a‖² in double precision."""

    @property
    def search(self) -> str:
        """How it searches, as an answer says it: "exact", or the name of the search and how many it finds."""
        return EXACT

    @property
    def alone(self) -> bool:
        """Whether it holds nothing of other examples than its own: of forgotten ones, or those of a value it shares."""
        return True

    @property
    def for_one_query(self) -> dict[str, Any] | None:
        """What the compiled answer to a single query searches with; None where it cannot."""
        return None

    @property
    def nbytes(self) -> int:
        """What it keeps in memory beyond the examples."""
        return 0

    @abstractmethod
    def query(self, queries: Prepared, k: int) -> Neighbourhood: ...

    @abstractmethod
    def append(self, atoms: Prepared) -> NeighbourIndex:
        """For the examples with new ones behind them; ``atoms`` are all of them."""

    @abstractmethod
    def keep(self, atoms: Prepared, keep: Array) -> NeighbourIndex:
        """For the examples where ``keep`` is true; ``atoms`` are those that stay."""


def nearest(distances: Array, rows: Array, k: int) -> Neighbourhood:
    """The k smallest of each line of (B, M), ascending, equal distances in the order of their rows."""
    order = np.lexsort((rows, distances), axis=-1)[:, :k]
    return Neighbourhood(np.take_along_axis(rows, order, 1), np.take_along_axis(distances, order, 1))
