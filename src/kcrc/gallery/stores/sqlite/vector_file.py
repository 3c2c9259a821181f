"""The vectors as one array in a file of their own: derived, never trusted, made again at need.

A row of the cache counts only if the gallery has an example of that id and the row's crc32 is the one the
gallery keeps for it; a cache that is stale, torn, foreign or forged so costs time and changes no answer. What
it lacks is read from the gallery, and a whole new cache takes the old one's place at once.

It is read into memory, not mapped: a mapped file that somebody cuts short ends the process with a signal, and one
that is written over after its checksums were compared changes answers. The vectors are needed in memory anyway.

Layout, little-endian: magic, header length, header crc32; header JSON {n, dim, dtype}; at 4096 the ids
(int64), then from the next multiple of 64 the vectors (n, dim).
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import struct
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import FileError
from kcrc.files.atomic import atomic_write
from kcrc.gallery.examples import Contents

FOLDER = ".kcrc-cache"
_MAGIC = b"KCRCVEC1"
_BODY = 4096
_FOREIGN = 1000  # rows of a cache that may belong to no example, beside as many as there are examples
_LEFT_OVER_SECONDS = 3600.0
Fetch = Callable[[Array, Array], None]  # (rows of the contents, out): fill ``out`` with their vectors from the gallery


def cache_path(gallery: Path) -> Path | None:
    """Where the cache of a gallery lives: beside it, or in the folder KCRC_GALLERY_CACHE names ('' = nowhere)."""
    chosen = os.environ.get("KCRC_GALLERY_CACHE")
    if chosen is None:
        return gallery.absolute().parent / FOLDER / f"{gallery.name}.vectors"
    if not chosen:
        return None
    mark = zlib.crc32(os.fsencode(gallery.absolute()))
    return Path(chosen) / f"{gallery.name}.{mark:08x}.vectors"


def load(path: Path | None, contents: Contents, dim: int, dtype: str, fetch: Fetch, *, mode: int) -> Array:
    """The vectors of ``contents``, (n, dim), read-only; from the cache where it holds, else by ``fetch``."""
    out = np.empty((len(contents), dim), np.dtype(dtype).newbyteorder("<"))
    if len(contents):
        found, current = (np.zeros(len(contents), bool), False) if path is None else _read(path, contents, out)
        _fetch_missing(found, out, fetch)
        if path is not None and not (current and found.all()):
            _write(path, contents.ids, out, mode)
    ready: Array = out.astype(dtype, copy=False)  # in this machine's byte order
    ready.flags.writeable = False
    return ready


def _fetch_missing(found: Array, out: Array, fetch: Fetch) -> None:
    """Fill the rows that were not found from the gallery."""
    missing = np.flatnonzero(~found)
    if len(missing) == len(out):
        fetch(missing, out)
    elif len(missing):
        rows = np.empty((len(missing), out.shape[1]), out.dtype)
        fetch(missing, rows)
        out[missing] = rows


def _read(path: Path, contents: Contents, out: Array) -> tuple[Array, bool]:
    """Fill the rows of ``out`` that the cache has: which (n,), and whether it holds these examples and no others."""
    found = np.zeros(len(contents), bool)
    try:
        with open(path, "rb", buffering=0, opener=_open_carefully) as file:
            ids = _ids(file, out, most=_FOREIGN + 2 * len(contents))
            if ids is None:
                return found, False
            place = np.searchsorted(ids, contents.ids)
            place[place == len(ids)] = 0
            wanted = np.flatnonzero(ids[place] == contents.ids)
            for run in np.split(wanted, np.flatnonzero((np.diff(wanted) != 1) | (np.diff(place[wanted]) != 1)) + 1):
                if len(run):
                    found[run] = _read_run(file, len(ids), int(place[run[0]]), out[run[0] : run[-1] + 1])
    except (OSError, ValueError):
        return np.zeros(len(contents), bool), False
    width = out.shape[1] * out.itemsize
    flat, expected = out.reshape(-1).view(np.uint8).data, contents.vector_crcs.tolist()
    for row in np.flatnonzero(found).tolist():
        found[row] = zlib.crc32(flat[row * width : (row + 1) * width]) == expected[row]
    return found, np.array_equal(ids, contents.ids)


def _open_carefully(path: str, flags: int) -> int:
    """No link is followed, and a pipe is not waited for."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _ids(file: io.RawIOBase, out: Array, *, most: int) -> Array | None:
    """The ids of a cache of vectors like ``out``, or None where it is not one, whole, with at most so many."""
    head = file.read(_BODY) or b""
    try:
        magic, length, crc = struct.unpack_from("<8sII", head)
        text = head[16 : 16 + length]
        if magic != _MAGIC or len(text) != length or zlib.crc32(text) != crc:
            return None
        header = json.loads(text)
        n, kind = header["n"], {"dim": out.shape[1], "dtype": out.dtype.name}
    except (ValueError, KeyError, TypeError, struct.error, RecursionError):
        return None
    if header != {"n": n, **kind} or not isinstance(n, int) or not 0 < n <= most:
        return None
    if os.fstat(file.fileno()).st_size != _vectors_at(n) + n * out.shape[1] * out.itemsize:
        return None
    ids = np.empty(n, "<i8")
    return ids if _read_into(file, _BODY, ids) else None


def _read_run(file: io.RawIOBase, n: int, first: int, rows: Array) -> bool:
    """Fill ``rows``, which lie in the cache one after the other; False where it ends before."""
    return _read_into(file, _vectors_at(n) + first * rows.shape[1] * rows.itemsize, rows)


def _read_into(file: io.RawIOBase, at: int, array: Array) -> bool:
    left = array.reshape(-1).view(np.uint8).data
    file.seek(at)
    while len(left):
        got = file.readinto(left)
        if not got:
            return False
        left = left[got:]
    return True


def _write(path: Path, ids: Array, vectors: Array, mode: int) -> None:
    """A new cache in the old one's place; where that is not possible, none: the answers do not depend on it."""
    header = json.dumps({"n": len(ids), "dim": vectors.shape[1], "dtype": vectors.dtype.name}).encode()
    head = struct.pack("<8sII", _MAGIC, len(header), zlib.crc32(header)) + header
    with contextlib.suppress(OSError, FileError):
        if path.parent.is_symlink():
            return
        path.parent.mkdir(exist_ok=True)
        _sweep(path)
        with atomic_write(path, mode=mode & 0o666, durable=False) as file:
            file.write(head.ljust(_BODY, b"\0"))
            file.write(ids.astype("<i8").tobytes().ljust(_vectors_at(len(ids)) - _BODY, b"\0"))
            file.write(vectors.data)


def _sweep(path: Path) -> None:
    """Drop what a killed process left half-made."""
    for left in path.parent.glob("*.vectors.*.new"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > _LEFT_OVER_SECONDS:
                left.unlink()


def _vectors_at(n: int) -> int:
    return -(-(_BODY + 8 * n) // 64) * 64
