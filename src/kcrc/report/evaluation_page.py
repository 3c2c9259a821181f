"""The evaluation as a page: accuracy, the confusion matrix as a picture, each class, the worst mistakes."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kcrc.report.case import Case
from kcrc.report.drawing import save_figure
from kcrc.report.evaluation import Evaluation
from kcrc.report.evidence_page import case_article, reading_help
from kcrc.report.html import Element, element, page
from kcrc.report.words import file_name, for_plot

_LONGEST = 24  # characters of a name beside the matrix
_LABELLED = 60  # a matrix with more classes than this has no room for names


def evaluation_page(found: Evaluation, mistakes: Sequence[Case], *, gallery: str, folder: str, unread: int = 0) -> str:
    """The page; ``mistakes`` are the worst ones with their evidence."""
    title = f"{found.accuracy:.1%} of {found.total} images right"
    stamp = f"{datetime.datetime.now():%Y-%m-%d %H:%M}"
    skipped = element("p", f"{unread} files could not be read and do not count.") if unread else None
    body = [
        element("h1", title),
        element(
            "p",
            f"The gallery {file_name(gallery)} on the images in {file_name(folder)}, {stamp}, by kcrc.",
            class_="quiet",
        ),
        skipped,
        element("h2", "Who is taken for whom"),
        element("div", confusion_svg(found), class_="matrix"),
        element(
            "p",
            "A row for each true class, a column for each answer; blue is right, red is wrong, the darker the more "
            "of the row.",
            class_="quiet",
        ),
        element("h2", "Each class"),
        _classes(found),
    ]
    if mistakes:
        body.append(element("h2", "The mistakes it was surest of"))
        body += [case_article(case, top=6, heading="h3") for case in mistakes]
        body.append(reading_help())
    return page(title, *[part for part in body if part is not None])


def confusion_svg(found: Evaluation) -> Element:
    """The matrix as a picture: a row for each class, dark where many of it were answered so."""
    n = len(found.classes)
    named = n <= _LABELLED
    cell = 22 if named else max(3, 900 // n)
    longest = min(_LONGEST, max(len(c) for c in found.classes))
    left = above = 12 + 7 * longest if named else 4
    share = found.confusion / np.maximum(1, found.confusion.sum(axis=1, keepdims=True))
    parts: list[Element] = []
    for i, j in zip(*np.nonzero(found.confusion), strict=True):
        count, name, answer = int(found.confusion[i, j]), found.classes[i], found.classes[j]
        colour = "#0f5c94" if i == j else "#a3225a"
        square = element(
            "rect",
            x=left + cell * int(j),
            y=above + cell * int(i),
            width=cell - 1,
            height=cell - 1,
            fill=colour,
            fill_opacity=f"{0.15 + 0.85 * float(share[i, j]):.3f}",
        )
        words = element("title", f"{count} of class {name} taken for {answer}")
        parts.append(
            element("g", words, square, _count(left, above, cell, int(i), int(j), count, float(share[i, j]), named))
        )
    if named:
        for i, name in enumerate(found.classes):
            short = name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
            y, x = above + cell * (i + 0.7), left + cell * (i + 0.7)
            parts.append(element("text", short, x=left - 6, y=f"{y:.1f}", text_anchor="end", font_size=12))
            turned = f"translate({x:.1f} {above - 6}) rotate(-90)"
            parts.append(element("text", short, transform=turned, font_size=12))
        parts += _grid(left, above, cell, n)
    spoken = f"Confusion matrix of {n} classes; the rows are the true classes, the columns the answers."
    size = {"width": left + cell * n, "height": above + cell * n}
    view = f"0 0 {size['width']} {size['height']}"
    return element("svg", parts, role="img", aria_label=spoken, viewBox=view, font_family="system-ui", **size)


def _count(left: int, above: int, cell: int, i: int, j: int, count: int, share: float, named: bool) -> Element | None:
    if not named:
        return None
    x, y = left + cell * j + (cell - 1) / 2, above + cell * i + cell * 0.66
    ink = "#fff" if share > 0.72 else "#1a1f24"  # either way the contrast is 4 to 1 or more
    return element("text", count, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor="middle", font_size=10, fill=ink)


def _grid(left: int, above: int, cell: int, n: int) -> list[Element]:
    """Thin lines, for the eye to find the way from a square to its names."""
    far, low = left + cell * n, above + cell * n
    style = {"stroke": "#c9d1d8", "stroke_width": "0.5"}
    lines = []
    for k in range(n + 1):
        x, y = left + cell * k - 0.5, above + cell * k - 0.5
        lines.append(element("line", x1=left, x2=far, y1=y, y2=y, **style))
        lines.append(element("line", x1=x, x2=x, y1=above, y2=low, **style))
    return lines


def _classes(found: Evaluation) -> Element:
    header = element(
        "tr",
        element("th", "class", scope="col"),
        *(element("th", name, scope="col", class_="number") for name in ("images", "found", "precision")),
    )
    rows = []
    for name, images, right, precision in found.per_class():
        recall = f"{right / images:.1%}" if images else "none there"
        right_when_said = "never said" if np.isnan(precision) else f"{precision:.1%}"
        numbers = (element("td", value, class_="number") for value in (images, recall, right_when_said))
        rows.append(element("tr", element("th", name, scope="row"), *numbers))
    return element("table", element("thead", header), element("tbody", rows))


def draw_confusion(found: Evaluation, path: str | Path) -> None:
    """The matrix as PNG (or what the ending of ``path`` says)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    n = len(found.classes)
    side = min(30.0, 3.0 + 0.28 * n)
    figure = Figure(figsize=(side, side), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.add_subplot()
    share = found.confusion / np.maximum(1, found.confusion.sum(axis=1, keepdims=True))
    axis.imshow(share, cmap="Blues", vmin=0, vmax=1)
    if n <= _LABELLED:
        names = [for_plot(c, 24) for c in found.classes]
        axis.set_xticks(range(n), names, rotation=90)
        axis.set_yticks(range(n), names)
        for i, j in zip(*np.nonzero(found.confusion), strict=True):
            ink = "w" if share[i, j] > 0.5 else "k"
            axis.text(j, i, str(found.confusion[i, j]), ha="center", va="center", color=ink, fontsize=7)
    axis.set_xlabel("answer")
    axis.set_ylabel("true class")
    axis.set_title(f"{found.accuracy:.1%} of {found.total} right")
    save_figure(figure, path)
