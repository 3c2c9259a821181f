"""What a sharded gallery costs a query, from a few measured sizes: core-seconds = α·n + β·S + γ.

α is the search over one example, β what each of the S shards adds (a question, an answer, a merge), γ the rest: what is
fetched of the K nearest, and coding. Sizes that were not fitted say how far it holds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class CostPoint:
    """One measurement: core-seconds a query with so many examples in so many shards."""

    examples: int
    shards: int
    seconds: float


@dataclass(frozen=True)
class CostModel:
    per_example: float
    per_shard: float
    per_query: float

    def seconds(self, examples: float, shards: float) -> float:
        """Core-seconds a query."""
        return self.per_example * examples + self.per_shard * shards + self.per_query


def fitted(points: Sequence[CostPoint]) -> CostModel:
    """The model that is off by the smallest shares (least squares of relative errors), no part of it below 0."""
    from scipy.optimize import nnls

    rows = np.array([[point.examples, point.shards, 1.0] for point in points])
    seconds = np.array([point.seconds for point in points])
    scale = rows.max(axis=0)
    found, _ = nnls(rows / scale / seconds[:, None], np.ones(len(points)))
    return CostModel(*(found / scale).tolist())


@dataclass(frozen=True)
class MachineKind:
    """What is assumed of one machine, and its price an hour."""

    cores: int
    memory: float
    price: float
    network: float
    """Bytes a second."""


@dataclass(frozen=True)
class Demand:
    """examples of ``width`` single-precision numbers, ``rate`` queries a second with ``neighbours`` each."""

    examples: float
    width: int
    rate: float
    neighbours: int


@dataclass(frozen=True)
class MachinePlan:
    """Machines by what asks for them; the largest number is what breaks first."""

    shards: int
    by_memory: int
    by_search: int
    by_coding: int
    by_network: int

    @property
    def machines(self) -> int:
        return max(self.by_memory, self.by_search + self.by_coding, self.by_network)

    @property
    def breaks_first(self) -> str:
        wanted = {"memory": self.by_memory, "search": self.by_search, "coding": self.by_coding}
        return max({**wanted, "network": self.by_network}.items(), key=lambda one: one[1])[0]


BUSY = 0.6  # share of a machine's cores and network that is planned with: queues grow fast above it
FILLED = 0.7  # and of its memory
KEPT = 2.0  # bytes in memory for each byte of the vectors: what is scaled, and codes for the search


def plan(model: CostModel, demand: Demand, machine: MachineKind) -> MachinePlan:
    """The machines that a demand takes."""
    held = demand.examples * demand.width * 4 * KEPT
    by_memory = math.ceil(held / (FILLED * machine.memory))
    shards = max(1, by_memory)
    fetched = demand.rate * demand.neighbours * demand.width * 4
    cores = demand.rate / (BUSY * machine.cores)
    search = model.per_example * demand.examples + model.per_shard * shards
    return MachinePlan(
        shards,
        by_memory,
        math.ceil(cores * search),
        math.ceil(cores * model.per_query),
        math.ceil(fetched / (BUSY * machine.network)),
    )
