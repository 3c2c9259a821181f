"""Statements of the paper, decided by our numbers: each with the interval of the number that decides it.

Methods are compared on the same splits, so what decides is the mean of their differences, split by split, and its
interval is Student's. A set with one split of its own has no repeats: there the differences are those of its queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kcrc.arrays import Array
from kcrc.experiments.base import Claim, Run

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
    ours, theirs = ({int(run.cell["seed"]): run for run in runs} for runs in (first, second))
    common = sorted(ours.keys() & theirs.keys())
    if not common:
        return None
    if len(common) == 1:
        by_query = _by_query(ours[common[0]], theirs[common[0]])
        if by_query is not None:
            return estimate(by_query)
    return estimate([ours[s].values["accuracy"] - theirs[s].values["accuracy"] for s in common])


def _by_query(first: Run, second: Run) -> Array | None:
    """The difference in points of each query of one split; None where they were not kept."""
    if "right" not in first.values or "right" not in second.values:
        return None
    n = int(first.values["n_queries"])
    ours, theirs = (
        np.unpackbits(np.frombuffer(bytes.fromhex(run.values["right"]), np.uint8), count=n).astype(float)
        for run in (first, second)
    )
    difference: Array = 100.0 * (ours - theirs)
    return difference


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
    common = {int(run.cell["seed"]) for run in first} & {int(run.cell["seed"]) for run in second}
    means = [
        np.mean([run.values["accuracy"] for run in runs if int(run.cell["seed"]) in common]) for runs in (first, second)
    ]
    held = found.mean > 0.0 if strictly else found.mean >= 0.0
    return decided(text, held, f"{means[0]:.2f} and {means[1]:.2f}", found, 0.0, cause)


def decided(text: str, held: bool, detail: str, found: Estimate, bound: float, cause: str = "") -> Claim:
    """A statement that rests on which side of ``bound`` a number lies."""
    low, high = found.interval or (None, None)
    beyond = None if low is None or high is None else not low <= bound <= high or low == high
    return Claim(text, held, detail, found.interval, beyond, "" if held else cause)
