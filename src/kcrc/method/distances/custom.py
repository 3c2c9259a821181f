"""Distances a user gives as a function of two vectors: plain Python (slow) or compiled by Numba."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.validation import call_function, describe, show_vector, to_numbers
from kcrc.errors import DataError, ParameterError
from kcrc.method.distances.base import VectorDistance
from kcrc.method.preparation import Prepared

Function = Callable[[Array, Array], float]
Pair = Callable[[tuple[int, ...]], tuple[Array, Array]]


class SlowDistanceWarning(UserWarning):
    """A distance will be computed by a Python call for every pair."""


_ROLE, _WANTED = "distance function", "it must return one number, 0 or more"


def _check_values(values: Array, function: Function, pair: Pair) -> Array:
    """``values`` of any shape; ``pair`` gives the two vectors of one of them."""
    wrong = ~np.isfinite(values) | (values < 0)
    if wrong.any():
        place = tuple(int(at) for at in np.argwhere(wrong)[0])
        raise DataError(
            f"The distance function {function!r} returned a negative or non-finite value, {values[place]:g}, for "
            f"{_about(*pair(place))}. A distance is a finite number, 0 or more."
        )
    return values


def _about(u: Array, v: Array) -> str:
    return f"the vectors {show_vector(u)} and {show_vector(v)}"


def _one(function: Function, u: Array, v: Array) -> float:
    """The distance of one pair."""

    def about() -> str:
        return _about(u, v)

    value = call_function(_ROLE, function, about, u, v)
    if isinstance(value, float):  # NumPy's too
        return value
    array = to_numbers(_ROLE, function, value, about, _WANTED)
    if array.ndim:
        raise DataError(f"The {_ROLE} {function!r} returned {describe(value)} for {about()}; {_WANTED}.")
    return float(array)


@dataclass(frozen=True)
class CallableDistance(VectorDistance):
    """A Python function ``f(u, v) -> float`` of two vectors, called once per pair (slow)."""

    formula: ClassVar[str] = "f(a, b)"
    metric: ClassVar[bool] = False
    power: ClassVar[int] = 1
    symmetric: ClassVar[bool] = False  # unknown: both directions are measured
    cost: ClassVar[float] = 10.0

    function: Function

    @property
    def learns(self) -> bool:
        return False

    def fit(self, X: Array, y: Array, *, sample_shape: tuple[int, ...]) -> CallableDistance:
        warnings.warn(
            f"The distance function {self.function!r} is called from Python once for every pair, about a "
            "thousand times slower than a named distance. Compile it with numba.njit, or use a name: see "
            "kcrc.distances.names().",
            SlowDistanceWarning,
            stacklevel=2,
        )
        return self

    def pairwise(self, a: Prepared, b: Prepared) -> Array:
        left, right = a["vectors"], b["vectors"]
        out = np.empty((len(left), len(right)))
        for i, u in enumerate(left):
            for j, v in enumerate(right):
                out[i, j] = _one(self.function, u, v)
        return _check_values(out, self.function, lambda at: (left[at[0]], right[at[1]]))


def is_compiled(function: object) -> bool:
    """Whether Numba made this function (``@njit``), told without importing Numba."""
    return type(function).__module__.split(".")[0] == "numba" and hasattr(function, "py_func")


@cache
def _loops() -> tuple[Callable[..., None], Callable[..., None], Callable[..., None]]:
    """Loops over pairs that Numba compiles together with the function they call, the GIL released."""
    from numba import njit

    @njit(nogil=True)
    def pairwise(f: Any, left: Any, right: Any, out: Any) -> None:
        for i in range(len(left)):
            for j in range(len(right)):
                out[i, j] = f(left[i], right[j])

    @njit(nogil=True)
    def rowwise(f: Any, left: Any, right: Any, rows: Any, out: Any) -> None:
        for i in range(rows.shape[0]):
            for k in range(rows.shape[1]):
                out[i, k] = f(left[i], right[rows[i, k]])

    @njit(nogil=True)
    def within(f: Any, right: Any, rows: Any, out: Any) -> None:
        for i in range(rows.shape[0]):
            for j in range(rows.shape[1]):
                for k in range(rows.shape[1]):
                    out[i, j, k] = f(right[rows[i, j]], right[rows[i, k]])

    return pairwise, rowwise, within


@dataclass(frozen=True)
class CompiledDistance(VectorDistance):
    """A function ``f(u, v) -> float`` compiled by ``numba.njit``, called from compiled loops."""

    formula: ClassVar[str] = "f(a, b)"
    metric: ClassVar[bool] = False
    power: ClassVar[int] = 1
    symmetric: ClassVar[bool] = False  # unknown here too

    function: Function

    def _run(self, loop: Callable[..., None], shape: tuple[int, ...], pair: Pair, *arrays: Array) -> Array:
        from numba.core.errors import NumbaError

        out = np.empty(shape)
        try:
            loop(self.function, *(np.ascontiguousarray(array) for array in arrays), out)
        except NumbaError as failure:
            raise ParameterError(
                f"Numba cannot compile the distance function {self.function!r} for two vectors of "
                f"{arrays[0].dtype}: it takes two 1-d arrays and returns a number. Numba says: {failure}"
            ) from failure
        except Exception:  # it is the user's function: anything may come out of it
            for place in np.ndindex(shape):  # the loop does not say which pair it was; the first that fails again
                _one(self.function, *pair(place))
            raise
        return _check_values(out, self.function, pair)

    def pairwise(self, a: Prepared, b: Prepared) -> Array:
        left, right = a["vectors"], b["vectors"]
        return self._run(_loops()[0], (len(left), len(right)), lambda at: (left[at[0]], right[at[1]]), left, right)

    def rowwise(self, a: Prepared, b: Prepared, rows: Array) -> Array:
        left, right = a["vectors"], b["vectors"]
        return self._run(_loops()[1], rows.shape, lambda at: (left[at[0]], right[rows[at]]), left, right, rows)

    def within(self, b: Prepared, rows: Array) -> Array:
        some = b["vectors"]

        def pair(at: tuple[int, ...]) -> tuple[Array, Array]:
            return some[rows[at[0], at[1]]], some[rows[at[0], at[2]]]

        return self._run(_loops()[2], (*rows.shape, rows.shape[1]), pair, some, rows)


def from_function(function: Function) -> VectorDistance:
    """A distance from a function of two vectors, at compiled speed where Numba compiled it."""
    return CompiledDistance(function) if is_compiled(function) else CallableDistance(function)
