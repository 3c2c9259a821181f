"""By which look an example is near, where several make one vector: by those that find few other examples nearer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kcrc._base.arrays import Array

if TYPE_CHECKING:
    from kcrc.images.features.base import Feature
    from kcrc.method.fitted_model import FittedModel


# What features and looks see, in plain words.

WORDS = {
    "pixels": "grey values",
    "colour pixels": "coarse colours",
    "hog": "outlines",
    "fine hog": "fine outlines",
    "lbp": "texture",
    "colour": "colours",
    "coarse pyramid": "coarse visual words",
    "pyramid": "visual words",
    "embedding": "the network",
}


def in_words(look: str) -> str:
    """What a look sees; a look of the user's own goes by its name."""
    return WORDS.get(look, look)


def listed(looks: Iterable[str]) -> str:
    """Several of them: outlines, texture and colours."""
    *first, last = [in_words(look) for look in looks]
    return f"{', '.join(first)} and {last}" if first else last


def proportioned(weights: Mapping[str, float]) -> str:
    """Looks with their weights, the heaviest first, in tenths: outlines and texture, 7 to 3."""
    order = sorted(weights, key=lambda look: -weights[look])
    if len(order) == 1:
        return in_words(order[0])
    total = sum(weights.values())
    tenths = [max(1, round(10 * weights[look] / total)) for look in order]
    return f"{listed(order)}, {' to '.join(map(str, tenths))}"


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
