"""JSON read without trust: what ``json.loads`` takes beyond the standard breaks things later."""

from __future__ import annotations

import json
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
