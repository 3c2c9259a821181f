"""A sharded system that is not there: queueing, stragglers and lost machines, drawn from a seed.

Queries come at random moments (Poisson). Each asks one copy of every shard and waits for the last of them. A copy
answers one query after the other: an answer takes a fixed or an exponential time, now and then ``slowness`` times as
long, and where the copy is lost first, the time until it is there again besides. Queries leave one queue at

    Dₙ = max(Aₙ, Dₙ₋₁) + Sₙ   =>   Dₙ = Cₙ + max_{k ≤ n} (A_k − C_{k−1}),   Cₙ = S₁ + … + Sₙ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import ParameterError


@dataclass(frozen=True)
class System:
    """Rates and times in seconds; ``service`` is what one shard takes for one query."""

    rate: float
    service: float
    shards: int = 1
    copies: int = 1
    exponential: bool = False
    stragglers: float = 0.0
    """Share of answers that take ``slowness`` times as long."""
    slowness: float = 10.0
    lost_every: float = np.inf
    """Seconds between losses of one copy, on average."""
    recovery: float = 60.0

    def __post_init__(self) -> None:
        if min(self.rate, self.service, self.lost_every) <= 0 or min(self.shards, self.copies) < 1:
            raise ParameterError(f"Rates and times are above 0, shards and copies at least 1; got {self}.")
        if not 0 <= self.stragglers <= 1 or self.slowness < 1 or self.recovery < 0:
            raise ParameterError(f"A share is from 0 to 1, a slowness at least 1; got {self}.")

    @property
    def load(self) -> float:
        """The share of its time that a copy works; from 1 on the queue grows without end."""
        longer = 1 + self.stragglers * (self.slowness - 1)
        return self.rate / self.copies * self.service * longer + self.recovery / self.lost_every


@dataclass(frozen=True, eq=False)
class Simulated:
    """What the queries saw, in seconds from asking to the last shard's answer, without the first tenth of them."""

    seconds: Array

    @property
    def mean(self) -> float:
        return float(self.seconds.mean())

    def within(self, share: float) -> float:
        """The time within which this share was answered."""
        return float(np.quantile(self.seconds, share))


def simulate(system: System, *, queries: int = 100_000, seed: int = 0) -> Simulated:
    """So many queries to a system that begins empty."""
    rng = np.random.default_rng(seed)
    asked = np.cumsum(rng.exponential(1.0 / system.rate, queries))
    done = asked.copy()
    for _ in range(system.shards):
        copy = rng.integers(0, system.copies, queries)
        for one in range(system.copies):
            mine = np.flatnonzero(copy == one)
            done[mine] = np.maximum(done[mine], departures(asked[mine], _services(system, asked[mine], rng)))
    return Simulated((done - asked)[queries // 10 :])


def _services(system: System, asked: Array, rng: np.random.Generator) -> Array:
    count = len(asked)
    drawn = rng.exponential(system.service, count) if system.exponential else np.full(count, system.service)
    drawn *= np.where(rng.random(count) < system.stragglers, system.slowness, 1.0)
    if np.isfinite(system.lost_every) and count:
        since = np.diff(asked, prepend=0.0)
        drawn += system.recovery * (rng.random(count) < -np.expm1(-since / system.lost_every))
    return drawn


def departures(asked: Array, services: Array) -> Array:
    """When each query leaves a queue that answers one after the other."""
    worked = np.cumsum(services)
    return np.asarray(worked + np.maximum.accumulate(asked - (worked - services)))
