"""Several looks that answer together: each member has a classifier of its own, and their probabilities are multiplied.

    p(c | query) ∝ Π_m p_m(c | query)^{w_m}

with p_m the calibrated probabilities of member m. The weights have the least mean log-loss over left-out examples,
pulled towards equal ones. Combined answers are ``Evidence`` like any other, decision "fusion": the residual of a class
is −log p, and the share of a stored example is the weighted mean of its shares in the members' answers for the combined
winner against the combined runner-up. ``contributions`` are such that these are the ``shares``; distances are in units
of what is usual for each look, the mean over the looks that had the example among their neighbours.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.few_examples import FEWEST
from kcrc.classifier.confidence_methods import Groups
from kcrc.classifier.estimator import KCRCClassifier
from kcrc.confidence.calibration import STRANGERS, Calibration, Confidence
from kcrc.images.looks.base import Look, Pictures
from kcrc.images.looks.join import vectors_of_looks
from kcrc.method.evidence import (
    CODED,
    FAR,
    NEAREST,
    UNANIMOUS,
    Evidence,
    join_evidence,
    log_distance,
    open_set_features,
    shares,
)
from kcrc.method.fitted_model import FittedModel
from kcrc.tuning.left_out.answers import TRIALS, LeftOut, answers_without
from kcrc.tuning.left_out.exclusion import Exclusion
from kcrc.tuning.left_out.sample import class_stays, resolve_groups, stratified_by_row

T = TypeVar("T")
CHUNK = 256  # pictures whose vectors are held at once
MOST_LEFT_OUT = 1000  # examples that are left out to compare and calibrate looks
PULL = 0.02  # of the weights towards equal ones, beside the mean log-loss
LARGEST_WEIGHT = 3.0

# One member ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Member:
    """A look with a classifier of its own.

    ``weight`` is its exponent in the product; ``calibration`` turns its residuals into probabilities; ``reach`` is the
    usual distance to the nearest example, the unit in which its distances are compared with those of other looks.
    """

    look: Look
    classifier: KCRCClassifier
    calibration: Calibration
    reach: float = 1.0
    weight: float = 1.0

    @classmethod
    def from_evidence(cls, look: Look, classifier: KCRCClassifier, evidence: Evidence | None, truth: Array) -> Member:
        """Return a member calibrated on the evidence of left-out examples and their class numbers.

        With None, or no left-out example, it has the usual calibration.
        """
        if evidence is None or not len(evidence):
            return cls(look, classifier, Calibration())
        features = open_set_features(evidence)
        far = features[:, FAR] if _orders_by_distance(classifier) else None
        # Members are weighed by what is known of them; how little that may be counts once, for their product.
        calibration = replace(Calibration.fit(evidence.residuals, truth, far), unseen=0.0)
        nearest = features[:, 0][np.isfinite(features[:, 0])]
        reach = float(np.exp(np.median(nearest))) if len(nearest) else 1.0
        return cls(look, classifier, calibration, reach if np.isfinite(reach) and reach > 0 else 1.0)

    def read(self, vectors: Array, read: Callable[[Evidence], T], *, explain: bool, code_all: bool = False) -> list[T]:
        """Return ``read(evidence)`` of each chunk of the look's vectors, in order."""
        answerer = self.classifier.answerer_
        return answerer.read(answerer.samples.rows(vectors), read, explain=explain, code_all=code_all)

    def evidence(self, vectors: Array, *, code_all: bool = False) -> Evidence:
        """Return the evidence of the look's vectors of some pictures."""
        return join_evidence(self.read(vectors, lambda evidence: evidence, explain=True, code_all=code_all))

    def log_probabilities(self, evidence: Evidence) -> Array:
        """Return log-probabilities (B, C) of the classifier's answers."""
        uses_distance = _orders_by_distance(self.classifier) and self.calibration.familiarity.slope > 0
        far = log_distance(evidence) if uses_distance else None
        return np.asarray(np.log(np.maximum(self.calibration.probabilities(evidence.residuals, far), 1e-12)))


def _orders_by_distance(classifier: KCRCClassifier) -> bool:
    """Whether answers depend on which examples are near; those of a global dictionary do not."""
    return classifier.examples_.method.n_neighbors is not None


