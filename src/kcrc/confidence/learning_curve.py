"""How accuracy grew with examples, and what more of them are likely to bring.

The examples of every class are halved, and those of either half asked with only the other half stored, then with half
of that, and again; with all others stored they answered when the parameters were chosen. All sizes ask the same
examples, and every class that can be told is there at every size: neither what one example is harder than another nor
that few examples have few rivals counts. Parameters stay as chosen; a scaling that is fitted with labels is fitted on
what is stored. With e the share of wrong answers where m others of the class are stored (one at least),

    e(m) = a + b m^(−c),    so that each doubling gains ρ = 2^(−c) of what the one before it gained:
    e(m₀/2^h) = e + g (ρ^(−h) − 1)/(ρ⁻¹ − 1),    with m₀ the usual m of those asked,

averaged over those asked, each with the m of its own class; e and g by weighted least squares for every ρ, ρ by how
well it fits and by what is usual. Who asks next belongs, about as often as a stored example has no other of its class,
to a class that is not stored yet; that share falls with more examples as it does from half of these to all. The
interval holds what the asked examples leave open of e, g and ρ, and that other examples would have done a little better
or worse.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method import pipeline
from kcrc.method.fitted_model import FittedModel
from kcrc.tuning.left_out.answers import LeftOut
from kcrc.tuning.left_out.exclusion import Exclusion

HALVINGS = 3
ANSWERS = 2000  # to a size: fewer examples than this are halved in several ways
WAYS = 4
WIDE = 1000  # from so many features on a scaling is fitted for one way only
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
    """Accuracy gained by more examples, as a share: 0.01 is one point.

    Attributes
    ----------
    likely : float
        The best estimate.
    low, high : float
        With 90 % confidence it lies between these.
    """

    likely: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.likely:+.1f} points ({100 * self.low:+.1f} to {100 * self.high:+.1f})"


@dataclass(frozen=True)
class Point:
    """Accuracy with so many examples stored.

    Attributes
    ----------
    examples : int
        How many.
    accuracy : float
        The share of right answers.
    low, high : float
        With 90 % confidence it lies between these.
    """

    examples: int
    accuracy: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """points from few examples to all; ``fits`` (draws, 3) of e, g and ρ that fit them, for ``usual`` others of the
    class; the ``sizes`` of classes that are met and the ``shares`` of queries that meet them; ``missing``, the share of
    queries whose class is not stored, now and with half as many examples; ``luck``, the standard deviation that other
    examples of the same number would make."""

    points: tuple[Point, ...]
    fits: Array
    usual: float
    sizes: Array
    shares: Array
    missing: tuple[float, float]
    luck: float

    def gain(self, times: float) -> Gain | None:
        """Of ``times`` as many examples; None where they are too few to halve."""
        if not len(self.fits):
            return None
        e, g, ratio = self.fits.T
        doublings = np.log2(times)
        kinds, which = np.unique(ratio, return_inverse=True)
        halvings = np.log2(self.usual / self.sizes)
        falling = np.array([self.shares @ (_steps(r, halvings) - _steps(r, halvings - doublings)) for r in kinds])
        luck = self.luck * min(1.0, doublings) * np.random.default_rng(1).standard_normal(len(g))
        now, before = self.missing
        found_class = now - now * min(1.0, now / before) ** doublings if now else 0.0
        found = (1.0 - now) * np.minimum(g * falling[which], e) + found_class * (1.0 - np.minimum(e, 1.0)) + luck
        low, high = np.quantile(found, SURE)
        return Gain(float(np.median(found)), float(low), float(high))


def learning_curve(model: FittedModel, exclusion: Exclusion, left: LeftOut) -> LearningCurve:
    """From the examples' own answers ``left``, and theirs with fewer stored."""
    rng = np.random.default_rng(model.method.seed)
    asked = np.searchsorted(model.ids, left.rows)
    counts = np.bincount(model.labels)
    fewest = max(FEWEST, int((counts > 0).sum()))
    halvings = [k for k in range(1, HALVINGS + 1) if len(model) >> k >= fewest]
    ways = int(np.clip(ANSWERS // max(1, len(asked)), 1, 1 if model.raw.shape[1] > WIDE else WAYS))
    right, others = np.zeros((2, 1 + len(halvings), len(asked)))
    right[0], others[0] = left.right, counts[model.labels[asked]] - 1
    stored = np.array([float(len(model))] + [0.0] * len(halvings))
    for _ in range(ways if halvings else 0):
        first = _half(model, exclusion, rng)
        for half in (first, ~first):
            rows, answering = np.flatnonzero(half), np.flatnonzero(~half[asked])
            rank, size = _ranks(model.labels[rows], rng)
            for at, k in enumerate(halvings, start=1):
                some = rows[rank < np.maximum(1, size >> (k - 1))]
                stored[at] += len(some) / (2 * ways)
                right[at, answering] += _right(model, exclusion, some, asked[answering]) / ways
                others[at, answering] += np.bincount(model.labels[some], minlength=len(counts))[
                    model.labels[asked[answering]]
                ] / ways  # fmt: skip
    points = tuple(_point(round(n), mean) for n, mean in zip(stored, right, strict=True))
    told = others.min(axis=0) > 0
    usual = float(np.exp(np.log(others[0, told]).mean())) if told.any() else 1.0
    fits = np.empty((0, 3))
    if halvings and told.any():
        fits = _fit_curves(right[:, told], np.log2(usual / others[:, told]), stored, rng)
    met, times = np.unique(counts[model.labels[asked]], return_counts=True)
    shares = times / len(asked)
    missing = (float(shares[met == 1].sum()), float(shares @ 0.5 ** (met - 1.0)))
    luck = float(_luck(1.0 - points[0].accuracy, len(model)))
    return LearningCurve(points[::-1], fits, usual, met.astype(np.float64), shares, missing, luck)


def _half(model: FittedModel, exclusion: Exclusion, rng: np.random.Generator) -> Array:
    """(n,) bool, half of the examples of each class; who leaves together stays together."""
    groups = exclusion.groups_of(model)
    _, one, group = np.unique(groups, return_index=True, return_inverse=True)
    rank, _ = _ranks(model.labels[one], rng)
    first = (rank + rng.integers(2, size=len(model.classes))[model.labels[one]]) % 2 == 0
    return np.asarray(first[group])


def _ranks(labels: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """(n,) the place of each in a random order of its class, and how many its class has."""
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    sizes = np.bincount(labels)
    rank = np.empty(len(labels), np.int64)
    rank[order] = np.arange(len(labels)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return rank, sizes[labels]


def _right(model: FittedModel, exclusion: Exclusion, stored: Array, asked: Array) -> Array:
    """(len(asked),) whether these examples are answered as labelled with only those at ``stored``."""
    if model.method.scaling.uses_labels and exclusion.means is not None:  # it was fitted with the labels of those asked
        fewer = refit(model, model.raw[stored], model.labels[stored], model.ids[stored])
    else:
        fewer = model.without(np.setdiff1d(np.arange(len(model)), stored))
    queries = fewer.method.scaling.transform(model.raw[asked].astype(model.working_type, copy=False))
    winner = np.concatenate(pipeline.answer(fewer, queries, lambda evidence: evidence.winner))
    return np.asarray(winner == model.labels[asked])


def refit(model: FittedModel, raw: Array, labels: Array, ids: Array) -> FittedModel:
    """The same method with these examples (n, d), its scaling fitted on them."""
    method = replace(model.method, scaling=model.method.scaling.fit(raw, labels))
    return FittedModel.build(method, raw, model.classes, labels, ids)


def _point(examples: int, right: Array) -> Point:
    mean, n = float(right.mean()), len(right)
    half = 1.645 * np.sqrt((mean * (1 - mean) + 0.25 / n) / n)
    return Point(examples, mean, float(max(0.0, mean - half)), float(min(1.0, mean + half)))


def _steps(ratio: float, halvings: Array) -> Array:
    """What so many halvings cost, in units of the first; of less than none, what is gained, below nought."""
    if ratio == 1.0:
        return halvings
    return np.asarray((ratio**-halvings - 1.0) / (1.0 / ratio - 1.0))


def _luck(error: Any, n: Any) -> Any:
    return LUCK * np.sqrt(np.maximum(error, 0.5 / n) / n)


def _fit_curves(right: Array, halvings: Array, stored: Array, rng: np.random.Generator) -> Array:
    """(DRAWS, 3) of e, g and ρ, from whether examples were right (sizes, B) with ``stored`` (sizes,) examples, all
    first, and how many halvings below the usual number the others of their class were (sizes, B)."""
    y, count = 1.0 - right.mean(axis=1), right.shape[1]
    covariance = np.cov(right) / count
    own = MISFIT * np.maximum(0.0, y - y[1]) + 0.5 / count
    own[0] += FLATTERED * np.sqrt(y[0] * (1.0 - y[0]) / count)
    covariance[np.diag_indices_from(covariance)] += own**2 + _luck(y, stored) ** 2
    inverse = np.linalg.inv(covariance)
    logs, centres, roots = [], [], []
    for ratio in RATIOS:
        design = np.column_stack([np.ones(len(y)), _steps(ratio, halvings).mean(axis=1)])
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
