"""Answerer: one fitted model and what is known of how sure its answers are, ready to be asked.

It is a value, made once for a revision of the examples. The command line, a gallery and ``KCRCClassifier`` (which is
scikit-learn's face of the same thing) all ask through it. It loads neither scikit-learn nor SciPy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from kcrc._base import validation
from kcrc._base.arrays import Array
from kcrc.confidence.answers import Answers, answers_of
from kcrc.confidence.calibration import Confidence
from kcrc.method import pipeline
from kcrc.method.evidence import Evidence, join_evidence
from kcrc.method.fitted_model import FittedModel
from kcrc.method.samples import SampleForm, check_samples
from kcrc.method.without import evidence_without

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Answerer:
    """``vectors`` below are samples (n, d) as the examples were given, or one of them (d,). ``known`` is what is known
    of how sure answers are, or what learns it when it is first needed."""

    model: FittedModel
    known: Confidence | Callable[[], Confidence]
    samples: SampleForm

    @property
    def confidence(self) -> Confidence:
        """What is known of how sure answers are."""
        return self.known if isinstance(self.known, Confidence) else self.known()

    @cached_property
    def audit_confidence(self) -> Confidence:
        """The same for questions on one stored example."""
        return self.confidence.for_audit(self.model)

    @property
    def classes(self) -> Array:
        """The class names, sorted."""
        return self.model.classes

    def answer(
        self,
        vectors: Any,
        *,
        reject: float | None = None,
        unknown: Any = None,
        coverage: float | None = None,
        explain: bool = False,
    ) -> Answers:
        """Labels, probabilities and evidence; with ``reject`` the mark ``unknown`` where a query resembles no class,
        with ``coverage`` the sets of classes it may be of, with ``explain`` the evidence of ``explain``."""
        evidence = self._evidence(vectors, code_all=explain)
        return answers_of(self.confidence, evidence, reject=reject, unknown=unknown, coverage=coverage)

    def explain(self, vectors: Any) -> Evidence:
        """Label, residuals, and every stored example's part in the answer, for each query: also where all neighbours
        agree, and the answer did not need them."""
        return self._evidence(vectors, code_all=True)

    def _evidence(self, vectors: Any, *, code_all: bool) -> Evidence:
        rows = self.samples.rows(vectors)
        return join_evidence(self.read(rows, lambda evidence: evidence, explain=True, code_all=code_all))

    def labels(self, vectors: Any) -> Array:
        """(n,) the labels and nothing else: memory holds no more evidence than that of a chunk."""
        return np.concatenate(self.read(self.samples.rows(vectors), lambda evidence: evidence.labels))

    def read(
        self, X: Array, read: Callable[[Evidence], T], *, explain: bool = False, code_all: bool = False
    ) -> list[T]:
        """``read`` of the evidence of each chunk of the samples X (n, d), in order; the rest of it is let go."""
        return pipeline.answer(self.model, self.scale_queries(X), read, explain=explain, code_all=code_all)

    def scale_queries(self, X: Array) -> Array:
        """X (n, d) as the model compares it; an error where it holds what cannot be compared."""
        model = self.model
        X = check_samples(X, model.working_type)
        queries = model.method.scaling.transform(X)
        if queries is not X:
            validation.check_scaled(queries, model.working_type, type(model.method.scaling).__name__)
        return queries

    def what_if(
        self, vector: Any, without: Any, *, reject: float | None = None, coverage: float | None = None
    ) -> Answers:
        """The answer to one query, explained, if the examples with the row numbers ``without`` were not stored;
        ``reject`` and ``coverage`` as in ``answer``.

        Parameters, scaling and calibration stay as they are and the next nearest step in. A class of which all examples
        are left out is none of the answers."""
        queries = self.scale_queries(self.samples.rows(vector))
        evidence = evidence_without(self.model, queries, without)
        return answers_of(self.confidence, evidence, reject=reject, coverage=coverage)
