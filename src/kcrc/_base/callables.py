"""What users' own functions give back, looked at before it is used.

What cannot be used is one sentence: which function, what it gave for what, and what is wanted. A function that fails
keeps its own traceback, behind a sentence that says what it was asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError


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
