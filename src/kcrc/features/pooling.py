"""One vector from the many that a transformer gives for a picture, one a patch and one for the whole.

tokens (n, t, d): "cls" is the first, which stands for the whole picture; "mean" the mean of all; "patches" the mean of
all but the first; "both" the first and the mean of the others side by side. Which serves depends on how a network was
trained, so left-out answers of the examples choose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from kcrc.arrays import Array

POOLINGS: dict[str, Callable[[Array], Array]] = {
    "cls": lambda tokens: tokens[:, 0],
    "mean": lambda tokens: tokens.mean(axis=1),
    "patches": lambda tokens: tokens[:, 1:].mean(axis=1) if tokens.shape[1] > 1 else tokens[:, 0],
    "both": lambda tokens: np.concatenate([tokens[:, 0], POOLINGS["patches"](tokens)], axis=1),
}
SECONDS = 2.0  # of tuning, for each of them


def pooled(batches: Iterable[Array]) -> dict[str, Array] | None:
    """By each pooling the vectors (n, d) of pictures whose tokens come in batches, which are let go one by one: those
    of some hundred pictures would take gigabytes. None where a network gives one vector a picture."""
    parts: dict[str, list[Array]] = {name: [] for name in POOLINGS}
    for tokens in batches:
        if tokens.ndim != 3:
            return None
        for name, pool in POOLINGS.items():
            parts[name].append(pool(tokens).astype(np.float32))
    return {name: np.concatenate(some) for name, some in parts.items()}


def chosen(vectors: Mapping[str, Array], labels: Sequence[str]) -> str:
    """The pooling whose vectors tell the examples apart best, each asked as if it were not stored; of several within
    one standard error the first in the table."""
    from kcrc.classifier import KCRCClassifier

    found: dict[str, tuple[float, float]] = {}
    for name, own in vectors.items():
        clf = KCRCClassifier(tuning_seconds=SECONDS, verbose=False, random_state=0)
        tuning = clf.fit(own, np.asarray(labels)).tuning_
        if tuning is None:  # too few to be asked
            return next(iter(POOLINGS))
        found[name] = (float(tuning.accuracy), float(tuning.scores[tuning.best].error))
    best = max(found, key=lambda name: found[name][0])
    near = found[best][0] - found[best][1]
    return next(name for name, (accuracy, _) in found.items() if accuracy >= near)
