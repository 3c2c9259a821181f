"""Two Ray nodes, of which one is lost midway, and before that an actor: the measurement of the bench, made small."""

from __future__ import annotations

from lab.bench.parts import PartRun
from lab.bench.parts.engines import with_losses
from lab.bench.results import Results


def test_answers_are_complete_and_those_of_one_process_though_an_actor_and_a_node_are_lost(
    ray_alone, monkeypatch
) -> None:
    monkeypatch.setenv("RAY_health_check_period_ms", "500")  # Ray is sure of a lost node after five looks, 3 s apart
    told: list[str] = []
    results = Results(True, {})
    found = with_losses(PartRun(True, None, results, told.append))
    assert found["faults"] == 0
    assert found["queries"] == 1500
    assert [claim.holds for claim in results.claims] == [True]
    assert "lost, s" in told[0]
