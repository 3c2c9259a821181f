"""The settings of a gallery file and the arrays of its fitted feature, as rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import FileError, ParameterError
from kcrc.files.npy import from_npy, to_npy
from kcrc.files.plain_json import read_json
from kcrc.gallery.settings import DTYPES, TEXT_LIMIT, Settings, to_json
from kcrc.gallery.stores import row_sums
from kcrc.gallery.stores.sqlite import sealed_rows


def read(db: sqlite3.Connection, *, file_bytes: int) -> Settings:
    """The settings of the file. One that this version does not know is passed over, and one that it misses is told
    from the examples: whatever another version writes here, they are not lost."""
    found: dict[str, Any] = {}
    known = set(Settings.__dataclass_fields__)
    for key, text in sealed_rows.select_all(db, "settings", file_bytes=file_bytes):
        if key not in known:
            continue
        if len(text) > TEXT_LIMIT:
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
        sealed_rows.replace(db, "settings", [o for o, _ in pairs], [n for _, n in pairs])
    sealed_rows.insert(db, "settings", [row for row in new_rows if row[0] not in there])


def _rows(settings: Settings) -> list[row_sums.Row]:
    return [(key, to_json(getattr(settings, key))) for key in sorted(Settings.__dataclass_fields__)]


def read_state(db: sqlite3.Connection, *, file_bytes: int) -> dict[str, Array]:
    """The arrays of the fitted feature. They cannot be larger than the file that holds them."""
    rows = sealed_rows.select_all(db, "feature_state", file_bytes=file_bytes)
    return {name: from_npy(data, what=f"feature array '{name}'") for name, data in rows}


def write_state(db: sqlite3.Connection, state: Mapping[str, Array]) -> None:
    """Store the arrays of the fitted feature."""
    sealed_rows.insert(db, "feature_state", [(name, to_npy(array)) for name, array in sorted(state.items())])
