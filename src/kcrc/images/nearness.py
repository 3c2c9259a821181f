"""By which of several joined looks an example is near a query: those that find few other examples nearer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kcrc._base.arrays import Array
from kcrc.images.looks import describe

if TYPE_CHECKING:
    from kcrc.images.features.base import Feature
    from kcrc.method.fitted_model import FittedModel


def list_looks(looks: Iterable[str]) -> str:
    """Return what several looks compare as a phrase, such as "outlines, texture and colours"."""
    *first, last = [describe(look).words for look in looks]
    return f"{', '.join(first)} and {last}" if first else last


def describe_weights(weights: Mapping[str, float]) -> str:
    """Return looks with their weights, the heaviest first, in tenths, such as "outlines and texture, 7 to 3"."""
    order = sorted(weights, key=lambda look: -weights[look])
    if len(order) == 1:
        return describe(order[0]).words
    total = sum(weights.values())
    tenths = [max(1, round(10 * weights[look] / total)) for look in order]
    return f"{list_looks(order)}, {' to '.join(map(str, tenths))}"


COMPARED = 1000  # stored examples, spread evenly over all, that tell how many are nearer
# A look is named if its share of nearer examples is at most FACTOR times that of the best look plus MARGIN.
FACTOR, MARGIN = 2.0, 0.01


@dataclass(frozen=True)
class Near:
    """``nearer``: by each look alone, the share of stored examples that are nearer to the query than this one."""

    nearer: dict[str, float]

    @property
    def by(self) -> tuple[str, ...]:
        """The looks by which it is near, the clearest first."""
        most = FACTOR * min(self.nearer.values()) + MARGIN
        return tuple(look for look in sorted(self.nearer, key=self.nearer.__getitem__) if self.nearer[look] <= most)

    @property
    def words(self) -> str:
        """A phrase such as "near by outlines and texture"."""
        return f"near by {list_looks(self.by)}"


def near_by(feature: Feature, model: FittedModel, vector: Array, ids: Sequence[int]) -> dict[int, Near]:
    """Return by which looks each of the stored examples ``ids`` is near the query ``vector`` (d,) of ``feature``.

    The result is empty unless the feature joins several looks.
    """
    from kcrc.images.features.joined import JoinedLooks

    if not isinstance(feature, JoinedLooks) or len(feature.stretches) < 2:
        return {}
    rows = np.flatnonzero(np.isin(model.ids, list(ids)))
    others = np.unique(np.linspace(0, len(model.ids) - 1, min(len(model.ids), COMPARED)).astype(np.intp))
    shares: dict[str, Array] = {}
    for look in feature.stretches:
        part = slice(look.start, look.stop)
        own, theirs = (_squared_distances(model.raw[which, part], vector[part]) for which in (rows, others))
        shares[look.name] = (theirs[None, :] < own[:, None]).mean(axis=1)
    return {
        int(example): Near({name: float(share[place]) for name, share in shares.items()})
        for place, example in enumerate(model.ids[rows])
    }


def _squared_distances(stored: Array, query: Array) -> Array:
    difference = stored - query
    return np.asarray(np.einsum("ij,ij->i", difference, difference))
