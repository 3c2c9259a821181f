"""Statements of the paper, decided by our numbers: each with the interval of the number that decides it.

Methods are compared on the same splits, and there on the queries that both were asked, so what decides is the mean of
their differences, split by split, and its interval is Student's. A set with one split of its own has no repeats: there
the differences are those of its queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kcrc._base.arrays import Array
from lab.experiments.base import Claim, Run

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean and where it lies with 95 % confidence; no interval where a single number is all there is."""

    mean: float
    interval: tuple[float, float] | None


def estimate(values: Sequence[float] | Array) -> Estimate:
    """The mean of repeats with Student's interval."""
    found = np.asarray(values, float)
    mean = float(found.mean())
    if len(found) < 2:
        return Estimate(mean, None)
    from scipy.stats import t  # takes long to load, and reports alone need it

    half = float(t.ppf(0.5 + CONFIDENCE / 2.0, len(found) - 1) * found.std(ddof=1) / np.sqrt(len(found)))
    return Estimate(mean, (mean - half, mean + half))


def lead(first: Sequence[Run], second: Sequence[Run]) -> Estimate | None:
    """By how many points the first is ahead, split by split; None where no split has both."""
    pairs = _pairs(first, second)
    if not pairs:
        return None
    if len(pairs) == 1 and (by_query := _by_query(*pairs[0])) is not None:
        return estimate(100.0 * (by_query[0] - by_query[1]))
    return estimate([ours - theirs for ours, theirs in (_accuracies(*pair) for pair in pairs)])


def _pairs(first: Sequence[Run], second: Sequence[Run]) -> list[tuple[Run, Run]]:
    """The runs of the splits that both were asked."""
    ours, theirs = ({int(run.cell["seed"]): run for run in runs} for runs in (first, second))
    return [(ours[seed], theirs[seed]) for seed in sorted(ours.keys() & theirs.keys())]


def _accuracies(first: Run, second: Run) -> tuple[float, float]:
    """The accuracies of two runs of one split, on the queries that both were asked."""
    if first.values.get("n_queries") != second.values.get("n_queries"):
        by_query = _by_query(first, second)
        if by_query is not None:
            return 100.0 * float(by_query[0].mean()), 100.0 * float(by_query[1].mean())
    return float(first.values["accuracy"]), float(second.values["accuracy"])


def _by_query(*pair: Run) -> list[Array] | None:
    """Which of the queries that both were asked each had right (1.0 or 0.0); None where that was not kept.

    The queries of a split are drawn in one order, so the fewer are the first of the more.
    """
    if any("right" not in run.values for run in pair):
        return None
    n = min(int(run.values["n_queries"]) for run in pair)
    kept = [np.frombuffer(bytes.fromhex(run.values["right"]), np.uint8) for run in pair]
    return [np.unpackbits(bits, count=n).astype(float) for bits in kept]


def ratio(first: Sequence[float], second: Sequence[float] | float) -> Estimate:
    """How many times the first is the second, from rounds of time: the mean and interval of the logarithm (Welch's)."""
    logs = [np.log(np.atleast_1d(np.asarray(rounds, float))) for rounds in (first, second)]
    mean = float(logs[0].mean() - logs[1].mean())
    parts = [(log.var(ddof=1) / len(log), len(log) - 1) for log in logs if len(log) > 1]
    if not parts:
        return Estimate(float(np.exp(mean)), None)
    variance = sum(part for part, _ in parts)
    freedom = variance**2 / sum(part**2 / df for part, df in parts) if variance else 1.0
    from scipy.stats import t

    half = float(t.ppf(0.5 + CONFIDENCE / 2.0, freedom) * np.sqrt(variance))
    return Estimate(float(np.exp(mean)), (float(np.exp(mean - half)), float(np.exp(mean + half))))


def compared(
    text: str, first: Sequence[Run], second: Sequence[Run], *, cause: str = "", strictly: bool = True
) -> Claim:
    """That the first is better (or, not ``strictly``, as good)."""
    found = lead(first, second)
    if found is None:
        return Claim(text, None, "not measured")
    means = np.mean([_accuracies(*pair) for pair in _pairs(first, second)], axis=0)
    held = found.mean > 0.0 if strictly else found.mean >= 0.0
    return decided(text, held, f"{means[0]:.2f} and {means[1]:.2f}", found, 0.0, cause)


def decided(text: str, held: bool, detail: str, found: Estimate, bound: float, cause: str = "") -> Claim:
    """A statement that rests on which side of ``bound`` a number lies."""
    low, high = found.interval or (None, None)
    beyond = None if low is None or high is None else not low <= bound <= high or low == high
    return Claim(text, held, detail, found.interval, beyond, "" if held else cause)
