"""What was chosen as a picture: how often each look is right, and an example of what each finds near."""

from __future__ import annotations

import os
import textwrap
from typing import Any

from kcrc._base.arrays import Array
from kcrc.images.looks.chosen import Choice, LookScore
from kcrc.images.looks.pictures import PictureForm

CHOSEN, OTHER = "#1b6ca8", "#9aa3ab"
MOST = 16  # lines
NAME = 28  # letters of a name in one line: the name of a join is a list
ROOM = 50  # % of the width that the words on a bar take


def draw_choice(choice: Choice, images: Any, form: PictureForm, path: str | os.PathLike[str] | None = None) -> Any:
    """A Matplotlib figure with a line for each look tried, the best first; written to ``path`` if given. With
    ``images``, as they were given to ``fit``, each line shows an example and the one that the look finds nearest."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    tried = [score for score in choice.scores if score.asked][:MOST]
    figure = Figure(figsize=(10, 1.2 + 0.75 * len(tried)), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(len(tried), 3, width_ratios=[6, 1, 1])
    for line, score in enumerate(tried):
        _line(figure.add_subplot(grid[line, 0]), score, chosen=score.name in choice.weights)
        if images is not None and score.nearest is not None and choice.way != "copies":
            shown = form.pictures([images[row] for row in score.nearest])
            for column, picture in enumerate(shown):
                _picture(figure.add_subplot(grid[line, 1 + column]), picture, ("asked", "nearest")[column], line == 0)
    figure.suptitle(choice.sentence, fontsize=11, wrap=True)
    if path is not None:
        from kcrc.files.figures import save_figure

        save_figure(figure, path)
    return figure


def _line(axis: Any, score: LookScore, *, chosen: bool) -> None:
    axis.barh([0], [100 * score.accuracy], color=CHOSEN if chosen else OTHER)
    axis.set_xlim(0, 100)
    axis.set_yticks([0], [textwrap.fill(score.name, NAME)], fontsize=9)
    axis.set_xticks([])
    behind = f", {score.behind:.1f} ± {score.error:.1f} behind" if score.behind else ""
    within = 100 * score.accuracy >= ROOM
    place, ink = (1.0, "white") if within else (100 * score.accuracy + 1, "black")
    axis.text(place, 0, f"{score.right} of {score.asked}{behind}", va="center", fontsize=8, color=ink)
    axis.spines[["top", "right", "bottom"]].set_visible(False)


def _picture(axis: Any, picture: Array, title: str, first: bool) -> None:
    axis.imshow(picture, cmap="gray" if picture.ndim == 2 else None)
    axis.set_xticks([])
    axis.set_yticks([])
    if first:
        axis.set_title(title, fontsize=8)