def leave_one_out_order(labels: Array, groups: Array | str | None) -> Array:
    """Return the positions of the examples that can be left out: another of their class is outside their group.

    Every beginning of the order holds the classes in their proportions.
    """
    own_group = np.arange(len(labels)) if groups is None or isinstance(groups, str) else groups
    return stratified_by_row(labels, np.arange(len(labels)), seed=0, eligible=class_stays(labels, own_group))


def left_out_evidence(
    model: FittedModel, positions: Array, groups: Array | str | None, *, without_classes: bool = False
) -> Evidence:
    """Return the evidence of stored examples at ``positions``, each with itself and its group left out.

    ``without_classes`` leaves out all examples of its class as well, so that it is a stranger to the model.
    """
    exclusion = Exclusion.of(model, resolve_groups(groups, model.raw, model.labels))
    if without_classes:
        exclusion = exclusion.with_groups(model, model.labels)
    return join_evidence(answers_without(model, exclusion, positions, lambda evidence, positions: evidence))


# The product of probabilities ---------------------------------------------------------------------------------------


def combine_log_probabilities(logs: Sequence[Array], weights: Sequence[float] | Array) -> Array:
    """Return the log-probabilities (B, C) of the weighted product, normalised."""
    total = np.zeros_like(logs[0])
    for log, weight in zip(logs, weights, strict=True):
        total += weight * log
    largest = total.max(axis=1, keepdims=True)
    return np.asarray(total - largest - np.log(np.exp(total - largest).sum(axis=1, keepdims=True)))


def log_losses(logs: Array, truth: Array) -> Array:
    """Return −log p of the true class for each answer (B,)."""
    return np.asarray(-logs[np.arange(len(truth)), truth])


def learn_weights(logs: Sequence[Array], truth: Array) -> Array:
    """Return the weights (m,) with the least mean log-loss, pulled towards equal ones."""
    from scipy.optimize import minimize

    count, rows = len(logs), np.arange(len(truth))
    stack = np.stack(logs)
    true = stack[:, rows, truth]  # (m, B)

    def loss_and_slope(weights: Array) -> tuple[float, Array]:
        combined = combine_log_probabilities(logs, weights)
        slope = ((np.exp(combined)[None] * stack).sum(axis=2) - true).mean(axis=1)
        difference = weights - 1.0 / count
        loss = float(-combined[rows, truth].mean() + PULL * (difference @ difference))
        return loss, slope + 2.0 * PULL * difference

    start = np.full(count, 1.0 / count)
    bounds = [(0.0, LARGEST_WEIGHT)] * count
    return np.asarray(minimize(loss_and_slope, start, jac=True, method="L-BFGS-B", bounds=bounds).x)


def combine_evidence(members: Sequence[Member], parts: Sequence[Evidence], *, explain: bool) -> Evidence:
    """Return the evidence of one batch from that of each member; without ``explain`` it names no examples."""
    weights = [member.weight for member in members]
    logs = combine_log_probabilities(
        [m.log_probabilities(part) for m, part in zip(members, parts, strict=True)], weights
    )
    residuals = np.maximum(-logs, 0.0)
    batch, winner = len(logs), residuals.argmin(axis=1)
    all_nearest = np.all([part.how == NEAREST for part in parts], axis=0)
    all_unanimous = np.all([(part.how == UNANIMOUS) & (part.winner == winner) for part in parts], axis=0)
    bare = Evidence(
        classes=parts[0].classes, decision="fusion", winner=winner, residuals=residuals, energy=np.ones(batch),
        rows=np.full((batch, 1), -1, np.intp), distances=np.full((batch, 1), np.inf),
        neighbour_labels=np.full((batch, 1), -1, np.intp), coefficients=np.zeros((batch, 1)),
        contributions=np.zeros((batch, 1)),
        how=np.where(all_nearest, NEAREST, np.where(all_unanimous, UNANIMOUS, CODED)),
        converged=np.all([part.converged for part in parts], axis=0),
        n_iter=np.max([part.n_iter for part in parts], axis=0),
    )  # fmt: skip
    return _with_examples(bare, members, parts) if explain else bare


