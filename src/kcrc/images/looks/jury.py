"""The same examples asked of every look, each as if it were not stored: what looks are compared by."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.classifier.estimator import KCRCClassifier
from kcrc.errors import DataError, KCRCError, ParameterError
from kcrc.images.looks.base import Look, PictureKind, Pictures
from kcrc.images.looks.chosen import LookScore
from kcrc.images.looks.expert import Expert, without_themselves
from kcrc.images.looks.fusion import losses
from kcrc.tuning.left_out.sample import class_stays, stratified_by_row

SAMPLE = 1500  # examples that looks are chosen with
ASKED = 1000  # of them are asked
VECTORS = (0.5, 2e-3, 4e-6)  # seconds to choose for vectors alone; for each example; for each number of it
TUNING = 1.0  # times as long for the parameters of all looks together,
LEAST = 0.15  # and no fewer seconds for each


@dataclass(frozen=True, eq=False)
class Task:
    """The examples looks are chosen for, ``labels`` into ``classes``; ``seconds`` is the budget of all of it."""

    pictures: Pictures
    labels: Array
    classes: Array
    groups: Array | None
    kind: PictureKind
    seconds: float
    options: dict[str, Any]
    """Of the classifiers: n_jobs, memory_budget, random_state."""
    told: Callable[[float, str], None]

    def take(self, rows: Array) -> Task:
        """The same of some examples."""
        if len(rows) == len(self.labels):
            return self
        groups = None if self.groups is None else self.groups[rows]
        pictures = [self.pictures[row] for row in rows]
        return Task(pictures, self.labels[rows], self.classes, groups, self.kind, self.seconds, self.options, self.told)

    @property
    def usual(self) -> float:
        """About how many seconds a classifier of the pixels alone takes to choose its parameters."""
        base, each, entry = VECTORS
        height, width = self.kind.size(32)
        n = len(self.labels)
        return min(self.seconds, base + each * n + entry * n * height * width)

    def classifier(self, look: Look, seen: Array, looks: int, *, brief: bool = False) -> KCRCClassifier:
        """A classifier of what a look sees of the examples, tuned in its share of the time among so many looks;
        ``brief``: by a short search."""
        seconds = max(LEAST, TUNING * self.usual / looks)
        made = KCRCClassifier(tuning_seconds=seconds, verbose=False, **self.options, **look.settings)
        fit = made.fit_briefly if brief else made.fit
        return fit(seen, self.classes[self.labels], groups=self.groups)


@dataclass(frozen=True, eq=False)
class LookTrial:
    """An expert, what it saw of the examples, and its answers to those asked: log-probabilities (B, C). ``price`` is
    µs to answer one query, ``seconds`` what the trial took, ``nearest`` an example and what it finds nearest;
    ``left_out`` where copies are asked too: whether it was right about each example asked as if it were not stored."""

    expert: Expert
    seen: Array
    logs: Array
    price: float
    seconds: float
    nearest: tuple[int, int] | None
    left_out: Array | None = None

    @property
    def name(self) -> str:
        return self.expert.look.name

    def doubts(self, truth: Array) -> Array:
        """(B,) −log p of the truth."""
        return losses(self.logs, truth)

    def right(self, truth: Array) -> Array:
        """(B,) whether the answer is the truth."""
        return np.asarray(self.logs.argmax(axis=1) == truth)


@dataclass(frozen=True, eq=False)
class Jury:
    """Some of the examples of a task, at positions ``rows``, of which those at ``asked`` are asked; ``looks``: how many
    looks share the time, which only one alone may use up."""

    task: Task
    rows: Array
    asked: Array
    looks: int

    @classmethod
    def of(cls, task: Task, looks: int) -> Jury:
        rows = sampled(task.labels, SAMPLE)
        some = task.take(rows)
        return cls(some, rows, answerable(some.labels, some.groups)[:ASKED], looks)

    @property
    def truth(self) -> Array:
        """(B,) the class numbers of the examples asked."""
        return self.task.labels[self.asked]

    def trial(self, look: Look) -> LookTrial:
        """A look fitted and asked."""
        begun = time.perf_counter()
        fitted, seen = look.fit_see(self.task.pictures, self.task.labels)
        return self.judged(fitted, seen, begun)

    def judged(self, look: Look, seen: Array, begun: float) -> LookTrial:
        """What a classifier says of the examples asked, by what a fitted look has ``seen`` of all."""
        classifier = self.task.classifier(look, seen, self.looks, brief=self.looks > 1)
        # Without what searches among the examples: of most looks nobody will ask about a query.
        evidence = without_themselves(classifier.examples_, self.asked, self.task.groups)
        expert = Expert.of(look, classifier, evidence, self.truth)
        nearest = int(self.rows[self.asked[0]]), int(self.rows[evidence.rows[0, 0]])
        logs, price = expert.log_probabilities(evidence), price_of(look, len(self.task.labels))
        return LookTrial(expert, seen, logs, price, time.perf_counter() - begun, nearest)


def answerable(labels: Array, groups: Array | None) -> Array:
    """Positions of the examples that have another of their class outside their group, in an order of which every
    beginning holds the classes in their shares."""
    alone = np.arange(len(labels)) if groups is None else groups
    return stratified_by_row(labels, np.arange(len(labels)), seed=0, eligible=class_stays(labels, alone))


def sampled(labels: Array, most: int) -> Array:
    """Positions of at most so many examples, rising: of every class as many as of the others, or all it has, and two of
    each however many classes there are."""
    if len(labels) <= most:
        return np.arange(len(labels))
    mixed = np.random.default_rng(0).permutation(len(labels))
    order = mixed[np.argsort(labels[mixed], kind="stable")]
    first = np.searchsorted(labels[order], labels[order])
    place = np.arange(len(labels)) - first  # the how-manyth of its class
    return np.sort(order[np.argsort(place, kind="stable")[: max(most, 2 * len(np.unique(labels)))]])


def refused(look: Look, reason: KCRCError, n: int) -> LookScore:
    """The line of a look that cannot be made of these examples: the others are tried all the same."""
    return LookScore(look.name, price=price_of(look, n), note=f"not tried: {reason}")


def none_works(reasons: Mapping[str, KCRCError]) -> KCRCError:
    """What to raise where every look fails: each with its reason, or the one reason they all have."""
    if len({str(reason) for reason in reasons.values()}) == 1:
        return next(iter(reasons.values()))
    alike = all(isinstance(reason, ParameterError) for reason in reasons.values())
    told = " ".join(f"{name}: {reason}" for name, reason in reasons.items())
    return (ParameterError if alike else DataError)(f"None of the {len(reasons)} looks works for these images. {told}")


def price_of(look: Look, n: int) -> float:
    """µs to answer one query."""
    return 1e6 * look.price.of(n) / n - look.price.learning / n
