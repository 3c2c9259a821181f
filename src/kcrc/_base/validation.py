"""How large and how small samples may be for the arithmetic here.

Everything is made of squares and products of samples, and the gram form squares those again. Within the lengths below
(the root of the sum of squares) none of it overflows, and none of it vanishes beside what it is compared with.
A sample of length 0 is always fine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kcrc._base.arrays import Array, blocks
from kcrc.errors import DataError, ParameterError

LENGTHS: dict[int, tuple[float, float]] = {4: (1e-15, 1e15), 8: (1e-60, 1e60)}
"""The least and the most, by the bytes of a number: a single query is too quick to ask a type for its name."""
_NAMES = {4: "single precision (float32)", 8: "double precision"}


def served(X: Array, precision: np.dtype[Any]) -> bool:
    """Whether every row of X (n, d), a floating type, has a length that ``precision`` serves; False with a NaN."""
    least, most = LENGTHS[precision.itemsize]
    if X.dtype != precision:
        X = X.astype(np.promote_types(X.dtype, precision), copy=False)
    smallest, largest = _squares(X)
    if not largest <= most**2:
        return False
    return smallest >= least**2 or not X[np.einsum("ij,ij->i", X, X) < least**2].any()


def _squares(X: Array) -> tuple[float, float]:
    """The least and the largest sum of squares of a row."""
    if len(X) == 1:
        only = float(np.vdot(X, X))
        return only, only
    squares = np.einsum("ij,ij->i", X, X)
    return float(squares.min(initial=np.inf)), float(squares.max(initial=0.0))


def check(X: Array, precision: np.dtype[Any], *, or_else: str = "") -> None:
    """Raise unless ``served``, block after block; ``or_else`` says what else would help."""
    for block in blocks(*X.shape):
        if not served(X[block], precision):
            _check_numbers(X[block], block.start)
            _refuse(X[block], precision, "", or_else, block.start)


def check_scaled(X: Array, precision: np.dtype[Any], scaling: str) -> None:
    """Raise where a row under a scaling is too long. It may be as short as it likes: so near to the mean."""
    for block in blocks(*X.shape):
        if not _squares(X[block])[1] <= LENGTHS[precision.itemsize][1] ** 2:
            _refuse(X[block], precision, f" under the scaling {scaling}", "", block.start)


def _check_numbers(X: Array, first: int) -> None:
    finite = np.isfinite(X)
    if not finite.all():
        what = "NaN" if np.isnan(X).any() else "infinity"
        row = first + int((~finite).any(axis=1).argmax())
        raise DataError(f"Input X contains {what}: row {row} has a value that is no number to compare by.")


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
    """‖x‖ of every row in double precision, whatever its squares do."""
    wide = np.asarray(X, np.float64)
    largest = np.abs(wide).max(axis=1, initial=0.0)
    unit = np.divide(wide, largest[:, None], out=np.zeros_like(wide), where=largest[:, None] > 0)
    with np.errstate(over="ignore"):
        return np.asarray(largest * np.sqrt(np.einsum("ij,ij->i", unit, unit)))


# What users' own functions give back, looked at before it is used.
#
# What cannot be used is one sentence: which function, what it gave for what, and what is wanted. A function that fails
# keeps its own traceback, behind a sentence that says what it was asked.


def called(role: str, function: Callable[..., Any], about: Callable[[], str], *given: Any) -> Any:
    """``function(*given)``; where it fails, a DataError that says so of ``about()``, the failure behind it."""
    try:
        return function(*given)
    except Exception as failure:  # it is the user's function: anything may come out of it
        raise DataError(
            f"The {role} {function!r} failed for {about()}: {type(failure).__name__}: {failure}"
        ) from failure


def numbers(role: str, function: Callable[..., Any], value: Any, about: Callable[[], str], wanted: str) -> Array:
    """``value``, which a function returned for ``about()``, as an array of real numbers."""
    try:
        array = np.asarray(value)
    except ValueError:  # lists of unequal lengths
        array = np.empty(0, object)
    if array.dtype.kind not in "biuf":
        raise DataError(f"The {role} {function!r} returned {described(value)} for {about()}; {wanted}.")
    return array


def described(value: Any) -> str:
    """What a value is, in a few words."""
    if value is None:
        return "None"
    if isinstance(value, str | bytes):
        return f"the text {value[:40]!r}"
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} of {value.dtype}"
    if isinstance(value, bool | int | float | complex | np.number):
        return f"the number {value}"
    return f"a {type(value).__name__}"


def shown(vector: Array) -> str:
    """A vector in a few figures."""
    return np.array2string(np.asarray(vector), precision=4, threshold=6, edgeitems=2, max_line_width=1000)


# From a caller's ``random_state`` to the one seed a fit works with.

LARGEST = 2**32 - 1  # what scikit-learn and NumPy's RandomState take


def check_no_weights(method: str, more: Mapping[str, Any]) -> None:
    """An error for what ``fit`` does not take: in words for weights, else Python's own."""
    unknown = [name for name in more if name != "sample_weight"]
    if unknown:
        raise TypeError(f"{method} got an unexpected keyword argument '{unknown[0]}'")
    if more.get("sample_weight") is not None:
        raise ParameterError(
            "sample_weight must be None; got weights. A weight of two would mean an example stored twice, but a "
            "copy takes a place among the nearest examples: store an example several times, or leave it out, instead."
        )


def seed_of(random_state: Any) -> int:
    """None is 0, a whole number is itself; of a RandomState or a Generator one number is drawn.

    Call it once a fit: drawn from again, it would give the parts of one fit different seeds.
    """
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if not isinstance(random_state, (int, np.integer)) or not 0 <= random_state <= LARGEST:
        raise ParameterError(
            f"random_state is None, a whole number from 0 to {LARGEST}, a numpy RandomState or a numpy Generator; "
            f"got {random_state!r}."
        )
    return int(random_state)


def check_seed(seed: int) -> None:
    """Raise a ParameterError for a whole number that is no seed."""
    if not 0 <= seed <= LARGEST:
        raise ParameterError(f"seed is a whole number from 0 to {LARGEST}; got {seed!r}.")
