"""Several looks as one: their vectors side by side, each of length 1 times the root of its weight.

    ‖a − b‖² = Σ_l w_l ‖a_l − b_l‖²

so that one classifier sees all of them, and whitens them together. Half of a weight is the same for all, half goes by
how seldom the look alone is wrong about examples asked as if they were not stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kcrc._base.arrays import Array
from kcrc.images.looks.base import Look, Pictures, Price
from kcrc.images.looks.span import as_stored, span, squared_lengths, with_outside
from kcrc.method.scaling import tiled_product


@dataclass(frozen=True, eq=False)
class JoinLook(Look):
    """``parts`` that have been fitted, whose vectors are of length 1, their ``weights``, which sum to 1, and the
    ``axes`` of the span of the examples. ``beyond``: how far outside that a picture lies, by all parts together, is one
    number more (``kcrc.images.looks.span``)."""

    parts: tuple[Look, ...]
    weights: tuple[float, ...]
    axes: Array | None = None
    beyond: bool = True

    @property
    def name(self) -> str:  # type: ignore[override]  # it follows from the parts
        return f"join of {' + '.join(part.name for part in self.parts)}"

    @property
    def price(self) -> Price:  # type: ignore[override]
        return Price(sum(part.price.picture for part in self.parts))

    @property
    def outside(self) -> bool:
        return self.beyond and (self.axes is not None or any(part.outside for part in self.parts))

    def joined(self, seen: Mapping[str, Array]) -> Array:
        """(n, d) from what each part sees, by its name."""
        inside = self._side_by_side(seen)
        if self.axes is not None:
            inside = tiled_product(inside, self.axes.T)
        if not self.outside:
            return inside
        each = [w * squared_lengths(seen[part.name]) for part, w in zip(self.parts, self.weights, strict=True)]
        return with_outside(inside, np.sum(each, axis=0))

    def _side_by_side(self, seen: Mapping[str, Array]) -> Array:
        """Of each part what lies in its own span."""
        views = [seen[part.name][:, :-1] if part.outside else seen[part.name] for part in self.parts]
        return np.concatenate([np.sqrt(np.float32(w)) * v for v, w in zip(views, self.weights, strict=True)], axis=1)

    def stored(self, seen: Array) -> Array:
        return as_stored(seen) if self.outside else seen

    def of_more(self) -> Self:
        return replace(self, parts=tuple(part.of_more() for part in self.parts), beyond=False)

    def fitted(self, seen: Mapping[str, Array]) -> Self:
        """With the span of the examples, of which each part has ``seen`` something."""
        return replace(self, axes=span(self._side_by_side(seen)))

    def see(self, pictures: Pictures) -> Array:
        return self.joined({part.name: part.see(pictures) for part in self.parts})

    def state(self) -> dict[str, Any]:
        parts = [part.state() for part in self.parts]
        return {"look": "join", "parts": parts, "weights": list(self.weights), "axes": self.axes, "beyond": self.beyond}


def join_weights(errors: Sequence[float]) -> tuple[float, ...]:
    """Of looks that alone are wrong so often, which is never 0."""
    rarely = 1.0 / np.asarray(errors)
    weights = 0.5 / len(errors) + 0.5 * rarely / rarely.sum()
    return tuple(float(weight) for weight in weights)


def seen_by(looks: Sequence[Look], pictures: Pictures, *, stored: bool = False) -> list[Array]:
    """What each look sees of pictures that are asked about, or is ``stored`` of examples; a look that stands alone and
    is part of a join is asked once."""
    bases = {part.name: part for look in looks for part in (look.parts if isinstance(look, JoinLook) else (look,))}
    seen = {name: base.see(pictures) for name, base in bases.items()}
    found = [look.joined(seen) if isinstance(look, JoinLook) else seen[look.name] for look in looks]
    return [look.stored(one) for look, one in zip(looks, found, strict=True)] if stored else found
