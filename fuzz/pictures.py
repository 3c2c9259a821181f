"""Pictures in every format that is read, and ways to make them lie: sizes, parts, orientation, what follows the end."""

from __future__ import annotations

import io
import random
import struct
import zlib
from functools import cache

import numpy as np
from PIL import Image

from fuzz.borrowed import from_tests
from fuzz.mutation import damaged

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "TIFF", "GIF")
_SIDES = (0, 1, 2, 9, 255, 256, 8000, 30_000, 50_000, 65_535, 65_536, 2**24, 2**31 - 1, 2**31, 2**32 - 1)


@cache
def healthy() -> tuple[bytes, ...]:
    """Small pictures: all formats, several modes, with EXIF, text, profiles, several frames, several compressions."""
    rng = np.random.default_rng(0)
    colour = Image.fromarray(rng.integers(0, 256, (20, 28, 3), np.uint8))
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010E] = "text"
    out: list[bytes] = []

    def save(image: Image.Image, kind: str, **options: object) -> None:
        stream = io.BytesIO()
        image.save(stream, kind, **options)
        out.append(stream.getvalue())

    for kind in FORMATS:
        save(colour, kind)
    for mode in ("1", "L", "P", "LA", "RGBA", "I;16"):
        save(
            colour.convert(mode) if mode != "I;16" else Image.fromarray(rng.integers(0, 60_000, (9, 9), np.uint16)),
            "PNG",
        )
    for mode in ("L", "CMYK", "YCbCr"):
        save(colour.convert(mode), "JPEG", exif=exif, progressive=True)
        save(colour.convert(mode), "TIFF")
    for compression in ("tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg"):
        save(colour, "TIFF", compression=compression)
    save(Image.fromarray(rng.random((9, 9), np.float32)), "TIFF")
    save(colour, "GIF", save_all=True, append_images=[colour.rotate(90), colour.rotate(180)])
    save(colour, "PNG", save_all=True, append_images=[colour.rotate(90)])
    save(colour, "WEBP", lossless=True, exif=exif)
    save(colour, "WEBP", save_all=True, append_images=[colour.rotate(90)])
    save(colour, "MPO", save_all=True, append_images=[colour.rotate(90)])
    save(colour, "PNG", exif=exif, icc_profile=b"x" * 200)
    return tuple(out)


def hostile(rng: random.Random) -> bytes:
    """One picture that is not what it says."""
    kind = rng.randrange(15)
    if kind >= 10:
        made: bytes = from_tests("features/hostile_images.py").hostile_image(rng)[1]
        return made
    if kind == 0:
        return _png_of(rng)
    if kind == 1:
        return _sizes(bytearray(rng.choice(healthy())), rng)
    if kind == 2:
        return rng.choice(healthy()) + rng.choice(
            [b"\0" * 100, rng.choice(healthy()), b"PK\x03\x04" * 9, b"GIF89a" * 99]
        )
    if kind == 3:
        head = rng.choice(healthy())
        return head[: rng.randrange(1, 40)] + rng.randbytes(rng.choice([0, 10, 5000]))
    if kind == 4:
        a, b = rng.choice(healthy()), rng.choice(healthy())
        return a[: rng.randrange(len(a))] + b[rng.randrange(len(b)) :]
    if kind == 5:
        return _tiff_of(rng)
    return damaged(rng.choice(healthy()), rng)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _png_of(rng: random.Random) -> bytes:
    """A PNG whose parts have checksums that fit, and say anything."""
    width, height = rng.choice(_SIDES), rng.choice(_SIDES)
    depth, colour = rng.choice([1, 2, 4, 8, 16, 3, 255]), rng.choice([0, 2, 3, 4, 6, 1, 255])
    parts = [_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, rng.choice([0, 1, 7])))]
    extras = {
        b"PLTE": rng.randbytes(rng.choice([0, 3, 4, 768, 3000])),
        b"tRNS": rng.randbytes(rng.choice([0, 1, 6, 300])),
        b"zTXt": b"k\0\0" + zlib.compress(bytes(rng.choice([10, 3_000_000]))),
        b"iTXt": b"k\0\1\0\0\0" + zlib.compress(bytes(3_000_000)),
        b"iCCP": b"k\0\0" + zlib.compress(bytes(rng.choice([10, 5_000_000]))),
        b"eXIf": rng.choice([b"", b"MM\0*\0\0\0\x08\xff\xff", b"II*\0\xff\xff\xff\xff"]),
        b"acTL": struct.pack(">II", rng.choice([0, 1, 2**31]), 0),
        b"gAMA": b"",
    }
    parts += [_chunk(name, extras[name]) for name in rng.sample(list(extras), rng.randrange(4))]
    parts.append(_chunk(b"IDAT", zlib.compress(bytes(rng.choice([0, 10, 1000, 1_000_000])))))
    parts += [_chunk(b"IEND", b"")] if rng.random() < 0.8 else []
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _tiff_of(rng: random.Random) -> bytes:
    """A TIFF with tags that name sizes, counts and places at will."""
    order, mark = rng.choice([("<", b"II*\0"), (">", b"MM\0*")])
    values = [0, 1, 2, 8, 16, 100, 2000, 65_535, 2**31, 2**32 - 1]
    sides = [1, 9, 100, 7000, 60_000, 2**31]
    tags = {
        256: rng.choice(sides), 257: rng.choice(sides), 258: rng.choice([1, 8, 16, 32, 64]), 277: rng.choice([1, 3,
        4, 200]),
        259: rng.choice([1, 2, 3, 4, 5, 7, 8, 32773, 34712, 50000]), 262: rng.choice([0, 1, 2, 3, 5, 6, 8]),
        273: rng.choice(values),
        278: rng.choice(values), 279: rng.choice(values), 274: rng.choice([0, 6, 9, 255]), 317: rng.choice([1, 2, 3]),
        322: rng.choice(values), 323: rng.choice(values), 324: rng.choice(values), 325: rng.choice(values),
        339: rng.choice([1, 2, 3]),
        330: 8, 34665: 8,
    }  # fmt: skip
    chosen = sorted({256, 257, 258, 259, 262, 273, 277, 278, 279} | set(rng.sample(sorted(tags), 4)))
    entries = b"".join(
        struct.pack(order + "HHII", tag, rng.choice([4, 4, 4, 3, 1, 5, 12]), rng.choice([1, 1, 1, 3, 2**30]), tags[tag])
        for tag in chosen
    )
    following = rng.choice([0, 8, 2**31])  # 8: the directory that this one is
    return (
        mark + struct.pack(order + "IH", 8, len(chosen)) + entries + struct.pack(order + "I", following) + bytes(3000)
    )


def _sizes(data: bytearray, rng: random.Random) -> bytes:
    """The width and height in a header set to something else."""
    places = {
        b"\xff\xd8": (">H", 2),
        b"\x89P": (">I", 4),
        b"GI": ("<H", 2),
        b"BM": ("<I", 4),
        b"RI": ("<H", 2),
        b"II": ("<I", 4),
    }
    form, width = places.get(bytes(data[:2]), (">I", 4))
    start = {b"\x89P": 16, b"GI": 6, b"BM": 18}.get(bytes(data[:2]))
    at = rng.randrange(4, max(5, min(len(data) - width, 400))) if start is None else start + width * rng.randrange(2)
    struct.pack_into(form, data, at, rng.choice(_SIDES) % 256**width)
    if data.startswith(b"\x89PNG"):
        struct.pack_into(">I", data, 29, zlib.crc32(data[12:29]))
    return bytes(data)
