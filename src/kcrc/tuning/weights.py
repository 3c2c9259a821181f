"""Weights of a unified distance by leave-one-out: from the best single member on, steps that help.

The search goes over the simplex of weights. It starts at the member that is best alone and moves towards one member at
a time by a half, a quarter, a tenth; a step is taken only when it makes more left-out answers right, or as many with
less loss. The settings tried are few, as the weights are searched, not the classifier; the search over settings that
follows compares the best weights with every single member and with equal weights on the same examples. It ends when the
operations, whose number does not depend on the machine, come to what its seconds allow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.distances.unified import Unified
from kcrc.method.neighbours.refine import union_ranks
from kcrc.tuning import constants
from kcrc.tuning.left_out.distance_geometry import DistanceGeometry, KernelGeometry
from kcrc.tuning.left_out.surroundings import Surroundings
from kcrc.tuning.left_out.trials import Trials
from kcrc.tuning.result import loss
from kcrc.tuning.scoring import MarginScorer, posing_cost, solving_cost


@dataclass(frozen=True)
class ScoredWeights:
    """One set of weights: how many of the left-out answers are right, and their loss."""

    weights: dict[str, float]
    right: int
    loss: float


class WeightSearch:
    """The left-out examples with the distances of every member, measured once for all weights."""

    def __init__(
        self,
        distance: Unified,
        around: Surroundings,
        order: Array,
        scorer: MarginScorer,
        *,
        form: str = "rkhs",
        mus: tuple[float, ...] = constants.WEIGHT_PENALTIES,
        seconds: float,
        given: KernelGeometry | None = None,
    ) -> None:
        """``given``: the kernel, where the distances do not make it."""
        self.distance = distance.with_weights(dict.fromkeys(distance.weights_, 1.0))
        self.names = list(self.distance.weights_)
        self.scorer, self.form, self.mus = scorer, form, list(mus)
        self.budget = constants.SPEED * seconds
        widest = constants.WEIGHT_ATOMS * len(self.names)
        affordable = constants.WEIGHT_BYTES // (4 * len(self.names) * widest**2)
        count = int(np.clip(affordable, constants.WEIGHT_TRIALS_LEAST, constants.WEIGHT_TRIALS))
        self.which = order[:count]
        measuring = DistanceGeometry(self.distance, around, around.labels, around.groups).cost(len(self.which), widest)
        self.spent = measuring  # of the budget, in arithmetic
        self.truth = around.labels[self.which].astype(np.int32)
        rows = around.candidates(self.which)
        members = {name: self.distance.with_weights({n: float(n == name) for n in self.names}) for name in self.names}
        far = [around.measure(self.distance, name, self.which, rows) for name in self.names]
        chosen = np.argsort(np.where(rows >= 0, union_ranks(far, rows), rows.shape[1]), axis=1, kind="stable")
        chosen = chosen[:, :widest]
        self.rows = np.take_along_axis(rows, chosen, 1)
        self.far = [np.take_along_axis(one, chosen, 1) for one in far]
        self.labels = np.where(self.rows >= 0, around.labels[np.maximum(self.rows, 0)], -1).astype(np.int32)
        # Each member's own normalised distances: the sum of these times the weights is the unified distance.
        self.own = [members[n].combine([one]) for n, one in zip(self.names, self.far, strict=True)]
        self.given = None if given is None else given.make_trials(self.which, self.rows)
        self.cross, self.among = [], []
        for name, one in zip(self.names, self.own, strict=True):
            if given is None:
                facing = around.facing(members[name], self.which, self.rows, one)
                self.cross.append(np.where(self.rows >= 0, facing, 0.0).astype(np.float32))
                self.among.append(around.within(members[name], self.rows).astype(np.float32))
        self.tried: dict[tuple[float, ...], ScoredWeights] = {}

    def score(self, weights: dict[str, float]) -> ScoredWeights:
        """How the left-out examples fare with these weights under the best of a few settings."""
        key = tuple(round(weights[name], 4) for name in self.names)
        if key not in self.tried:
            self.tried[key] = self._score(weights)
        return self.tried[key]

    def _score(self, weights: dict[str, float]) -> ScoredWeights:
        used = [at for at, name in enumerate(self.names) if weights[name] > 0]
        size = max(1, constants.WEIGHT_ATOMS // len(used))
        rank = np.where(self.rows >= 0, union_ranks([self.far[at] for at in used], self.rows), self.rows.shape[1])
        far = self._sum(weights, self.own)
        wanted = max(1, int((rank < size).sum(axis=1).max()))
        order = np.lexsort((self.rows, far, rank >= size), axis=-1)[:, :wanted]  # nearest first
        labels = np.where(np.take_along_axis(rank, order, 1) < size, np.take_along_axis(self.labels, order, 1), -1)
        trials = self._trials(weights, order, labels.astype(np.int32))
        solving = posing_cost(wanted, self.form) + len(self.mus) * solving_cost(wanted)
        best = ScoredWeights(weights, -1, 1.0)
        for gamma in self._gammas(trials):
            self.spent += len(order) * self.scorer.effort * solving
            scored = self.scorer.score(trials, gamma, trials.labels, [wanted], self.mus, self.form)
            for margins in np.asarray(scored).reshape(-1, len(order)):
                here = ScoredWeights(weights, int((margins > 0).sum()), loss(margins))
                if (here.right, -here.loss) > (best.right, -best.loss):
                    best = here
        return best

    def _sum(self, weights: dict[str, float], parts: list[Array]) -> Array:
        """The unified distance of those of the members, each on its own scale already."""
        total = sum(np.float32(weights[n]) * part for n, part in zip(self.names, parts, strict=True) if weights[n] > 0)
        return np.asarray(total)

    def _trials(self, weights: dict[str, float], order: Array, labels: Array) -> Trials:
        """The trials of which the atoms at ``order`` (B, W) are the dictionaries."""
        trial = np.arange(len(order))[:, None]
        pairs = trial[..., None], order[:, :, None], order[:, None, :]
        known = self.given
        if known is not None:
            assert known.dot is not None and known.dots is not None
            return Trials(
                labels,
                self.truth,
                dot=known.dot[trial, order],
                dots=known.dots[pairs],
                self_dot=known.self_dot,
                asked=known.asked,
                atoms=None if known.atoms is None else known.atoms[trial, order],
            )
        cross = self._sum(weights, [one[trial, order] for one in self.cross])
        return Trials(labels, self.truth, cross, self._sum(weights, [one[pairs] for one in self.among]))

    @staticmethod
    def _gammas(trials: Trials) -> list[float | None]:
        """The widths to try: none of a kernel that is given."""
        if trials.cross is None:
            return [None]
        real = trials.cross[trials.labels >= 0]
        near = float(np.median(real)) if len(real) else 1.0
        return [width / near if near > 0 else 1.0 for width in constants.WEIGHT_WIDTHS]

    def run(self) -> dict[str, float]:
        """The best weights."""
        singles = [self.score({n: float(n == name) for n in self.names}) for name in self.names]
        equal = self.score(dict.fromkeys(self.names, 1.0 / len(self.names)))
        best = max(singles, key=lambda one: (one.right, -one.loss))
        if _better(equal, best):
            best = equal
        for step in constants.WEIGHT_STEPS:
            moved = True
            while moved and self.spent < self.budget:
                towards = [
                    {n: (1 - step) * w + step * (n == name) for n, w in best.weights.items()} for name in self.names
                ]
                without = [{n: w * (n != name) for n, w in best.weights.items()} for name in self.names]
                options = [self.score(w) for w in [*towards, *map(_normalise, without)] if w]
                ahead = max(options, key=lambda one: (one.right, -one.loss))
                moved = _better(ahead, best)
                best = ahead if moved else best
        return _normalise({n: w if w >= constants.WEIGHT_LEAST else 0.0 for n, w in best.weights.items()})


def _better(one: ScoredWeights, other: ScoredWeights) -> bool:
    """Whether a step to ``one`` is worth taking."""
    gain = constants.WEIGHT_GAIN if one.right == other.right else 0.0
    return (one.right, -one.loss) > (other.right, -(1.0 - gain) * other.loss)


def _normalise(weights: dict[str, float]) -> dict[str, float]:
    """Sum 1; empty where all are 0."""
    total = sum(weights.values())
    return {name: w / total for name, w in weights.items()} if total > 0 else {}