def _with_examples(bare: Evidence, members: Sequence[Member], parts: Sequence[Evidence]) -> Evidence:
    """Add every example that had a part in a member's answer, once each, the nearest first."""
    total = sum(member.weight for member in members)
    rival = bare.runner_up
    pairs = list(zip(members, parts, strict=True))
    rows = np.concatenate([part.rows for part in parts], axis=1)
    labels = np.concatenate([part.neighbour_labels for part in parts], axis=1)
    near = np.concatenate([np.asarray(part.distances) / member.reach for member, part in pairs], axis=1)
    code = np.concatenate([part.coefficients * (member.weight / total) for member, part in pairs], axis=1)
    share = np.concatenate([_shares(part, bare.winner, rival) * (m.weight / total) for m, part in pairs], axis=1)
    heavy = np.concatenate([np.full(part.rows.shape, member.weight) for member, part in pairs], axis=1)

    # Put the columns of the same example side by side, padding first, and number the examples within each row.
    order = np.argsort(rows, axis=1, kind="stable")
    rows, labels, near, code, share, heavy = (
        np.take_along_axis(values, order, axis=1) for values in (rows, labels, near, code, share, heavy)
    )
    is_new = np.ones(rows.shape, bool)
    is_new[:, 1:] = rows[:, 1:] != rows[:, :-1]
    target = (np.arange(len(rows))[:, None], np.cumsum(is_new, axis=1) - 1)
    real = rows >= 0

    def sum_by_example(values: Array) -> Array:
        out = np.zeros(rows.shape)
        np.add.at(out, target, np.where(real, values, 0.0))
        return out

    weight = sum_by_example(heavy)
    merged_rows = np.full(rows.shape, -1, rows.dtype)
    merged_labels = np.full(rows.shape, -1, labels.dtype)
    merged_rows[target], merged_labels[target] = rows, labels
    distances = np.divide(
        sum_by_example(heavy * np.where(real, near, 0.0)), weight, out=np.full(rows.shape, np.inf), where=weight > 0
    )
    nearest = np.argsort(distances, axis=1, kind="stable")[:, : int((weight > 0).sum(axis=1).max(initial=1))]
    merged = [
        np.take_along_axis(values, nearest, axis=1)
        for values in (merged_rows, distances, merged_labels, sum_by_example(code), sum_by_example(share))
    ]
    of_rival = (merged[2] == rival[:, None]) & (rival != bare.winner)[:, None]
    return replace(
        bare, rows=merged[0], distances=merged[1], neighbour_labels=merged[2], coefficients=merged[3],
        contributions=np.where(of_rival, -merged[4], merged[4]),
    )  # fmt: skip


def _shares(part: Evidence, winner: Array, rival: Array) -> Array:
    """Return the shares (B, K) in one member's answer for ``winner`` against ``rival``, 0 for other classes."""
    of_either = (part.neighbour_labels == winner[:, None]) | (part.neighbour_labels == rival[:, None])
    values = shares(replace(part, winner=winner), rival, nearest=np.zeros(len(winner), bool))
    return np.where(of_either & (part.rows >= 0), values, 0.0)


# All members --------------------------------------------------------------------------------------------------------


class _Once:
    """The confidence of one ensemble, learned when it is first needed, by one thread."""

    def __init__(self) -> None:
        self.learned: Confidence | None = None
        self._lock = threading.Lock()

    def get(self, learn: Callable[[], Confidence]) -> Confidence:
        with self._lock:
            if self.learned is None:
                self.learned = learn()
        return self.learned

    def __getstate__(self) -> dict[str, Any]:
        return {"learned": self.learned}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.learned = state["learned"]
        self._lock = threading.Lock()


