"""Who is taken for whom, as a table whose cells lead to the pictures; classes without a mistake are left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kcrc._base.words import for_plot, plural
from kcrc.files.figures import save_figure
from kcrc.report.evaluation import Evaluation
from kcrc.report.html import Element, element

MOST = 40  # classes, those with most mistakes
_LONGEST = 28  # characters of a name


def anchor(truth: str, answer: str, classes: tuple[str, ...]) -> str:
    """The place on the page of the pictures of one class that were taken for another."""
    return f"m{classes.index(truth)}-{classes.index(answer)}"


def confusion_table(found: Evaluation, shown: set[str]) -> Element:
    """A row for each true class, a column for each answer; of cells whose pictures are on the page, by ``shown``
    anchors, the number is a link to them."""
    wrong = found.confusion * ~np.eye(len(found.classes), dtype=bool)
    mistaken = wrong.sum(axis=0) + wrong.sum(axis=1)
    most = np.argsort(-mistaken, kind="stable")[:MOST]
    which = np.sort(most[mistaken[most] > 0])
    head = [element("th", element("span", _short(found.classes[j])), scope="col") for j in which]
    rows = [
        element(
            "tr",
            element("th", _short(found.classes[i]), scope="row"),
            [_cell(found, int(i), int(j), shown) for j in which],
        )
        for i in which
    ]
    corner = element("td", "true ↓ answer →", class_="corner")
    table = element("table", element("thead", element("tr", corner, head)), element("tbody", rows), class_="confusion")
    left = len(found.classes) - len(which)
    apart = int((mistaken == 0).sum())
    words = f"{plural(apart, 'class', 'classes')} without a mistake {'is' if apart == 1 else 'are'} left out."
    if left > apart:
        words += f" Of the others the {len(which)} with most mistakes are shown."
    label = "Table: who is taken for whom; rows are the true classes, columns the answers"
    return element(
        "div",
        element("div", table, class_="scroll", tabindex="0", role="region", aria_label=label),
        element("p", words, class_="quiet") if left else None,
    )


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"


def _cell(found: Evaluation, i: int, j: int, shown: set[str]) -> Element:
    count, name, answer = int(found.confusion[i, j]), found.classes[i], found.classes[j]
    if not count:
        return element("td")
    if i == j:
        return element("td", str(count), title=f"{count} of class {name} found", class_="right")
    words, place = f"{count} of class {name} taken for {answer}", anchor(name, answer, found.classes)
    if place not in shown:
        return element("td", element("span", str(count), title=words), class_="wrong")
    return element("td", element("a", str(count), href=f"#{place}", title=words, aria_label=words), class_="wrong")


# The confusion matrix as a picture: a row for each true class, dark where many of it were answered so.

_LABELLED = 60  # a matrix with more classes than this has no room for names


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
