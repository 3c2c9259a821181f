"""What a search is given: the field it walks on, who judges a setting there, and what all of it may spend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from kcrc._base.arrays import Array
from kcrc.tuning.judging import DECISIONS
from kcrc.tuning.left_out.trials import Geometry, Trials


class Judge(Protocol):
    """Margins (sizes, mus, decisions, B) of the trials: see ``judging``."""

    def __call__(
        self,
        trials: Trials,
        gamma: float | None,
        labels: Array,
        sizes: list[int],
        mus: list[float],
        form: str,
        share: float | None = None,
    ) -> Array: ...


@dataclass(frozen=True, eq=False)
class Field:
    """The examples and the settings they may be tried under.

    geometries  by name, made when first asked for
    labels      (n,) class numbers; ``eligible`` (n,): which examples can be asked, as somebody could answer them
    kernels     to try
    fixed       parameters that have one value; the share of dimensions is searched where it has none
    most        atoms that n_neighbors may count, None for all but the one asked; ``whole``: the dictionary is the
                global one
    favoured    the geometry that the prior's favourites are of, where there is one
    keep        geometries whose best setting stays to the end, and those ``alone`` that the best must not be below
    """

    geometries: Mapping[str, Callable[[], Geometry]]
    labels: Array
    eligible: Array
    kernels: tuple[str, ...]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    most: int | None = None
    whole: bool = False
    favoured: str | None = None
    keep: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()

    @cached_property
    def n_classes(self) -> int:
        return int(self.labels.max()) + 1

    @cached_property
    def _class_sizes(self) -> Array:
        return np.sort(np.bincount(self.labels))[::-1]

    def class_width(self, count: int) -> int:
        """Examples of so many whole classes at most."""
        return int(self._class_sizes[:count].sum())

    def classes_within(self, atoms: int) -> int:
        """How many whole classes are no more examples than that, whichever they are."""
        return int(np.searchsorted(np.cumsum(self._class_sizes), atoms, side="right"))

    @cached_property
    def typical_class(self) -> float:
        """Examples of a class that is near: of the class of an example taken at random, Σ n² / n. Where classes are of
        one size that is their size; a large class is near as often as it is large."""
        sizes = self._class_sizes.astype(float)
        return float((sizes**2).sum() / sizes.sum())

    @property
    def largest(self) -> int:
        """Atoms that a dictionary can have."""
        return min(len(self.labels) - 1, self.most or len(self.labels))


@dataclass(frozen=True, eq=False)
class Bench:
    """Who judges: ``effort`` is how much dearer that is than the compiled ridge; ``iterates``: the coder does;
    ``projecting``: the cost of Ψ over K³; ``decisions``: the rules whose margins it gives, in this order."""

    judge: Judge
    effort: float = 1.0
    iterates: bool = False
    projecting: float = 0.0
    decisions: tuple[str, ...] = DECISIONS


@dataclass(frozen=True, eq=False)
class SearchBudget:
    """What a search may take: seconds of two ordinary cores, counted in arithmetic; threads; the seed of the order in
    which examples are asked; and whom it tells how far it is."""

    seconds: float
    n_jobs: int | None = None
    seed: int = 0
    progress: Callable[[float], None] = field(default=lambda share: None)
