"""The vectors as one memory-mapped array in a file of their own: derived, never trusted, made anew at need.

A row of the cache counts only if the gallery has an example of that id and the row's crc32 is the one the
gallery keeps for it; a cache that is stale, torn, foreign or forged so costs time and changes no answer. What
it lacks is read from the gallery, and a whole new cache takes the old one's place at once (other readers keep
the old).

Layout, little-endian: magic, header length, header crc32; header JSON {n, dim, dtype}; at 4096 the ids
(int64), then from the next multiple of 64 the vectors (n, dim).
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from kcrc.gallery.examples import Contents
from kcrc.prepared import Array

FOLDER = ".kcrc-cache"
_MAGIC = b"KCRCVEC1"
_BODY = 4096
_LEFT_OVER_SECONDS = 3600.0
Fetch = Callable[[Array, Array], None]  # (ids, out): fill the rows of ``out`` from the gallery


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
    if len(contents) == 0:
        return _sealed(np.zeros((0, dim), dtype))
    cached = _open(path, dim, dtype) if path is not None else None
    if cached is None:
        at = np.full(len(contents), -1)
    else:
        at = _matching(cached, contents)
        if len(cached[0]) == len(contents) and (at == np.arange(len(contents))).all():
            return cached[1]

    def fill(out: Array) -> Array:
        return _fill(out, contents.ids, cached, at, fetch)

    made = None if path is None else _write(path, contents.ids, dim, dtype, mode, fill)
    if made is None:  # no folder to write in: the answers do not depend on it
        made = fill(np.empty((len(contents), dim), dtype))
    return _sealed(made)


def _fill(out: Array, ids: Array, cached: tuple[Array, Array] | None, at: Array, fetch: Fetch) -> Array:
    """The rows that the cache has from the cache, the others from the gallery."""
    if cached is not None:
        kept = np.flatnonzero(at >= 0)
        for start in range(0, len(kept), 4096):
            some = kept[start : start + 4096]
            out[some] = cached[1][at[some]]
    missing = np.flatnonzero(at < 0)
    if len(missing):
        rows = np.empty((len(missing), out.shape[1]), out.dtype) if len(missing) < len(out) else out
        fetch(ids[missing], rows)
        if rows is not out:
            out[missing] = rows
    return out


def _matching(cached: tuple[Array, Array], contents: Contents) -> Array:
    """For each example the row of the cache that holds its vector, or −1."""
    ids, vectors = cached
    place = np.searchsorted(ids, contents.ids)
    place[place == len(ids)] = 0
    at: Array = np.where(ids[place] == contents.ids, place, -1)
    flat = vectors.reshape(-1).view(np.uint8).data
    width = vectors.shape[1] * vectors.itemsize
    expected = contents.vector_crcs.tolist()
    for position, row in enumerate(at.tolist()):
        if row >= 0 and zlib.crc32(flat[row * width : (row + 1) * width]) != expected[position]:
            at[position] = -1
    return at


def _open(path: Path, dim: int, dtype: str) -> tuple[Array, Array] | None:
    """(ids, vectors) mapped from the file, or None where it is not a cache of that kind, whole."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        try:
            head = file.read(_BODY)
            magic, length, crc = struct.unpack_from("<8sII", head)
            text = head[16 : 16 + length]
            if magic != _MAGIC or len(text) != length or zlib.crc32(text) != crc:
                return None
            header = json.loads(text)
            n = int(header["n"])
            size = _vectors_at(n) + n * dim * np.dtype(dtype).itemsize
            whole = n > 0 and os.fstat(file.fileno()).st_size == size
            if header["dim"] != dim or header["dtype"] != dtype or not whole:
                return None
            ids = np.memmap(file, np.dtype("<i8"), "r", _BODY, (n,))
            vectors = np.memmap(file, np.dtype(dtype).newbyteorder("<"), "r", _vectors_at(n), (n, dim))
            return np.array(ids), vectors.view(np.ndarray)
        except (OSError, ValueError, KeyError, TypeError, struct.error, RecursionError):
            return None


def _write(path: Path, ids: Array, dim: int, dtype: str, mode: int, fill: Callable[[Array], Array]) -> Array | None:
    """A new cache under a passing name, then in the old one's place; None where that is not possible."""
    temporary = None
    try:
        if path.parent.is_symlink():
            return None
        path.parent.mkdir(exist_ok=True)
        _sweep(path)
        n = len(ids)
        descriptor, temporary = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".new", dir=path.parent)
        with os.fdopen(descriptor, "r+b") as file:
            if hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), mode & 0o666)
            header = json.dumps({"n": n, "dim": dim, "dtype": dtype}).encode()
            file.truncate(_vectors_at(n) + n * dim * np.dtype(dtype).itemsize)
            _reserve(file.fileno())
            vectors = np.memmap(file, np.dtype(dtype).newbyteorder("<"), "r+", _vectors_at(n), (n, dim))
            fill(vectors)
            file.seek(0)
            file.write(struct.pack("<8sII", _MAGIC, len(header), zlib.crc32(header)) + header)
            file.seek(_BODY)
            file.write(ids.astype("<i8").tobytes())
        os.replace(temporary, path)
        return vectors.view(np.ndarray)
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        return None
    except BaseException:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise


def _reserve(descriptor: int) -> None:
    """Take the disk space now: a full disk is an error here, but a deadly signal once pages are mapped."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, os.fstat(descriptor).st_size)


def _sweep(path: Path) -> None:
    """Drop what a killed process left half-made."""
    for left in path.parent.glob("*.vectors.*.new"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > _LEFT_OVER_SECONDS:
                left.unlink()


def _vectors_at(n: int) -> int:
    return -(-(_BODY + 8 * n) // 64) * 64


def _sealed(array: Array) -> Array:
    array.flags.writeable = False
    return array
