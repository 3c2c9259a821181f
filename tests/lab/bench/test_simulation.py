"""The simulation against closed forms of queueing, and what it owes besides."""

from __future__ import annotations

import numpy as np
import pytest

from kcrc.errors import ParameterError
from lab.bench.simulation import System, departures, simulate


def test_departures_follow_one_after_the_other() -> None:
    rng = np.random.default_rng(0)
    asked, services = np.sort(rng.random(50) * 10), rng.random(50)
    left, expected = 0.0, []
    for moment, takes in zip(asked, services, strict=True):
        left = max(moment, left) + takes
        expected.append(left)
    np.testing.assert_allclose(departures(asked, services), expected)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_one_queue_is_that_of_the_closed_forms(load) -> None:
    """M/M/1: 1/(μ − λ). M/D/1: s + ρs / 2(1 − ρ)."""
    found = simulate(System(rate=load, service=1.0, exponential=True), queries=400_000)
    assert found.mean == pytest.approx(1 / (1 - load), rel=0.05)
    found = simulate(System(rate=load, service=1.0), queries=400_000)
    assert found.mean == pytest.approx(1 + load / (2 * (1 - load)), rel=0.03)


def test_copies_share_the_queries_at_random() -> None:
    one = simulate(System(rate=0.5, service=1.0), queries=200_000)
    four = simulate(System(rate=2.0, service=1.0, copies=4), queries=200_000)
    assert four.mean == pytest.approx(one.mean, rel=0.03)


def test_the_last_of_several_shards_counts() -> None:
    """Idle: the mean of the largest of S exponential times is 1 + 1/2 + … + 1/S of one."""
    found = simulate(System(rate=1e-4, service=1.0, shards=5, exponential=True), queries=100_000)
    assert found.mean == pytest.approx(sum(1 / i for i in range(1, 6)), rel=0.02)


def test_stragglers_and_losses_show_in_the_slowest_answers() -> None:
    calm = System(rate=0.2, service=1.0)
    assert simulate(calm).within(0.99) < simulate(System(rate=0.2, service=1.0, stragglers=0.02)).within(0.99)
    lossy = System(rate=0.2, service=1.0, lost_every=2000.0, recovery=30.0)
    assert lossy.load == pytest.approx(0.2 + 30 / 2000)
    assert simulate(calm).within(0.999) < 10 < simulate(lossy).within(0.999)


def test_a_seed_gives_the_same_again() -> None:
    system = System(rate=0.5, service=1.0, shards=2, copies=2)
    assert (simulate(system, seed=3).seconds == simulate(system, seed=3).seconds).all()
    assert not (simulate(system, seed=3).seconds == simulate(system, seed=4).seconds).all()


@pytest.mark.parametrize("wrong", [{"rate": 0.0}, {"shards": 0}, {"stragglers": 1.5}, {"slowness": 0.5}])
def test_what_cannot_be_simulated_is_said(wrong) -> None:
    with pytest.raises(ParameterError, match="got System"):
        System(**{"rate": 1.0, "service": 0.5, **wrong})
