"""The wire format of Protocol Buffers: as much as it takes to write an ONNX file and to look one over.

Reading is strict. What every writer writes in one way is taken in that way only: numbers as short as they can be, tags
of 32 bits, no groups. Readers disagree about the rest (one drops the upper bits of a long tag, another keeps them), and
where two readers see two files, what was looked over is not what is run.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kcrc.errors import DataError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_FIXED = {FIXED64: 8, FIXED32: 4}


def varint(value: int) -> bytes:
    """A whole number, seven bits a byte, lowest first; a negative one as its 64-bit complement."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """A field that holds a whole number."""
    return varint(field << 3 | VARINT) + varint(value)


def block(field: int, content: bytes | str) -> bytes:
    """A field that holds bytes, text or another message."""
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | BYTES) + varint(len(content)) + content


def fields(message: memoryview) -> Iterator[tuple[int, int, int | memoryview]]:
    """(field, kind, value) of a message in order: whole numbers as int (0…2⁶⁴−1), everything else as its bytes."""
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        field, kind = key >> 3, key & 7
        if key >> 32 or not field:
            raise DataError("a field with a number that no field has")
        if kind == VARINT:
            value, at = _read_varint(message, at)
            yield field, kind, value
            continue
        if kind == BYTES:
            length, at = _read_varint(message, at)
        elif kind in _FIXED:
            length = _FIXED[kind]
        else:
            raise DataError(f"a field of unknown kind {kind}")
        if length > len(message) - at:
            raise DataError("a field that runs past its end")
        yield field, kind, message[at : at + length]
        at += length


def read_packed(content: memoryview) -> list[int]:
    """The whole numbers that stand in one field one after the other."""
    values, at = [], 0
    while at < len(content):
        value, at = _read_varint(content, at)
        values.append(value)
    return values


def packed_count(content: memoryview) -> int:
    """How many whole numbers stand in one field one after the other, all looked at at once."""
    data = np.frombuffer(content, np.uint8)
    ends = np.flatnonzero(data < 0x80)
    if not data.size:
        return 0
    if not ends.size or ends[-1] != data.size - 1:
        raise DataError("a number that does not end")
    lengths = np.diff(ends, prepend=-1)
    last = data[ends]
    if ((lengths > 1) & (last == 0)).any() or lengths.max() > 10 or ((lengths == 10) & (last > 1)).any():
        raise DataError("a number that is written longer than it is")
    return int(ends.size)


def _read_varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message) and shift < 70:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            if value >> 64 or (shift and not byte):
                raise DataError("a number that is written longer than it is")
            return value, at
        shift += 7
    raise DataError("a number that does not end")
