"""JPEG: segments up to the first scan, then scans. Kept are tables, frame, scans, and which colours are meant."""

from __future__ import annotations

import re
import struct

from kcrc.images.decoding.containers.base import Damaged, Stored, TooMuch
from kcrc.images.decoding.orientation import orientation

_EXIF, _XMP = b"Exif\0\0", b"http://ns.adobe.com/xap/1.0/\0"
_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_KEPT = _FRAMES | {0xC4, 0xCC, 0xDB, 0xDD}  # frames, Huffman and arithmetic tables, quantisation, restart interval
_WITHOUT_LENGTH = frozenset({0x00, 0x01, *range(0xD0, 0xD9)})
_MARKER = re.compile(rb"\xff([^\xff])", re.DOTALL)
# After a scan libjpeg reads a length behind these markers alone. It goes on right behind FF 01 and restarts, and where
# it looks for a restart right behind FF 02 to FF BF, so scans may stand there: none of these has a length here. FF D8,
# which libjpeg refuses, has none either.
_MARKER_IN_SCAN = re.compile(rb"\xff([\xc0-\xcf\xd9-\xfe])")
_MOST_SEGMENTS = 100_000
_MOST_VISITS = 60_000_000  # of blocks in all scans: 400 million pixels in the usual ten scans need 50


def look(content: bytes) -> Stored:
    """The size of the frame; for pictures in several scans, the room for all their coefficients."""
    kept, exif, xmp = [content[:2]], [_EXIF], b""
    frame: bytes | None = None
    progressive = False
    at = 2
    for _ in range(_MOST_SEGMENTS):
        found = _MARKER.search(content, at)
        if found is None:
            raise Damaged
        marker, start = found[1][0], found.start()
        at = found.end()
        if marker in _WITHOUT_LENGTH:
            continue
        (length,) = struct.unpack_from(">H", content, at)
        body = content[at + 2 : at + length]
        at += length
        if marker == 0xD9 or length < 2 or at > len(content):
            raise Damaged
        if marker in _FRAMES:
            if frame is not None:
                raise Damaged
            frame, progressive = body, marker not in (0xC0, 0xC1)
        elif marker == 0xE1 and body.startswith(_EXIF):
            exif.append(body[len(_EXIF) :])  # one too long for a segment goes on in the next
        elif marker == 0xE1 and body.startswith(_XMP):
            xmp = body[len(_XMP) :]
        if marker == 0xDA:
            several = progressive or body[0] < _layers(frame)
            return _stored(content, kept, start, frame, several, orientation(b"".join(exif), xmp))
        # Application data that decoders look at: JFIF and Adobe say which colours the numbers mean.
        if marker in _KEPT or (marker == 0xE0 and body[:4] == b"JFIF") or (marker == 0xEE and body[:5] == b"Adobe"):
            kept.append(content[start:at])
    raise TooMuch(f"has more than {_MOST_SEGMENTS} segments")


def _layers(frame: bytes | None) -> int:
    if frame is None:
        raise Damaged
    return frame[5]


def _stored(content: bytes, kept: list[bytes], scan: int, frame: bytes | None, several: bool, turn: int) -> Stored:
    if frame is None:
        raise Damaged
    height, width = struct.unpack_from(">HH", frame, 1)
    beside = 0
    if several:
        blocks = _blocks(frame, width, height)
        _go_over_scans(content, scan, blocks)
        beside = 128 * sum(blocks.values())  # put together from all coefficients at the end: 64 a block, two bytes each
    bare = content if sum(map(len, kept)) == scan else b"".join([*kept, content[scan:]])
    return Stored("JPEG", width, height, bare, turn, beside)


def _blocks(frame: bytes, width: int, height: int) -> dict[int, int]:
    """How many blocks of 8×8 each layer has, by its number."""
    layers = [(frame[6 + 3 * i], frame[7 + 3 * i] >> 4, frame[7 + 3 * i] & 15) for i in range(frame[5])]
    if not layers or min(min(h, v) for _, h, v in layers) < 1:
        raise Damaged
    across, down = max(h for _, h, _ in layers), max(v for _, _, v in layers)
    units = -(-width // (8 * across)) * -(-height // (8 * down))
    blocks: dict[int, int] = {}
    for number, h, v in layers:  # some files give several layers one number; a scan of it may be of any of them
        blocks[number] = blocks.get(number, 0) + units * h * v
    return blocks


def _go_over_scans(content: bytes, at: int, blocks: dict[int, int]) -> None:
    """Each scan is a walk over all blocks of its layers, however few its bytes: no more of that than takes seconds."""
    visited = 0
    for _ in range(_MOST_SEGMENTS):
        found = _MARKER_IN_SCAN.search(content, at)
        if found is None or found[1] == b"\xd9" or found.end() + 2 > len(content):
            return
        at = found.end()
        (length,) = struct.unpack_from(">H", content, at)
        if found[1] == b"\xda":
            body = content[at + 2 : at + length]
            visited += sum(blocks.get(number, 0) for number in body[1 : 1 + 2 * body[0] : 2])
            if visited > _MOST_VISITS:
                raise TooMuch(f"goes over its {sum(blocks.values())} blocks more than {_MOST_VISITS} times in all")
        at += max(2, length)
    raise TooMuch(f"has more than {_MOST_SEGMENTS} segments")
