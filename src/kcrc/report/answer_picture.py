"""One answer as a PNG: the query, and the examples that count most, each as large as its share.

Pillow draws it, so it needs no extra and ``kcrc demo`` works after a plain installation. ``kcrc explain --png`` shows
more numbers and needs Matplotlib (``kcrc.report.figures``).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.words import one_line
from kcrc.files.atomic import atomic_write
from kcrc.method.evidence import Evidence
from kcrc.report.style import LIGHT

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

SHOWN = 7  # examples
RED = "#b3231b"
WIDTH, HEIGHT, EDGE = 1600, 690, 48  # pixels; twice as many as on most screens, for sharp letters
QUERY, LARGEST = 300, 300  # the sides of the query and of the largest example, at most
FLOOR = 488  # where the squares stand
EXAMPLES = EDGE + QUERY + 90  # where the examples begin
GAP = 20  # between two examples


def loudest(one: Evidence, most: int = SHOWN) -> list[int]:
    """The places of the examples with the largest shares, the largest first."""
    return [int(j) for j in np.argsort(-np.abs(one.shares[0]), kind="stable")[:most] if one.shares[0, j] != 0]


def draw_answer(
    one: Evidence,
    query: Array,
    picture_of: Callable[[int], Array],
    path: str | os.PathLike[str],
    *,
    title: str,
    legend: str,
) -> None:
    """Write a PNG about one query, with a title and the line that says how to read it.

    ``query`` and ``picture_of(row)`` are grey images (h, w); the largest value is drawn black.
    """
    from PIL import Image, ImageDraw

    canvas = Image.new("RGB", (WIDTH, HEIGHT), LIGHT["bg"])
    pen = ImageDraw.Draw(canvas)
    pen.text((EDGE, 36), title, LIGHT["ink"], _font(54), stroke_width=1)
    pen.text((EDGE, 112), legend, LIGHT["muted"], _font(32))
    _draw_framed(canvas, query, EDGE, FLOOR, QUERY, LIGHT["ink"])
    pen.text((EDGE + QUERY / 2, FLOOR + 14), "the new picture", LIGHT["ink"], _font(30), anchor="ma")
    _draw_examples(canvas, pen, one, picture_of)
    _draw_beam(pen, one)
    with atomic_write(path) as file:
        canvas.quantize(128).save(file, format="PNG", optimize=True)


def _draw_examples(canvas: Image, pen: ImageDraw, one: Evidence, picture_of: Callable[[int], Array]) -> None:
    """Squares whose areas are the shares: those for the answer, the largest first, then those against it."""
    shares = one.shares[0]
    places = sorted(loudest(one), key=lambda j: (shares[j] < 0, -abs(shares[j])))
    roots = np.sqrt(np.abs(shares[places]))
    room = WIDTH - EDGE - EXAMPLES - GAP * (len(places) + 2)
    scale = min(room / roots.sum(), LARGEST / roots.max())
    x = EXAMPLES
    for place, (j, root) in enumerate(zip(places, roots, strict=True)):
        if place and shares[j] < 0 < shares[places[place - 1]]:
            x += 3 * GAP  # the other side begins
        colour, side = LIGHT["for"] if shares[j] > 0 else RED, max(int(scale * root), 24)
        _draw_framed(canvas, picture_of(int(one.rows[0, j])), x, FLOOR, side, colour)
        label = one_line(one.classes[one.neighbour_labels[0, j]])
        middle = x + side / 2
        pen.text((middle, FLOOR + 12), label, colour, _font(34), anchor="ma", stroke_width=1)
        pen.text((middle, FLOOR + 52), f"{abs(shares[j]):.0%}", colour, _font(28), anchor="ma")
        x += side + GAP


def _draw_beam(pen: ImageDraw, one: Evidence) -> None:
    """The shares of all examples together, and the middle, where the answer would be another."""
    support, count = float(one.support[0]), int((one.shares[0] != 0).sum())
    left, right, top, bottom = EXAMPLES, WIDTH - EDGE, FLOOR + 104, FLOOR + 150
    seam, half = left + round((right - left) * support), (left + right) // 2
    pen.rectangle((left, top, seam - 1, bottom), LIGHT["for"])
    if seam < right:
        pen.rectangle((seam, top, right, bottom), RED)
    pen.line((half, top - 6, half, bottom + 6), LIGHT["ink"], 5)
    words = f"all {count} together: {support:.0%} for {one_line(one.labels[0])}"
    pen.text((left + 14, bottom - 12), words, LIGHT["card"], _font(28), anchor="ls")
    if right - seam > 200:
        pen.text((right - 14, bottom - 12), f"{1 - support:.0%} against", LIGHT["card"], _font(28), anchor="rs")
    pen.text((half, bottom + 12), "half: here the answer would change", LIGHT["muted"], _font(26), anchor="ma")


def _draw_framed(canvas: Image, image: Array, x: int, floor: int, side: int, colour: str) -> None:
    """A grey image in a square frame that stands on ``floor``: dark on light, whole and with some room around it."""
    from PIL import Image, ImageDraw

    frame = 8 if side > 100 else 5
    low, high = float(image.min()), float(image.max())
    grey = np.rint(255 * (1 - (image - low) / (high - low if high > low else 1.0))).astype(np.uint8)
    across = max(grey.shape) + 2
    room = np.full((across, across), 255, np.uint8)
    top, left = (across - grey.shape[0]) // 2, (across - grey.shape[1]) // 2
    room[top : top + grey.shape[0], left : left + grey.shape[1]] = grey
    inside = side - 2 * frame
    drawn = Image.fromarray(room).resize((inside, inside), Image.Resampling.BICUBIC)
    ImageDraw.Draw(canvas).rectangle((x, floor - side, x + side - 1, floor - 1), colour)
    canvas.paste(drawn.convert("RGB"), (x + frame, floor - side + frame))


def _font(size: int) -> FreeTypeFont:
    """Pillow's own font, which is the same on every machine."""
    from PIL import ImageFont

    font = ImageFont.load_default(size)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font
