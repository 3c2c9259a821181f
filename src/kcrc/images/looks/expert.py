"""A look with a classifier of its own, and what that says of examples asked as if they were not stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc.classifier.estimator import KCRCClassifier
from kcrc.confidence.calibration import Calibration
from kcrc.images.looks.base import Look
from kcrc.method.evidence import FAR, Evidence, join_evidence, log_distance, open_set_features
from kcrc.method.fitted_model import FittedModel
from kcrc.tuning.left_out.answers import answers_without
from kcrc.tuning.left_out.exclusion import Exclusion

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Expert:
    """``weight`` of its word among others; ``calibration`` makes probabilities of its residuals; ``reach`` is how far
    the nearest example usually is, the unit in which its distances are told beside those of others."""

    look: Look
    classifier: KCRCClassifier
    calibration: Calibration
    reach: float = 1.0
    weight: float = 1.0

    @classmethod
    def of(cls, look: Look, classifier: KCRCClassifier, evidence: Evidence | None, truth: Array) -> Expert:
        """From what it said of examples left out, and their class numbers; None where none could be asked."""
        if evidence is None or not len(evidence):
            return cls(look, classifier, Calibration())
        seen = open_set_features(evidence)
        far = seen[:, FAR] if _orders(classifier) else None
        calibration = Calibration.fit(evidence.residuals, truth, far)
        nearest = seen[:, 0][np.isfinite(seen[:, 0])]
        reach = float(np.exp(np.median(nearest))) if len(nearest) else 1.0
        return cls(look, classifier, calibration, reach if np.isfinite(reach) and reach > 0 else 1.0)

    def weighing(self, weight: float) -> Expert:
        return replace(self, weight=weight)

    def read(self, seen: Array, read: Callable[[Evidence], T], *, explain: bool, code_all: bool = False) -> list[T]:
        """``read`` of the evidence of each chunk of what the look has ``seen`` of pictures, in order."""
        answerer = self.classifier.answerer_
        return answerer.read(answerer.samples.rows(seen), read, explain=explain, code_all=code_all)

    def evidence(self, seen: Array, *, code_all: bool = False) -> Evidence:
        """The evidence of what the look has ``seen`` of pictures."""
        return join_evidence(self.read(seen, lambda evidence: evidence, explain=True, code_all=code_all))

    def log_probabilities(self, evidence: Evidence) -> Array:
        """(B, C) of its answers."""
        far = log_distance(evidence) if _orders(self.classifier) and self.calibration.familiarity.slope > 0 else None
        return np.asarray(np.log(np.maximum(self.calibration.probabilities(evidence.residuals, far), 1e-12)))


def _orders(classifier: KCRCClassifier) -> bool:
    """Whether examples are near or far: a global dictionary orders nothing."""
    return classifier.examples_.method.n_neighbors is not None


def without_themselves(
    model: FittedModel, which: Array, groups: Array | None, *, without_classes: bool = False
) -> Evidence:
    """What a model says of its stored examples at positions ``which``, each asked as if it were not stored."""
    exclusion = Exclusion.of(model, groups)
    if without_classes:
        exclusion = exclusion.with_groups(model, model.labels)

    def kept(evidence: Evidence, positions: Array) -> Any:
        return evidence

    return join_evidence(answers_without(model, exclusion, which, kept))
