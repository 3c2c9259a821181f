"""Image files put together by hand, so that any part of them can be odd: PNG, JPEG, TIFF, EXIF, GIF, BMP, WebP."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
from PIL import Image

PNG_MAGIC = b"\x89PNG\r\n\x1a\n"
Tag = tuple[int, int, int, bytes]  # tag, type, count, the bytes of its values


def saved(picture: Image.Image, kind: str, **options) -> bytes:
    """A picture as Pillow writes it."""
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


def noise(mode: str, size: tuple[int, int], seed: int = 0) -> Image.Image:
    """A picture of random values in a mode that Pillow has: (width, height)."""
    rng = np.random.default_rng(seed)
    shape = size[::-1]
    if mode == "F":
        return Image.fromarray(rng.random(shape, np.float32))
    if mode in ("I", "I;16"):
        return Image.fromarray(rng.integers(0, 65_536, shape, np.uint16).astype(np.int32 if mode == "I" else np.uint16))
    if mode == "1":
        return Image.fromarray(rng.integers(0, 256, shape, np.uint8)).convert("1")
    made = Image.frombytes(mode, size, rng.bytes(size[0] * size[1] * Image.getmodebands(mode)))
    if mode == "P":
        made.putpalette(rng.bytes(768))
    return made


# ------------------------------------------------------------------------------------------------------- PNG


def chunk(kind: bytes, body: bytes = b"") -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(
    width: int,
    height: int,
    data: bytes,
    *,
    depth: int = 8,
    colours: int = 2,
    interlaced: bool = False,
    before: Iterable[bytes] = (),
    after: Iterable[bytes] = (),
) -> bytes:
    """A PNG whose IDAT holds ``data``, deflated already; other chunks before and after it."""
    header = struct.pack(">IIBBBBB", width, height, depth, colours, 0, 0, int(interlaced))
    parts = [PNG_MAGIC, chunk(b"IHDR", header), *before, chunk(b"IDAT", data), *after, chunk(b"IEND")]
    return b"".join(parts)


@cache
def zeros(count: int) -> bytes:
    """So many zero bytes, deflated: about a thousandth of that."""
    packing = zlib.compressobj(9)
    block = bytes(1 << 20)
    parts = [packing.compress(block) for _ in range(count >> 20)]
    return b"".join([*parts, packing.compress(bytes(count % (1 << 20))), packing.flush()])


def flat_png(width: int, height: int, *, depth: int = 8, colours: int = 2) -> bytes:
    """A true PNG, all black, of any size and depth, in few bytes."""
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colours]
    row = 1 + -(-width * depth * channels // 8)
    palette = [chunk(b"PLTE", bytes(3))] if colours == 3 else []
    return png(width, height, zeros(row * height), depth=depth, colours=colours, before=palette)


# ------------------------------------------------------------------------------------------------------ JPEG


def segment(marker: int, body: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


def with_segments(jpeg: bytes, *segments: bytes) -> bytes:
    """A JPEG with further segments right after its beginning."""
    return jpeg[:2] + b"".join(segments) + jpeg[2:]


def jpeg_with_exif(exif: bytes, picture: Image.Image | None = None) -> bytes:
    plain = saved(picture or noise("RGB", (24, 16)), "JPEG", quality=95)
    parts = [exif[at : at + 65_000] for at in range(0, max(1, len(exif)), 65_000)]
    return with_segments(plain, *(segment(0xE1, b"Exif\0\0" + part) for part in parts))


def striped_jpeg(strips: Sequence[Image.Image], each: int) -> bytes:
    """A JPEG of strips, 16 rows each, below each other, every one ``each`` times: encoded once, it may be huge."""
    files = [saved(strip, "JPEG", quality=90, subsampling="4:2:0", restart_marker_rows=1) for strip in strips]
    frame, scan = files[0].index(b"\xff\xc0"), files[0].index(b"\xff\xda")
    scan += 2 + int.from_bytes(files[0][scan + 2 : scan + 4], "big")
    height = struct.pack(">H", 16 * each * len(strips))
    rows = [file[scan:-2] for file in files for _ in range(each)]
    marked = [row + bytes([0xFF, 0xD0 + number % 8]) for number, row in enumerate(rows[:-1])]
    return files[0][: frame + 5] + height + files[0][frame + 7 : scan] + b"".join(marked) + rows[-1] + b"\xff\xd9"


def many_scans(side: int, scans: int) -> bytes:
    """A progressive JPEG that goes over the whole picture time and again, each time in a few bytes."""
    whole = saved(Image.new("L", (side, side), 90), "JPEG", progressive=True)
    last = whole.rindex(b"\xff\xda")
    tables = whole.rindex(b"\xff\xc4", 0, last)
    return whole[:last] + whole[tables:-2] * scans + whole[-2:]


def hidden_scans(marker: int, scans: int, *, side: int = 2000, restart: int = 0) -> bytes:
    """A progressive JPEG with at most 5000 scans inside what would be the segment of a marker, had it a length."""
    tables = segment(0xDB, b"\0" + bytes([1] * 64)) + segment(0xDD, struct.pack(">H", restart))
    frame = segment(0xC2, struct.pack(">BHHB", 8, side, side, 1) + b"\1\x11\0")
    codes = segment(0xC4, bytes([0, 0, 1] + [0] * 15)) + segment(0xC4, bytes([0x10, 0, 1] + [0] * 14 + [0xE0]))
    first = segment(0xDA, b"\1\1\0\0\0\0") + b"\0\0"
    scan = segment(0xDA, b"\1\1\0\1\x3f\1") + b"\0\0"  # blocks without a coefficient
    return b"\xff\xd8" + tables + frame + codes + first + segment(marker, scan * scans) + b"\xff\xd9"


# ------------------------------------------------------------------------------------------------ TIFF and EXIF


def directory(tags: Sequence[Tag], at: int, endian: str = "<", following: int = 0) -> bytes:
    """A directory that stands at ``at``, with the values that do not fit into it behind it."""
    behind = at + 2 + 12 * len(tags) + 4
    entries, values = [], b""
    for tag, kind, count, data in tags:
        place = data.ljust(4, b"\0") if len(data) <= 4 else struct.pack(endian + "I", behind + len(values))
        values += data if len(data) > 4 else b""
        entries.append(struct.pack(endian + "HHI", tag, kind, count) + place)
    count = struct.pack(endian + "H", len(tags))
    return count + b"".join(entries) + struct.pack(endian + "I", following) + values


def exif(*tags: Tag, endian: str = "<", at: int = 8, following: int = 0) -> bytes:
    """EXIF of these tags; ``at`` is where it says that they are."""
    head = (b"II*\0" if endian == "<" else b"MM\0*") + struct.pack(endian + "I", at)
    return head + directory(tags, 8, endian, following)


def short(tag: int, *values: int) -> Tag:
    return tag, 3, len(values), struct.pack(f"<{len(values)}H", *values)


def long(tag: int, *values: int) -> Tag:
    return tag, 4, len(values), struct.pack(f"<{len(values)}I", *values)


def tiff(tags: Sequence[Tag], data: bytes = b"") -> bytes:
    """A TIFF: the data at 8, then the directory. ``DATA`` is where strips and tiles lie."""
    return b"II*\0" + struct.pack("<I", 8 + len(data)) + data + directory(sorted(tags), 8 + len(data))


DATA = 8


def grey_tiff(width: int, height: int, data: bytes, *more: Tag) -> bytes:
    """A grey TIFF of 8 bits in one strip; ``more`` tags replace those of the same number."""
    usual = [
        long(256, width), long(257, height), short(258, 8), short(259, 1), short(262, 1), long(273, DATA),
        short(277, 1), long(278, height), long(279, len(data)),
    ]  # fmt: skip
    replaced = {tag[0] for tag in more}
    return tiff([*(tag for tag in usual if tag[0] not in replaced), *more], data)


# --------------------------------------------------------------------------------------------- GIF, BMP, WebP


def gif(width: int, height: int, *blocks: bytes, screen: tuple[int, int] | None = None) -> bytes:
    """A GIF of two colours whose picture is a few codes; ``blocks`` come before it."""
    head = b"GIF89a" + struct.pack("<HHBBB", *(screen or (width, height)), 0x80, 0, 0) + b"\0\0\0\xff\xff\xff"
    picture = b"," + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\x02\x02\x44\x01\0"
    return head + b"".join(blocks) + picture + b";"


def bmp(width: int, height: int, data: bytes, *, bits: int = 8, compression: int = 0) -> bytes:
    palette = b"".join(bytes([i, i // 2, 255 - i, 0]) for i in range(1 << bits)) if bits <= 8 else b""
    info = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, compression, len(data), 0, 0, 0, 0)
    start = 14 + len(info) + len(palette)
    return b"BM" + struct.pack("<IHHI", start + len(data), 0, 0, start) + info + palette + data


def riff(*chunks: tuple[bytes, bytes]) -> bytes:
    body = b"WEBP" + b"".join(struct.pack("<4sI", k, len(b)) + b + b"\0" * (len(b) % 2) for k, b in chunks)
    return struct.pack("<4sI", b"RIFF", len(body)) + body
