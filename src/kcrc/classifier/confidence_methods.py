"""What a classifier that keeps its examples can say beyond a label: how sure, none of these, which classes, and which
of its examples look wrong.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kcrc._base.arrays import Array, in_precision_of
from kcrc._base.progress import share_bar
from kcrc.classifier.transactions import Transactional
from kcrc.confidence.answers import (
    labels_or_unknown,
    members_of,
    probabilities_of,
    reasons_of,
    strangeness_of,
    unreliable,
)
from kcrc.confidence.calibration import Confidence
from kcrc.method.evidence import leading
from kcrc.method.fitted_model import FittedModel
from kcrc.tuning.left_out.sample import AUTO
from kcrc.updates.pending import PendingUpdates, learns_from_all

if TYPE_CHECKING:
    from kcrc.confidence.advice import Advice
    from kcrc.confidence.audit import Audit
    from kcrc.confidence.comparison import PairedComparison
    from kcrc.confidence.likeness import Likeness
    from kcrc.method.evidence import Evidence


class ConfidenceMethods(Transactional):
    """Methods that need to know how the examples themselves are answered when left out: ``confidence_``."""

    model_: FittedModel
    classes_: Array
    confidence_: Confidence
    verbose: bool | None
    _read: Callable[..., list[Any]]
    _side_by_side: Callable[[Any], Any]

    @property
    def _learning_model(self) -> FittedModel:
        """The model of the examples that the confidence is learned from: all, or a sample of very many."""
        return self.model_

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class, calibrated on the examples.

        The classes rank as in ``decision_function``. With fewer than 8 examples it is not calibrated.

        Parameters
        ----------
        X : array of shape (n, …), or views
            The queries.

        Returns
        -------
        ndarray of shape (n, classes)
            Columns as in ``classes_``; rows add up to 1.

        Examples
        --------
        >>> clf.predict_proba(X_new[:3]).shape
        (3, 10)
        """
        now = self._snapshot()

        def read(evidence: Evidence) -> Array:
            return leading(in_precision_of(X, probabilities_of(now.confidence_, evidence)), evidence.winner)

        return np.concatenate(now._read(X, read))

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithm of the probability of each class.

        Parameters
        ----------
        X : array of shape (n, …), or views
            The queries.

        Returns
        -------
        ndarray of shape (n, classes)
            Columns as in ``classes_``; −inf where the probability is 0. In double precision, whatever X is:
            probabilities that differ would else have equal logarithms.

        Examples
        --------
        >>> clf.predict_log_proba(X_new[:3]).shape
        (3, 10)
        """
        with np.errstate(divide="ignore"):  # the logarithm of 0 is meant
            return np.log(self.predict_proba(X), dtype=np.float64)

    def unknown_score(self, X: Any) -> Array:
        """How unlike the stored classes each query is; ``predict(X, reject=...)`` applies a threshold to it.

        Parameters
        ----------
        X : array of shape (n, …), or views
            The queries.

        Returns
        -------
        ndarray of shape (n,)
            Higher is stranger.

        Raises
        ------
        StateError
            Where there are too few examples to learn it from.

        Examples
        --------
        >>> clf.unknown_score(X_new).shape == (len(X_new),)
        True
        """
        check_is_fitted(self)
        now = self._snapshot()
        now.confidence_.needed_open_set()  # an error comes before a long batch, not in it
        parts = now._read(X, lambda evidence: strangeness_of(now.confidence_, evidence), explain=True)
        return in_precision_of(X, np.concatenate(parts))

    def why_unknown(self, X: Any, *, reject: float | None = None) -> list[str | None]:
        """Why each query is unknown, in words.

        Parameters
        ----------
        X : array of shape (n, …), or views
            The queries.
        reject : float or None, default=None
            As in ``predict``. None gives reasons only where any answer would be meaningless: there is one class, or the
            query has nothing in common with any example.

        Returns
        -------
        list of str or None
            A reason for each query that ``predict`` with this ``reject`` calls unknown; None for the others.

        Raises
        ------
        StateError
            Where there are too few examples to learn it from.

        Examples
        --------
        >>> clf.why_unknown(X_new[:2] * 0 - 50, reject=0.05)[0]  # resembles no digit
        'it resembles no class: ...'
        """
        check_is_fitted(self)
        now = self._snapshot()
        # An error comes before a long batch, not in it.
        threshold = None if reject is None else now.confidence_.needed_open_set().threshold(reject)

        def read(evidence: Evidence) -> tuple[str | None, ...]:
            if threshold is None:
                return unreliable(evidence)
            return reasons_of(now.confidence_, evidence, strangeness_of(now.confidence_, evidence) > threshold)

        return [why for part in now._read(X, read, explain=True) for why in part]

    def _predict_or_reject(self, X: Any, reject: float, unknown: Any) -> Array:
        check_is_fitted(self)
        now = self._snapshot()
        now.confidence_.needed_open_set().threshold(reject)  # an error comes before a long batch, not in it

        def read(evidence: Evidence) -> Array:
            return labels_or_unknown(now.confidence_, evidence, reject=reject, unknown=unknown)[0]

        return np.concatenate(now._read(X, read, explain=True))

    def predict_set(
        self, X: Any, *, coverage: float = 0.95, class_conditional: bool = False, allow_empty: bool = True
    ) -> Array:
        """The set of classes that each query may belong to.

        The true class is in the set for a share ``coverage`` of the queries, as long as they are like the examples. If
        answers are right more often than ``coverage``, some sets are empty: there, no class fits the query as well as
        it fits that share of the examples. ``allow_empty=False`` puts the predicted class into those.

        Parameters
        ----------
        X : array of shape (n, …), or views
            The queries.
        coverage : float, default=0.95
            The share of queries whose true class is to be in their set.
        class_conditional : bool, default=False
            Keep the coverage for each class, not only for all together; a class with few examples is then in many sets.
        allow_empty : bool, default=True
            Whether a set may be empty.

        Returns
        -------
        ndarray of bool of shape (n, classes)
            Columns as in ``classes_``.

        Raises
        ------
        StateError
            Where there are too few examples to learn it from.

        Examples
        --------
        >>> clf.predict_set(X_new, coverage=0.99).shape == (len(X_new), 10)
        True
        """
        check_is_fitted(self)
        now = self._snapshot()
        now.confidence_.needed_sets()  # an error comes before a long batch, not in it

        def read(evidence: Evidence) -> Array:
            return members_of(
                now.confidence_,
                evidence,
                coverage=coverage,
                class_conditional=class_conditional,
                allow_empty=allow_empty,
            )

        return np.concatenate(now._read(X, read, explain=True))

    def likeness(self, X: Any, *, level: float = 0.02) -> Likeness:
        """Whether a batch of queries is like the examples.

        Only then do probabilities, sets and ``reject`` keep their promises. If it is not, the result says by how much
        these may be off and which queries show it.

        Parameters
        ----------
        X : array of shape (n, …), or views
            The batch of queries; a few dozen or more say something.
        level : float, default=0.02
            The share of false alarms, among batches that are like the examples.

        Returns
        -------
        Likeness
            ``alarm``, the ``rows`` that show it most, and a sentence when printed.

        Examples
        --------
        >>> print(clf.likeness(X_new).alarm in (True, False))
        True
        """
        from kcrc.confidence.likeness import Seen, likeness

        check_is_fitted(self)
        now = self._snapshot()
        confidence = now.confidence_
        confidence.needed_usual()  # where there is nothing to compare with, say so before the queries are answered
        seen = Seen.join(now._read(X, lambda evidence: Seen.of(confidence, evidence), explain=True))
        vectors = np.asarray(now._side_by_side(X)).reshape(len(seen), -1)
        return likeness(now._learning_model, confidence, replace(seen, vectors=vectors), level=level)

    def compare(self, other: ConfidenceMethods) -> PairedComparison:
        """How much more often this classifier is right than another that has the same examples.

        Both are compared on the examples that both were asked about as if they were not stored. (``tuning_.accuracy``
        of two classifiers may come from different examples.)

        Parameters
        ----------
        other : KCRCClassifier or ImageClassifier
            One that was fitted on the same examples.

        Returns
        -------
        PairedComparison
            ``gain`` and its standard ``error``; print it for a sentence.

        Examples
        --------
        >>> clf.compare(clf).gain
        0.0
        """
        from kcrc.confidence.comparison import PairedComparison

        check_is_fitted(self)
        check_is_fitted(other)
        return PairedComparison.of(self.confidence_, other.confidence_)

    def audit(self, rows: Any = None) -> Audit:
        """Stored examples that deserve a second look.

        Each is asked as if it were not stored. The result lists those that are probably mislabelled, near duplicates
        with different labels, and examples that contributed to no right answer; ranked, with evidence.

        Parameters
        ----------
        rows : sequence of int, or None, default=None
            The row numbers to ask about; None asks about all.

        Returns
        -------
        Audit
            ``mislabelled``, ``doubtful``, ``clashes``, ``idle``; ``rows`` are those of the first.

        Examples
        --------
        >>> clf.audit(rows=[0, 1, 2]).rows
        array([], dtype=int64)
        """
        from kcrc.confidence.audit import audit

        check_is_fitted(self)
        with share_bar("auditing the examples", show=self.verbose) as progress:
            now = self._snapshot()
            return audit(now._learning_model, now.confidence_, rows, progress)

    def advise(self, X: Any = None, *, count: int = 10) -> Advice:
        """Whether there are enough examples, and which queries to label next.

        It says how often each class is answered right and what it is confused with, how accuracy grew with the number
        of examples, and what more are likely to bring. It takes some seconds.

        Parameters
        ----------
        X : array of shape (n, …), views or None, default=None
            Unlabelled queries, of which to name those to label next.
        count : int, default=10
            How many of them.

        Returns
        -------
        Advice
            Print it to read it; ``label_next`` are the queries to label.

        Examples
        --------
        >>> len(clf.advise(X_new, count=3).label_next)
        3
        """
        from kcrc.confidence.advice import Doubt, advise, next_to_label

        check_is_fitted(self)
        now = self._snapshot()
        confidence = now.confidence_
        advice = advise(now._learning_model, confidence)
        if X is None:
            return advice
        doubt = Doubt.join(now._read(X, lambda evidence: Doubt.of(confidence, evidence), explain=True))
        vectors = np.asarray(now._side_by_side(X)).reshape(len(doubt.worth), -1)
        return replace(advice, label_next=tuple(next_to_label(now._learning_model, doubt, vectors, count)))


# The confidence of a classifier is learned when a method first needs it.
#
# It needs the leave-one-out answers of many examples, which take time, and most callers only want labels. The first
# call that needs it learns it, in one thread, from the examples as they are then. When examples come or go, a new
# holder takes the place of this one. It knows what was learned before, so that only the answers that the change
# touches are computed again.


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups that the caller gave, by row number: ids (m,), rising, and their groups (m,)."""

    ids: Array
    groups: Array

    @classmethod
    def of(cls, ids: Array, groups: Any) -> Groups | str | None:
        """The groups as ``fit`` takes them; "auto" and None are returned unchanged."""
        if groups is None or isinstance(groups, str):
            return groups
        return cls(ids, np.unique(np.asarray(groups), return_inverse=True)[1].ravel())

    @classmethod
    def learned_with(cls, confidence: Confidence) -> Groups | str | None:
        """The groups that a stored confidence was learned with."""
        exclusion, groups = confidence.exclusion, confidence.groups
        if confidence.groups_found:
            return AUTO
        if groups is None and len(np.unique(exclusion.groups)) < len(exclusion.groups):
            groups = exclusion.groups  # files of earlier versions say no more
        return None if groups is None else cls(exclusion.ids, groups)

    def among(self, ids: Array) -> Array:
        """(n,) of the examples ``ids``; those that no group was given for stand alone."""
        at = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        alone = int(self.groups.max()) + 1 + np.arange(len(ids))
        return np.where(self.ids[at] == ids, self.groups[at], alone)


