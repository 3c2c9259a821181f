"""The unified similarity measure (paper, "Unified Similarity Measure"): several distances used as one.

Dist(a, b) = Σ wᵢ Distᵢ(a, b)^powerᵢ / scaleᵢ. The local dictionary is the union of the K nearest examples of each
member, and the kernel sees the sum.

scaleᵢ is how far an example is from its like: the mean, over some examples, of Distᵢ^powerᵢ to the nearest of a few of
its class. So no member counts for more because its numbers are larger, and none for less because it puts other classes
far away, as it would where all distances count for the scale.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.views import Layout
from kcrc.errors import DataError, ParameterError, UnknownName
from kcrc.method.distances.base import Distance, register, resolve
from kcrc.method.distances.precomputed import PrecomputedDistance
from kcrc.method.preparation import Prepared

_ASKED, _MATES = 128, 3  # examples asked for the scale of a member, and how many of its class each is compared with


@register("unified")
@dataclass(frozen=True)
class Unified(Distance):
    """Several distances used as one: Σ wᵢ Distᵢ^powerᵢ / scaleᵢ.

    Parameters
    ----------
    members : sequence or dict, default=("euclidean", "manhattan", "correlation")
        Names, distances or functions, in a list or by names of your own.
    weights : None, sequence, dict or "auto", default=None
        A number for each member, in a list or by name: only their ratios count, and 0 leaves a member out. None takes
        equal ones, "auto" has them chosen by leave-one-out.
    views : dict or None, default=None
        Where samples are a dict of views: the view that a member looks at, by the name of the member. A member that is
        not named here looks at the view of its own name.
    columns : object, default=None
        Where the views stand in a sample: filled in by ``with_layout``.
    scales : object, default=None
        What each member is divided by: filled in by ``fit``.

    Examples
    --------
    >>> from kcrc import distances
    >>> distances.make("unified", members=["euclidean", "manhattan"], weights=[3, 1]).weights_
    {'euclidean': 0.75, 'manhattan': 0.25}
    """

    formula: ClassVar[str] = "Σᵢ wᵢ Distᵢ(a, b)^powerᵢ / scaleᵢ"
    metric: ClassVar[bool] = False
    power: ClassVar[int] = 1
    sees_views: ClassVar[bool] = True

    members: Any = ("euclidean", "manhattan", "correlation")
    weights: Any = None
    views: Any = None
    columns: Any = field(default=None, repr=False)
    scales: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        members = _name_members(self.members)
        names = [name for name, _ in members]
        weights = _checked_weights(self.weights, names)
        views = _checked_views(self.views, names)
        setattr_ = object.__setattr__
        setattr_(self, "members", members)
        setattr_(self, "weights", weights)
        setattr_(self, "views", views)
        used = self.components.values()
        setattr_(self, "symmetric", all(one.symmetric for one in used))
        setattr_(self, "of_vectors", self.columns is None and all(one.of_vectors for one in used))
        setattr_(self, "cost", float(sum(one.cost for one in used)))
        setattr_(self, "rules", tuple(r for r in Distance.rules if all(r in one.rules for one in used)))

    # Members and weights --------------------------------------------------------------------------------------------

    @property
    def learns_weights(self) -> bool:
        """Whether the weights are still to be chosen; until then they are equal."""
        return isinstance(self.weights, str)

    @property
    def weights_(self) -> dict[str, float]:
        """The weight of each member; they sum to 1."""
        given = self.weights if isinstance(self.weights, tuple) else (1.0,) * len(self.members)
        return {name: w / sum(given) for (name, _), w in zip(self.members, given, strict=True)}

    def with_weights(self, weights: Mapping[str, float]) -> Unified:
        """The same with these weights; what was fitted stays, and so does what was prepared."""
        return replace(self, weights=tuple(float(weights[name]) for name, _ in self.members))

    @property
    def components(self) -> Mapping[str, Distance]:
        weights = self.weights_
        return {name: member for name, member in self.members if weights[name] > 0}

    def combine(self, parts: Sequence[Array]) -> Array:
        scales = self.scales or (1.0,) * len(self.members)
        weights = self.weights_
        factor = {name: weights[name] / scale for (name, _), scale in zip(self.members, scales, strict=True)}
        total: Array | None = None
        for (name, member), values in zip(self.components.items(), parts, strict=True):
            term = (values**2 if member.power == 2 else values) * factor[name]
            total = term if total is None else total + term
        assert total is not None
        return total

    # Views ----------------------------------------------------------------------------------------------------------

    def view_of(self, name: str) -> str:
        """The view that a member looks at where samples are views."""
        return str(dict(self.views or ()).get(name, name))

    def with_layout(self, layout: Layout) -> Unified:
        """With every member looking at its own columns of samples that are views side by side."""
        if not layout:
            if self.views is not None:
                raise DataError("The unified distance has views, but samples are plain arrays. Give a dict of views.")
            return self
        columns = []
        for name, _ in self.members:
            view = self.view_of(name)
            if view not in layout:
                raise DataError(
                    f"The member '{name}' looks at the view '{view}', which the samples do not have. "
                    f"They have: {', '.join(layout)}."
                )
            columns.append(layout[view])
        return replace(self, columns=tuple(columns))

    def _columns(self, X: Array, at: int) -> Array:
        """What member number ``at`` sees of samples (n, d)."""
        if self.columns is None:
            return X
        start, stop, _ = self.columns[at]
        return np.ascontiguousarray(X[:, start:stop])

    # The distance ---------------------------------------------------------------------------------------------------

    def fit(self, X: Array, y: Array, *, sample_shape: tuple[int, ...]) -> Unified:
        asked, mates = of_a_kind(np.asarray(y))
        members, scales = [], []
        for at, (name, member) in enumerate(self.members):
            seen = self._columns(X, at)
            shape = sample_shape if self.columns is None else tuple(self.columns[at][2])
            fitted = member.fit(seen, y, sample_shape=shape)
            members.append((name, fitted))
            scales.append(_scale(fitted, seen, asked, mates))
        return replace(self, members=tuple(members), scales=tuple(scales))

    @property
    def _slots(self) -> dict[str, int]:
        """Members that keep the same of the same columns share what they keep."""
        numbers: dict[Hashable, int] = {}
        columns = self.columns or (None,) * len(self.members)
        return {
            name: numbers.setdefault((None if seen is None else tuple(seen[:2]), member.preparation), len(numbers))
            for (name, member), seen in zip(self.members, columns, strict=True)
        }

    @property
    def preparation(self) -> Hashable:
        columns = self.columns or (None,) * len(self.members)
        return (
            "unified",
            tuple(
                (None if seen is None else tuple(seen[:2]), member.preparation)
                for (_, member), seen in zip(self.members, columns, strict=True)
            ),
        )

    def prepare(self, X: Array) -> Prepared:
        slots = self._slots
        parts: dict[str, Array] = {}
        for at, (name, member) in enumerate(self.members):
            if not any(key.startswith(f"{slots[name]}/") for key in parts):
                kept = member.prepare(self._columns(X, at))
                parts.update({f"{slots[name]}/{key}": value for key, value in kept.parts.items()})
        return Prepared(parts)

    def part(self, kept: Prepared, name: str) -> Prepared:
        start = f"{self._slots[name]}/"
        return Prepared({key.removeprefix(start): v for key, v in kept.parts.items() if key.startswith(start)})

    def pairwise(self, a: Prepared, b: Prepared) -> Array:
        return self.combine([m.pairwise(self.part(a, name), self.part(b, name)) for name, m in self._active()])

    def rowwise(self, a: Prepared, b: Prepared, rows: Array) -> Array:
        return self.combine([m.rowwise(self.part(a, name), self.part(b, name), rows) for name, m in self._active()])

    def within(self, b: Prepared, rows: Array) -> Array:
        return self.combine([m.within(self.part(b, name), rows) for name, m in self._active()])

    def to_origin(self, a: Prepared) -> Array:
        return self.combine([m.to_origin(self.part(a, name)) for name, m in self._active()])

    def _active(self) -> Iterable[tuple[str, Distance]]:
        return self.components.items()


def to_be_weighted(distance: Any) -> Unified | None:
    """A distance whose weights are still to be chosen; None for all others."""
    return distance if isinstance(distance, Unified) and distance.learns_weights else None


def _name_members(members: Any) -> tuple[tuple[str, Distance], ...]:
    """Members as (name, distance), however they were given."""
    if isinstance(members, Mapping):
        pairs = [(str(name), resolve(spec)) for name, spec in members.items()]
    elif isinstance(members, str) or not isinstance(members, Sequence):
        raise ParameterError(f"members is a list of distances, or a dict of them by name; got {members!r}.")
    else:
        pairs = []
        for spec in members:
            given = isinstance(spec, (tuple, list)) and len(spec) == 2 and isinstance(spec[0], str)
            name = spec[0] if given else spec if isinstance(spec, str) else type(resolve(spec)).__name__.lower()
            taken = [other for other, _ in pairs]
            if not given and name in taken:
                name = next(f"{name} {i}" for i in range(2, len(members) + 2) if f"{name} {i}" not in taken)
            pairs.append((name, resolve(spec[1] if given else spec)))
    if not pairs:
        raise ParameterError("The unified distance needs at least one member.")
    if len({name for name, _ in pairs}) < len(pairs):
        raise ParameterError(f"Two members have one name: {', '.join(name for name, _ in pairs)}.")
    for name, member in pairs:
        if isinstance(member, (PrecomputedDistance, Unified)):
            raise ParameterError(
                f"The member '{name}' is {type(member).__name__}, which cannot be one. Add up precomputed matrices "
                "yourself; list the members of a unified distance one by one."
            )
    return tuple(pairs)


def _checked_views(views: Any, names: list[str]) -> tuple[tuple[str, str], ...] | None:
    """(member, view) in the order of their names, from a dict or from what this made of one."""
    if views is None:
        return None
    pairs = list(views.items()) if isinstance(views, Mapping) else views
    in_pairs = isinstance(pairs, (list, tuple)) and all(isinstance(p, (list, tuple)) and len(p) == 2 for p in pairs)
    empty = isinstance(views, list) and not views
    if not in_pairs or empty or not all(isinstance(view, str) for _, view in pairs):
        raise ParameterError(
            "views is None, or a dict of the names of views by the names of members, as in "
            f"{{{names[0]!r}: 'image'}}; got {views!r}."
        )
    for name, _ in pairs:
        if name not in names:
            raise UnknownName("member", name, names)
    return tuple(sorted((name, view) for name, view in pairs))


def _checked_weights(weights: Any, names: list[str]) -> Any:
    if weights is None or (isinstance(weights, str) and weights == "auto"):
        return weights
    if isinstance(weights, Mapping):
        for name in weights:
            if name not in names:
                raise UnknownName("member", name, names)
        weights = [weights.get(name, 0.0) for name in names]
    try:
        values = tuple(float(w) for w in weights)
    except (TypeError, ValueError):
        values = ()
    if len(values) != len(names) or not all(isfinite(w) and w >= 0 for w in values) or not any(values):
        raise ParameterError(
            f'weights is None, "auto", or a number (0 or more, not all 0) for each of the {len(names)} members; '
            f"got {weights!r}."
        )
    return values


def of_a_kind(y: Array) -> tuple[Array, Array]:
    """Some examples (B,), and for each a few others of its class (B, M), repeated where there are fewer. Of all the
    others where no class has two."""
    rng = np.random.default_rng(0)
    _, kind, sizes = np.unique(y, return_inverse=True, return_counts=True)
    if sizes.max(initial=0) < 2:
        kind, sizes = np.zeros(len(y), int), np.array([len(y)])
    asked = rng.permutation(np.flatnonzero(sizes[kind] > 1))[:_ASKED]
    mates = np.empty((len(asked), _MATES), int)
    for at, i in enumerate(asked):
        others = rng.permutation(np.setdiff1d(np.flatnonzero(kind == kind[i]), [i]))
        mates[at] = np.resize(others, _MATES)
    return asked, mates


def _scale(distance: Distance, X: Array, asked: Array, mates: Array) -> float:
    """The mean of Dist^power to the nearest mate that is no copy; where most have copies only, to the others asked; 1
    where all are copies."""
    if not len(asked):
        return 1.0
    used = np.unique(np.concatenate([asked, mates.ravel()]))
    kept = distance.prepare(X[used])
    some = kept.take(np.searchsorted(used, asked))
    far = np.asarray(distance.rowwise(some, kept, np.searchsorted(used, mates)), np.float64) ** distance.power
    nearest = np.where(far > 0, far, np.inf).min(axis=1)
    known = nearest[np.isfinite(nearest)]
    if 2 * len(known) < len(asked):
        among = np.asarray(distance.pairwise(some, some), np.float64) ** distance.power
        known = among[np.isfinite(among) & (among > 0)]
    return float(known.mean()) if len(known) else 1.0
