"""Checks of what callers give: the size of samples, the results of users' functions, weights and seeds.

Everything is computed from squares and products of samples, and the gram form squares those again. Within the lengths
below (the root of the sum of squares) nothing overflows, and nothing vanishes compared with the other terms.
A sample of length 0 is always allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kcrc._base.arrays import Array, blocks
from kcrc.errors import DataError, ParameterError

LENGTHS: dict[int, tuple[float, float]] = {4: (1e-15, 1e15), 8: (1e-60, 1e60)}
"""The smallest and the largest length, by the bytes of a number: looking up a type's name takes too long per query."""
_NAMES = {4: "single precision (float32)", 8: "double precision"}


def are_in_range(X: Array, precision: np.dtype[Any]) -> bool:
    """Return whether the length of every row of X (n, d), a floating type, is allowed; False if there is a NaN."""
    least, most = LENGTHS[precision.itemsize]
    if X.dtype != precision:
        X = X.astype(np.promote_types(X.dtype, precision), copy=False)
    smallest, largest = _squares(X)
    if not largest <= most**2:
        return False
    return smallest >= least**2 or not X[np.einsum("ij,ij->i", X, X) < least**2].any()


def _squares(X: Array) -> tuple[float, float]:
    """Return the smallest and the largest sum of squares of a row."""
    if len(X) == 1:
        only = float(np.vdot(X, X))
        return only, only
    squares = np.einsum("ij,ij->i", X, X)
    return float(squares.min(initial=np.inf)), float(squares.max(initial=0.0))


def check(X: Array, precision: np.dtype[Any], *, or_else: str = "") -> None:
    """Raise a DataError unless all rows ``are_in_range``; ``or_else`` adds to the advice."""
    for block in blocks(*X.shape):
        if not are_in_range(X[block], precision):
            _check_numbers(X[block], block.start)
            _refuse(X[block], precision, "", or_else, block.start)


def check_scaled(X: Array, precision: np.dtype[Any], scaling: str) -> None:
    """Raise a DataError if a scaled row is too long. Short rows are allowed: they are simply close to the mean."""
    for block in blocks(*X.shape):
        if not _squares(X[block])[1] <= LENGTHS[precision.itemsize][1] ** 2:
            _refuse(X[block], precision, f" under the scaling {scaling}", "", block.start)


def _check_numbers(X: Array, first: int) -> None:
    finite = np.isfinite(X)
    if not finite.all():
        what = "NaN" if np.isnan(X).any() else "infinity"
        row = first + int((~finite).any(axis=1).argmax())
        raise DataError(f"Input X contains {what} in row {row}. Replace such values or leave the row out.")


def _refuse(X: Array, precision: np.dtype[Any], where: str, or_else: str, first: int) -> None:
    least, most = LENGTHS[precision.itemsize]
    lengths = _lengths(X)
    fine = ((lengths >= least) | (lengths == 0)) & (lengths <= most)
    row = int((lengths > most).argmax()) if where else int(fine.argmin())
    raise DataError(
        f"Row {first + row} of X has the length {lengths[row]:.3g}{where} (the root of the sum of its squares). "
        f"Lengths from {least:g} to {most:g}, or 0, can be compared in {_NAMES[precision.itemsize]}. Scale the "
        f"data{or_else}."
    )


def _lengths(X: Array) -> Array:
    """Return ‖x‖ of every row in double precision, even if its squares overflow or vanish."""
    wide = np.asarray(X, np.float64)
    largest = np.abs(wide).max(axis=1, initial=0.0)
    unit = np.divide(wide, largest[:, None], out=np.zeros_like(wide), where=largest[:, None] > 0)
    with np.errstate(over="ignore"):
        return np.asarray(largest * np.sqrt(np.einsum("ij,ij->i", unit, unit)))


# The results of users' own functions are checked before they are used.
#
# An error says which function it was, what it returned for what, and what was wanted. A function that fails keeps its
# own traceback, behind a sentence that says what it was called with.


def call_function(role: str, function: Callable[..., Any], about: Callable[[], str], *arguments: Any) -> Any:
    """Return ``function(*arguments)``; if it fails, raise a DataError that says so of ``about()``."""
    try:
        return function(*arguments)
    except Exception as failure:  # it is the user's function: anything may come out of it
        raise DataError(
            f"The {role} {function!r} failed for {about()}: {type(failure).__name__}: {failure}"
        ) from failure


def to_numbers(role: str, function: Callable[..., Any], value: Any, about: Callable[[], str], wanted: str) -> Array:
    """Return ``value``, which a function returned for ``about()``, as an array of real numbers."""
    try:
        array = np.asarray(value)
    except ValueError:  # lists of unequal lengths
        array = np.empty(0, object)
    if array.dtype.kind not in "biuf":
        raise DataError(f"The {role} {function!r} returned {describe(value)} for {about()}; {wanted}.")
    return array


def describe(value: Any) -> str:
    """Say what a value is, in a few words."""
    if value is None:
        return "None"
    if isinstance(value, str | bytes):
        return f"the text {value[:40]!r}"
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} of {value.dtype}"
    if isinstance(value, bool | int | float | complex | np.number):
        return f"the number {value}"
    return f"a {type(value).__name__}"


def show_vector(vector: Array) -> str:
    """Write a vector with a few of its numbers."""
    return np.array2string(np.asarray(vector), precision=4, threshold=6, edgeitems=2, max_line_width=1000)


LARGEST_SEED = 2**32 - 1  # of scikit-learn and NumPy's RandomState


def check_no_weights(method: str, more: Mapping[str, Any]) -> None:
    """Raise an error for arguments that ``fit`` does not have; for weights it explains why."""
    unknown = [name for name in more if name != "sample_weight"]
    if unknown:
        raise TypeError(f"{method} got an unexpected keyword argument '{unknown[0]}'")
    if more.get("sample_weight") is not None:
        raise ParameterError(
            "sample_weight must be None; got weights. A weight of two would mean an example stored twice, but a "
            "copy takes a place among the nearest examples. Store an example several times, or leave it out, instead."
        )


def seed_of(random_state: Any) -> int:
    """Return a seed: 0 for None, a whole number itself, a number drawn from a RandomState or a Generator.

    Call it once per fit: a second draw would give the parts of one fit different seeds.
    """
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if not isinstance(random_state, (int, np.integer)) or not 0 <= random_state <= LARGEST_SEED:
        raise ParameterError(
            f"random_state must be None, a whole number from 0 to {LARGEST_SEED}, a numpy RandomState or a numpy "
            f"Generator; got {random_state!r}."
        )
    return int(random_state)


def check_seed(seed: int) -> None:
    """Raise a ParameterError if a whole number is out of range for a seed."""
    if not 0 <= seed <= LARGEST_SEED:
        raise ParameterError(f"seed must be a whole number from 0 to {LARGEST_SEED}; got {seed!r}.")
