"""What a gallery is: its feature, fingerprint, width, parameters and counters, as one checked value."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kcrc.classifier.stored_parts import parameters_of_today
from kcrc.errors import ParameterError

DTYPES = ("float32", "float64")
WIDTH_LIMIT = 1_000_000
TEXT_LIMIT = 1_000_000
_HALVES = re.compile("[\ud800-\udfff]")  # lone surrogates, which UTF-8 cannot encode
_MOST = (1 << 60) - 1  # of a counter


@dataclass(frozen=True)
class Settings:
    """The settings of one gallery.

    ``values`` is the plain part of the feature's state (its options); ``parameters`` are the classifier's parameters
    that a user fixed; ``tuned`` is the act that chose the others (0: none yet); ``revision`` counts the acts;
    ``next_id`` is the id of the next example."""

    identity: str
    created_at: int
    feature: str
    values: Mapping[str, Any]
    fingerprint: str
    dim: int
    dtype: str
    parameters: Mapping[str, Any]
    next_id: int = 1
    revision: int = 0
    tuned: int = 0

    def __post_init__(self) -> None:
        checks = (
            (_text(self.identity, 32) and len(self.identity) == 32 and self.identity.isalnum(), "identity"),
            (isinstance(self.created_at, int) and not isinstance(self.created_at, bool), "created_at"),
            (_text(self.feature, 1000), "feature"),
            (isinstance(self.values, dict), "values"),
            (_text(self.fingerprint, 1000), "fingerprint"),
            (_whole(self.dim, 1, WIDTH_LIMIT), "dim"),
            (isinstance(self.dtype, str) and self.dtype in DTYPES, "dtype"),
            (isinstance(self.parameters, dict), "parameters"),
            (_whole(self.next_id, 1, _MOST), "next_id"),
            (_whole(self.revision, 0, _MOST), "revision"),
            (_whole(self.tuned, 0, _MOST), "tuned"),
        )
        for fine, name in checks:
            if not fine:
                value = repr(getattr(self, name))[:80]
                raise ParameterError(f"The gallery setting '{name}' cannot be {value}.")
        object.__setattr__(self, "parameters", parameters_of_today(self.parameters))  # of a file, perhaps an early one
        if self.tuned > self.revision:
            raise ParameterError(f"The gallery setting 'tuned' cannot be {self.tuned}: there are {self.revision} acts.")

    def act(self, **changes: Any) -> Settings:
        """Return the settings after one more act."""
        return replace(self, revision=self.revision + 1, **changes)


def _text(value: Any, most: int) -> bool:
    return isinstance(value, str) and 0 < len(value) <= most and not _HALVES.search(value)


def _whole(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def to_json(value: Any) -> str:
    """Return one line of JSON; NumPy numbers are converted, what JSON cannot hold is an error."""
    try:
        text = json.dumps(value, default=_plain, sort_keys=True, ensure_ascii=False, allow_nan=False)
        text.encode("utf-8")
    except (TypeError, ValueError) as problem:
        raise ParameterError(f"A gallery stores plain values (numbers, text, lists): {problem}.") from None
    if len(text) > TEXT_LIMIT:
        raise ParameterError(f"The settings have {len(text)} characters; at most {TEXT_LIMIT} are stored.")
    return text


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not one")
