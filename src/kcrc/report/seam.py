"""The examples that decided as photographs whose areas are their shares: for the answer left, against it right.

The strongest meet at the seam between the two sides. Below it a beam shows both sides together, with a mark at the
middle: there the answer would turn (``kcrc.method.evidence``).
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kcrc._base.words import file_name, whole_percents
from kcrc.report.case import Case, Part
from kcrc.report.html import Element, element, picture, swatch

WIDE, NARROW = (936.0, 300.0), (328.0, 420.0)  # pixels of the whole on a screen and on a phone
NARROWEST = 0.24  # of the width, for a side that weighs little: it is less high instead
LEAST = 0.008  # the share of an example that has room for a picture
REST = 0.012  # the area of what is left, at least, for its number to be read
WORDS = 170.0  # pixels of a tile that has room for a line of words
STRIP = 40.0  # pixels, what a number needs
CROPPED = 1.7  # a picture of another shape than its tile, by this factor, is shown whole


@dataclass(frozen=True)
class Box:
    """A part of a rectangle whose sides are 1."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Side:
    """The examples of one side that are shown, and of those that are not how many they are and what they weigh."""

    kind: str
    parts: list[Part]
    rest: int
    rest_share: float

    @property
    def count(self) -> int:
        return len(self.parts) + self.rest

    @property
    def weights(self) -> list[float]:
        """Of each tile; the last is of what is left."""
        return [abs(part.share) for part in self.parts] + [self.rest_share] * bool(self.rest)


def treemap(areas: Sequence[float], *, width: float, height: float) -> list[Box]:
    """Boxes with these falling areas that fill a rectangle from its left, each nearly a square (a squarified treemap).

    A column or row takes the next one for as long as that makes the flattest of its boxes less flat."""
    scale = width * height / sum(areas)
    left, boxes = [area * scale for area in areas], []
    x, y, across, down = 0.0, 0.0, width, height
    while left:
        short = min(across, down)
        taken = 1
        while taken < len(left) and _flattest(left[: taken + 1], short) <= _flattest(left[:taken], short):
            taken += 1
        row, left = left[:taken], left[taken:]
        thick = sum(row) / short
        at = 0.0
        for area in row:
            long = area / thick
            box = (x, y + at, thick, long) if across >= down else (x + at, y, long, thick)
            boxes.append(Box(box[0] / width, box[1] / height, box[2] / width, box[3] / height))
            at += long
        if across >= down:
            x, across = x + thick, across - thick
        else:
            y, down = y + thick, down - thick
    return boxes


def treemap_with_rest(areas: Sequence[float], *, width: float, height: float) -> list[Box]:
    """``treemap``, but if the last is larger than the one before, as what is left may be, it has the far end to itself,
    provided that this leaves room for its number."""
    part = areas[-1] / sum(areas)
    if len(areas) < 2 or areas[-1] <= areas[-2] or part * max(width, height) < STRIP:
        return treemap(areas, width=width, height=height)
    if width >= height:
        boxes = treemap(areas[:-1], width=width * (1 - part), height=height)
        return [*(Box(b.x * (1 - part), b.y, b.width * (1 - part), b.height) for b in boxes), Box(1 - part, 0, part, 1)]
    boxes = treemap(areas[:-1], width=width, height=height * (1 - part))
    return [*(Box(b.x, b.y * (1 - part), b.width, b.height * (1 - part)) for b in boxes), Box(0, 1 - part, 1, part)]


def _flattest(row: Sequence[float], short: float) -> float:
    thick = sum(row) / short
    return max(max(thick * thick / area, area / (thick * thick)) for area in row)


def sides_of(parts: Sequence[Part], top: int) -> list[Side]:
    """The sides that have examples: for, against. ``parts`` come with the largest shares first."""
    shown = {part.id for part in parts[:top] if abs(part.share) >= LEAST}
    sides = []
    for kind, sign in (("for", 1), ("against", -1)):
        mine = [part for part in parts if part.share * sign > 0]
        here = [part for part in mine if part.id in shown]
        rest = [abs(part.share) for part in mine if part.id not in shown]
        if mine:
            sides.append(Side(kind, here, len(rest), sum(rest)))
    return sides


def seam(case: Case, parts: Sequence[Part], *, top: int, level: int) -> Element:
    """Both sides and the beam; ``level`` is that of their headings."""
    sides = sides_of(parts, top)
    shares = {side.kind: sum(side.weights) for side in sides}
    written = iter(whole_percents([weight for side in sides for weight in side.weights]))
    drawn = []
    across = [min(max(shares[side.kind], NARROWEST), 1 - NARROWEST) if len(sides) > 1 else 1.0 for side in sides]
    for side, width in zip(sides, across, strict=True):
        percents = [next(written) for _ in side.weights]
        drawn.append(_side(case, side, percents, across=width, share=shares[side.kind], level=level))
    columns = " ".join(f"minmax(0, {width:.4f}fr)" for width in across)
    beam = _beam(shares.get("for", 0.0)) if case.rival is not None else None
    return element("div", element("div", drawn, class_="sides", style=f"--across: {columns}"), beam)


