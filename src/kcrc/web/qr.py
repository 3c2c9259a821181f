"""A short text as a QR code, in characters of a terminal: so that a telephone finds the page without typing.

Of the standard (ISO/IEC 18004) just what an address needs: bytes, versions 1 to 5 at the error correction level L,
which have one block, and one of the eight masks. Readers take any mask; choosing among them only spares them some work.
"""

from __future__ import annotations

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError

DATA = (19, 34, 55, 80, 108)  # codewords of versions 1 to 5, level L
CORRECTION = (7, 10, 15, 20, 26)
QUIET = 2  # modules of margin
_FORMAT = 0b01_000  # level L, mask 0
_PRIMITIVE = 0x11D


def matrix(text: str) -> Array:
    """(side, side) bool: where the code is dark."""
    content = text.encode()
    version = next((v for v, room in enumerate(DATA, 1) if len(content) + 2 <= room), None)
    if version is None:
        raise DataError(f"A QR code of ours holds {DATA[-1] - 2} bytes; given {len(content)}.")
    codewords = _codewords(content, DATA[version - 1], CORRECTION[version - 1])
    dark, fixed = _patterns(17 + 4 * version)
    _place(dark, fixed, codewords)
    return dark


def in_characters(text: str) -> str:
    """The code with two rows of modules in a line; light modules are drawn, as most terminals are dark."""
    light = ~np.pad(matrix(text), QUIET)
    if len(light) % 2:
        light = np.vstack([light, np.zeros_like(light[:1])])
    return "\n".join(
        "".join(" ▀▄█"[upper + 2 * lower] for upper, lower in zip(*light[row : row + 2].astype(int), strict=True))
        for row in range(0, len(light), 2)
    )


def _codewords(content: bytes, room: int, correction: int) -> list[int]:
    """Mode, length, the bytes, padding, and the remainder that corrects errors."""
    bits = f"{4:04b}{len(content):08b}" + "".join(f"{byte:08b}" for byte in content)
    bits += "0" * min(4, 8 * room - len(bits))
    bits += "0" * (-len(bits) % 8)
    data = [int(bits[at : at + 8], 2) for at in range(0, len(bits), 8)]
    data += [(0xEC, 0x11)[at % 2] for at in range(room - len(data))]
    generator = [1]
    for power in range(correction):
        root = _power(power)
        longer = [*generator, 0]
        for at, factor in enumerate(generator):
            longer[at + 1] ^= _product(factor, root)
        generator = longer
    rest = [*data, *[0] * correction]
    for at in range(room):
        lead = rest[at]
        for place, factor in enumerate(generator):
            rest[at + place] ^= _product(factor, lead)
    return data + rest[room:]


def _product(a: int, b: int) -> int:
    """In the field of 256 elements."""
    found = 0
    while b:
        found ^= a if b & 1 else 0
        a = (a << 1) ^ (_PRIMITIVE if a & 0x80 else 0)
        b >>= 1
    return found


def _power(exponent: int) -> int:
    found = 1
    for _ in range(exponent):
        found = _product(found, 2)
    return found


def _patterns(side: int) -> tuple[Array, Array]:
    """What does not depend on the content, and where that is."""
    dark, fixed = np.zeros((side, side), bool), np.zeros((side, side), bool)
    ring = np.maximum(*np.abs(np.mgrid[-4:5, -4:5]))  # a finder with its margin
    finder = (ring != 2) & (ring != 4)
    for row, column in ((3, 3), (3, side - 4), (side - 4, 3)):
        rows, columns = np.arange(row - 4, row + 5), np.arange(column - 4, column + 5)
        inside = np.ix_((rows >= 0) & (rows < side), (columns >= 0) & (columns < side))
        where = np.ix_(rows[(rows >= 0) & (rows < side)], columns[(columns >= 0) & (columns < side)])
        dark[where], fixed[where] = finder[inside], True
    dark[6, 8:-8] = dark[8:-8, 6] = np.arange(8, side - 8) % 2 == 0
    fixed[6, :] = fixed[:, 6] = True
    if side > 21:
        middle = slice(side - 9, side - 4)
        dark[middle, middle], fixed[middle, middle] = np.maximum(*np.abs(np.mgrid[-2:3, -2:3])) != 1, True
    fixed[8, :9] = fixed[:9, 8] = fixed[8, -8:] = fixed[-8:, 8] = True
    dark[-8, 8] = True
    rest = _FORMAT << 10
    for shift in range(4, -1, -1):
        rest ^= (0x537 << shift) if rest >> (10 + shift) & 1 else 0
    bits = [bool(((_FORMAT << 10 | rest) ^ 0x5412) >> at & 1) for at in range(15)]
    for at in range(6):
        dark[at, 8], dark[8, side - 1 - at] = bits[at], bits[at]
        dark[8, 5 - at], dark[side - 6 + at, 8] = bits[9 + at], bits[9 + at]
    dark[7, 8], dark[8, 8], dark[8, 7] = bits[6], bits[7], bits[8]
    dark[8, side - 7], dark[8, side - 8], dark[side - 7, 8] = bits[6], bits[7], bits[8]
    return dark, fixed


def _place(dark: Array, fixed: Array, codewords: list[int]) -> None:
    """The bits in columns of two, up and down, from the right; mask 0 turns every second one."""
    side = len(dark)
    bits = iter("".join(f"{word:08b}" for word in codewords))
    columns = [column for column in range(side - 1, 0, -2) if column > 6] + [5, 3, 1]
    for turn, column in enumerate(columns):
        for row in range(side - 1, -1, -1) if turn % 2 == 0 else range(side):
            for at in (column, column - 1):
                if not fixed[row, at]:
                    dark[row, at] = (next(bits, "0") == "1") ^ ((row + at) % 2 == 0)
