"""The learning curve as a drawing: accuracy by examples, the band it lies in, and where twice as many would take it.

Lines and bands are drawn in a square of 100 and stretched; numbers are texts beside it, of one size on every screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kcrc.confidence.learning_curve import Gain, Point
from kcrc.report.html import Element, element


def learning_curve(points: Sequence[Point], doubled: Gain) -> Element:
    """Sizes stand side by side, each twice the one before it; colours are the page's own."""
    now = points[-1]
    expected = (min(1.0, max(0.0, now.accuracy + gain)) for gain in (doubled.likely, doubled.low, doubled.high))
    sizes = [*points, Point(2 * now.examples, *expected)]
    last = len(points) - 1
    floor = min(0.9, int(10 * min(point.low for point in sizes)) / 10)

    def x(at: int) -> float:
        return 100.0 * at / (len(sizes) - 1)

    def y(share: float) -> float:
        return 100.0 * (1.0 - share) / (1.0 - floor)

    def line(first: int, end: int, kind: str) -> Element:
        places = [(x(at), y(sizes[at].accuracy)) for at in range(first, end + 1)]
        return element("polyline", points=_places(places), class_=kind, vector_effect="non-scaling-stroke")

    def band(first: int, end: int, kind: str) -> Element:
        high = [(x(at), y(sizes[at].high)) for at in range(first, end + 1)]
        low = [(x(at), y(sizes[at].low)) for at in range(end, first - 1, -1)]
        return element("polygon", points=_places([*high, *low]), class_=kind)

    marks: list[Any] = []
    for share in _steps(floor):
        height = f"top: {y(share):.2f}%"
        marks.append(element("span", class_="rule", style=height))
        marks.append(element("span", f"{100 * share:.0f}", class_="height", style=height))
    for at, point in enumerate(sizes):
        words = f"{point.examples} now" if at == last else str(point.examples)
        marks.append(element("span", words, class_="size", style=f"left: {x(at):.2f}%"))
    marks.append(element("span", class_="dot", style=f"left: {x(last):.2f}%; top: {y(now.accuracy):.2f}%"))
    drawing = element(
        "svg",
        band(0, last, "measured"),
        band(last, last + 1, "expected"),
        line(0, last, "curve"),
        line(last, last + 1, "curve ahead"),
        viewBox="0 0 100 100",
        preserveAspectRatio="none",
    )
    inside = element("div", marks, drawing, class_="plot", aria_hidden="true")
    return element("div", inside, class_="card learning", role="img", aria_label=_spoken(sizes))


def _steps(floor: float) -> list[float]:
    """Where rules are drawn: few, at round numbers."""
    step = 0.25 if floor < 0.5 else 0.1 if floor < 0.8 else 0.05
    return [1.0 - step * at for at in range(int((1.0 - floor) / step + 1e-9) + 1)]


def _places(pairs: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{across:.2f},{down:.2f}" for across, down in pairs)


def _spoken(sizes: Sequence[Point]) -> str:
    *known, ahead = sizes
    said = ", ".join(f"{point.examples} examples {point.accuracy:.0%}" for point in known)
    return f"Right answers by number of examples: {said}; {ahead.examples} examples likely {ahead.accuracy:.0%}."
