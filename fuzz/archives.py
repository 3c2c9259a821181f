"""Archives of arrays (saved classifiers, exports) taken apart, changed, and put together with checksums that fit."""

from __future__ import annotations

import io
import json
import random
import zipfile
from typing import Any

import numpy as np

from fuzz.mutation import NUMBERS, as_json, damaged, tree
from kcrc.files.archive import to_npy

_DTYPES = ("f2", "f4", "f8", "i1", "i4", "i8", "u1", "u8", "?", "U3")


def hostile(data: bytes, rng: random.Random) -> bytes:
    """A forged or damaged copy of an archive."""
    if rng.random() < 0.2:
        return damaged(data, rng)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        _change(members, rng)
    return _together(members, rng)


def _change(members: dict[str, bytes], rng: random.Random) -> None:
    name = rng.choice(sorted(members))
    if rng.random() < 0.5 and "header.json" in members:
        try:
            header = json.loads(members["header.json"])
        except (ValueError, RecursionError):
            return
        changes = rng.choice([1, 1, 1, 2, 4])
        members["header.json"] = as_json(tree(header, rng, changes=changes)).encode("utf-8", "surrogatepass")
    elif name.endswith(".npy"):
        members[name] = _array(members, name, rng)
    elif rng.random() < 0.3:
        members.pop(name)


def _array(members: dict[str, bytes], name: str, rng: random.Random) -> bytes:
    kind = rng.randrange(6)
    if kind == 0:
        return damaged(members[name], rng)
    if kind == 1:
        return members[rng.choice([other for other in members if other.endswith(".npy")])]
    try:
        array = np.load(io.BytesIO(members[name]), allow_pickle=False)
    except (ValueError, EOFError, OSError):
        return members[name]
    with np.errstate(all="ignore"):
        return to_npy(_other(array, kind, rng))


def _other(array: Any, kind: int, rng: random.Random) -> Any:
    if kind == 2:
        return (
            array.astype(rng.choice(_DTYPES)) if array.dtype.kind != "U" else np.arange(array.size).reshape(array.shape)
        )
    if kind == 3:
        return (
            rng.choice([array[:-1], array[:0], np.concatenate([array, array]), array[None], array.T])
            if array.ndim
            else array
        )
    out = np.array(array)
    for _ in range(rng.choice([1, 3, out.size])):
        if out.size and out.dtype.kind in "fiu":
            try:
                out.flat[rng.randrange(out.size)] = rng.choice(NUMBERS)
            except (OverflowError, ValueError):
                continue
    return out


def _together(members: dict[str, bytes], rng: random.Random) -> bytes:
    """A zip of the members; now and then with something in it that the library does not write."""
    out = io.BytesIO()
    fate = rng.random()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED if fate < 0.03 else zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
        if 0.03 < fate < 0.08:
            extra = rng.choice(["../up.npy", "/abs.npy", "run.py", "a.npy/", "x" * 300 + ".npy", "part-0.npy", "é.npy"])
            archive.writestr(extra, rng.randbytes(30))
    made = bytearray(out.getvalue())
    if 0.08 < fate < 0.14:  # sizes in the directory at the end
        at = made.rfind(b"PK\x01\x02")
        field = at + rng.choice([20, 24, 42])
        made[field : field + 4] = rng.choice([b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\0"])
    return bytes(made)
