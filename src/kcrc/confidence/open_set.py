"""Is a query of none of the stored classes? A score of how strange it is, and where to draw the line.

No single sign serves: on handwriting the distance to the dictionary tells strangers best, on faces (where light moves
an image further than identity does) the residual of the winner and the concentration of the coefficients. So their
weights are learned from the examples: one asked without its whole class is a true stranger, one asked without itself
is not, and a logistic regression tells the two apart. The threshold is a quantile of those that are no strangers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import ParameterError
from kcrc.method.evidence import SIGNS

UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False)
class OpenSet:
    """The score w·f of standardised signs f; ``known`` (B,) sorted scores of examples asked without themselves.

    centre, spread (4,) of the signs of those; weights (5,), the last for "not coded" (all neighbours agree). ``auc``
    is how well strangers among the examples are told, by the examples it was fitted on; NaN for fewer than 3 classes.
    """

    centre: Array
    spread: Array
    weights: Array
    known: Array
    auc: float

    @classmethod
    def fit(cls, known: Array, strangers: Array | None) -> OpenSet:
        """From the signs (B, 4) of examples without themselves, and without their classes (None: too few classes)."""
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column that was never coded is all NaN
            centre = np.nan_to_num(np.nanmedian(known, axis=0))
            spread = np.nan_to_num(np.nanstd(known, axis=0))
        spread = np.where(spread > 0, spread, 1.0)
        bare = cls(centre, spread, np.array([1.0, 0.0, 0.0, 0.0, 0.0]), np.empty(0), np.nan)
        weights, auc = bare.weights, np.nan
        if strangers is not None:
            weights, auc = _told_apart(bare.features(known), bare.features(strangers))
        return cls(centre, spread, weights, np.sort(bare.features(known) @ weights), auc)

    def features(self, seen: Array) -> Array:
        """(B, 5): signs standardised and bounded; 0 where not coded, and a column that says so."""
        standard = np.clip((seen - self.centre) / self.spread, -5.0, 5.0)
        return np.column_stack([np.nan_to_num(standard), np.isnan(seen[:, 2])])

    def score(self, seen: Array) -> Array:
        """(B,) from signs (B, 4): higher is stranger."""
        return np.asarray(self.features(seen) @ self.weights)

    def reasons(self, seen: Array, labels: Array) -> list[str]:
        """Of queries with signs (B, 4) that come nearest to the classes ``labels`` (B,): what makes each strange."""
        strongest = (self.features(seen) * self.weights)[:, : len(SIGNS)].argmax(axis=1)
        with np.errstate(over="ignore"):
            times = np.exp(seen - self.centre)
        words = (
            "it is {:.1f} times as far from its nearest example as is usual",
            "it is {:.1f} times as far from the nearest examples of {} as is usual",
            "the examples of {1} miss {0:.1f} times as much of it as is usual",
            "examples of several classes together represent it",
        )
        return [
            f"it resembles no class: {words[sign].format(times[i, sign], labels[i])}"
            for i, sign in enumerate(strongest.tolist())
        ]

    def threshold(self, reject: float) -> float:
        """The score above which a share ``reject`` of known queries lies, by the examples; ∞ where they are too few."""
        if isinstance(reject, bool) or not isinstance(reject, (int, float, np.number)) or not 0 < reject < 1:
            raise ParameterError(
                f"reject is the share of known queries that may be called unknown, between 0 and 1; got {reject!r}."
            )
        place = int(np.ceil((1.0 - reject) * (len(self.known) + 1)))
        return float(self.known[place - 1]) if place <= len(self.known) else np.inf


def _told_apart(known: Array, strangers: Array) -> tuple[Array, float]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    features = np.concatenate([known, strangers])
    strange = np.repeat([0, 1], [len(known), len(strangers)])
    model = LogisticRegression(C=0.1, class_weight="balanced", max_iter=1000).fit(features, strange)
    weights = np.asarray(model.coef_[0])
    return weights, float(roc_auc_score(strange, features @ weights))


def mark_unknown(labels: Array, strange: Array, classes: Array, unknown: Any) -> Array:
    """``labels`` with the sentinel where ``strange``: "unknown" among names, −1 among whole numbers, NaN among others.

    ``unknown`` replaces it. It must not be one of the classes.
    """
    if unknown is None:
        kind = classes.dtype.kind
        unknown = -1 if kind in "iu" else np.nan if kind == "f" else UNKNOWN
    if any(unknown == c for c in classes.tolist()):
        raise ParameterError(
            f"{unknown!r} marks an unknown query but is also a class. Give another mark: predict(X, reject=..., "
            'unknown="none of these").'
        )
    sentinel = np.array([unknown])
    numbers = classes.dtype.kind in "iuf" and sentinel.dtype.kind in "iuf"
    texts = classes.dtype.kind == "U" and sentinel.dtype.kind == "U"
    dtype = np.result_type(classes.dtype, sentinel.dtype) if numbers or texts else np.dtype(object)
    out = labels.astype(dtype)
    out[strange] = unknown
    return out
