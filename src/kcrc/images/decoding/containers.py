"""What a file says of its picture before anything is decoded: one file a format.

Each format has a function ``look(content)``. It walks over the parts of the file and gives a ``Stored``: size and
orientation, what a decoder will take, and the file again with nothing but the parts that a decoder needs. So Pillow
never sees a text, a profile, EXIF or a second picture, however odd or large they are.
"""

from __future__ import annotations

import re
import struct
import zlib
from dataclasses import dataclass

from kcrc.images.decoding.directory import TagEntry, read_directory
from kcrc.images.decoding.pixels import TAG as ORIENTATION
from kcrc.images.decoding.pixels import from_hexadecimal, orientation

__all__ = ["Damaged", "Stored", "TooMuch", "begins_like", "look"]


# What every format tells of a stored picture.


class Damaged(Exception):
    """The parts of the file do not fit together."""


class TooMuch(Exception):
    """The file would take too long to go through; the text says of what it has too much."""


@dataclass(frozen=True)
class Stored:
    """One picture as it lies in a file: ``width`` and ``height`` before it is turned upright.

    ``bare`` is the file without anything a decoder does not need; ``beside`` the bytes that a decoder takes beside the
    decoded picture.
    """

    format: str
    width: int
    height: int
    bare: bytes
    orientation: int = 1
    beside: int = 0


# BMP: a header and rows. There is nothing in it but the picture.

_RUNS = frozenset({1, 2})  # RLE8, RLE4
_MOST_RUN_PIXELS, _MOST_RUN_BYTES = 16_000_000, 8_000_000  # run by run in Python: more would take too long


def look_at_bmp(content: bytes) -> Stored:
    """The size; a height below zero means rows from the top."""
    (header,) = struct.unpack_from("<I", content, 14)
    if header == 12:
        width, height = struct.unpack_from("<HH", content, 18)
        return Stored("BMP", width, height, content)
    width, height, _, _, compression = struct.unpack_from("<IiHHI", content, 18)
    height = abs(height)
    if not width or not height:
        raise Damaged
    if compression in _RUNS:
        if width * height > _MOST_RUN_PIXELS or len(content) > _MOST_RUN_BYTES:
            raise TooMuch(f"has more than {_MOST_RUN_PIXELS} pixels or {_MOST_RUN_BYTES} bytes in runs (RLE)")
        return Stored("BMP", width, height, content, beside=3 * width * height)
    return Stored("BMP", width, height, content)


# GIF: blocks. Kept are the palettes, the transparent colour, and the first picture.

_BLOCK = re.compile(rb"[!,;]")  # an extension, a picture, the end; what lies between is skipped
_MOST_BLOCKS = 1_000_000


def look_at_gif(content: bytes) -> Stored:
    """The size of the screen, or of the first picture where that reaches beyond it."""
    width, height, flags = struct.unpack_from("<HHB", content, 6)
    at = 13 + _palette(flags)
    head, transparent, blocks = content[:at], b"", 0
    while True:
        found = _BLOCK.search(content, at)
        if found is None or found[0] == b";":
            raise Damaged
        at = found.start()
        if found[0] == b",":
            break
        label, first = content[at + 1], content[at + 3 : at + 7]
        if label == 0xF9 and content[at + 2] >= 4 and first[0] & 1:
            # Of this block only the colour counts; it also says how a next picture would be drawn.
            transparent = b"!\xf9\x04\x01\0\0" + first[3:4] + b"\0"
        at += 2
        while content[at] and blocks <= _MOST_BLOCKS:
            at += content[at] + 1
            blocks += 1
        at += 1
        blocks += 1
        if blocks > _MOST_BLOCKS:
            raise TooMuch(f"has more than {_MOST_BLOCKS} blocks before its picture")
    left, top, wide, tall = struct.unpack_from("<HHHH", content, at + 1)
    width, height = max(width, left + wide), max(height, top + tall)
    if max(width, height) > 0xFFFF:
        raise Damaged
    head = head[:6] + struct.pack("<HH", width, height) + head[10:]
    return Stored("GIF", width, height, b"".join([head, transparent, content[at:]]), beside=width * height)


