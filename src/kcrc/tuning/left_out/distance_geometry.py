"""The geometry of any distance, and of kernels that are given: how the stored examples lie around each of them."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.distances.base import Distance
from kcrc.method.kernels import Kernel, definite
from kcrc.method.preparation import Samples
from kcrc.tuning.left_out.surroundings import MICROSECOND, Surroundings
from kcrc.tuning.left_out.trials import Geometry, Trials

LOOKED_UP = 0.05  # µs a pair takes that is known


class MeasuredGeometry(Geometry):
    """The geometry of any distance."""

    def __init__(
        self,
        distance: Distance,
        X: Array | Surroundings,
        labels: Array,
        groups: Array,
    ) -> None:
        super().__init__(labels, groups)
        self.distance = distance
        self.around = (
            X if isinstance(X, Surroundings) else Surroundings(Samples(X, columns=np.arange(len(X))), labels, groups)
        )
        self.members = len(distance.components)

    def cost(self, trials: int, width: float) -> float:
        candidates = len(self.labels) if self.around.coarse is None else self.around.coarse[1]
        pairs, total = trials * (candidates + width**2 / 2), 0.0
        for name in self.distance.components:
            known = self.around.pairs.get(name)  # there each pair is measured once
            new = pairs if known is None else min(pairs, known.missing)
            total += MICROSECOND * LOOKED_UP * pairs + self.around.arithmetic(self.distance, name) * new
        return total

    @property
    def finding(self) -> float:
        candidates = len(self.labels) if self.around.coarse is None else self.around.coarse[1]
        return candidates * sum(self.around.arithmetic(self.distance, name) for name in self.distance.components)

    @property
    def scale(self) -> float:
        return definite.of_distance(self.distance, self.around.samples)

    def trials(self, which: Array, width: int) -> Trials:
        return self.make_trials(which, *self.around.dictionaries(self.distance, which, width))

    def class_trials(self, which: Array, n_classes: int) -> Trials:
        return self.make_trials(which, *self.around.whole_classes(self.distance, which, n_classes))

    @abstractmethod
    def make_trials(self, which: Array, rows: Array, far: Array, rank: Array | None) -> Trials:
        """From the dictionaries: rows (B, W), nearest first, distances ``far`` to them, and their rank."""

    def _classes(self, rows: Array) -> Array:
        return np.where(rows >= 0, self.labels[np.maximum(rows, 0)], -1).astype(np.int32)


class DistanceGeometry(MeasuredGeometry):
    """For the kernel that is made from the distance."""

    def _raise_to_power(self, values: Array) -> Array:
        return np.asarray(values**2 if self.distance.power == 2 else values, np.float32)

    def make_trials(self, which: Array, rows: Array, far: Array, rank: Array | None) -> Trials:
        cross = self._raise_to_power(np.where(rows >= 0, self.around.facing(self.distance, which, rows, far), 0.0))
        among = self._raise_to_power(self.around.within(self.distance, rows))
        return Trials(self._classes(rows), self.labels[which], cross, among, rank=rank)


class KernelGeometry(MeasuredGeometry):
    """A kernel that is given and not searched: its values stand in for the dot products."""

    def __init__(
        self,
        distance: Distance,
        kernel: Kernel,
        X: Array | Surroundings,
        labels: Array,
        groups: Array,
    ) -> None:
        super().__init__(distance, X, labels, groups)
        self.kernel = kernel
        self.keeps_vectors = False

    def make_trials(self, which: Array, rows: Array, far: Array | None = None, rank: Array | None = None) -> Trials:
        alike, near = self.around.samples.of(self.kernel), np.maximum(rows, 0)
        asked, X = alike.take(which), self.around.samples.X
        dots = np.asarray(self.kernel.local(alike, near))
        return Trials(
            self._classes(rows),
            self.labels[which],
            dot=np.asarray(self.kernel.cross(asked, alike, near), dots.dtype),
            dots=dots,
            self_dot=self.kernel.diagonal(asked),
            rank=rank,
            asked=X[which] if self.keeps_vectors else None,
            atoms=X[near] if self.keeps_vectors else None,
        )
