"""Several features as one: their unit vectors side by side, each times the root of its weight.

    ‖a − b‖² = Σ_l w_l ‖a_l − b_l‖²

so that a gallery with several looks is one of vectors like any other; the parts of a vector are the looks.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError, KCRCError, ParameterError
from kcrc.images.decoding.resizing import View, view_array
from kcrc.images.features.base import Feature, Pictures, State

MOST = 8  # looks
WIDEST = 100_000  # numbers of a vector
LONGEST_NAME = 40
UNFIT = ("callable", "looks", "onnx", "vectors")  # not of pictures, or not restorable from a state alone


@dataclass(frozen=True)
class Stretch:
    """The part of a vector that belongs to the look ``name``, with its share ``weight`` of 1."""

    name: str
    start: int
    stop: int
    weight: float


class JoinedLooks(Feature):
    """v = (√w₁ u₁, √w₂ u₂, …), uᵢ the vector of the i-th feature scaled to length 1 (or 0 for a blank picture).

    ``members`` are fitted features with ``names`` and positive ``weights``; only the ratios of the weights count. Every
    member gets the same picture, large enough for all of them, and resizes it.
    """

    kind: ClassVar[str] = "looks"

    def __init__(self, *, names: Sequence[str], members: Sequence[Feature], weights: Sequence[float]) -> None:
        self.names = names
        self.members = members
        self.weights = weights

    @property
    def view(self) -> View:
        views = [member.view for member in self.members]
        # Twice the size to which pictures of other proportions are cropped or stretched, so that no side is enlarged.
        sides = [max(view.size) * (1 if view.fit == "inside" else 2) for view in views if view.size is not None]
        is_unlimited = len(sides) < len(views) or any(view.fit == "cut" for view in views)
        size = None if is_unlimited else (max(sides), max(sides))
        return View(size, colour=any(view.colour for view in views), fit="inside")

    @property
    def dim(self) -> int:
        return sum(member.dim for member in self.members)

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        """The part of a vector that belongs to each look."""
        ends = np.cumsum([member.dim for member in self.members]).tolist()
        total = math.fsum(self.weights)
        return tuple(
            Stretch(name, start, stop, weight / total)
            for name, start, stop, weight in zip(self.names, [0, *ends[:-1]], ends, self.weights, strict=True)
        )

    @property
    def is_fitted(self) -> bool:
        return all(member.is_fitted for member in self.members)

    def _check(self) -> None:
        count = len(self.members)
        if not 1 <= count <= MOST or not len(self.names) == len(self.weights) == count:
            raise ParameterError(
                f"members must be 1 to {MOST} features with a name and a weight each; got {count} features, "
                f"{len(self.names)} names, {len(self.weights)} weights."
            )
        if not all(_is_name(name) for name in self.names) or len(set(self.names)) < count:
            raise ParameterError(
                f"names must be different texts of 1 to {LONGEST_NAME} characters; got {list(self.names)!r:.200}."
            )
        if not all(is_weight(weight) for weight in self.weights):
            raise ParameterError(f"weights must be above 0 and at most 1e6; got {list(self.weights)!r:.200}.")
        for member in self.members:
            if not isinstance(member, Feature) or member.kind in UNFIT:
                raise ParameterError(
                    f"members must be features of pictures other than {', '.join(UNFIT)}; got {member!r:.100}."
                )
            member.check()
        if self.dim > WIDEST:
            raise ParameterError(f"The features must have at most {WIDEST} numbers together; got {self.dim}.")
        _ = self.view

    def _vectors(self, batch: Pictures) -> Array:
        joined = np.empty((len(batch), self.dim), np.float32)
        for member, place in zip(self.members, self.stretches, strict=True):
            vectors = member.transform_pixels([view_array(picture, member.view) for picture in batch])
            length = np.linalg.norm(vectors, axis=1, keepdims=True)
            factor = np.divide(math.sqrt(place.weight), length, out=np.zeros_like(length), where=length > 0)
            np.multiply(vectors, factor, out=joined[:, place.start : place.stop])
        return joined

    # Fitted state -----------------------------------------------------------------------------------------------

    def options(self) -> dict[str, Any]:
        return {"names": list(self.names), "weights": [float(weight) for weight in self.weights]}

    def state(self) -> State:
        """Return the members' states, with numbered arrays ("0-words", "1-axes")."""
        self._ensure_fitted()
        plain: list[dict[str, Any]] = []
        arrays: dict[str, Array] = {}
        for number, member in enumerate(self.members):
            state = member.state()
            own_arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
            arrays |= {f"{number}-{name}": value for name, value in own_arrays.items()}
            plain.append({name: value for name, value in state.items() if name not in own_arrays})
        header = {"feature": self.kind, "version": self.version, "options": self.options()}
        return {**header, "members": plain, **arrays}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        from kcrc.images.features import restore

        if state.get("feature") != cls.kind or state.get("version") != cls.version:
            raise DataError(
                f"The state is of the feature {str(state.get('feature'))[:40]!r}, version "
                f"{str(state.get('version'))[:40]}; this library reads '{cls.kind}', version {cls.version}."
            )
        options, plain = state.get("options"), state.get("members")
        if (
            not isinstance(options, Mapping)
            or set(options) != {"names", "weights"}
            or not all(isinstance(options[name], list) for name in options)
            or not isinstance(plain, list)
            or not 1 <= len(plain) <= MOST
        ):
            raise DataError("The state of the feature 'looks' is damaged: its names, weights or members are missing.")
        try:
            members = tuple(restore(_member_state(state, number)) for number in range(len(plain)))
            joined = cls(names=tuple(options["names"]), members=members, weights=tuple(options["weights"]))
            joined.check()
        except KCRCError as problem:
            raise DataError(f"The state of the feature 'looks' is damaged: {problem}") from problem
        return joined

    def keep(self) -> None:
        for member in self.members:
            member.keep()

    @property
    def fingerprint(self) -> str:
        """A hash of names, weights and the members' fingerprints."""
        self._ensure_fitted()
        parts = [self.kind, self.version, self.options(), [member.fingerprint for member in self.members]]
        return f"{self.kind}:{hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]}"


def _member_state(state: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return the state of one member from the state of all."""
    plain, start = state["members"][number], f"{number}-"
    if not isinstance(plain, Mapping) or plain.get("feature") in UNFIT:
        raise DataError(f"its look {number} is not a feature of pictures.")
    return {**{name[len(start) :]: value for name, value in state.items() if name.startswith(start)}, **plain}


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and 0 < len(name) <= LONGEST_NAME and name.isprintable()


def is_weight(weight: Any) -> bool:
    """Whether ``weight`` is a valid weight of a look."""
    return isinstance(weight, int | float) and not isinstance(weight, bool) and 0 < weight <= 1e6
