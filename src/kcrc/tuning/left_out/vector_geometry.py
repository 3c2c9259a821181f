"""The geometry of vectors under a metric: how the stored examples lie around each of them, itself left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.kernels import VectorKernel, definite
from kcrc.method.scaling import Scaling, Unit, within_deviations
from kcrc.tuning.left_out.exclusion import removed_weights, rewhiten, strengths
from kcrc.tuning.left_out.products import DoubleProducts, products_among
from kcrc.tuning.left_out.surroundings import STORED, Around, Measured, cut, pick, smallest
from kcrc.tuning.left_out.trials import Geometry, Trials


class VectorGeometry(Geometry):
    """Euclidean geometry of the examples under a metric, with the exact leave-one-out correction of ``Within``.

    What was found around an example is kept: the search over settings asks for the same examples again and again.
    ``kernel``: one of dot products that is given and not searched; its values then stand in for them. ``candidates``
    gives the rows (B, C) that may enter the dictionaries of examples, where the search is coarse to fine.
    ``fixed``: the metric was fitted elsewhere, so that no example leaves it.
    """

    def __init__(
        self,
        metric: Scaling,
        X: Array,
        labels: Array,
        groups: Array,
        *,
        kernel: VectorKernel | None = None,
        candidates: Callable[[Array], Array] | None = None,
        fixed: bool = False,
    ) -> None:
        super().__init__(labels, groups)
        self.scaling, self.kernel, self.candidates = metric, kernel, candidates
        self.keeps_vectors = False
        self.centred = metric.is_centred and not fixed
        left = None if fixed else metric.by_class
        self.unit = left is not None and left.unit
        self.directions: Array | None = None
        if left is not None:
            assert left.mean is not None and left.whitening is not None
            self.Z = (left.ready(X) - left.mean) @ left.whitening  # all at once: no row has to be as if it were alone
            deviations, sizes = within_deviations(left.ready(X), labels)
            self.directions = deviations @ left.whitening
            weights = removed_weights(sizes, labels, groups, left.shrinkage)
            self.strength = strengths(self.directions, weights).astype(self.Z.dtype)
        else:
            self.Z = np.ascontiguousarray(metric.transform(X))
        self.squares = np.einsum("ij,ij->i", self.Z, self.Z)
        self.own = self.squares
        if self.directions is not None:
            self.own = self.squares + self.strength * np.einsum("ij,ij->i", self.directions, self.Z) ** 2
        if self.unit:
            self.own = np.ones_like(self.squares)
        # Dot products of all pairs are looked up where they are few: every trial would make them again.
        self.products = self.Z @ self.Z.T if len(X) <= STORED else None
        strength = None if self.directions is None else self.strength
        self._double = DoubleProducts(self.Z, self.directions, strength, unit=self.unit, kept=self.products is not None)
        self._nearest: dict[int, Around] = {}
        self._classes: dict[int, tuple[int, Around]] = {}

    def cost(self, trials: int, width: float) -> float:
        n, d = self.Z.shape
        finding = (2.0 if self.directions is None else 4.0) * n * d + 30.0 * n
        pair = 6.0 if self.products is not None else d + 6.0
        return float(trials * (finding + width**2 / 2 * pair))

    @property
    def finding(self) -> float:
        n, d = self.Z.shape
        return float(2 * n * d + 30 * n + (0 if self.directions is None else 2 * d * d))

    @property
    def scale(self) -> float:
        return definite.of_vectors(Unit().transform(self.Z) if self.unit else self.Z)

    def _measure(self, which: Array) -> Measured:
        """To all examples, each (B, n): dot products, squared lengths, projections on the removed direction, scale."""
        products = self.Z[which] @ self.Z.T if self.products is None else self.products[which]
        norms = np.broadcast_to(self.squares, products.shape)
        along = None
        if self.directions is not None:
            along = self.directions[which] @ self.Z.T
            strength = self.strength[which]
            mine = along[np.arange(len(which)), which]
            products = products + (strength * mine)[:, None] * along
            norms = norms + strength[:, None] * along**2
        if not self.unit:
            return products, norms, along, None
        tiny = np.finfo(products.dtype).tiny
        scale = 1.0 / np.sqrt(np.maximum(norms, tiny))
        products *= scale * scale[np.arange(len(which)), which][:, None]
        return products, np.minimum(norms * scale**2, 1.0), along, scale

    def _around(self, which: Array, width: int) -> list[Around]:
        """The ``width`` nearest of each that are in another group; fewer where there are no more."""
        missing = np.array([i for i in which if i not in self._nearest or len(self._nearest[i].rows) < width], int)
        if len(missing):
            measured = self._measure(missing)
            far = measured[1] - 2.0 * measured[0]
            far[self.groups[missing][:, None] == self.groups[None, :]] = np.inf
            if self.candidates is not None:
                inside = np.zeros((len(far), far.shape[1] + 1), bool)
                np.put_along_axis(inside, self.candidates(missing), True, axis=1)  # −1 is the last
                far[~inside[:, :-1]] = np.inf
            rows = smallest(far, width)
            real = np.isfinite(np.take_along_axis(far, rows, 1))
            for at, i in enumerate(missing):
                self._nearest[i] = pick(measured, at, rows[at][real[at]], None)
        return [self._nearest[i] for i in which]

    def _around_classes(self, which: Array, n_classes: int) -> list[Around]:
        """All examples of the nearest classes but those of its group, nearest first."""
        missing = np.array([i for i in which if i not in self._classes or self._classes[i][0] < n_classes], int)
        if len(missing):
            measured = self._measure(missing)
            near = self._nearest_classes(missing, measured, n_classes)
            for at, (i, classes) in enumerate(zip(missing, near, strict=True)):
                rank_of = np.full(int(self.labels.max()) + 1, -1)
                rank_of[classes] = np.arange(len(classes))
                rank = rank_of[self.labels]
                rank[self.groups == self.groups[i]] = -1
                rows = np.flatnonzero(rank >= 0)
                rows = rows[np.argsort(measured[1][at, rows] - 2.0 * measured[0][at, rows], kind="stable")]
                self._classes[i] = n_classes, pick(measured, at, rows, rank[rows])
        found = [self._classes[i][1] for i in which]
        return [cut(one, one.rank < n_classes) for one in found if one.rank is not None]

    def trials(self, which: Array, width: int) -> Trials:
        width = max(1, min(width, len(self.labels) - 1))
        return self._local(which, [cut(one, slice(width)) for one in self._around(which, width)])

    @property
    def has_folds(self) -> bool:  # type: ignore[override]
        return self.directions is None  # the correction of ``Within`` is another for each

    def fold(self, which: Array) -> Trials:
        rows = np.flatnonzero(~np.isin(self.groups, self.groups[which]))
        atoms, asked = self.Z[rows].astype(np.float64), self.Z[which].astype(np.float64)
        dot, squares, own = asked @ atoms.T, np.einsum("ij,ij->i", atoms, atoms), np.einsum("ij,ij->i", asked, asked)
        trials = Trials(
            labels=np.broadcast_to(self.labels[rows], dot.shape),
            truth=self.labels[which],
            cross=np.maximum(own[:, None] + squares - 2.0 * dot, 0.0),
            dot=dot,
            dots=(atoms @ atoms.T)[None],
            self_dot=own,
            squares=squares[None],
            asked=asked if self.keeps_vectors else None,
            atoms=atoms[None] if self.keeps_vectors else None,
        )
        return self._apply_kernel(trials)

    def class_trials(self, which: Array, n_classes: int) -> Trials:
        return self._local(which, self._around_classes(which, n_classes))

    def _apply_kernel(self, trials: Trials) -> Trials:
        """With the values of the kernel in place of dot products, where one is given."""
        if self.kernel is None:
            return trials
        dot, dots, own, squares = trials.dot, trials.dots, trials.self_dot, trials.squares
        assert dot is not None and dots is not None and own is not None and squares is not None
        return replace(
            trials,
            dot=self.kernel.profile(dot.copy(), own[:, None], squares),
            dots=self.kernel.profile(dots.copy(), squares[:, :, None], squares[:, None, :]),
            self_dot=self.kernel.profile(own.copy(), own, own),
        )

    def _local(self, which: Array, around: list[Around]) -> Trials:
        widest = max(1, *(len(one.rows) for one in around))

        def stack(values: list[Array], fill: float) -> Array:
            out = np.full((len(which), widest), fill, values[0].dtype)
            for at, one in enumerate(values):
                out[at, : len(one)] = one
            return out

        rows = stack([one.rows for one in around], -1)
        real, rows = rows >= 0, np.maximum(rows, 0)
        dot, squares = stack([one.dot for one in around], 0), stack([one.squares for one in around], 0)
        along = None if self.directions is None else stack([one.along for one in around if one.along is not None], 0)
        scale = stack([one.scale for one in around if one.scale is not None], 0) if self.unit else None
        rank = None
        if around[0].rank is not None:
            rank = stack([one.rank for one in around if one.rank is not None], len(self.labels))
        own = self.own[which]
        vectors = self._entries(which, rows) if self.keeps_vectors else (None, None)
        labels = np.where(real, self.labels[rows], -1).astype(np.int32)
        trials = Trials(
            labels=labels,
            truth=self.labels[which],
            cross=np.maximum(own[:, None] + squares - 2.0 * dot, 0.0),
            dot=dot,
            dots=products_among(
                rows,
                vectors=self.Z,
                products=self.products,
                along=along,
                strength=None if along is None else self.strength[which],
                scale=scale,
            ),
            self_dot=own,
            squares=squares,
            rank=rank,
            asked=vectors[0],
            atoms=vectors[1],
        )
        return replace(self._apply_kernel(trials), precise=partial(self._precise, trials, which, rows))

    def _precise(self, trials: Trials, which: Array, rows: Array, width: int) -> Trials:
        """The same trials, of ``width`` atoms, from dot products in double precision."""
        among = self._double.among(which, np.column_stack([rows[:, :width], which]))  # the example comes last
        dots, dot, own = np.ascontiguousarray(among[:, :-1, :-1]), among[:, :-1, -1], among[:, -1, -1]
        squares = np.einsum("bkk->bk", dots).copy()
        cross = np.maximum(own[:, None] + squares - 2.0 * dot, 0.0)
        return self._apply_kernel(
            Trials(
                labels=trials.labels[:, :width],
                truth=trials.truth,
                cross=cross,
                dot=dot,
                dots=dots,
                self_dot=own,
                squares=squares,
                rank=None if trials.rank is None else trials.rank[:, :width],
                asked=trials.asked,
                atoms=None if trials.atoms is None else trials.atoms[:, :width],
            )
        )

    def _entries(self, which: Array, rows: Array) -> tuple[Array, Array]:
        """The vectors themselves, of the examples (B, d) and their atoms (B, W, d)."""
        if self.directions is None:
            return self.Z[which], self.Z[rows]
        asked, atoms = np.empty((len(which), self.Z.shape[1])), np.empty((*rows.shape, self.Z.shape[1]))
        for at, (i, line) in enumerate(zip(which, rows, strict=True)):
            z = rewhiten(self.Z[np.append(line, i)], self.directions[i], float(self.strength[i]), unit=self.unit)
            asked[at], atoms[at] = z[-1], z[:-1]
        return asked, atoms

    @cached_property
    def _class_sums(self) -> tuple[Array, Array]:
        """Membership (n, C), and the sums of the vectors by class (C, d)."""
        member = np.zeros((len(self.labels), int(self.labels.max()) + 1), self.Z.dtype)
        member[np.arange(len(self.labels)), self.labels] = 1.0
        return member, member.T @ self.Z

    def _nearest_classes(self, which: Array, measured: Measured, n_classes: int) -> Array:
        """(B, c) the classes with the nearest mean, the example and its group left out of their own class's mean."""
        products, _, along, scale = measured
        member, sums = self._class_sums
        stays = self.groups[which][:, None] != self.groups
        totals = stays.astype(self.Z.dtype) @ member
        mean_products = np.where(stays, products, 0.0) @ member
        if along is None:  # without the example's group: the sums of the classes it touches change
            lengths = np.broadcast_to(np.einsum("cd,cd->c", sums, sums), totals.shape).copy()
            for at in range(len(which)):
                mates = np.flatnonzero(~stays[at])
                for c in np.unique(self.labels[mates]):
                    left = sums[c] - self.Z[mates[self.labels[mates] == c]].sum(axis=0)
                    lengths[at, c] = left @ left
        else:  # every example has its own geometry, and lengths of vectors in it: the sums are others for each
            share = np.where(stays, 1.0 if scale is None else scale, 0.0).astype(self.Z.dtype)
            gained = (share * along) @ member
            lengths = self.strength[which][:, None] * gained**2
            for c in range(member.shape[1]):
                mine = self.labels == c
                sums_of_c = share[:, mine] @ self.Z[mine]
                lengths[:, c] += np.einsum("bd,bd->b", sums_of_c, sums_of_c)
        with np.errstate(divide="ignore", invalid="ignore"):
            score = lengths / totals**2 - 2.0 * mean_products / totals
        score = np.where(totals > 0, score, np.inf)
        return np.argsort(score, axis=1, kind="stable")[:, :n_classes]
