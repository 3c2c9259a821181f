"""Sizes that nobody measured here: what the fitted costs say of them, and a simulation of the system they describe."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from lab.bench.cost_model import BUSY, CostModel, Demand, MachineKind, plan
from lab.bench.simulation import System, simulate

MACHINE = MachineKind(cores=32, memory=128e9, price=1.50, network=1.5e9)
"""Assumed: what clouds rent for about this price in dollars an hour; a core as the one that was measured."""
HOURS = 730  # a month
SIZES = [(1e7, 1e3), (1e7, 1e5), (1e9, 1e3), (1e9, 1e5)]  # examples, queries a second
SIMULATED = (1e7, 1e3)
TROUBLES: dict[str, dict[str, Any]] = {
    "none": {},
    "1 % of answers take ten times as long": {"stragglers": 0.01},
    "every copy is lost once an hour, for 5 s": {"lost_every": 3600.0, "recovery": 5.0},
    "both": {"stragglers": 0.01, "lost_every": 3600.0, "recovery": 5.0},
}


def projected(model: CostModel, *, width: int, neighbours: int, queries: int = 200_000) -> dict[str, Any]:
    """Machines by size, and the times that a simulated system answers in."""
    plans = []
    for examples, rate in SIZES:
        found = plan(model, Demand(examples, width, rate, neighbours), MACHINE)
        month = found.machines * MACHINE.price * HOURS
        plans.append(
            {"examples": examples, "rate": rate, **asdict(found), "machines": found.machines, "month": month,
             "first": found.breaks_first}
        )  # fmt: skip
    return {"machine": asdict(MACHINE), "hours": HOURS, "plans": plans, "simulated": _simulated(model, width, queries)}


def _simulated(model: CostModel, width: int, queries: int) -> dict[str, Any]:
    """One of the sizes, its examples in eight shards; a machine is one queue, answering with all its cores."""
    examples, rate = SIMULATED
    shards = 8
    service = (model.per_example * examples / shards + model.per_shard) / MACHINE.cores
    copies = max(2, math.ceil(rate * service / BUSY))
    systems = {
        name: System(rate=rate, service=service, shards=shards, copies=copies, **trouble)
        for name, trouble in TROUBLES.items()
    }
    rows = []
    for name, system in systems.items():
        found = simulate(system, queries=queries)
        rows.append([name, system.load, *(found.within(share) for share in (0.5, 0.99, 0.999))])
    return {"examples": examples, "rate": rate, "shards": shards, "copies": copies, "service": service, "rows": rows}