def _palette(flags: int) -> int:
    return 3 << (flags & 7) + 1 if flags & 128 else 0


# JPEG: segments up to the first scan, then scans. Kept are tables, frame, scans, and which colours are meant.

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


def look_at_jpeg(content: bytes) -> Stored:
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


# PNG: chunks. Kept are the header, the palette, what is transparent, and the picture.

_PNG_KEPT = frozenset({b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"})
_TEXTS = frozenset({b"tEXt", b"zTXt", b"iTXt"})
_PROFILE, _PNG_XMP = b"Raw profile type exif", b"XML:com.adobe.xmp"
_MOST_CHUNKS = 200_000
_MOST_TEXT = 1_000_000  # bytes of a text that is looked at
_NAME = re.compile(rb"\w{4}")
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def look_at_png(content: bytes) -> Stored:
    """The size in the header; the orientation from EXIF or XMP, wherever in the file."""
    kept: list[bytes] = [content[:8]]
    exif, told = b"", dict.fromkeys((_PROFILE, _PNG_XMP), b"")
    at, dropped = 8, False
    for _ in range(_MOST_CHUNKS):
        if at + 8 > len(content):
            break
        length, kind = struct.unpack_from(">I4s", content, at)
        if not _NAME.fullmatch(kind):
            dropped = True
            break
        end = at + 12 + length
        if kind in _PNG_KEPT:
            kept.append(content[at:end])
        else:
            dropped = True
            body = content[at + 8 : end - 4]
            if kind == b"eXIf":
                exif = body
            elif kind in _TEXTS:
                key, _, rest = body.partition(b"\0")
                if key in told:
                    told[key] = _text(kind, rest)
        at = end
        if kind == b"IEND":
            dropped = dropped or at < len(content)
            break
    else:
        raise TooMuch(f"has more than {_MOST_CHUNKS} chunks")
    if content[12:16] != b"IHDR":
        raise Damaged
    width, height, depth, colours = struct.unpack_from(">IIBB", content, 16)
    row = width * depth * _CHANNELS.get(colours, 4) // 8
    turn = orientation(exif or from_hexadecimal(told[_PROFILE]), told[_PNG_XMP])
    return Stored("PNG", width, height, b"".join(kept) if dropped else content, turn, 4 * row)


def _text(kind: bytes, rest: bytes) -> bytes:
    """What a text says, after its key; nothing where it is too long to be looked at or cannot be inflated."""
    packed = kind == b"zTXt"
    if kind == b"iTXt":
        packed, rest = rest[:1] == b"\1", rest[2:].split(b"\0", 2)[-1]
    elif packed:
        rest = rest[1:]
    if not packed:
        return rest if len(rest) <= _MOST_TEXT else b""
    unpacking = zlib.decompressobj()
    try:
        said = unpacking.decompress(rest, _MOST_TEXT)
    except zlib.error:
        return b""
    return b"" if unpacking.unconsumed_tail else said


# TIFF: a directory that says where the pieces of the picture lie. Kept are the tags that describe the picture.
#
# The directory is written anew in its place, shorter, as the only one of the file: no EXIF, no profile, no further
# pictures. A tag of one value has one, and what a piece takes is known before any is read.

_WIDTH, _LENGTH, _BITS, _COMPRESSION, _SAMPLES, _ROWS, _PLANAR = 256, 257, 258, 259, 277, 278, 284
_STRIPS, _STRIP_BYTES, _TILE_WIDTH, _TILE_LENGTH, _TILES, _TILE_BYTES = 273, 279, 322, 323, 324, 325
_TIFF_XMP = 700
# Beside those with names: photometric interpretation, fill order, fax, predictor, inks, old JPEG, position of YCbCr.
_ONE = frozenset(
    {_WIDTH, _LENGTH, _COMPRESSION, _SAMPLES, _ROWS, _PLANAR, _TILE_WIDTH, _TILE_LENGTH, 262, 266, 292, 293, 317, 332,
     334, 512, 513, 514, 515, 531}
)  # fmt: skip
# Palette, extra samples, sample format, JPEG tables, YCbCr coefficients, sampling and reference, LERC.
_SEVERAL = frozenset({_BITS, 320, 338, 339, 347, 519, 520, 521, 529, 530, 532, 50674})
_PIECES = frozenset({_STRIPS, _STRIP_BYTES, _TILES, _TILE_BYTES})
_MOST_PIECES = 250_000
_PIECE_BYTES = 600  # what Pillow keeps of each piece
_MOST_SAMPLES = 16
_LONG = 4


def look_at_tiff(content: bytes) -> Stored:
    """The size, and the room for the largest piece."""
    endian = "<" if content[:2] == b"II" else ">"
    big = content[2] == 43
    (at,) = struct.unpack_from(endian + ("Q" if big else "I"), content, 8 if big else 4)
    entries = read_directory(content, at, endian, big=big)
    for tag in _PIECES & entries.keys():
        _number(content, entries[tag], endian)
    one = {tag: _number(content, entries[tag], endian) for tag in _ONE & entries.keys()}
    kept = [entry for tag, entry in entries.items() if tag in _ONE | _SEVERAL | _PIECES]
    if max((entry.count for entry in kept), default=0) > _MOST_PIECES:
        raise TooMuch(f"has more than {_MOST_PIECES} pieces")
    width, height = one.get(_WIDTH, 0), one.get(_LENGTH, 0)
    if min(width, height) < 1 or sum(entry.size for entry in kept) > len(content):
        raise Damaged
    if _ROWS in one:
        one[_ROWS] = max(1, min(one[_ROWS], height))
    bits = entries[_BITS].numbers(content, endian, _MOST_SAMPLES) if _BITS in entries else None
    beside = _beside(entries, one, max(bits or (8,)))
    bare = _rewritten(content, at, kept, one, endian, big)
    return Stored("TIFF", width, height, bare, _orientation(content, entries, endian), beside)


def _number(content: bytes, entry: TagEntry, endian: str) -> int:
    numbers = entry.numbers(content, endian, 1)
    if numbers is None or not 0 <= numbers[0] <= 0xFFFFFFFF:
        raise Damaged
    return numbers[0]


def _orientation(content: bytes, entries: dict[int, TagEntry], endian: str) -> int:
    if ORIENTATION in entries:
        said = entries[ORIENTATION].numbers(content, endian, 1)
        return said[0] if said and 1 <= said[0] <= 8 else 1
    xmp = entries.get(_TIFF_XMP)
    return orientation(b"", content[xmp.offset : xmp.offset + xmp.size] if xmp else b"")


def _beside(entries: dict[int, TagEntry], one: dict[int, int], bits: int) -> int:
    """Bytes for a piece as it is unpacked, and for the list of pieces."""
    width, height, samples = one[_WIDTH], one[_LENGTH], one.get(_SAMPLES, 1)
    tiled = _STRIPS not in entries and _TILES in entries
    across = one.get(_TILE_WIDTH, 0) if tiled else width
    down = one.get(_TILE_LENGTH, 0) if tiled else one.get(_ROWS, height)
    if min(across, down) < 1 or samples > _MOST_SAMPLES:
        raise Damaged
    pieces = entries[_TILES if tiled else _STRIPS].count if tiled or _STRIPS in entries else 0
    due = -(-width // across) * -(-height // down) * (samples if one.get(_PLANAR) == 2 else 1)
    if pieces > due and (across, down) != (width, height):
        raise Damaged  # they would be drawn over each other, time and again
    return across * down * max(4, samples * -(-bits // 8)) + _PIECE_BYTES * pieces


def _rewritten(content: bytes, at: int, kept: list[TagEntry], one: dict[int, int], endian: str, big: bool) -> bytes:
    """The file with a directory of these tags alone, which is the last."""
    parts = []
    for entry in sorted(kept, key=lambda entry: entry.tag):
        kind, count, place = entry.type, entry.count, entry.place
        if entry.tag in one and (count > 1 or entry.tag == _ROWS):
            kind, count, place = _LONG, 1, struct.pack(endian + "I", one[entry.tag]).ljust(len(place), b"\0")
        parts.append(struct.pack(endian + ("HHQ" if big else "HHI"), entry.tag, kind, count) + place)
    number = struct.pack(endian + ("Q" if big else "H"), len(parts))
    written = number + b"".join(parts) + b"\0" * (8 if big else 4)
    return b"".join([content[:at], written, content[at + len(written) :]])


# WebP: chunks in a RIFF. Kept are the picture, its transparency, and the first frame of an animation.

_WEBP_KEPT = frozenset({b"VP8X", b"ALPH", b"VP8 ", b"VP8L", b"ANIM", b"ANMF"})
_METADATA = 0x20 | 0x08 | 0x04  # flags of a profile, EXIF and XMP
_MOST_WEBP_CHUNKS = 100_000


def look_at_webp(content: bytes) -> Stored:
    """The size of the canvas."""
    (size,) = struct.unpack_from("<I", content, 4)
    end = 8 + size
    if end > len(content):
        raise Damaged
    kept: list[tuple[bytes, bytes]] = []
    exif = xmp = b""
    at, dropped, frames = 12, end < len(content), 0
    for _ in range(_MOST_WEBP_CHUNKS):
        if at + 8 > end:
            break
        kind, length = struct.unpack_from("<4sI", content, at)
        body = content[at + 8 : at + 8 + length]
        if at + 8 + length > end:
            raise Damaged
        frames += kind == b"ANMF"
        if kind in _WEBP_KEPT and not (kind == b"ANMF" and frames > 1):
            kept.append((kind, body))
        else:
            dropped = True
            exif = body if kind == b"EXIF" else exif
            xmp = body if kind == b"XMP " else xmp
        at += 8 + length + length % 2
    else:
        raise TooMuch(f"has more than {_MOST_WEBP_CHUNKS} chunks")
    if not kept:
        raise Damaged
    width, height = _canvas(*kept[0])
    # Two canvases of four bytes a pixel while it decodes, and a third that is handed over.
    return Stored(
        "WEBP", width, height, _written(kept) if dropped else content, orientation(exif, xmp), 12 * width * height
    )


def _canvas(kind: bytes, body: bytes) -> tuple[int, int]:
    if kind == b"VP8X":
        return int.from_bytes(body[4:7], "little") + 1, int.from_bytes(body[7:10], "little") + 1
    if kind == b"VP8L" and body[:1] == b"\x2f":
        (bits,) = struct.unpack_from("<I", body, 1)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and body[3:6] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", body, 6)
        return width & 0x3FFF, height & 0x3FFF
    raise Damaged


def _written(kept: list[tuple[bytes, bytes]]) -> bytes:
    parts = [b"WEBP"]
    for kind, body in kept:
        if kind == b"VP8X":
            body = bytes([body[0] & ~_METADATA]) + body[1:]
        parts += [struct.pack("<4sI", kind, len(body)), body, b"\0" * (len(body) % 2)]
    whole = b"".join(parts)
    return struct.pack("<4sI", b"RIFF", len(whole)) + whole


_LOOKS = {
    "JPEG": ((b"\xff\xd8\xff",), look_at_jpeg),
    "PNG": ((b"\x89PNG\r\n\x1a\n",), look_at_png),
    "WEBP": ((b"RIFF",), look_at_webp),
    "BMP": ((b"BM",), look_at_bmp),
    "TIFF": ((b"II*\0", b"MM\0*", b"II\0*", b"MM*\0", b"II+\0"), look_at_tiff),
    "GIF": ((b"GIF87a", b"GIF89a"), look_at_gif),
}


def begins_like(content: bytes) -> str | None:
    """The format whose beginning the bytes have, None for none that is accepted."""
    for name, (heads, _) in _LOOKS.items():
        if content.startswith(heads) and (name != "WEBP" or content[8:12] == b"WEBP"):
            return name
    return None


def look(content: bytes) -> Stored:
    """What the file says; ``Damaged`` where it cannot be followed, ``TooMuch`` where it has more parts than is sane."""
    name = begins_like(content)
    if name is None:
        raise Damaged
    try:
        stored = _LOOKS[name][1](content)
    except (struct.error, IndexError) as problem:
        raise Damaged from problem
    if min(stored.width, stored.height) < 1:
        raise Damaged
    return stored
