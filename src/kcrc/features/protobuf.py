"""The wire format of Protocol Buffers: as much as it takes to write an ONNX file and to look one over."""

from __future__ import annotations

from collections.abc import Iterator

from kcrc.errors import DataError

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


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
    return varint(field << 3 | _VARINT) + varint(value)


def block(field: int, content: bytes | str) -> bytes:
    """A field that holds bytes, text or another message."""
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | _BYTES) + varint(len(content)) + content


def fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of a message in order: whole numbers as int, everything else as its bytes."""
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        field, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _read_varint(message, at)
            yield field, value
            continue
        if kind == _BYTES:
            length, at = _read_varint(message, at)
        elif kind in (_FIXED64, _FIXED32):
            length = 8 if kind == _FIXED64 else 4
        else:
            raise DataError(f"a field of unknown kind {kind}")
        if field == 0 or length > len(message) - at:
            raise DataError("a field that runs past its end")
        yield field, message[at : at + length]
        at += length


def _read_varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message) and shift < 70:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
    raise DataError("a number that does not end")
