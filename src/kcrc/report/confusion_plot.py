"""The confusion matrix as a picture: a row for each true class, dark where many of it were answered so."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kcrc._base.words import for_plot
from kcrc.files.figures import save_figure
from kcrc.report.evaluation import Evaluation

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
