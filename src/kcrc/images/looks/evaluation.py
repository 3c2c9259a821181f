"""Compare looks by leave-one-out: every look classifies the same examples, each with itself left out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.classifier.estimator import KCRCClassifier, fit_briefly
from kcrc.errors import DataError, KCRCError, ParameterError
from kcrc.images.looks.base import Look, PictureKind, Pictures
from kcrc.images.looks.choice import LookScore
from kcrc.images.looks.ensemble import MOST_LEFT_OUT, Member, leave_one_out_order, left_out_evidence, log_losses

MOST_EXAMPLES = 1500  # that looks are chosen with
# Estimated seconds to tune a classifier of vectors: for any, for each example, for each number of an example.
TUNING_BASE, TUNING_EXAMPLE, TUNING_NUMBER = 0.5, 2e-3, 4e-6
LEAST_TUNING = 0.15  # seconds for one look, however many share the time


@dataclass(frozen=True, eq=False)
class Task:
    """The examples that looks are chosen for: ``labels`` are numbers into ``classes``.

    ``seconds`` is the budget of the whole choice, ``options`` are those of the classifiers (n_jobs, memory_budget,
    random_state), and ``report(share, text)`` shows progress.
    """

    pictures: Pictures
    labels: Array
    classes: Array
    groups: Array | str | None
    kind: PictureKind
    seconds: float
    options: dict[str, Any]
    report: Callable[[float, str], None]

    def take(self, rows: Array) -> Task:
        """Return the same task for some of the examples."""
        if len(rows) == len(self.labels):
            return self
        groups = self.groups[rows] if isinstance(self.groups, np.ndarray) else self.groups
        return replace(self, pictures=[self.pictures[row] for row in rows], labels=self.labels[rows], groups=groups)

    @property
    def tuning_seconds(self) -> float:
        """Estimated seconds to tune a classifier of the pixels alone."""
        height, width = self.kind.size(32)
        n = len(self.labels)
        return min(self.seconds, TUNING_BASE + TUNING_EXAMPLE * n + TUNING_NUMBER * n * height * width)

    def fit_classifier(self, look: Look, vectors: Array, looks: int, *, brief: bool = False) -> KCRCClassifier:
        """Fit a classifier to a look's vectors, tuned in its share of the time among so many looks.

        ``brief`` searches fewer parameters.
        """
        seconds = max(LEAST_TUNING, self.tuning_seconds / looks)
        classifier = KCRCClassifier(tuning_seconds=seconds, verbose=False, **self.options, **look.settings)
        y = self.classes[self.labels]
        if brief:
            return fit_briefly(classifier, vectors, y, groups=self.groups)
        return classifier.fit(vectors, y, groups=self.groups)


@dataclass(frozen=True, eq=False)
class LookResult:
    """What one look made of the left-out examples, or of augmented copies.

    Attributes
    ----------
    member : Member
        The look with its classifier, calibrated on these answers.
    vectors : ndarray of shape (n, …)
        What the look stores of the examples.
    logs : ndarray of shape (B, C)
        The log-probabilities of its answers.
    price : float
        µs to answer one query.
    seconds : float
        How long the evaluation took.
    nearest : tuple of (int, int), or None
        The numbers of an example and of the one it finds nearest to it.
    left_out_correct : ndarray of bool, or None
        With augmented copies: whether each example that could be left out is classified correctly.
    """

    member: Member
    vectors: Array
    logs: Array
    price: float
    seconds: float
    nearest: tuple[int, int] | None
    left_out_correct: Array | None = None

    @property
    def name(self) -> str:
        return self.member.look.name

    def losses(self, truth: Array) -> Array:
        """Return −log p of the true class for each answer (B,)."""
        return log_losses(self.logs, truth)

    def correct(self, truth: Array) -> Array:
        """Return whether each answer is the true class (B,)."""
        return np.asarray(self.logs.argmax(axis=1) == truth)


@dataclass(frozen=True, eq=False)
class Evaluator:
    """Some examples of a task, at positions ``rows``; those at ``left_out`` are classified with themselves left out.

    ``looks`` share the time for tuning. A look that is alone is tuned in full.
    """

    task: Task
    rows: Array
    left_out: Array
    looks: int

    @classmethod
    def of(cls, task: Task, looks: int) -> Evaluator:
        rows = balanced_sample(task.labels, MOST_EXAMPLES)
        sample = task.take(rows)
        return cls(sample, rows, leave_one_out_order(sample.labels, sample.groups)[:MOST_LEFT_OUT], looks)

    @property
    def truth(self) -> Array:
        """The class numbers (B,) of the left-out examples."""
        return self.task.labels[self.left_out]

    def evaluate(self, look: Look) -> LookResult:
        """Fit a look and classify the left-out examples by it."""
        begun = time.perf_counter()
        fitted, vectors = look.fit_see(self.task.pictures, self.task.labels)
        return self.evaluate_vectors(fitted, vectors, begun)

    def evaluate_vectors(self, look: Look, vectors: Array, begun: float) -> LookResult:
        """Classify the left-out examples by a fitted look, given its vectors of all examples."""
        classifier = self.task.fit_classifier(look, vectors, self.looks, brief=self.looks > 1)
        # `examples_` has no search index: most looks will never be given a query.
        evidence = left_out_evidence(classifier.examples_, self.left_out, self.task.groups)
        member = Member.from_evidence(look, classifier, evidence, self.truth)
        nearest = int(self.rows[self.left_out[0]]), int(self.rows[evidence.rows[0, 0]])
        logs, price = member.log_probabilities(evidence), query_price(look, len(self.task.labels))
        return LookResult(member, vectors, logs, price, time.perf_counter() - begun, nearest)


def balanced_sample(labels: Array, most: int) -> Array:
    """Return sorted positions of at most ``most`` examples, as equal numbers of each class as there are.

    Each class has two, however many classes there are.
    """
    if len(labels) <= most:
        return np.arange(len(labels))
    shuffled = np.random.default_rng(0).permutation(len(labels))
    order = shuffled[np.argsort(labels[shuffled], kind="stable")]
    first = np.searchsorted(labels[order], labels[order])
    rank_in_class = np.arange(len(labels)) - first
    return np.sort(order[np.argsort(rank_in_class, kind="stable")[: max(most, 2 * len(np.unique(labels)))]])


def failed_score(look: Look, reason: KCRCError, n: int) -> LookScore:
    """Return the line of a look that cannot be fitted to these examples; the others are tried all the same."""
    return LookScore(look.name, price=query_price(look, n), note=f"not tried: {reason}")


def no_look_works(reasons: Mapping[str, KCRCError]) -> KCRCError:
    """Return the error to raise if every look fails: each with its reason, or the one reason they all have."""
    if len({str(reason) for reason in reasons.values()}) == 1:
        return next(iter(reasons.values()))
    all_parameters = all(isinstance(reason, ParameterError) for reason in reasons.values())
    text = " ".join(f"{name}: {reason}" for name, reason in reasons.items())
    error = ParameterError if all_parameters else DataError
    return error(f"None of the {len(reasons)} looks works for these images. {text}")


def query_price(look: Look, n: int) -> float:
    """Return the µs that one query costs among n examples."""
    return 1e6 * look.price.total(n) / n - look.price.learning / n
