"""What would change its mind? The smallest sets of examples without which the answer would be another.

One example and pairs of examples are all tried, where the dictionary is the K nearest: the query's neighbours are
looked up once, with as many more as can step in, and the K × K problems of all trials are solved together. Beyond
pairs, and for dictionaries that depend on all examples, examples are taken away greedily, each time the one without
which the answer's share falls most; that finds a set, which need not be the smallest.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.confidence.answerer import Answerer
from kcrc.confidence.answers import answers_of
from kcrc.method import pipeline
from kcrc.method.evidence import Evidence
from kcrc.method.fitted_model import FittedModel
from kcrc.method.neighbours.base import Neighbourhood
from kcrc.method.preparation import Samples
from kcrc.method.without import by_the_nearest, evidence_without

MOST = 16  # examples of a set
POINTS = 3  # sets that are named
WORK = 1.5e9  # multiplications of all pairs together: about a second
TOGETHER = 2e7  # numbers that the problems of a batch may hold
SLOW = 12  # trials a step, where each takes a model of its own
SECONDS = 3.0  # that are spent on looking for a larger set


@dataclass(frozen=True)
class TurningPoint:
    """A set of examples without which the answer would be another.

    Attributes
    ----------
    without : tuple of int
        Their row numbers.
    label : object
        The answer without them.
    probability : float or None
        How likely that answer is right; None where it is not known.
    """

    without: tuple[int, ...]
    label: Any
    probability: float | None


@dataclass(frozen=True)
class Turning:
    """What would change the answer to one query: the smallest sets that were found.

    Attributes
    ----------
    points : tuple of TurningPoint
        Up to three sets, all of the same size; none where no small set was found.
    exact : bool
        Whether there is no smaller set: one example and pairs are all tried, larger sets are not.
    sentence : str
        The same in plain words.
    """

    points: tuple[TurningPoint, ...]
    exact: bool

    @property
    def sentence(self) -> str:
        """The same in plain words."""
        if not self.points:
            return "No small set of examples was found without which the answer would be another."
        size = len(self.points[0].without)
        if size == 1:
            return "Without this one example the answer would be another."
        if self.exact:
            return "No single example decides it: without these two the answer would be another."
        return f"Without these {size} the answer would be another; a smaller set may do, for not all were tried."


def turning_points(answerer: Answerer, vector: Any) -> Turning:
    """For one query (d,)."""
    queries = answerer.scale_queries(answerer.samples.rows(vector))
    evidence = pipeline.classify(answerer.model, queries, code_all=True)
    trials = _Trials.of(answerer.model, queries)
    if trials is not None:
        near = trials.nearest(evidence)
        for sets in ([(one,) for one in near], _pairs(trials, near)):
            found = trials.that_turn(sets, evidence)
            if found:
                return Turning(_describe(answerer, queries, found[:POINTS]), exact=True)
    taken = _greedy(answerer, queries, evidence, trials)
    return Turning(_describe(answerer, queries, [taken] if taken else []), exact=False)


def tipping(answerer: Answerer, vector: Any, evidence: Evidence) -> int | None:
    """The row number of an example without which alone the answer to the query (d,) would be another, of several the
    strongest; None where there is none, or where the dictionary depends on all examples and each would take a while."""
    queries = answerer.scale_queries(answerer.samples.rows(vector))
    trials = _Trials.of(answerer.model, queries)
    found = None if trials is None else trials.that_turn([(one,) for one in trials.nearest(evidence)], evidence)
    return found[0][0] if found else None


@dataclass(frozen=True, eq=False)
class _Trials:
    """One query (1, d) and its nearest examples, more than a dictionary takes; positions, not row numbers."""

    model: FittedModel
    queries: Array
    near: Neighbourhood
    width: int

    @classmethod
    def of(cls, model: FittedModel, queries: Array) -> _Trials | None:
        """None where the dictionary is not the K nearest by themselves."""
        method, index = model.method, model.index
        if index is None or method.n_neighbors is None or not by_the_nearest(model):
            return None
        found = index.query(Samples(queries).of(method.distance), min(method.n_neighbors + MOST, len(model)))
        return cls(model, queries, found, min(method.n_neighbors, len(model)))

    def nearest(self, evidence: Evidence) -> list[int]:
        """The row numbers of the dictionary, the largest shares first."""
        order = np.argsort(-np.abs(evidence.shares[0]), kind="stable")
        return [int(row) for row in evidence.rows[0, order] if row >= 0]

    def that_turn(self, sets: Iterable[Sequence[int]], evidence: Evidence) -> list[tuple[int, ...]]:
        """Those of the sets, all of one size, without which another class wins; in their order."""
        found: list[tuple[int, ...]] = []
        sets = (one for one in sets if len(one) < len(self.model))  # somebody has to be left to answer
        step = max(1, int(TOGETHER / (self.width**2 + self.queries.shape[1])))
        for some in _batches(sets, step):
            winner = self.evidence_without(some).winner
            found += [tuple(one) for one, at in zip(some, winner, strict=True) if at != evidence.winner[0]]
            if len(found) >= POINTS:
                break
        return found

    def evidence_without(self, sets: Sequence[Sequence[int]]) -> Evidence:
        """The evidence without each of the sets, all of one size."""
        width = min(self.width, self.near.rows.shape[1] - len(sets[0]))
        rows = self.model.ids[self.near.rows[0]]
        gone = np.array([np.isin(rows, one) for one in sets])
        first = np.argsort(gone, axis=1, kind="stable")[:, :width]
        near = Neighbourhood(self.near.rows[0][first], self.near.distances[0][first])
        samples = Samples(np.ascontiguousarray(np.repeat(self.queries, len(sets), axis=0)))
        return pipeline.among(self.model, samples, near, code_all=False)


def _batches(items: Iterable[Sequence[int]], size: int) -> Iterable[tuple[Sequence[int], ...]]:
    rest = iter(items)
    while some := tuple(itertools.islice(rest, size)):
        yield some


def _pairs(trials: _Trials, near: list[int]) -> Iterable[tuple[int, int]]:
    """All pairs of which one at least is in the dictionary, the other there or the first to step in; none where they
    are too many to be tried."""
    steps_in = [int(row) for row in trials.model.ids[trials.near.rows[0, trials.width : trials.width + 1]]]
    count = len(near) * (len(near) + 1) / 2
    if count * trials.width**3 / 3 > WORK:
        return []
    return itertools.chain(itertools.combinations(near, 2), ((one, other) for one in near for other in steps_in))


def _greedy(answerer: Answerer, queries: Array, evidence: Evidence, trials: _Trials | None) -> tuple[int, ...]:
    """A set, found one by one; empty where none of MOST examples is found in the time there is."""
    answer, taken = evidence.labels[0], tuple[int, ...]()
    now, until = evidence, time.monotonic() + SECONDS
    while time.monotonic() < until and len(taken) < min(MOST, len(answerer.model) - 1):
        share = now.shares[0]
        order = [int(now.rows[0, j]) for j in np.argsort(-share, kind="stable") if share[j] > 0 and now.rows[0, j] >= 0]
        if not order:
            return ()
        taken = (*taken, _best(answerer, queries, answer, taken, order, trials))
        now = evidence_without(answerer.model, queries, list(taken))
        if now.labels[0] != answer:
            return taken
    return ()


def _best(
    answerer: Answerer, queries: Array, answer: Any, taken: tuple[int, ...], order: list[int], trials: _Trials | None
) -> int:
    """The next to take away: that without which the answer is nearest to turning."""
    if trials is None:
        some = order[:SLOW]
        parts = [evidence_without(answerer.model, queries, [*taken, one]) for one in some]
        lead = [_lead(part, answer) for part in parts]
    else:
        some = order
        asked = trials.evidence_without([(*taken, one) for one in some])
        lead = [_lead(one, answer) for one in asked]
    return some[int(np.argmin(lead))]


def _lead(evidence: Evidence, answer: Any) -> float:
    """How far the answer is ahead in one query's evidence: the smallest residual of the others over its own, in
    logarithms; below 0 where another wins."""
    mine = evidence.classes == answer
    own, others = evidence.residuals[0, mine], evidence.residuals[0, ~mine]
    if not own.size or not np.isfinite(own[0]):
        return -np.inf
    best = others.min(initial=np.inf)
    return float(np.log(max(best, 1e-300)) - np.log(max(own[0], 1e-300))) if np.isfinite(best) else np.inf


def _describe(answerer: Answerer, queries: Array, sets: Sequence[tuple[int, ...]]) -> tuple[TurningPoint, ...]:
    points = []
    for one in sets:
        answers = answers_of(answerer.confidence, evidence_without(answerer.model, queries, list(one)))
        chance = float(answers.probability[0])
        points.append(TurningPoint(one, answers.evidence.labels.tolist()[0], None if np.isnan(chance) else chance))
    return tuple(points)
