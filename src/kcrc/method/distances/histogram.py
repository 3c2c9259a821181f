"""Distances between histograms: χ² and intersection. Values are counts or shares, never negative."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError
from kcrc.method.distances import coordinatewise
from kcrc.method.distances.base import Distance, register
from kcrc.method.distances.coordinatewise import Coordinatewise
from kcrc.method.preparation import Prepared


def prepare_histograms(X: Array) -> Prepared:
    """Histograms as they are, with their mass Σᵢ aᵢ; a negative value is an error."""
    least = X.min(initial=0)
    if least < 0:
        raise DataError(
            f"Histogram distances need values of 0 or more; the smallest given is {least:g}. "
            "Shift or clip the features, or use a distance for signed vectors such as 'euclidean'."
        )
    return Prepared({"vectors": X, "mass": X.sum(axis=1, dtype=np.result_type(np.float32, X.dtype))})


class HistogramDistance(Distance):
    """A distance between non-negative vectors: they all share one preparation."""

    @property
    def preparation(self) -> Hashable:
        return "histograms"

    def prepare(self, X: Array) -> Prepared:
        return prepare_histograms(X)


@register("chi2")
@dataclass(frozen=True)
class ChiSquare(Coordinatewise, HistogramDistance):
    """The symmetric χ² distance, without the factor ½ and with 0/0 = 0.

    Its square root is a metric, itself it is not. Its polarisation is the additive χ² kernel Σ 2aᵢbᵢ/(aᵢ+bᵢ).
    """

    formula: ClassVar[str] = "Σ (aᵢ − bᵢ)² / (aᵢ + bᵢ)"
    metric: ClassVar[bool] = False
    power: ClassVar[int] = 1
    measure: ClassVar[str] = "chi2"

    def to_origin(self, a: Prepared) -> Array:
        return a["mass"]


@register("intersection")
@dataclass(frozen=True)
class Intersection(HistogramDistance):
    """The share of the heavier histogram that the other does not cover: 0 for equal ones, 1 without overlap.

    For histograms of equal mass, half the Manhattan distance over the mass. Two empty histograms are at 0.
    """

    formula: ClassVar[str] = "1 − Σ min(aᵢ, bᵢ) / max(Σ aᵢ, Σ bᵢ)"
    metric: ClassVar[bool] = True
    power: ClassVar[int] = 1

    @staticmethod
    def _mass_apart(common: Array, mass_a: Array, mass_b: Array) -> Array:
        heavier = np.maximum(mass_a, mass_b)
        share = np.divide(common, heavier, out=np.ones_like(common), where=heavier > 0)
        # The masses were summed in another order than the common part: 1 − share may be a rounding below 0.
        return np.asarray(np.maximum(1.0 - share, 0.0))

    def pairwise(self, a: Prepared, b: Prepared) -> Array:
        common = coordinatewise.pairwise("common_mass", a["vectors"], b["vectors"])
        return self._mass_apart(common, a["mass"][:, None], b["mass"][None, :])

    def rowwise(self, a: Prepared, b: Prepared, rows: Array) -> Array:
        common = coordinatewise.rowwise("common_mass", a["vectors"], b["vectors"], rows)
        return self._mass_apart(common, a["mass"][:, None], b["mass"][rows])

    def within(self, b: Prepared, rows: Array) -> Array:
        common = coordinatewise.within("common_mass", b["vectors"], rows)
        mass = b["mass"][rows]
        return self._mass_apart(common, mass[:, :, None], mass[:, None, :])

    def to_origin(self, a: Prepared) -> Array:
        return np.where(a["mass"] > 0, np.ones_like(a["mass"]), np.zeros_like(a["mass"]))
