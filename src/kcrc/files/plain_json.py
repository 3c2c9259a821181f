"""JSON read without trust, and written so that all can read it: without what Python takes beyond the standard."""

from __future__ import annotations

import json
import math
from typing import Any


def read_json(data: bytes | str) -> Any:
    """The value in JSON; a ``ValueError`` for anything else, NaN and endless nesting among it."""
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def to_line(value: Any) -> str:
    """One line of JSON in plain ASCII; what JSON has no number for (NaN, infinity) is null."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value
