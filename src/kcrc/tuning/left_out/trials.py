"""Leave-one-out trials: stored examples asked as if they were new, and what makes them.

A trial's dictionary comes from the other examples, without itself and its group (exact duplicates, and what the caller
says belongs together). Trials hold squared distances and dot products of a dictionary large enough for every setting
on the grid; kernels, sizes and penalties are tried on them afterwards.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kcrc._base.arrays import Array


@dataclass(frozen=True, eq=False)
class Trials:
    """B examples left out, each with a dictionary of up to W of the others, nearest first.

    labels   (B, W)     class numbers, −1 for padding
    truth    (B,)       the left-out examples' own
    cross    (B, W)     Dist (squared) of the example to its dictionary; None where a fixed kernel is given
    among    (B, W, W)  Dist (squared) inside the dictionary; None where it follows from dots and squares
    dot, dots, self_dot  dot products: (B, W), (B, W, W), (B,); for a fixed kernel its values
    squares  (B, W)     the diagonals of dots
    Examples left out together from one global dictionary share it: among, dots, squares, atoms then have length 1.
    rank     (B, W)     for whole-class dictionaries: how near the atom's class is (0 = nearest); for unions of the
                        nearest of several distances: the atom's best place among them
    asked, atoms        (B, d) and (B, W, d), the vectors themselves, for coders that look at their entries
    precise             makes the same trials, cut to so many atoms, in double precision from the start; None where that
                        cannot be had
    """

    labels: Array
    truth: Array
    cross: Array | None = None
    among: Array | None = None
    dot: Array | None = None
    dots: Array | None = None
    self_dot: Array | None = None
    squares: Array | None = None
    rank: Array | None = None
    asked: Array | None = None
    atoms: Array | None = None
    precise: Callable[[int], Trials] | None = None
    _doubles: dict[int, Trials] = field(default_factory=dict, repr=False)

    @property
    def inside(self) -> Array:
        """What is known of pairs of atoms: among, or dots."""
        found = self.dots if self.among is None else self.among
        assert found is not None
        return found

    def in_double(self, width: int) -> Trials:
        """The same in double precision, of the first ``width`` atoms: made so where they can be, else only continued.
        Kept, as many settings ask for it."""
        if self.inside.dtype == np.float64:
            return self
        width = min(width, self.labels.shape[1])
        if width not in self._doubles:
            self._doubles[width] = self._convert_to_double(width) if self.precise is None else self.precise(width)
        return self._doubles[width]

    def _convert_to_double(self, width: int) -> Trials:
        cut: dict[str, Any] = {}
        for name, part in vars(self).items():
            if isinstance(part, np.ndarray):
                cut[name] = part if part.ndim == 1 or name == "asked" else part[:, :width]
                if name in ("among", "dots"):
                    cut[name] = cut[name][:, :, :width]
                if part.dtype == np.float32:
                    cut[name] = cut[name].astype(np.float64)
        return Trials(**cut)

    def take(self, which: Array) -> Trials:
        """Some of the trials, which do not share a dictionary."""
        some: dict[str, Any] = {n: part[which] for n, part in vars(self).items() if isinstance(part, np.ndarray)}
        return Trials(**some)


class Geometry(ABC):
    """Makes trials, for one metric or distance."""

    centred = False  # whether vectors are taken about the mean of all examples, the one left out among them
    members = 1  # distances whose nearest examples make up a dictionary: it has up to so many times n_neighbors atoms

    def __init__(self, labels: Array, groups: Array) -> None:
        self.labels = labels.astype(np.int32)
        self.groups = groups

    @abstractmethod
    def cost(self, trials: int, width: float) -> float:
        """Arithmetic of so many trials with dictionaries of ``width`` atoms, roughly."""

    @property
    @abstractmethod
    def finding(self) -> float:
        """Arithmetic of finding the dictionary of one query, roughly."""

    @property
    @abstractmethod
    def scale(self) -> float:
        """What gamma = "scale" is here."""

    @abstractmethod
    def trials(self, which: Array, width: int) -> Trials:
        """The examples ``which`` (row numbers) left out, dictionaries of the ``width`` nearest examples."""

    has_folds = False

    def fold(self, which: Array) -> Trials:
        """The examples ``which`` left out together, of the one dictionary of all others; only if ``has_folds``."""
        raise NotImplementedError

    @abstractmethod
    def class_trials(self, which: Array, n_classes: int) -> Trials:
        """The same with all examples of the nearest classes."""