@dataclass(frozen=True, eq=False)
class EarlierConfidence:
    """Confidence, and the model whose examples it was learned from."""

    confidence: Confidence
    model: FittedModel


class ConfidenceHolder:
    """The confidence of one state of a classifier; ``before`` is what was learned of an earlier state, if anything."""

    def __init__(
        self,
        groups: Groups | str | None,
        *,
        fixed: bool,
        learned: Confidence | None = None,
        before: EarlierConfidence | None = None,
    ) -> None:
        self.groups = groups
        self.fixed = fixed
        self._learned = learned
        self._before = before
        self._lock = threading.Lock()

    @classmethod
    def holding(cls, learned: Confidence, *, fixed: bool) -> ConfidenceHolder:
        """A holder of confidence that was learned before and stored."""
        return cls(None, fixed=fixed, learned=learned)

    def of(self, learned_from: Callable[[], FittedModel], revision: int) -> Confidence:
        """The confidence, learned if need be from the model that ``learned_from`` returns: always the model of the same
        state and revision."""
        if self._learned is None:
            with self._lock:
                if self._learned is None:
                    model = learned_from()
                    groups = self.groups.among(model.ids) if isinstance(self.groups, Groups) else None
                    before = self._before
                    earlier = None if before is None else (before.confidence, before.model)
                    self._learned = Confidence.of(
                        model, groups, unnamed_groups=self.groups == AUTO, fixed=self.fixed, before=earlier,
                        revision=revision,
                    )  # fmt: skip
                    self._before = None
        return self._learned

    def after(self, pending: PendingUpdates) -> ConfidenceHolder:
        """Return the holder for the state that follows this one, whose examples are those of ``pending``."""
        before, groups = self._before, self.groups
        learned = self._learned
        if learned is not None:
            # The sample of mapped examples is not kept, and pending examples are not those that this was learned from.
            if not pending.needs_refit and learns_from_all(pending.examples):
                before = EarlierConfidence(learned, pending.examples)
            groups = Groups.learned_with(learned) if groups is None else groups
        return ConfidenceHolder(groups, fixed=self.fixed, before=before)

    def __getstate__(self) -> dict[str, Any]:
        """Without the earlier examples, some of which may be forgotten: they only save computing answers again."""
        return {name: value for name, value in self.__dict__.items() if name != "_lock"} | {"_before": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()
