"""Leave-one-out trials: stored examples asked as if they were new, and what makes them.

A trial's dictionary comes from the other examples, without itself and its group (exact duplicates, and what the caller
says belongs together). Trials hold squared distances and dot products of a dictionary large enough for every setting
on the grid; kernels, sizes and penalties are tried on them afterwards.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from kcrc.prepared import Array


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


class Geometry(ABC):
    """Makes trials, for one metric or distance."""

    members = 1  # distances whose nearest examples make up a dictionary: it has up to so many times n_neighbors atoms

    def __init__(self, labels: Array, groups: Array) -> None:
        self.labels = labels.astype(np.int32)
        self.groups = groups

    @abstractmethod
    def cost(self, trials: int, width: float) -> float:
        """Arithmetic of so many trials with dictionaries of ``width`` atoms, roughly."""

    @abstractmethod
    def trials(self, which: Array, width: int) -> Trials:
        """The examples ``which`` (row numbers) left out, dictionaries of the ``width`` nearest examples."""

    has_folds = False

    def fold(self, which: Array) -> Trials:
        """The examples ``which`` left out together, of the one dictionary of all others; only if ``has_folds``."""
        raise NotImplementedError

    def class_trials(self, which: Array, n_classes: int) -> Trials | None:
        """The same with all examples of the nearest classes; None where class means are not to be had."""
        return None
