"""Options of a part compared with what they are annotated with, and said in words where one is something else.

Python checks no annotations, and an option of the wrong kind would end in a TypeError far away from whoever gave it.
Only plain kinds are compared (numbers, truth values, text, tuples of those); parts look at the others themselves.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

from kcrc._base.annotations import fits, hints_of
from kcrc.errors import ParameterError

_WORDS = {int: "a whole number", float: "a number", bool: "True or False", str: "a text", type(None): "None"}
_SEVERAL = {int: "whole numbers", float: "numbers", bool: "truth values", str: "texts"}
_NUMBERS = ("no", "one", "two", "three", "four")


def check_options(part: str, maker: Any, given: Mapping[str, Any]) -> None:
    """Raise a ParameterError where an option of ``part`` (the feature 'hog') is not what ``maker`` takes."""
    hints = _hints(maker)
    for name, value in given.items():
        hint = hints.get(name)
        if hint is not None and _is_plain(hint) and not fits(_python(value), hint):
            raise ParameterError(f"{name} of {part} is {words(hint)}; got {value!r:.100}.")


def _hints(maker: Any) -> Mapping[str, Any]:
    """The annotations of its options; none where a part of the user's own names types that cannot be looked up."""
    fields = is_dataclass(maker) or not isinstance(maker, type)
    try:
        return hints_of(maker if fields else maker.__init__)
    except (NameError, TypeError, AttributeError):
        return {}


def words(hint: Any) -> str:
    """What an annotation asks for, to be read: a whole number or None."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(words(each) for each in arguments)
    if origin is Literal:
        names = [repr(each) for each in arguments]
        return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    if origin is tuple:
        several = _SEVERAL.get(arguments[0], "values")
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return f"a list of {several}"
        count = _NUMBERS[len(arguments)] if len(arguments) < len(_NUMBERS) else len(arguments)
        such = f", such as ({', '.join(['8'] * len(arguments))})" if arguments[0] in (int, float) else ""
        return f"{count} {several}{such}"
    return _WORDS.get(hint, str(hint))


def _is_plain(hint: Any) -> bool:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType) or origin is tuple:
        return all(each is Ellipsis or _is_plain(each) for each in arguments)
    return origin is Literal or hint in _WORDS


def _python(value: Any) -> Any:
    """NumPy's numbers as Python's, also those in a list or tuple."""
    if isinstance(value, np.generic):
        return value.item()
    return tuple(map(_python, value)) if isinstance(value, list | tuple) else value
