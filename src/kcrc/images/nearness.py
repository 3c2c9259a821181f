"""By which look an example is near, where several make one vector: by those that find few other examples nearer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kcrc._base.arrays import Array
from kcrc.images.look_words import listed

if TYPE_CHECKING:
    from kcrc.images.features.base import Feature
    from kcrc.method.fitted_model import FittedModel

ASKED = 1000  # stored examples that are compared with, spread evenly over all
ALIKE, SLIGHT = 2.0, 0.01  # times the share of its best look, and beside it, up to which a look is named too


@dataclass(frozen=True)
class Near:
    """``nearer``: by each look alone, the share of the stored examples that are nearer to the query than this one."""

    nearer: dict[str, float]

    @property
    def by(self) -> tuple[str, ...]:
        """The looks by which it is near, the clearest first."""
        most = ALIKE * min(self.nearer.values()) + SLIGHT
        return tuple(look for look in sorted(self.nearer, key=self.nearer.__getitem__) if self.nearer[look] <= most)

    @property
    def words(self) -> str:
        """near by outlines and texture"""
        return f"near by {listed(self.by)}"


def near_by(feature: Feature, model: FittedModel, vector: Array, ids: Sequence[int]) -> dict[int, Near]:
    """For each of the stored examples ``ids``, by which look it is near to the query ``vector`` (d,) that ``feature``
    made; none where the feature has no several looks."""
    from kcrc.images.features.joined import JoinedLooks

    if not isinstance(feature, JoinedLooks) or len(feature.stretches) < 2:
        return {}
    rows = np.flatnonzero(np.isin(model.ids, list(ids)))
    some = np.unique(np.linspace(0, len(model.ids) - 1, min(len(model.ids), ASKED)).astype(np.intp))
    shares: dict[str, Array] = {}
    for look in feature.stretches:
        cut = slice(look.start, look.stop)
        asked, theirs = (_squared(model.raw[of, cut], vector[cut]) for of in (rows, some))
        shares[look.name] = (theirs[None, :] < asked[:, None]).mean(axis=1)
    return {
        int(example): Near({name: float(share[at]) for name, share in shares.items()})
        for at, example in enumerate(model.ids[rows])
    }


def _squared(stored: Array, query: Array) -> Array:
    """(n,) squared distances."""
    apart = stored - query
    return np.asarray(np.einsum("ij,ij->i", apart, apart))
