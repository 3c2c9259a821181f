"""Whether a value read from a file is of the kind its place is annotated with.

Python checks no annotations; code that was written for a number does odd things with a text, late and far away. What
comes from a file is compared with the annotation where it comes in.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

_WIDEST = 1 << 63  # whole numbers are those of a machine


@cache
def hints_of(owner: Any) -> Mapping[str, Any]:
    """The annotations of a class or function, by name."""
    return types.MappingProxyType(get_type_hints(owner))


def fits(value: Any, hint: Any) -> bool:
    """Whether ``value`` is what ``hint`` says: numbers, text, tuples, dicts, arrays and parts of the library.

    A list fits where a tuple is due, a whole number where any number is, and 0 or 1 where a truth value is. A function
    fits nowhere: no file can hold one.
    """
    hint = _named(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(fits(value, each) for each in arguments)
    if origin is Literal:
        return isinstance(value, str) and value in arguments
    if hint is None or hint is type(None):
        return value is None
    if hint is bool:
        return isinstance(value, bool) or (isinstance(value, int) and value in (0, 1))
    if hint is int:
        return _whole(value)
    if hint is float:
        return _whole(value) or isinstance(value, float)
    if origin is tuple:
        return isinstance(value, list | tuple) and _each(value, arguments)
    if origin is dict:
        of_key, of_value = arguments
        return isinstance(value, dict) and all(fits(k, of_key) and fits(v, of_value) for k, v in value.items())
    if origin is np.ndarray:
        return isinstance(value, np.ndarray)
    return isinstance(hint, type) and isinstance(value, hint)


def _named(hint: Any) -> Any:
    """What a name that a ``type`` statement gave stands for: newer versions of NumPy have such a one in ``NDArray``.

    Its arguments (of an array: the type of its numbers) are not looked at.
    """
    while (stands_for := getattr(get_origin(hint) or hint, "__value__", None)) is not None:
        hint = stands_for
    return hint


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -_WIDEST <= value < _WIDEST


def _each(values: Any, hints: tuple[Any, ...]) -> bool:
    if len(hints) == 2 and hints[1] is Ellipsis:
        return all(fits(value, hints[0]) for value in values)
    return len(values) == len(hints) and all(map(fits, values, hints))
