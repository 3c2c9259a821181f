"""A statement is decided by differences on the same splits, and says how sure that is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from lab.experiments import sizes, statements
from lab.experiments.base import Run


def run(series: str, seed: int, accuracy: float, **more: object) -> Run:
    return Run({"series": series, "seed": seed, "panel": "a", "x": 5}, {"accuracy": accuracy, **more}, {}, "")


def test_the_interval_of_a_mean_is_students() -> None:
    values = [97.0, 98.5, 96.0, 97.5]
    low, high = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))
    assert statements.estimate(values).interval == pytest.approx((low, high))
    assert statements.estimate([97.0]).interval is None


def test_methods_are_compared_split_by_split() -> None:
    hard = [60.0, 90.0, 75.0]  # splits differ far more than the methods do
    first = [run("A", s, acc + 1.0 + 0.1 * s) for s, acc in enumerate(hard)]
    second = [run("B", s, acc) for s, acc in enumerate(hard)]
    claim = statements.compared("A is better.", first, second)
    assert claim.held
    assert claim.beyond_chance
    assert claim.interval == pytest.approx(stats.t.interval(0.95, 2, 1.1, stats.sem([1.0, 1.1, 1.2])))
    turned = statements.compared("B is better.", second, first, cause="A is.")
    assert (turned.held, turned.beyond_chance, turned.cause) == (False, True, "A is.")


def test_only_splits_that_both_were_asked_count() -> None:
    first = [run("A", s, 90.0 + s) for s in range(10)]
    second = [run("B", s, 89.0 + s) for s in range(5)]
    claim = statements.compared("A is better.", first, second)
    assert claim.detail == "92.00 and 91.00"
    assert claim.interval == pytest.approx((1.0, 1.0))
    assert statements.compared("A is better.", first[5:], second).held is None


def test_what_the_splits_do_not_tell_apart_is_not_beyond_chance() -> None:
    first = [run("A", 0, 91.0), run("A", 1, 89.0)]
    second = [run("B", 0, 90.0), run("B", 1, 89.5)]
    claim = statements.compared("A is better.", first, second, cause="unused")
    assert (claim.held, claim.beyond_chance, claim.cause) == (True, False, "")


def test_one_split_is_judged_by_its_queries() -> None:
    rng = np.random.default_rng(0)
    right = [rng.random(2007) < share for share in (0.97, 0.95)]
    runs = [
        run(name, 0, 100.0 * r.mean(), right=packed(r), n_queries=2007) for name, r in zip("AB", right, strict=True)
    ]
    claim = statements.compared("A is better.", runs[:1], runs[1:])
    difference = 100.0 * (right[0].astype(float) - right[1].astype(float))
    expected = stats.t.interval(0.95, 2006, difference.mean(), stats.sem(difference))
    assert claim.interval == pytest.approx(expected)
    assert statements.compared("A", [run("A", 0, 2.0)], [run("B", 0, 1.0)]).interval is None


def test_who_was_asked_fewer_queries_is_compared_on_those() -> None:
    rng = np.random.default_rng(1)
    few, many = [], []
    for seed in range(4):
        right = rng.random((2, 1000)) < 0.9
        right[:, 200:] = False  # what the first was not asked says nothing about it
        few.append(run("A", seed, 100.0 * right[0, :200].mean(), right=packed(right[0, :200]), n_queries=200))
        many.append(run("B", seed, 100.0 * right[1].mean(), right=packed(right[1]), n_queries=1000))
    claim = statements.compared("A is better.", few, many)
    theirs = [100.0 * unpacked(other)[:200].mean() for other in many]
    apart = [one.values["accuracy"] - other for one, other in zip(few, theirs, strict=True)]
    assert claim.interval == pytest.approx(stats.t.interval(0.95, 3, np.mean(apart), stats.sem(apart)))
    assert claim.detail == f"{np.mean([one.values['accuracy'] for one in few]):.2f} and {np.mean(theirs):.2f}"


def packed(right: np.ndarray) -> str:
    return np.packbits(right).tobytes().hex()


def unpacked(of: Run) -> np.ndarray:
    return np.unpackbits(np.frombuffer(bytes.fromhex(of.values["right"]), np.uint8))


def test_times_are_compared_by_the_logarithms_of_their_rounds() -> None:
    slow, fast = [2.0, 2.2, 2.1], [1.0, 1.05, 1.1]
    found = statements.ratio(slow, fast)
    expected = stats.ttest_ind(np.log(slow), np.log(fast), equal_var=False).confidence_interval(0.95)
    assert found.mean == pytest.approx(np.exp(np.mean(np.log(slow)) - np.mean(np.log(fast))))
    assert found.interval == pytest.approx((np.exp(expected.low), np.exp(expected.high)))
    assert statements.ratio([3.0], [1.5]) == statements.Estimate(pytest.approx(2.0), None)


def test_the_best_is_compared_with_the_next_and_a_lead_with_a_point() -> None:
    runs = [run(n, s, a + s) for n, a in (("A", 90.0), ("B", 89.5), ("C", 80.0)) for s in range(3)]
    best = sizes.best_at(runs, "A", 5, "A is best.")
    assert best.held
    assert best.detail.startswith("A and B, at 5")
    assert sizes.best_at(runs, "C", 5, "C is best.").held is False
    assert sizes.no_lead_at(runs, "A", 5, "A is not far ahead.").held
    assert sizes.no_lead_at(runs[:3] + runs[6:], "A", 5, "A is not far ahead.").held is False
    assert sizes.best_at(runs[:3], "A", 5, "A is best.").held is None
