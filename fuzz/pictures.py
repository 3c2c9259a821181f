"""Pictures made to do harm: those of the tests, and files whose parts are whole and say anything."""

from __future__ import annotations

import random
import struct
import zlib

from fuzz.borrowed import TESTS, from_tests
from fuzz.mutation import damaged

_SIDES = (0, 1, 2, 9, 255, 256, 8000, 30_000, 50_000, 65_535, 65_536, 2**24, 2**31 - 1, 2**31, 2**32 - 1)
_BOXES = (b"ftyp", b"meta", b"hdlr", b"pitm", b"iloc", b"iinf", b"infe", b"iprp", b"ipco", b"ispe", b"hvcC", b"mdat")


def hostile(rng: random.Random) -> bytes:
    """One picture that is not what it says."""
    kind = rng.randrange(10)
    if kind == 0:
        return _png_of(rng)
    if kind == 1:
        return _tiff_of(rng)
    if kind == 2:
        return _photograph(rng)
    content: bytes = from_tests("images/features/hostile_images.py").hostile_image(rng)[1]
    return content


def _photograph(rng: random.Random) -> bytes:
    """A HEIC or RAW photograph, damaged, cut short, or with another box or tag in place of one of its own."""
    if rng.random() < 0.7:
        samples = sorted((TESTS / "images" / "features" / "heic").glob("*.heic"))
        content = bytearray(rng.choice(samples).read_bytes())
        boxes = [place for name in _BOXES if (place := content.find(name)) > 0]
        for _ in range(rng.choice([0, 1, 3])):
            place = rng.choice(boxes)
            change = rng.choice([rng.choice(_BOXES), None])
            if change is not None:
                content[place : place + 4] = change
            else:  # the length of a box
                content[place - 4 : place] = struct.pack(">I", rng.choice([0, 1, 7, 8, 2**16, 2**31, 2**32 - 1]))
        return damaged(bytes(content), rng) if rng.random() < 0.5 else bytes(content)
    start = rng.choice([b"II*\0\x10\0\0\0CR\2\0", b"FUJIFILMCCD-RAW 0201FF", b"IIRO\x08\0\0\0", b"\0\0\0\x18ftypcrx "])
    return start + _tiff_of(rng)[8:] + rng.randbytes(rng.choice([0, 100, 100_000]))


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
