"""What a classifier that keeps its examples can say beyond a label: how sure, none of these, which classes, and which
of its examples look wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kcrc.answering.answers import labels_or_unknown, members_of, probabilities_of, strangeness_of
from kcrc.arrays import Array
from kcrc.progress import share_bar

if TYPE_CHECKING:
    from kcrc.confidence.advice import Advice
    from kcrc.confidence.audit import Audit
    from kcrc.confidence.calibration import Confidence
    from kcrc.confidence.comparison import PairedComparison
    from kcrc.confidence.likeness import Likeness
    from kcrc.evidence import Evidence
    from kcrc.model import FittedModel


class Confident:
    """Verbs that rest on the examples' own answers, ``confidence_``, which ``fit`` and ``retune`` make."""

    model_: FittedModel
    classes_: Array
    confidence_: Confidence
    verbose: bool | None
    _read: Callable[..., list[Any]]
    _side_by_side: Callable[[Any], Any]

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class (n, classes), calibrated on the examples; classes rank as in
        ``decision_function``. With fewer than 8 examples it is not calibrated."""
        return np.concatenate(self._read(X, lambda evidence: probabilities_of(self.confidence_, evidence)))

    def unknown_score(self, X: Any) -> Array:
        """How strange each query is to the stored classes (n,): higher is stranger. ``predict(X, reject=...)`` draws
        the line."""
        check_is_fitted(self)
        self.confidence_.needed_open_set()  # before a long batch, not in it
        return np.concatenate(self._read(X, lambda evidence: strangeness_of(self.confidence_, evidence), explain=True))

    def _predict_or_reject(self, X: Any, reject: float, unknown: Any) -> Array:
        check_is_fitted(self)
        self.confidence_.needed_open_set().threshold(reject)  # before a long batch, not in it

        def read(evidence: Evidence) -> Array:
            return labels_or_unknown(self.confidence_, evidence, reject=reject, unknown=unknown)[0]

        return np.concatenate(self._read(X, read, explain=True))

    def predict_set(
        self, X: Any, *, coverage: float = 0.95, class_conditional: bool = False, allow_empty: bool = True
    ) -> Array:
        """Which classes each query may be of: (n, classes) bool, columns as in ``classes_``.

        The true class is in the set for a share ``coverage`` of queries that are like the examples
        (``class_conditional``: of the queries of each class; a class with few examples is then in many sets). Where
        answers are right more often than ``coverage``, the least sure sets are empty: nothing fits the query as well
        as it fits that share of the examples. ``allow_empty=False`` puts the predicted class into those.
        """
        check_is_fitted(self)
        self.confidence_.needed_sets()  # before a long batch, not in it

        def read(evidence: Evidence) -> Array:
            return members_of(
                self.confidence_,
                evidence,
                coverage=coverage,
                class_conditional=class_conditional,
                allow_empty=allow_empty,
            )

        return np.concatenate(self._read(X, read, explain=True))

    def likeness(self, X: Any, *, level: float = 0.02) -> Likeness:
        """Whether a batch of queries is like the examples, for which alone probabilities, sets and ``reject`` keep
        their promise; if not, by how much those may be off and which queries show it. ``level`` is the share of false
        alarms. Print it for a sentence; ``alarm`` is the answer."""
        from kcrc.confidence.likeness import Seen, likeness

        check_is_fitted(self)
        confidence = self.confidence_
        confidence.needed_usual()  # where there is nothing to compare with, say so before the queries are answered
        seen = Seen.joined(self._read(X, lambda evidence: Seen.of(confidence, evidence), explain=True))
        vectors = np.asarray(self._side_by_side(X)).reshape(len(seen), -1)
        return likeness(self.model_, confidence, replace(seen, vectors=vectors), level=level)

    def compare(self, other: Confident) -> PairedComparison:
        """How much more often this classifier is right than another with the same examples: on those both were asked as
        if they were not stored, example by example. ``tuning_.accuracy`` of two may be of different examples."""
        from kcrc.confidence.comparison import PairedComparison

        check_is_fitted(self)
        check_is_fitted(other)
        return PairedComparison.of(self.confidence_, other.confidence_)

    def audit(self, rows: Any = None) -> Audit:
        """Stored examples that deserve a second look: each (or those with the row numbers ``rows``) is asked as if it
        were not stored. Lists the likely mislabelled, near duplicates with different labels, and those that had a part
        in no right answer; ranked, with evidence."""
        from kcrc.confidence.audit import audit

        check_is_fitted(self)
        with share_bar("auditing the examples", show=self.verbose) as progress:
            return audit(self.model_, self.confidence_, rows, progress)

    def advise(self, X: Any = None, *, count: int = 10) -> Advice:
        """Whether there are examples enough: from their own answers, how often each class is right and what it is
        taken for, how accuracy grew with examples, and what more are likely to bring. Of unlabelled queries ``X`` also
        the ``count`` to label next, and why. Takes some seconds; print it to read it."""
        from kcrc.confidence.advice import advise
        from kcrc.confidence.labelling import Doubt, next_to_label

        check_is_fitted(self)
        told = advise(self.model_, self.confidence_)
        if X is None:
            return told
        confidence = self.confidence_
        doubt = Doubt.joined(self._read(X, lambda evidence: Doubt.of(confidence, evidence), explain=True))
        vectors = np.asarray(self._side_by_side(X)).reshape(len(doubt.worth), -1)
        return replace(told, label_next=tuple(next_to_label(self.model_, doubt, vectors, count)))
