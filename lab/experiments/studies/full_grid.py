"""How far the setting chosen by leave-one-out is from the best one in hindsight, of a whole grid tried on the queries.

Nothing is chosen by it. For every set: the accuracy of KCRCClassifier() with no argument; the one setting of the grid
with the best mean over the splits; and the mean of the best setting of each split, which also counts luck: the best of
1,500 settings on 600 queries.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.classifier.estimator import KCRCClassifier
from kcrc.method import scaling
from kcrc.report.terminal import say
from kcrc.tuning.candidates import Candidates, stratify
from kcrc.tuning.left_out.vector_geometry import VectorGeometry
from kcrc.tuning.result import CandidateSetting
from kcrc.tuning.scoring import DECISIONS, MarginScorer, score_margins
from kcrc.tuning.search import CandidateEvaluator
from lab.experiments.studies import command
from lab.experiments.studies.seven_sets import SETS, load

METRICS = {
    **{name: scaling.make(name) for name in ("plain", "unit", "standard")},
    **{f"within {s:g}": scaling.Within(s) for s in (0.05, 0.2, 0.5)},
    **{f"scaled, within {s:g}": scaling.Within(s, scaled=True) for s in (0.05, 0.5)},
}
SIZES, CLASS_COUNTS = (12, 50, 200), (4, 10)
# Widths are times 1 / the distance of neighbour 25.
KERNELS: tuple[tuple[str, float | None], ...] = (("linear", None), ("rbf", 0.25), ("rbf", 1.0), ("rbf", 4.0))
PENALTIES = (1e-3, 1e-2, 1e-1, 1.0)
LARGEST_CLASSES = 400  # atoms


class AskedGeometry(VectorGeometry):
    """Examples and queries, scaled by a metric that knows the examples only; queries are in no dictionary."""

    def __init__(self, vectors: Array, labels: Array, queries: Array) -> None:
        self.is_query = queries
        # All queries are of one group, so none is in the dictionary of another.
        groups = np.where(queries, len(labels), np.arange(len(labels)))
        super().__init__(scaling.make("plain").fit(vectors, labels), vectors, labels, groups)

    @cached_property
    def _class_means(self) -> Array:
        known = ~self.is_query
        return np.stack([self.Z[known & (self.labels == c)].mean(axis=0) for c in range(int(self.labels.max()) + 1)])

    def _nearest_classes(self, which: Array, measured: Any, n_classes: int) -> Array:
        means = self._class_means
        far = np.einsum("cd,cd->c", means, means) - 2.0 * self.Z[which] @ means.T
        return np.asarray(np.argsort(far, axis=1, kind="stable")[:, :n_classes])


def grid(name: str, base: float, typical: float, n_classes: int) -> Iterator[tuple[CandidateSetting, str]]:
    """All settings of one metric, each with a name that is the same on every split."""
    for (kernel, width), mu, decision in itertools.product(KERNELS, PENALTIES, DECISIONS):
        gamma = None if width is None else width * base
        for size, form in itertools.product(SIZES, ("rkhs", "gram")):
            yield (
                CandidateSetting(name, "atoms", size, kernel, gamma, mu, form, decision),
                f"{name}, {size} atoms, {kernel} {width or ''}, mu {mu:g}, {form}, {decision}",
            )
        for size in CLASS_COUNTS:
            if size <= n_classes and size * typical <= LARGEST_CLASSES:
                yield (
                    CandidateSetting(name, "classes", size, kernel, gamma, mu, "rkhs", decision),
                    f"{name}, {size} classes, {kernel} {width or ''}, mu {mu:g}, {decision}",
                )


def tried(X: Array, y: Array, Xq: Array, yq: Array) -> dict[str, float]:
    """Accuracy on the queries by the name of the setting."""
    classes, numbers = np.unique(np.concatenate([y, yq]), return_inverse=True)
    queries = np.repeat([False, True], [len(y), len(yq)])
    found: dict[str, float] = {}
    for name, metric in METRICS.items():
        fitted = metric.fit(X, numbers[: len(y)])
        vectors = np.ascontiguousarray(fitted.transform(np.concatenate([X, Xq])).astype(np.float32))
        geometry = AskedGeometry(vectors, numbers, queries)
        far = geometry.trials(np.flatnonzero(queries)[:64], 25).cross
        assert far is not None
        settings = dict(grid(name, 1.0 / float(np.median(far)), len(y) / len(classes), len(classes)))
        order = stratify(numbers, np.random.default_rng(0), queries)
        candidates = Candidates({name: partial(_same, geometry)}, numbers, order, ())
        evaluator = CandidateEvaluator(candidates, MarginScorer(score_margins), np.inf)
        evaluator.evaluate(list(settings), np.arange(len(evaluator.order)), 1.0)
        found |= {settings[candidate]: score.accuracy for candidate, score in evaluator.scores.items()}
    return found


def _same(geometry: AskedGeometry) -> AskedGeometry:
    return geometry


def study(given: argparse.Namespace) -> None:
    for name in given.sets or SETS:
        ours, table = [], []
        for seed in range(given.splits):
            X, Xq, y, yq = load(name, seed, given.data)
            some = np.random.default_rng(seed).permutation(len(yq))[: given.queries]
            Xq, yq = Xq[some], yq[some]
            ours.append(float(np.mean(KCRCClassifier().fit(X, y).predict(Xq) == yq)))
            table.append(tried(X.astype(np.float32), y, Xq.astype(np.float32), yq))
        mean = {key: float(np.mean([row[key] for row in table])) for key in table[0]}
        best = max(mean, key=lambda key: mean[key])
        lucky = np.mean([max(row.values()) for row in table])
        gap = 100 * (mean[best] - np.mean(ours))
        say(
            f"{name}, {given.splits} splits, {len(yq)} queries, {len(mean)} settings: chosen {np.mean(ours):.2%}, "
            f"best setting {mean[best]:.2%} ({best}): {'within a point' if gap <= 1 else 'MISSED'} ({gap:+.2f}); "
            f"best of each split {lucky:.2%}; median setting {np.median(list(mean.values())):.2%}"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command.options("full_grid", __doc__)
    parser.add_argument("sets", nargs="*", choices=[*SETS, []], default=[])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--queries", type=int, default=600)
    return command.run(study, parser, arguments)


if __name__ == "__main__":
    sys.exit(main())
