"""One vector from the many that a transformer gives for a picture, one a patch and one for the whole.

tokens (n, t, d): "cls" is the first, which stands for the whole picture; "mean" the mean of all; "patches" the mean of
all but the first; "both" the first and the mean of the others side by side. Many networks pool themselves, into an
output of one vector a picture. Which serves depends on how a network was trained, so left-out answers of the examples
choose.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from kcrc._base.arrays import Array

POOLINGS: dict[str, Callable[[Array], Array]] = {
    "cls": lambda tokens: tokens[:, 0],
    "mean": lambda tokens: tokens.mean(axis=1),
    "patches": lambda tokens: tokens[:, 1:].mean(axis=1) if tokens.shape[1] > 1 else tokens[:, 0],
    "both": lambda tokens: np.concatenate([tokens[:, 0], POOLINGS["patches"](tokens)], axis=1),
}
AS_ONE = "as one"  # of an output that is one vector a picture
SECONDS = 2.0  # of tuning, for each of them
Key = TypeVar("Key", bound=Hashable)


def pooled(batches: Iterable[Array]) -> dict[str, Array]:
    """By each pooling the vectors (n, d) of pictures whose tokens come in batches, which are let go one by one: those
    of some hundred pictures would take gigabytes. Only AS_ONE where the network gives one vector a picture, and nothing
    where it gives neither."""
    parts: dict[str, list[Array]] = {}
    for result in batches:
        if result.dtype.kind not in "fiub":
            return {}
        if result.ndim >= 2 and all(side == 1 for side in result.shape[2:]):
            parts.setdefault(AS_ONE, []).append(result.reshape(len(result), -1).astype(np.float32))
        elif result.ndim == 3:
            for name, pool in POOLINGS.items():
                parts.setdefault(name, []).append(pool(result).astype(np.float32))
        else:
            return {}
    return {name: np.concatenate(some) for name, some in parts.items()}


def chosen(vectors: Mapping[Key, Array], labels: Sequence[str]) -> Key:
    """The key whose vectors tell the examples apart best, each asked as if it were not stored; of several within one
    standard error the first."""
    from kcrc.classifier.estimator import KCRCClassifier

    found: dict[Key, tuple[float, float]] = {}
    for name, own in vectors.items():
        clf = KCRCClassifier(tuning_seconds=SECONDS, verbose=False, random_state=0)
        tuning = clf.fit(own, np.asarray(labels)).tuning_
        if tuning is None:  # too few to be asked
            return next(iter(vectors))
        found[name] = (float(tuning.accuracy), float(tuning.scores[tuning.best].error))
    best = max(found, key=lambda name: found[name][0])
    near = found[best][0] - found[best][1]
    return next(name for name, (accuracy, _) in found.items() if accuracy >= near)
