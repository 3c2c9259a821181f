"""Several looks as one: their unit vectors side by side, each times the root of its weight.

    ‖a − b‖² = Σ_l w_l ‖a_l − b_l‖²

so that a single classifier compares and whitens all of them together. Half of the weight is shared equally; the other
half is inversely proportional to the leave-one-out error of each look alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kcrc._base.arrays import Array
from kcrc.images.looks.base import Look, Pictures, Price
from kcrc.images.looks.subspace import squared_lengths, subspace_axes, with_outside_length, without_outside_length
from kcrc.method.scaling import tiled_product


@dataclass(frozen=True, eq=False)
class JoinLook(Look):
    """Fitted ``parts`` with unit vectors, their ``weights`` (of sum 1), and the ``axes`` of the examples' subspace.

    ``beyond``: one more number says how far outside that subspace a picture lies (``kcrc.images.looks.subspace``).
    """

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

    def join(self, vectors: Mapping[str, Array]) -> Array:
        """Return the joined vectors (n, d) from those of each part, by its name."""
        inside = self._side_by_side(vectors)
        if self.axes is not None:
            inside = tiled_product(inside, self.axes.T)
        if not self.outside:
            return inside
        squares = [w * squared_lengths(vectors[part.name]) for part, w in zip(self.parts, self.weights, strict=True)]
        return with_outside_length(inside, np.sum(squares, axis=0))

    def _side_by_side(self, vectors: Mapping[str, Array]) -> Array:
        """Join the coordinates of each part within its own subspace."""
        within = [vectors[part.name][:, :-1] if part.outside else vectors[part.name] for part in self.parts]
        return np.concatenate([np.sqrt(np.float32(w)) * v for v, w in zip(within, self.weights, strict=True)], axis=1)

    def to_stored(self, vectors: Array) -> Array:
        return without_outside_length(vectors) if self.outside else vectors

    def for_more_examples(self) -> Self:
        return replace(self, parts=tuple(part.for_more_examples() for part in self.parts), beyond=False)

    def with_axes(self, vectors: Mapping[str, Array]) -> Self:
        """Return the join with the subspace of the examples, given the vectors of each part."""
        return replace(self, axes=subspace_axes(self._side_by_side(vectors)))

    def see(self, pictures: Pictures) -> Array:
        return self.join({part.name: part.see(pictures) for part in self.parts})

    def state(self) -> dict[str, Any]:
        parts = [part.state() for part in self.parts]
        return {"look": "join", "parts": parts, "weights": list(self.weights), "axes": self.axes, "beyond": self.beyond}


def join_weights(errors: Sequence[float]) -> tuple[float, ...]:
    """Return the weights of looks with these leave-one-out error rates, each above 0."""
    inverse = 1.0 / np.asarray(errors)
    weights = 0.5 / len(errors) + 0.5 * inverse / inverse.sum()
    return tuple(float(weight) for weight in weights)


def vectors_of_looks(looks: Sequence[Look], pictures: Pictures, *, stored: bool = False) -> list[Array]:
    """Return the vectors of each look, of queries or as ``stored`` of examples.

    A look that is used alone and also as part of a join is computed once.
    """
    singles = {part.name: part for look in looks for part in (look.parts if isinstance(look, JoinLook) else (look,))}
    seen = {name: single.see(pictures) for name, single in singles.items()}
    vectors = [look.join(seen) if isinstance(look, JoinLook) else seen[look.name] for look in looks]
    return [look.to_stored(part) for look, part in zip(looks, vectors, strict=True)] if stored else vectors
