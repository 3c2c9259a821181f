"""The cost model finds what a cost was made of, and plans by what asks for most."""

from __future__ import annotations

import pytest

from lab.bench.cost_model import CostModel, CostPoint, Demand, MachineKind, fitted, plan

TRUE = CostModel(2e-9, 3e-5, 4e-4)
MACHINE = MachineKind(cores=32, memory=128e9, price=1.5, network=1.25e9)


def test_a_fit_gives_back_what_the_points_were_made_of() -> None:
    sizes = [(n, s) for n in (10_000, 50_000, 200_000) for s in (1, 2, 4)]
    found = fitted([CostPoint(n, s, TRUE.seconds(n, s)) for n, s in sizes])
    assert found.seconds(10**6, 8) == pytest.approx(TRUE.seconds(10**6, 8), rel=1e-6)
    assert (found.per_example, found.per_shard, found.per_query) == pytest.approx((2e-9, 3e-5, 4e-4), rel=1e-6)


def test_no_part_of_a_fit_is_below_zero() -> None:
    found = fitted([CostPoint(1000, 1, 3e-4), CostPoint(2000, 2, 2e-4), CostPoint(4000, 4, 1e-4)])
    assert min(found.per_example, found.per_shard, found.per_query) >= 0


@pytest.mark.parametrize(
    ("demand", "first"),
    [
        (Demand(1e9, 128, 10.0, 50), "memory"),
        (Demand(1e9, 128, 1e5, 50), "search"),
        (Demand(1e4, 128, 1e5, 50), "network"),
        (Demand(1e4, 16, 1e5, 10), "coding"),
    ],
)
def test_a_plan_names_what_asks_for_most(demand, first) -> None:
    found = plan(TRUE, demand, MACHINE)
    assert found.breaks_first == first
    assert found.machines >= max(found.by_memory, found.by_search, found.by_coding, found.by_network, 1)
