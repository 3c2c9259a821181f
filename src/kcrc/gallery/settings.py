"""What a gallery is: its feature, fingerprint, width, parameters and counters; read, checked, written."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kcrc.arrays import Array
from kcrc.errors import FileError, ParameterError
from kcrc.files.npy import from_npy, to_npy
from kcrc.files.plain_json import read_json
from kcrc.gallery import sealed

DTYPES = ("float32", "float64")
WIDTH_LIMIT = 1_000_000
_TEXT_LIMIT = 1_000_000
_HALVES = re.compile("[\ud800-\udfff]")  # of characters, which no file can hold
_MOST = (1 << 60) - 1  # of what is counted


@dataclass(frozen=True)
class Settings:
    """The settings of one gallery.

    ``values`` is the plain part of the feature's state (its options); ``parameters`` are those of the classifier that
    someone fixed; ``tuned`` is the act that chose the others (0: none yet); ``revision`` counts the acts; ``next_id``
    is never given out twice.
    """

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
                given = repr(getattr(self, name))[:80]
                raise ParameterError(f"The gallery setting '{name}' cannot be {given}.")
        if self.tuned > self.revision:
            raise ParameterError(f"The gallery setting 'tuned' cannot be {self.tuned}: there are {self.revision} acts.")

    def act(self, *, new_examples: int = 0, **changes: Any) -> Settings:
        """The settings after one more act."""
        return replace(self, revision=self.revision + 1, next_id=self.next_id + new_examples, **changes)


def _text(value: Any, most: int) -> bool:
    return isinstance(value, str) and 0 < len(value) <= most and not _HALVES.search(value)


def _whole(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def read(db: sqlite3.Connection, *, file_bytes: int) -> Settings:
    """The settings of the file. One that this version does not know is passed over, and one that it misses is told
    from the examples: whatever another version writes here, they are not lost."""
    found: dict[str, Any] = {}
    known = set(Settings.__dataclass_fields__)
    for key, text in sealed.select_all(db, "settings", file_bytes=file_bytes):
        if key not in known:
            continue
        if len(text) > _TEXT_LIMIT:
            raise FileError(f"The gallery setting '{key}' is too long to be one.")
        try:
            found[key] = read_json(text)
        except ValueError:
            raise FileError(f"The gallery setting '{key}' is not readable.") from None
    if known - found.keys():
        found = {**_told_by_examples(db, found), **found}
    try:
        return Settings(**found)
    except ParameterError as problem:
        raise FileError(f"{problem} The file is damaged.") from None


def _told_by_examples(db: sqlite3.Connection, found: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting as it can be told without the table."""
    dtype = found.get("dtype", DTYPES[0])
    (length,) = db.execute("SELECT coalesce(max(length(data)), 0) FROM vectors").fetchone()
    (last,) = db.execute("SELECT coalesce(max(id), 0) FROM examples").fetchone()
    (acts,) = db.execute("SELECT coalesce(max(id), 0) FROM history").fetchone()
    dim = int(length) // np.dtype(dtype if dtype in DTYPES else DTYPES[0]).itemsize or 1
    return {
        "identity": "0" * 32,
        "created_at": 0,
        "feature": "vectors",
        "values": {},
        "fingerprint": f"vectors-{dim}",
        "dim": dim,
        "dtype": DTYPES[0],
        "parameters": {},
        "next_id": int(last) + 1,
        "revision": int(acts),
        "tuned": 0,
    }


def write(db: sqlite3.Connection, settings: Settings, *, old: Settings | None) -> None:
    """Store what differs from ``old`` (everything, for a new file)."""
    there = {key for (key,) in db.execute("SELECT key FROM settings")}
    new_rows = _rows(settings)
    if old is not None:
        pairs = [(o, n) for o, n in zip(_rows(old), new_rows, strict=True) if o != n and o[0] in there]
        sealed.replace(db, "settings", [o for o, _ in pairs], [n for _, n in pairs])
    sealed.insert(db, "settings", [row for row in new_rows if row[0] not in there])


def _rows(settings: Settings) -> list[sealed.Row]:
    return [(key, to_json(getattr(settings, key))) for key in sorted(Settings.__dataclass_fields__)]


def to_json(value: Any) -> str:
    """One line of JSON; NumPy numbers are taken, what JSON cannot say is an error."""
    try:
        text = json.dumps(value, default=_plain, sort_keys=True, ensure_ascii=False, allow_nan=False)
        text.encode("utf-8")
    except (TypeError, ValueError) as problem:
        raise ParameterError(f"A gallery stores plain values (numbers, text, lists): {problem}.") from None
    if len(text) > _TEXT_LIMIT:
        raise ParameterError(f"The settings have {len(text)} characters; at most {_TEXT_LIMIT} are stored.")
    return text


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not one")


def read_state(db: sqlite3.Connection, *, file_bytes: int) -> dict[str, Array]:
    """The arrays of the fitted feature. They cannot be larger than the file that holds them."""
    rows = sealed.select_all(db, "feature_state", file_bytes=file_bytes)
    return {name: from_npy(data, what=f"feature array '{name}'") for name, data in rows}


def write_state(db: sqlite3.Connection, state: Mapping[str, Array]) -> None:
    """Store the arrays of the fitted feature."""
    sealed.insert(db, "feature_state", [(name, to_npy(array)) for name, array in sorted(state.items())])
