"""How accuracy grew with examples, and what more of them are likely to bring.

The examples are halved, and those of either half asked with only the other half stored, then with a quarter, then with
an eighth; with all others stored they answered when the parameters were chosen. All sizes ask the same examples, so
what one is harder than another does not count. Parameters stay as chosen; a metric that is fitted with labels is fitted
anew on what is stored. With e the share of wrong answers where the class has another example stored,

    e(n) = a + b n^(−c),    so that each doubling gains ρ = 2^(−c) of what the one before it gained:
    e(n/2^k) = e + g (ρ^(−k) − 1)/(ρ⁻¹ − 1),    the next gains ρ g,

and the share of those whose class has none, which are always wrong, falls by the same factor as it last did;
e and g by weighted least squares for every ρ, ρ by how well it fits and by what is usual. The interval holds what the
asked examples leave open of all three, and that other examples would have done a little better or worse.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kcrc import pipeline
from kcrc.arrays import Array
from kcrc.left_out.answers import LeftOut
from kcrc.left_out.exclusion import Exclusion
from kcrc.model import FittedModel

HALVINGS = 3
ANSWERS = 2000  # to a size: fewer examples than this are halved in several ways
WAYS = 4
WIDE = 1000  # from so many features on a metric is fitted for one way only
FEWEST = 8  # examples stored
RATIOS = np.linspace(0.35, 1.0, 27)
USUAL_RATIO, SPREAD = 0.7, 0.15  # errors fall about as 1/√n
MISFIT = 0.15  # of the difference to the present, by which the formula may be off at smaller sizes
FLATTERED = 1.0  # standard errors, by which answers of those examples that parameters were chosen on may be too good
LUCK = 0.5  # of √(e/n): how much other examples of the same number would have changed accuracy
DRAWS = 4000
SURE = (0.05, 0.95)


@dataclass(frozen=True)
class Gain:
    """Accuracy gained: ``likely``, and with 90 % confidence between ``low`` and ``high``."""

    likely: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.likely:+.1f} points ({100 * self.low:+.1f} to {100 * self.high:+.1f})"


@dataclass(frozen=True)
class Point:
    """Accuracy with so many examples stored, and between what it lies with 90 % confidence."""

    examples: int
    accuracy: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """points from few examples to all; ``fits`` (draws, 3) of e, g and ρ that fit them; ``missing``, the share of
    examples whose class has no other, now and with half as many stored; ``luck``, the standard deviation that other
    examples of the same number would make."""

    points: tuple[Point, ...]
    fits: Array
    missing: tuple[float, float]
    luck: float

    def gain(self, times: float) -> Gain | None:
        """Of ``times`` as many examples; None where they are too few to halve."""
        if not len(self.fits):
            return None
        e, g, ratio = self.fits.T
        doublings = np.log2(times)
        falling = np.where(ratio < 1, ratio * (1 - ratio**doublings) / np.where(ratio < 1, 1 - ratio, 1.0), doublings)
        luck = self.luck * min(1.0, doublings) * np.random.default_rng(1).standard_normal(len(g))
        now, before = self.missing
        found_class = now - now * min(1.0, now / before) ** doublings if now else 0.0
        found = (1.0 - now) * np.minimum(g * falling, e) + found_class * (1.0 - np.minimum(e, 1.0)) + luck
        low, high = np.quantile(found, SURE)
        return Gain(float(np.median(found)), float(low), float(high))


def learning_curve(model: FittedModel, exclusion: Exclusion, left: LeftOut) -> LearningCurve:
    """From the examples' own answers ``left``, and theirs with fewer stored."""
    rng = np.random.default_rng(model.method.seed)
    asked, right = np.searchsorted(model.ids, left.rows), [left.right.astype(np.float64)]
    counts = np.bincount(model.labels)
    fewest = max(FEWEST, int((counts > 0).sum()))
    halvings = [k for k in range(1, HALVINGS + 1) if len(model) >> k >= fewest]
    ways = int(np.clip(ANSWERS // max(1, len(asked)), 1, 1 if model.raw.shape[1] > WIDE else WAYS))
    sums, present = np.zeros((len(halvings), len(asked))), np.zeros(1 + len(halvings))
    present[0] = np.mean(counts[model.labels[asked]] > 1)
    for _ in range(ways if halvings else 0):
        first = _half(model, exclusion, rng)
        for half in (first, ~first):
            order, others = rng.permutation(np.flatnonzero(half)), np.flatnonzero(~half[asked])
            for at, k in enumerate(halvings):
                some = np.sort(order[: max(1, len(order) >> (k - 1))])
                sums[at, others] += _right(model, exclusion, some, asked[others]) / ways
                there = np.isin(model.labels[asked[others]], model.labels[some])
                present[at + 1] += there.sum() / (ways * len(asked))
    right += list(sums)
    sizes = len(model) / 2.0 ** np.array([0, *halvings])
    points = tuple(_point(int(size), mean) for size, mean in zip(sizes, right, strict=True))
    fits = _fitted(np.stack(right), present, sizes, rng) if halvings else np.empty((0, 3))
    missing = (1.0 - float(present[0]), 1.0 - float(present[min(1, len(halvings))]))
    return LearningCurve(points[::-1], fits, missing, float(_luck(1.0 - points[0].accuracy, len(model))))


def _half(model: FittedModel, exclusion: Exclusion, rng: np.random.Generator) -> Array:
    """(n,) bool, half of the examples, drawn as they came; who leaves together stays together."""
    groups = exclusion.groups_of(model)
    together, sizes = np.unique(groups, return_counts=True)
    order = rng.permutation(len(together))
    first = np.cumsum(sizes[order]) <= len(model) / 2
    return np.isin(groups, together[order[first]])


def _right(model: FittedModel, exclusion: Exclusion, stored: Array, asked: Array) -> Array:
    """(len(asked),) whether these examples are answered as labelled with only those at ``stored``."""
    if model.method.metric.uses_labels and exclusion.means is not None:  # it was fitted with the labels of those asked
        fewer = refitted(model, model.raw[stored], model.labels[stored], model.ids[stored])
    else:
        fewer = model.without(np.setdiff1d(np.arange(len(model)), stored))
    queries = fewer.method.metric.transform(model.raw[asked].astype(model.working_type, copy=False))
    winner = np.concatenate(pipeline.answer(fewer, queries, lambda evidence: evidence.winner))
    return np.asarray(winner == model.labels[asked])


def refitted(model: FittedModel, raw: Array, labels: Array, ids: Array) -> FittedModel:
    """The same method with these examples (n, d), its metric fitted on them."""
    method = replace(model.method, metric=model.method.metric.fit(raw, labels))
    return FittedModel.build(method, raw, model.classes, labels, ids)


def _point(examples: int, right: Array) -> Point:
    mean, n = float(right.mean()), len(right)
    half = 1.645 * np.sqrt((mean * (1 - mean) + 0.25 / n) / n)
    return Point(examples, mean, float(max(0.0, mean - half)), float(min(1.0, mean + half)))


def _steps(ratio: float, halvings: Array) -> Array:
    """What so many halvings cost, in units of the first."""
    if ratio == 1.0:
        return halvings
    return np.asarray((ratio**-halvings - 1.0) / (1.0 / ratio - 1.0))


def _luck(error: Any, n: Any) -> Any:
    return LUCK * np.sqrt(np.maximum(error, 0.5 / n) / n)


def _fitted(right: Array, present: Array, sizes: Array, rng: np.random.Generator) -> Array:
    """(DRAWS, 3) of e, g and ρ, from whether examples were right (sizes, B) with so many stored, all first, and the
    share of them that had another of their class (sizes,)."""
    y, count = 1.0 - right.mean(axis=1) / np.maximum(present, 1e-9), right.shape[1]
    covariance = np.cov(right) / count
    own = MISFIT * np.maximum(0.0, y - y[1]) + 0.5 / count
    own[0] += FLATTERED * np.sqrt(y[0] * (1.0 - y[0]) / count)
    covariance[np.diag_indices_from(covariance)] += own**2 + _luck(y, sizes) ** 2
    inverse = np.linalg.inv(covariance)
    logs, centres, roots = [], [], []
    for ratio in RATIOS:
        design = np.column_stack([np.ones(len(y)), _steps(ratio, np.log2(sizes[0] / sizes))])
        spread = np.linalg.inv(design.T @ inverse @ design)
        centre = spread @ design.T @ inverse @ y
        off = y - design @ centre
        usual = ((ratio - USUAL_RATIO) / SPREAD) ** 2
        logs.append(-0.5 * (off @ inverse @ off + usual) + 0.5 * np.linalg.slogdet(spread)[1])
        centres.append(centre)
        roots.append(np.linalg.cholesky(spread))
    weights = np.exp(np.array(logs) - max(logs))
    which = rng.choice(len(RATIOS), DRAWS, p=weights / weights.sum())
    noise = rng.standard_normal((DRAWS, 2, 1))
    drawn = np.maximum(np.array(centres)[which] + (np.array(roots)[which] @ noise)[:, :, 0], 0.0)
    return np.column_stack([drawn, RATIOS[which]])