@dataclass(frozen=True, eq=False)
class Ensemble:
    """``members``, the heaviest first, with the same examples under the same row numbers."""

    members: tuple[Member, ...]
    groups: Groups | str | None = None
    cached_confidence: _Once = field(default_factory=_Once)

    @classmethod
    def of(cls, members: Sequence[Member], groups: Any) -> Ensemble:
        """Return the ensemble of members just fitted; ``groups`` (n,) are examples that belong together, "auto" or
        None."""
        return cls(tuple(members), Groups.of(members[0].classifier.examples_.ids, groups))

    @property
    def leader(self) -> KCRCClassifier:
        """The classifier of the look with the most weight."""
        return self.members[0].classifier

    @property
    def is_single(self) -> bool:
        return len(self.members) == 1

    def read(
        self, pictures: Pictures, read: Callable[[Evidence], T], *, explain: bool = False, code_all: bool = False
    ) -> list[T]:
        """Return ``read(evidence)`` of each chunk of pictures, in order."""
        results: list[T] = []
        for start in range(0, len(pictures), CHUNK):
            vectors = self.vectors(pictures[start : start + CHUNK])
            if self.is_single:
                results += self.members[0].read(vectors[0], read, explain=explain, code_all=code_all)
                continue
            parts = [m.evidence(mine, code_all=code_all) for m, mine in zip(self.members, vectors, strict=True)]
            results.append(read(combine_evidence(self.members, parts, explain=explain)))
        return results

    def what_if(self, pictures: Pictures, *, without: Any, relabelled: Mapping[int, Any] | None) -> Evidence:
        """Return the evidence as it would be without some examples, by row number, and with other labels of some."""
        results = []
        for start in range(0, len(pictures), CHUNK):
            vectors = self.vectors(pictures[start : start + CHUNK])
            parts = [
                member.classifier.what_if(mine, without=without, relabelled=relabelled)
                for member, mine in zip(self.members, vectors, strict=True)
            ]
            results.append(parts[0] if self.is_single else combine_evidence(self.members, parts, explain=True))
        return join_evidence(results)

    def confidence(self) -> Confidence:
        """Return how sure the answers are, learned from left-out examples when first needed."""
        return self.leader.confidence_ if self.is_single else self.cached_confidence.get(self._learn_confidence)

    def _learn_confidence(self) -> Confidence:
        model = self.leader.examples_
        groups = self._groups_of(model)
        exclusion = Exclusion.of(model, resolve_groups(groups, model.raw, model.labels))
        group_numbers = exclusion.groups_of(model)
        eligible = np.bincount(group_numbers)[group_numbers] < len(model)
        order = stratified_by_row(model.labels, model.ids, seed=0, eligible=eligible)[:TRIALS]
        if len(order) < FEWEST:
            bare = Confidence(exclusion, Calibration(temperature=1.0, power=1), None, None, None)
            return replace(bare, groups=None if isinstance(groups, str) else groups)
        strangers = None
        if len(np.unique(model.labels)) > 2:
            strangers = self._left_out(order[:STRANGERS], groups, without_classes=True)
        confidence = Confidence.from_answers(exclusion, self._left_out(order, groups), strangers, model.classes)
        named = None if isinstance(groups, str) else groups
        return replace(confidence, groups=named, revision=self.leader.growth_.changed)

    def _groups_of(self, model: FittedModel) -> Array | str | None:
        """Return the groups (n,) of the examples of ``model`` where they were given."""
        return self.groups.among(model.ids) if isinstance(self.groups, Groups) else self.groups

    def _left_out(self, order: Array, groups: Array | str | None, *, without_classes: bool = False) -> LeftOut:
        """Return the combined answers to the examples at ``order``, each left out."""
        models = [member.classifier.answerer_.model for member in self.members]
        parts = [left_out_evidence(model, order, groups, without_classes=without_classes) for model in models]
        evidence = combine_evidence(self.members, parts, explain=True)
        model = self.leader.examples_
        return LeftOut(
            rows=model.ids[order], truth=model.labels[order], winner=evidence.winner, residuals=evidence.residuals,
            how=evidence.how, signs=open_set_features(evidence), reach=np.full(len(order), np.inf),
        )  # fmt: skip

    def change(self, change: Callable[[int, KCRCClassifier], Any]) -> Ensemble:
        """Return the ensemble after ``change(number, classifier)`` of a copy of each classifier."""
        members = []
        for number, member in enumerate(self.members):
            classifier = copy.copy(member.classifier)
            change(number, classifier)
            members.append(replace(member, classifier=classifier))
        return replace(self, members=tuple(members), cached_confidence=_Once())

    def retune(self) -> Ensemble:
        """Return the ensemble with the parameters chosen again and each member calibrated again."""
        model = self.leader.examples_
        groups = self._groups_of(model)
        changed = self.change(lambda number, classifier: classifier.retune(groups=groups))
        order = leave_one_out_order(model.labels, groups)[:MOST_LEFT_OUT]
        if len(order) < FEWEST:
            return changed
        members = []
        for member in changed.members:
            evidence = left_out_evidence(member.classifier.answerer_.model, order, groups)
            calibrated = Member.from_evidence(member.look, member.classifier, evidence, model.labels[order])
            members.append(replace(calibrated, weight=member.weight))
        return replace(changed, members=tuple(members))

    def vectors(self, pictures: Pictures, *, stored: bool = False) -> list[Array]:
        """Return the vectors (n, …) of each member's look, of queries or as ``stored`` of examples."""
        return vectors_of_looks([member.look for member in self.members], pictures, stored=stored)
