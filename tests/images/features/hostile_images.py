"""Hostile image files without end, the same for the same seed: ``hostile_image(rng)`` gives a file's name and content.

A case is a picture in one of the accepted formats (or another), in any mode, of any odd shape, then attacked: cut,
flipped, spliced, its sizes forged, given odd EXIF, or made by hand to take much memory or time. None is larger than
half a megabyte; what it unpacks to is.
"""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable, Iterator

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from images.features import odd_files as odd

Rng = random.Random
SUFFIXES = (".jpg", ".png", ".gif", ".bmp", ".tif", ".webp", ".ppm", "", ".PNG", ".jpg.exe")
SHAPES = ((24, 16), (1, 1), (7, 3), (64, 48), (1, 2000), (2000, 1), (1, 20_000), (20_000, 1), (333, 257))
MODES = {
    "JPEG": ("RGB", "L", "CMYK"),
    "PNG": ("1", "L", "P", "LA", "RGB", "RGBA", "I;16"),
    "GIF": ("1", "L", "P", "RGB"),
    "BMP": ("1", "L", "P", "RGB", "RGBA"),
    "TIFF": ("1", "L", "P", "LA", "RGB", "RGBA", "CMYK", "LAB", "YCbCr", "I;16", "I", "F"),
    "WEBP": ("RGB", "RGBA", "L"),
    "PPM": ("RGB", "L", "1"),
}
PACKED = (None, "tiff_lzw", "tiff_adobe_deflate", "packbits", "group4", "jpeg", "lzma", "zstd")


# ------------------------------------------------------------------------------------------ pictures to begin with


def healthy(rng: Rng) -> bytes:
    """A good file: any format, mode and shape, with what its format can say beside the picture."""
    kind = rng.choice(tuple(MODES))
    mode, shape = rng.choice(MODES[kind]), rng.choice(SHAPES)
    picture = odd.noise(mode, shape, rng.randrange(1000))
    more: dict = {}
    if rng.random() < 0.4 and kind in ("JPEG", "PNG", "TIFF", "WEBP"):
        more["exif"] = Image.Exif()
        more["exif"][0x0112] = rng.randrange(10)
        more["exif"][0x010E] = "a description"
    if rng.random() < 0.3 and kind in ("JPEG", "PNG", "WEBP"):
        more["icc_profile"] = rng.randbytes(rng.choice([10, 5000]))
    if kind == "JPEG":
        more |= {"progressive": rng.random() < 0.4, "quality": rng.choice([5, 80, 100])}
        more |= {"restart_marker_rows": 1} if rng.random() < 0.2 else {}
    if kind == "TIFF" and (packed := rng.choice(PACKED)) and (packed != "group4" or mode == "1"):
        more["compression"] = packed if packed != "jpeg" or mode in ("L", "RGB") else "tiff_lzw"
    if kind == "PNG" and rng.random() < 0.3:
        more["pnginfo"] = PngInfo()
        more["pnginfo"].add_text("comment", "word " * rng.randrange(100), zip=rng.random() < 0.5)
    if kind == "WEBP":
        more["lossless"] = rng.random() < 0.5
    if kind in ("GIF", "PNG", "TIFF", "WEBP") and rng.random() < 0.2 and "compression" not in more:
        more |= {"save_all": True, "append_images": [odd.noise(mode, shape, i) for i in range(rng.randrange(1, 4))]}
    try:
        return odd.saved(picture, kind, **more)
    except Exception:  # an encoder that this Pillow lacks, or options it will not have together
        return odd.saved(odd.noise("L", shape), "PNG")


# --------------------------------------------------------------------------------------------------------- attacks


def cut(data: bytes, rng: Rng) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def flipped(data: bytes, rng: Rng) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 3, 20])):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def beginning_changed(data: bytes, rng: Rng) -> bytes:
    """Other bytes where headers are."""
    out = bytearray(data)
    for _ in range(rng.choice([1, 2, 5])):
        out[rng.randrange(min(len(out), 120))] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
    return bytes(out)