def _side(case: Case, side: Side, percents: list[int], *, across: float, share: float, level: int) -> Element:
    who = case.best if side.kind == "for" or case.rival is None else case.rival
    many = f"{side.count} {'example' if side.count == 1 else 'examples'}"
    total = element("strong", f"{who} ", element("span", f"{sum(percents)} %", class_="nowrap"))
    if side.kind == "for":
        heading = [swatch("for"), " ", total, element("small", f" of the evidence · {many} for")]
    elif case.rival is None:
        heading = [element("small", f"{many} that made it fit worse "), element("strong", f"{sum(percents)} %")]
    else:
        heading = [element("small", f"{many} against "), total, " ", swatch("against")]
    weights = [*side.weights[: len(side.parts)], *[max(side.rest_share, REST)] * bool(side.rest)]
    wide = (WIDE[0] * across, WIDE[1] * share / across)
    narrow = (NARROW[0], max(64.0, NARROW[1] * share))
    boxes = [treemap_with_rest(weights, width=width, height=height) for width, height in (wide, narrow)]
    if side.kind == "for":  # the strongest at the seam
        boxes[0] = [Box(1 - box.x - box.width, box.y, box.width, box.height) for box in boxes[0]]
    tiles = []
    for at, (percent, *places) in enumerate(zip(percents, *boxes, strict=True)):
        size = (places[0].width * wide[0], places[0].height * wide[1])
        left = at == len(side.parts)
        content = _rest(side, percent, size) if left else _tile(case, side, side.parts[at], percent, size)
        kind = " rest" if left else " big" if min(size) > 120 else " tiny" if min(size) < 66 else ""
        style = "; ".join((_position(places[0], ""), _position(places[1], "n")))
        tiles.append(element("figure", element("div", content), class_=f"tile{kind}", style=style))
    shapes = f"--shape: {wide[0]:.1f} / {wide[1]:.1f}; --narrow-shape: {narrow[0]:.1f} / {narrow[1]:.1f}"
    return element(
        "section",
        element(f"h{level}", heading),
        element("div", tiles, class_="tiles", style=shapes),
        class_=f"side {side.kind}",
    )


def _position(box: Box, prefix: str) -> str:
    values = {"x": box.x, "y": box.y, "w": box.width, "h": box.height}
    return "; ".join(f"--{prefix}{name}: {100 * value:.2f}%" for name, value in values.items())


def _tile(case: Case, side: Side, part: Part, percent: int, size: tuple[float, float]) -> list[Any]:
    own = case.best if side.kind == "for" else case.rival or case.best
    data = case.thumbnail_of(part.id)
    name = f"Example {part.id} of class {part.label}, {percent} % {side.kind} the answer"
    shape = _shape(data)
    tile = size[0] / size[1]
    whole = shape is not None and max(shape / tile, tile / shape) > CROPPED
    facts = [f"no. {part.id}", file_name(part.source), "" if part.near is None else part.near.words]
    title = ", ".join([part.label, *filter(None, facts)])
    return [
        picture(data, name, title=title, class_="whole" if whole else None),
        element("figcaption", f"{percent} %" + ("" if part.label == own else f" {part.label}"), _look(part, size)),
    ]


def _look(part: Part, size: tuple[float, float]) -> Element | None:
    """By which looks the example is near, if its tile has room for a line of words."""
    if part.near is None or size[0] < WORDS:
        return None
    return element("small", part.near.words)


def _rest(side: Side, percent: int, size: tuple[float, float]) -> list[Any]:
    weight = f"{percent} %" if percent else "< 1 %"
    words = f"+{side.rest}" if side.parts else str(side.rest)
    shown = [element("span", words), " ", element("span", weight)]
    return [element("figcaption", shown if percent or size[0] >= STRIP else shown[:1])]


def _shape(data: bytes | None) -> float | None:
    """Width over height; only the head of the file is read. Thumbnails were decoded when they were stored."""
    from PIL import Image

    if data is None:
        return None
    try:
        with Image.open(io.BytesIO(data)) as opened:
            return opened.width / opened.height
    except (OSError, ValueError, ZeroDivisionError):
        return None


def _beam(support: float) -> list[Element]:
    at = f"{100 * support:.2f}%"
    words = f"{support:.1%} of the evidence is for the answer; below half the answer would be another."
    return [
        element(
            "div",
            element("span", class_="part", style=f"width: {at}"),
            element("span", class_="even"),
            element("span", class_="knob", style=f"left: {at}"),
            class_="beam",
            role="img",
            aria_label=words,
        ),
        element("p", "even: past this line the answer changes", class_="even-words"),
    ]
