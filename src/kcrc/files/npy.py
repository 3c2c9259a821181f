"""Arrays as ``.npy`` bytes, read back without trust: no objects, and no memory the bytes do not back.

``numpy.load`` allocates what the header claims before it looks at how much follows, so 128 bytes can ask for
all memory, and it parses the header as Python. Here one pattern reads what NumPy writes, and the claim is
compared
with the bytes first.
"""

from __future__ import annotations

import io
import math
import re
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError, FileError

PLAIN_KINDS = "biufU"  # bool, integers, floats, text: nothing that could hold an object
_HEADER_LIMIT = 10_000
HEADER_BYTES = 12 + _HEADER_LIMIT  # from the start of a file: its header is among them
_HEADER = re.compile(
    rb"\{'descr': '(?P<dtype>[<>|=](?:b1|[iu][1248]|f[248]|U[1-9]\d{0,6}))', 'fortran_order': (?P<fortran>True|False), "
    rb"'shape': \((?P<shape>(?:\d{1,18}(?:, \d{1,18}){0,7},?)?)\), \}\s*\n"
)


def to_npy(array: Array) -> bytes:
    """The ``.npy`` bytes of a plain array (C order)."""
    out = io.BytesIO()
    write_npy(out, plain(array))
    return out.getvalue()


def plain(array: Array) -> Array:
    """The array if it can be stored."""
    array = np.asarray(array)
    if array.dtype.kind not in PLAIN_KINDS:
        raise DataError(f"An array of {array.dtype} cannot be stored. Give numbers, truth values or text.")
    return np.ascontiguousarray(array).reshape(array.shape)


def write_npy(file: IO[bytes], array: Array) -> None:
    """Write the ``.npy`` bytes of a ``plain`` array piece by piece, without a copy of the whole."""
    np.lib.format.write_array(file, array, allow_pickle=False)


def from_npy(data: bytes | memoryview, *, what: str = "array") -> Array:
    """The array in ``.npy`` bytes, read-only, in this machine's byte order; ``what`` names it in an error."""
    header = npy_header(data[:HEADER_BYTES], what=what)
    dtype, shape = header.dtype, header.shape
    body = memoryview(data)[header.begin :]
    claimed = math.prod(shape) * dtype.itemsize
    if claimed != len(body):
        raise FileError(f"The {what} claims shape {shape} of {dtype}, {claimed} bytes, but has {len(body)}.")
    flat = np.frombuffer(body, dtype)
    codes = np.frombuffer(body, np.dtype("u4").newbyteorder(dtype.byteorder)) if dtype.kind == "U" else None
    if codes is not None and codes.max(initial=0) > 0x10FFFF:
        raise FileError(f"The {what} holds characters that are none.")
    array: Array = flat.reshape(shape[::-1]).T if header.fortran else flat.reshape(shape)
    array = array.astype(dtype.newbyteorder("="), copy=False)  # it may come from a machine of the other byte order
    array.flags.writeable = False
    return array


@dataclass(frozen=True)
class NpyHeader:
    """What an ``.npy`` file claims to hold, in this order or columns first, and where its numbers begin."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    begin: int


def npy_header(data: bytes | memoryview, *, what: str = "array") -> NpyHeader:
    """The header in the first ``HEADER_BYTES`` of an ``.npy`` file; ``what`` names it in an error."""
    start = bytes(data[:12])
    wide = start[6:7] == b"\x02"  # version 2 has four bytes for the length of the header, version 1 two
    begin = 12 if wide else 10
    length = int.from_bytes(start[8:begin], "little")
    found = _HEADER.fullmatch(bytes(data[begin : begin + min(length, _HEADER_LIMIT)]))
    if start[:6] != b"\x93NUMPY" or start[6:8] not in (b"\x01\x00", b"\x02\x00") or found is None:
        raise FileError(f"The {what} is not an .npy array of numbers, truth values or text.")
    dtype = np.dtype(found["dtype"].decode())
    shape = tuple(int(extent) for extent in found["shape"].replace(b",", b" ").split())
    return NpyHeader(dtype, shape, found["fortran"] == b"True", begin + length)
