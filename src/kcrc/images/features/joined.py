"""Several features as one: their vectors side by side, each of length 1 times the root of its weight.

    ‖a − b‖² = Σ_l w_l ‖a_l − b_l‖²

so that a gallery that is seen in several ways is a gallery like any other, of vectors whose parts are the looks.
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
UNFIT = ("callable", "looks", "onnx", "vectors")  # what is no picture's, or cannot be restored from a state alone


@dataclass(frozen=True)
class Stretch:
    """Where the look ``name`` stands in a vector: from ``start`` to before ``stop``, with its ``weight`` of 1."""

    name: str
    start: int
    stop: int
    weight: float


class JoinedLooks(Feature):
    """v = (√w₁ u₁, √w₂ u₂, …), uᵢ the vector of the i-th feature at length 1 (or 0 where it sees nothing).

    ``members`` are features that are fitted, ``names`` what they are called, ``weights`` above 0; only the ratios of
    those count. Every member is given the same picture, large enough for all of them, and brings it to its own size.
    """

    kind: ClassVar[str] = "looks"

    def __init__(self, *, names: Sequence[str], members: Sequence[Feature], weights: Sequence[float]) -> None:
        self.names = names
        self.members = members
        self.weights = weights

    @property
    def view(self) -> View:
        wanted = [member.view for member in self.members]
        # Twice of what a picture of other proportions is cropped or stretched to, so that no side is drawn out.
        sides = [max(view.size) * (1 if view.fit == "inside" else 2) for view in wanted if view.size is not None]
        as_it_comes = len(sides) < len(wanted) or any(view.fit == "cut" for view in wanted)
        size = None if as_it_comes else (max(sides), max(sides))
        return View(size, colour=any(view.colour for view in wanted), fit="inside")

    @property
    def dim(self) -> int:
        return sum(member.dim for member in self.members)

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        """Where each look stands in a vector."""
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
                f"1 to {MOST} features are joined, with a name and a weight each; got {count} features, "
                f"{len(self.names)} names, {len(self.weights)} weights."
            )
        if not all(_is_name(name) for name in self.names) or len(set(self.names)) < count:
            raise ParameterError(f"names are short texts, each once; got {list(self.names)!r:.200}.")
        if not all(is_weight(weight) for weight in self.weights):
            raise ParameterError(f"weights are numbers above 0 and up to 1e6; got {list(self.weights)!r:.200}.")
        for member in self.members:
            if not isinstance(member, Feature) or member.kind in UNFIT:
                raise ParameterError(f"{member!r:.100} cannot be joined with other features.")
            member.check()
        if self.dim > WIDEST:
            raise ParameterError(f"The features have {self.dim} numbers together; at most {WIDEST} are joined.")
        _ = self.view

    def _vectors(self, batch: Pictures) -> Array:
        joined = np.empty((len(batch), self.dim), np.float32)
        for member, place in zip(self.members, self.stretches, strict=True):
            seen = member.transform_seen([view_array(picture, member.view) for picture in batch])
            length = np.linalg.norm(seen, axis=1, keepdims=True)
            factor = np.divide(math.sqrt(place.weight), length, out=np.zeros_like(length), where=length > 0)
            np.multiply(seen, factor, out=joined[:, place.start : place.stop])
        return joined

    # ------------------------------------------------------------------------------------------ fitted state

    def options(self) -> dict[str, Any]:
        return {"names": list(self.names), "weights": [float(weight) for weight in self.weights]}

    def state(self) -> State:
        """The members' states, their arrays under names of their own ("0-words", "1-axes")."""
        self._ensure_fitted()
        plain: list[dict[str, Any]] = []
        arrays: dict[str, Array] = {}
        for number, member in enumerate(self.members):
            state = member.state()
            mine = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
            arrays |= {f"{number}-{name}": value for name, value in mine.items()}
            plain.append({name: value for name, value in state.items() if name not in mine})
        told = {"feature": self.kind, "version": self.version, "options": self.options()}
        return {**told, "members": plain, **arrays}

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
            raise DataError("The state of the feature 'looks' is damaged: it does not say which looks it joins.")
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
        """Equal where names, weights and the members' own fingerprints are."""
        self._ensure_fitted()
        told = [self.kind, self.version, self.options(), [member.fingerprint for member in self.members]]
        return f"{self.kind}:{hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:32]}"


def _member_state(state: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The state of one member, of that of all."""
    plain, start = state["members"][number], f"{number}-"
    if not isinstance(plain, Mapping) or plain.get("feature") in UNFIT:
        raise DataError(f"its look {number} is no feature.")
    return {**{name[len(start) :]: value for name, value in state.items() if name.startswith(start)}, **plain}


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and 0 < len(name) <= LONGEST_NAME and name.isprintable()


def is_weight(weight: Any) -> bool:
    """Whether it can be the weight of a look."""
    return isinstance(weight, int | float) and not isinstance(weight, bool) and 0 < weight <= 1e6
