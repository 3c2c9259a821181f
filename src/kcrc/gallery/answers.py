"""What a gallery says of some images: labels, how sure, none of these, which classes; all read off one evidence.

How sure an answer is rests on what the examples' own answers said when the parameters were chosen. That is stored with
them, so nothing here asks an example again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kcrc.arrays import Array
from kcrc.confidence.open_set import UNKNOWN, marked, signs
from kcrc.errors import StateError
from kcrc.evidence import Evidence

if TYPE_CHECKING:
    from kcrc.classifier import KCRCClassifier


@dataclass(frozen=True, eq=False)
class Answers:
    """Of n images among C classes.

    labels (n,), with the mark of the unknown; probabilities (n, C); unknown (n,) bool, None where nobody asked to
    reject; members (n, C) bool of the sets, None where nobody asked for sets.
    """

    evidence: Evidence
    labels: Array
    probabilities: Array
    unknown: Array | None
    members: Array | None

    def __len__(self) -> int:
        return len(self.evidence)

    @property
    def probability(self) -> Array:
        """(n,) of the best class, also where the answer is "unknown"."""
        return np.asarray(self.probabilities[np.arange(len(self)), self.evidence.winner])

    def set_of(self, i: int) -> tuple[str, ...]:
        """The classes that image i may be of, the likeliest first; none where nothing fits as well as promised."""
        assert self.members is not None
        inside = np.flatnonzero(self.members[i])
        order = inside[np.argsort(-self.probabilities[i, inside], kind="stable")]
        return tuple(str(name) for name in self.evidence.classes[order])

    def likely(self, i: int, least: float = 0.0005) -> dict[str, float]:
        """Probabilities of image i by class, the likeliest first, down to ``least``."""
        row = self.probabilities[i]
        order = np.argsort(-row, kind="stable")
        return {str(self.evidence.classes[c]): float(row[c]) for c in order if row[c] >= least}


def answers_of(
    classifier: KCRCClassifier,
    evidence: Evidence,
    *,
    reject: float | None = None,
    unknown: str | None = None,
    coverage: float | None = None,
) -> Answers:
    """The answers in ``evidence``; ``reject`` and ``coverage`` as in ``predict`` and ``predict_set``."""
    confidence = classifier.confidence_
    p = confidence.calibration.probabilities(evidence.residuals)
    labels, strange, members = evidence.labels, None, None
    try:
        if reject is not None:
            open_set = confidence.needed_open_set()
            strange = open_set.score(signs(evidence)) > open_set.threshold(reject)
            labels = marked(labels, strange, evidence.classes, UNKNOWN if unknown is None else unknown)
        if coverage is not None:
            sets = confidence.needed_sets()
            members = sets.members(confidence.scores(p, signs(evidence)), evidence.classes, coverage, False)
    except StateError:
        raise StateError(
            "How strange an image is, and which sets keep a promise, is learned from the examples when the parameters "
            "are chosen, and 8 examples are the fewest. Add more, then choose anew: gallery.tune(), kcrc tune."
        ) from None
    return Answers(evidence, labels, p, strange, members)
