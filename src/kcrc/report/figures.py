"""Pictures that Matplotlib draws: one answer with the examples that decided it, and a confusion matrix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.words import for_plot
from kcrc.files.figures import save_figure
from kcrc.method.evidence import HOW, Evidence
from kcrc.report.evaluation import Evaluation

FOR, AGAINST, OTHER = "#1b6ca8", "#b8336a", "#5f6b75"  # told apart by every kind of colour vision, dark enough to read


def draw_evidence(
    one: Evidence,
    query: Array,
    picture_of: Callable[[int], Array],
    path: str | Path,
    *,
    top: int = 12,
    classes: int = 8,
) -> None:
    """Write a PNG (or what the ending of ``path`` says) about one query.

    ``picture_of(row)`` gives the image of a stored example, (h, w) or (h, w, 3).
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shown = _most_telling(one, top)
    columns = 6
    lines = -(-len(shown) // columns)
    figure = Figure(figsize=(12, 1.7 + 1.5 * lines), layout="constrained")
    FigureCanvasAgg(figure)
    outer = figure.add_gridspec(1, 3, width_ratios=[1.6, 5.2, 3.2])
    label = one.labels[0]
    seen = figure.add_subplot(outer[0, 0])
    _picture(seen, query)
    seen.set_title(f"query\nanswer: {for_plot(label)}\n{HOW[one.how[0]]}, margin {one.margin[0]:.2f}", fontsize=11)
    grid = outer[0, 1].subgridspec(lines, columns)
    shares = one.shares[0]
    for place, j in enumerate(shown):
        axis = figure.add_subplot(grid[place // columns, place % columns])
        _picture(axis, _square(picture_of(int(one.rows[0, j]))))
        colour = FOR if shares[j] > 0 else AGAINST if shares[j] < 0 else OTHER
        name = for_plot(one.classes[one.neighbour_labels[0, j]])
        axis.set_title(f"{name}\n{shares[j]:+.0%}", fontsize=9, color=colour)
        for spine in axis.spines.values():
            spine.set(color=colour, linewidth=2.5)
    _residuals(figure.add_subplot(outer[0, 2]), one, classes)
    figure.suptitle(
        "The stored examples that decided, and their shares for (+) and against (−) the answer", fontsize=11
    )
    save_figure(figure, path)


def _most_telling(one: Evidence, top: int) -> list[int]:
    """The neighbours with the largest shares."""
    order = np.argsort(-np.abs(one.shares[0]), kind="stable")
    return [int(j) for j in order if one.rows[0, j] >= 0][:top]


def _square(image: Array) -> Array:
    """Set in a light square, so that all examples take the same room."""
    height, width = image.shape[:2]
    side = max(height, width)
    top, left = (side - height) // 2, (side - width) // 2
    light = image.min() if image.ndim == 2 else 243  # grey is drawn dark on light
    room = np.full((side, side, *image.shape[2:]), light, image.dtype)
    room[top : top + height, left : left + width] = image
    return room


def _picture(axis: Any, image: Array) -> None:
    axis.imshow(image, cmap="gray_r" if np.ndim(image) == 2 else None)
    axis.set_xticks([])
    axis.set_yticks([])


def _residuals(axis: Any, one: Evidence, classes: int) -> None:
    order = np.argsort(one.residuals[0], kind="stable")[:classes]
    order = order[np.isfinite(one.residuals[0, order])][::-1]
    colours = [FOR if c == one.winner[0] else OTHER for c in order]
    axis.barh([for_plot(one.classes[c]) for c in order], one.residuals[0, order], color=colours)
    axis.set_ylim(len(order) - max(6, len(order)) - 0.5, len(order) - 0.5)  # few bars stay thin
    axis.set_title("class residuals (smallest wins)", fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)


# The confusion matrix as a picture: a row for each true class, dark where many of it were answered so.

_LABELLED = 60  # a matrix with more classes than this has no room for names


def draw_confusion(result: Evaluation, path: str | Path) -> None:
    """The matrix as PNG (or what the ending of ``path`` says)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    n = len(result.classes)
    side = min(30.0, 3.0 + 0.28 * n)
    figure = Figure(figsize=(side, side), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.add_subplot()
    share = result.confusion / np.maximum(1, result.confusion.sum(axis=1, keepdims=True))
    axis.imshow(share, cmap="Blues", vmin=0, vmax=1)
    if n <= _LABELLED:
        names = [for_plot(c, 24) for c in result.classes]
        axis.set_xticks(range(n), names, rotation=90)
        axis.set_yticks(range(n), names)
        for i, j in zip(*np.nonzero(result.confusion), strict=True):
            ink = "w" if share[i, j] > 0.5 else "k"
            axis.text(j, i, str(result.confusion[i, j]), ha="center", va="center", color=ink, fontsize=7)
    axis.set_xlabel("answer")
    axis.set_ylabel("true class")
    axis.set_title(f"{result.accuracy:.1%} of {result.total} right")
    save_figure(figure, path)
