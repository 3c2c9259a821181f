"""Arrays as ``.npy`` bytes, read back without trust: no objects, and no memory the bytes do not back.

``numpy.load`` allocates what the header claims before it looks at how much follows; a header of 128 bytes can
so ask for all memory. Here the claim is compared with the bytes first.
"""

from __future__ import annotations

import io
import math

import numpy as np

from kcrc.errors import DataError, FileError
from kcrc.prepared import Array

PLAIN_KINDS = "biufU"  # bool, integers, floats, text: nothing that could hold an object
_HEADER_LIMIT = 10_000


def to_npy(array: Array) -> bytes:
    """The ``.npy`` bytes of a plain array (C order)."""
    array = np.asarray(array)
    if array.dtype.kind not in PLAIN_KINDS:
        raise DataError(f"An array of {array.dtype} cannot be stored. Give numbers, truth values or text.")
    out = io.BytesIO()
    np.lib.format.write_array(out, np.ascontiguousarray(array).reshape(array.shape), allow_pickle=False)
    return out.getvalue()


def from_npy(data: bytes | memoryview, *, what: str = "array") -> Array:
    """The array in ``.npy`` bytes, read-only; ``what`` names it in an error."""
    try:
        head = io.BytesIO(bytes(data[: _HEADER_LIMIT + 12]))
        version = np.lib.format.read_magic(head)
        if version == (1, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(head, max_header_size=_HEADER_LIMIT)
        elif version == (2, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_2_0(head, max_header_size=_HEADER_LIMIT)
        else:
            raise ValueError(f"version {version}")
    except (ValueError, TypeError, KeyError, SyntaxError, UnicodeDecodeError, RecursionError) as problem:
        raise FileError(f"The {what} is not a readable .npy array ({problem}).") from None
    if dtype.kind not in PLAIN_KINDS or dtype.hasobject:
        raise FileError(f"The {what} holds {dtype}; only numbers, truth values and text are read.")
    if any(extent < 0 for extent in shape):
        raise FileError(f"The {what} claims the impossible shape {shape}.")
    body = memoryview(data)[head.tell() :]
    claimed = math.prod(shape) * dtype.itemsize
    if claimed != len(body) or len(shape) > 8:
        raise FileError(f"The {what} claims shape {shape} of {dtype}, {claimed} bytes, but has {len(body)}.")
    if dtype.itemsize == 0:
        return np.zeros(shape, dtype)
    flat = np.frombuffer(body, dtype)
    array: Array = flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)
    array.flags.writeable = False
    return array
