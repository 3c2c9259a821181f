"""Whether speed changed any answer: labels of the compiled path against the staged pipeline in double precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.parallel import over_chunks
from kcrc.method import pipeline
from lab.bench.rivals import ours
from lab.bench.samples import Problem


@dataclass(frozen=True)
class Agreement:
    """How many labels differ, and how near to a tie those are: the relative gap (r₂ − r₁)/r₁ of the two best classes'
    residuals, as the staged pipeline in double precision sees it."""

    name: str
    n: int
    K: int
    queries: int
    different: int
    widest_gap: float
    smallest_gap: float
    accuracy: float


def compare(split: Problem, k: int, *, labels: Array | None = None, **options: Any) -> Agreement:
    """``labels``: the compiled path's answers, where they are known already."""
    if labels is None:
        labels = ours(split, k, **options).predict(split.queries)
    exact = Problem(
        split.name, split.atoms.astype(np.float64), split.labels, split.queries.astype(np.float64), split.truth
    )
    clf = ours(exact, k, **options)
    model = clf.model_
    per_query = 8 * k * (3 * exact.atoms.shape[1] + 6 * k)
    parts = over_chunks(
        lambda piece: _labels_and_gaps(pipeline.classify(model, exact.queries[piece], compiled=False)),
        len(exact.queries),
        max(1, min(256, (64 << 20) // per_query)),
        clf.n_jobs,
    )
    staged, gaps = (np.concatenate(part) for part in zip(*parts, strict=True))
    differ = np.flatnonzero(staged != labels)
    return Agreement(
        split.name,
        len(split.atoms),
        k,
        len(labels),
        len(differ),
        float(gaps[differ].max(initial=0.0)),
        float(gaps.min(initial=np.inf)),
        float(np.mean(labels == split.truth)),
    )


def _labels_and_gaps(evidence: Any) -> tuple[Array, Array]:
    best = np.sort(evidence.residuals, axis=1)[:, :2]
    with np.errstate(invalid="ignore", divide="ignore"):
        gaps = np.where(np.isfinite(best[:, 1]), (best[:, 1] - best[:, 0]) / best[:, 0], np.inf)
    return evidence.labels, gaps