def forged_size(data: bytes, rng: Rng) -> bytes:
    """A width and height that are not so, with checksums that are right."""
    big = lambda top: rng.choice([0, 1, 2, 255, top // 2, top - 1, top, rng.randrange(top + 1)])  # noqa: E731
    if data.startswith(odd.PNG_MAGIC):
        header = struct.pack(">II", big(0x7FFFFFFF), big(30_000)) + data[24:29]
        return data[:8] + odd.chunk(b"IHDR", header) + data[33:]
    if data.startswith(b"GIF"):
        return data[:6] + struct.pack("<HH", big(65_535), big(65_535)) + data[10:]
    if data.startswith(b"BM"):
        return data[:18] + struct.pack("<Ii", big(0x7FFFFFFF), rng.choice([1, -1]) * big(50_000)) + data[26:]
    frame = max(data.find(bytes([0xFF, marker])) for marker in (0xC0, 0xC2))
    if data.startswith(b"\xff\xd8") and frame > 0:
        return data[: frame + 5] + struct.pack(">HH", big(65_535), big(65_535)) + data[frame + 9 :]
    if data.startswith(b"RIFF"):
        return data[:24] + rng.randbytes(6) + data[30:]
    return beginning_changed(data, rng)


def spliced(data: bytes, rng: Rng) -> bytes:
    other = healthy(rng)
    at, into = rng.randrange(len(data)), rng.randrange(len(other))
    return rng.choice([data[:at] + other[into:], data + other, data[:at] + other + data[at:]])


def rubbed_out(data: bytes, rng: Rng) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes(rng.choice([1, 16, 400])) + data[at + rng.choice([0, 1, 16, 400]) :]


def untouched(data: bytes, rng: Rng) -> bytes:
    return data


ATTACKS = (untouched, cut, flipped, flipped, beginning_changed, forged_size, forged_size, spliced, rubbed_out)


# ------------------------------------------------------------------------------------------------------------ EXIF


def odd_exif(rng: Rng) -> bytes:
    """EXIF with something wrong: the orientation of another type or size, a directory cut off, in a ring, or forged."""
    turn = 0x0112
    choices: list[Callable[[], bytes]] = [
        lambda: odd.exif((turn, 2, 2, b"6\0")),
        lambda: odd.exif((turn, 2, 20, b"rotate by 90 degree\0")),
        lambda: odd.exif((turn, 5, 1, struct.pack("<II", rng.choice([6, 0]), rng.choice([1, 0])))),
        lambda: odd.exif((turn, 12, 1, struct.pack("<d", rng.choice([6.0, float("nan"), float("inf")])))),
        lambda: odd.exif((turn, 4, 1, struct.pack("<I", rng.choice([0, 9, 0xFFFFFFFF])))),
        lambda: odd.exif((turn, 3, rng.choice([0, 2, 0xFFFFFFFF]), b"\6\0\0\0")),
        lambda: odd.exif((turn, rng.randrange(256), 1, b"\6\0\0\0")),
        lambda: odd.exif(odd.short(turn, 6), following=8),
        lambda: odd.exif(odd.long(0x8769, 8), odd.long(0x8825, 8), odd.short(turn, 3)),
        lambda: odd.exif(odd.short(turn, 6), at=rng.choice([0, 4, 9, 1000, 0xFFFFFFFF])),
        lambda: odd.exif(*[odd.short(rng.randrange(65_536), 1) for _ in range(2000)]),
        lambda: odd.exif(odd.short(turn, 6))[: rng.randrange(26)],
        lambda: b"II*\0\x08\0\0\0\xff\xff" + rng.randbytes(100),
        lambda: rng.randbytes(rng.randrange(200)),
        lambda: odd.exif((0x927C, 7, 200_000, bytes(200_000)), odd.short(turn, 8)),
    ]
    return rng.choice(choices)()


def with_odd_exif(rng: Rng) -> bytes:
    said = odd_exif(rng)
    how = rng.randrange(4)
    if how == 0:
        return odd.jpeg_with_exif(said)
    if how == 1:
        row = zlib.compress(bytes(4 * (1 + 3 * 5)))
        told = [odd.chunk(b"eXIf", said)] if rng.random() < 0.5 else [odd.chunk(b"zTXt", _profile(said))]
        return odd.png(5, 4, row, **{rng.choice(["before", "after"]): told})
    if how == 2:
        still = odd.saved(odd.noise("RGB", (5, 4)), "WEBP", lossless=True)
        vp8x = bytes([0x08, 0, 0, 0, 4, 0, 0, 3, 0, 0])
        return odd.riff((b"VP8X", vp8x), (still[12:16], still[20:]), (b"EXIF", said))
    return odd.saved(odd.noise("L", (5, 4)), "TIFF")[:8] + said + bytes(200)


def _profile(said: bytes) -> bytes:
    return b"Raw profile type exif\0\0" + zlib.compress(b"\nexif\n%8d\n%s\n" % (len(said), said.hex().encode()))


# ----------------------------------------------------------------------------------------------------------- bombs


def bomb(rng: Rng) -> bytes:
    """Small files that unpack to much, or that take long to go through."""
    side = rng.choice([2000, 5000, 9000, 30_000])
    pixel = zlib.compress(bytes(4))
    megabytes = odd.zeros(30 << 20)
    choices: list[Callable[[], bytes]] = [
        lambda: odd.flat_png(3000, 3000, depth=rng.choice([8, 16]), colours=rng.choice([0, 2, 4, 6])),
        lambda: odd.flat_png(rng.choice([9000, 40_000]), rng.choice([1, 4000]), depth=1, colours=rng.choice([0, 3])),
        lambda: odd.png(side, side, zlib.compress(bytes(10_000)), depth=16, colours=6),
        lambda: odd.png(side, side, zlib.compress(bytes(10_000)), interlaced=True),
        lambda: odd.png(1, 1, pixel, before=[odd.chunk(b"iCCP", b"profile\0\0" + megabytes)]),
        lambda: odd.png(1, 1, pixel, before=[odd.chunk(b"zTXt", b"Raw profile type exif\0\0" + megabytes)]),
        lambda: odd.png(1, 1, pixel, after=[odd.chunk(b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + megabytes)]),
        lambda: odd.png(1, 1, pixel, before=[odd.chunk(b"acTL", struct.pack(">II", 0xFFFFFFFF, 0))] * 3),
        lambda: odd.png(1, 1, pixel, before=[odd.chunk(b"tEXt", b"a\0b")] * 20_000),
        lambda: odd.many_scans(rng.choice([500, 2000]), rng.choice([50, 1500])),
        lambda: odd.with_segments(odd.saved(odd.noise("L", (9, 9)), "JPEG"), *[odd.segment(0xE1, b"")] * 40_000),
        lambda: b"\xff\xd8" + b"\xff" * 300_000,
        lambda: odd.grey_tiff(50, 50, bytes(2500), odd.long(322, side), odd.long(323, side), odd.long(324, 8)),
        lambda: odd.tiff(
            [
                odd.long(256, 50),
                odd.long(257, 50),
                odd.short(258, 8),
                odd.short(259, rng.choice([1, 5, 8])),
                odd.short(262, 1),
                odd.long(322, side * 64),
                odd.long(323, side * 64),
                odd.long(324, 8),
            ],
            bytes(2500),
        ),
        lambda: odd.grey_tiff(50, 50, bytes(2500), odd.long(278, 0xFFFFFFFF)),
        lambda: odd.grey_tiff(50, 50, bytes(2500), odd.short(258, *[8] * 1000), odd.short(277, 1000)),
        lambda: odd.grey_tiff(4000, 4000, bytes(9), odd.long(278, 2000), odd.long(273, *[8] * 30_000)),
        lambda: odd.grey_tiff(2, 20_000, bytes(9), odd.long(278, 1), odd.long(273, *[8] * 20_000)),
        lambda: odd.grey_tiff(side, side, bytes(900), odd.short(259, rng.choice([5, 7, 8, 32773, 34925, 50000]))),
        lambda: odd.gif(rng.choice([1, 60_000]), rng.choice([1, 60_000])),
        lambda: odd.gif(60_000, 9, screen=(1, 1)),
        lambda: odd.gif(3, 3, b"!\xfe" + b"\1a" * 100_000 + b"\0", b"\xaa" * 100_000),
        lambda: odd.gif(5000, 5000, b"!\xf9\4\x0d\0\0\1\0"),
        lambda: odd.bmp(rng.choice([3, 30_000, 20_000_000]), 1, b"\0\0" * 500, compression=1),
        lambda: odd.bmp(4000, 4000, b"\0\2\xff\xff" * 50, bits=4, compression=2),
        lambda: odd.bmp(10_000_000, 2, bytes(500_000), bits=1),
        lambda: odd.riff(
            (b"VP8X", bytes([2]) + bytes(3) + rng.randbytes(6)), (b"ANIM", bytes(6)), (b"ANMF", bytes(40))
        ),
        lambda: odd.riff(*[(b"EXIF", b"")] * 20_000, (b"VP8L", b"\x2f" + bytes(20))),
        lambda: odd.riff((b"VP8L", b"\x2f\xff\xff\xff\x0f" + bytes(20))),
    ]
    return rng.choice(choices)()


def other(rng: Rng) -> bytes:
    """No image at all, or one of a format that is not read."""
    return rng.choice(
        [b"", b"\0", b"GIF89a", b"BM", b"II*\0", b"MM\0*", b"\xff\xd8\xff", b"RIFF\4\0\0\0WEBP", odd.PNG_MAGIC,
         b"%!PS-Adobe-3.0 EPSF-3.0\n", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"PK\3\4" + bytes(60),
         bytes(5000), rng.randbytes(5000), b"P6 9 9 255\n" + bytes(243), b"MM\0+\0\x08\0\0" + bytes(40)]
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------------------ cases


def hostile_image(rng: Rng) -> tuple[str, bytes]:
    """The name and content of one file."""
    kind = rng.random()
    if kind < 0.12:
        made, what = bomb(rng), "bomb"
    elif kind < 0.22:
        made, what = with_odd_exif(rng), "exif"
    elif kind < 0.25:
        made, what = other(rng), "other"
    else:
        attack = rng.choice(ATTACKS)
        made, what = attack(healthy(rng), rng), attack.__name__
    if kind < 0.22 and rng.random() < 0.3:
        made, what = rng.choice(ATTACKS)(made, rng), f"{what}-attacked"
    return f"{what}{rng.choice(SUFFIXES)}", made


def hostile_images(seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    """So many of them; each has its own seed, so that one can be made again alone: ``hostile_image(case(seed, i))``."""
    for number in range(count):
        yield hostile_image(case(seed, number))


def case(seed: int, number: int) -> Rng:
    return random.Random(f"{seed} {number}")
