"""Which looks were chosen and why: a sentence, a table of all that were tried, and a drawing."""

from __future__ import annotations

import os
import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.images.looks.pictures import PictureForm, as_list

NARROWEST, WIDEST = 16, 48  # characters of the column of names in the printed table


@dataclass(frozen=True)
class LookScore:
    """How well one look, or a join of several, classifies the examples when they are left out.

    Attributes
    ----------
    name : str
        The look.
    right : int
        Left-out examples that it classifies correctly; with few examples, augmented copies of them.
    asked : int
        Left-out examples, the same ones for all looks; or copies.
    loss : float
        The mean −log p of the true class.
    behind : float
        Percentage points behind the best look; 0 with copies.
    error : float
        The standard error of ``behind``, paired; 0 with copies.
    price : float
        µs to see one picture and to compare it.
    seconds : float
        How long the evaluation took.
    note : str
        Why it was not tried.
    nearest : tuple of (int, int), or None
        The numbers of an example and of the one it finds nearest to it.
    accuracy : float
        The share of correct answers; NaN if it was not tried.
    """

    name: str
    right: int = 0
    asked: int = 0
    loss: float = np.inf
    behind: float = 0.0
    error: float = 0.0
    price: float = 0.0
    seconds: float = 0.0
    note: str = ""
    nearest: tuple[int, int] | None = None

    @property
    def accuracy(self) -> float:
        return self.right / self.asked if self.asked else float("nan")


@dataclass(frozen=True)
class Choice:
    """Which looks were chosen, and all that were tried: ``choice_`` of an ``ImageClassifier``.

    Attributes
    ----------
    weights : dict of str to float
        The weights of the looks that answer, the heaviest first.
    scores : tuple of LookScore
        All looks that were tried, the best first.
    way : str
        "single" for one look, "fusion" for several, "copies" if there were so few examples that augmented copies of
        them decided.
    right : int
        How many examples are classified correctly when left out.
    asked : int
        How many were left out.
    sentence : str
        What was chosen, in plain words.
    table : list of dict
        One line per look, the best first.
    """

    weights: dict[str, float]
    scores: tuple[LookScore, ...]
    way: str
    right: int
    asked: int

    @property
    def sentence(self) -> str:
        """What was chosen, in plain words."""
        total = sum(self.weights.values())
        parts = [round(10 * weight / total) for weight in self.weights.values()]
        names = _join_words(list(self.weights))
        shares = f", {' to '.join(str(max(part, 1)) for part in parts)}" if len(parts) > 1 else ""
        if not self.asked:
            return f"{names}{shares}; there are too few examples to test it."
        if self.way == "copies":
            return (
                f"{names}{shares}; {self.right} of {self.asked} deformed copies are recognised. "
                "There are too few examples to compare looks on those alone."
            )
        return f"{names}{shares}; {self.right} of {self.asked} examples are answered right when left out."

    @property
    def table(self) -> list[dict[str, Any]]:
        """One line per look, the best first."""
        return [
            {
                "look": score.name,
                "weight": self.weights.get(score.name, 0.0) / sum(self.weights.values()),
                "accuracy": score.accuracy,
                "right": score.right,
                "asked": score.asked,
                "loss": score.loss,
                "behind": score.behind,
                "error": score.error,
                "price": score.price,
                "seconds": score.seconds,
                "nearest": score.nearest,
                "note": score.note,
            }
            for score in self.scores
        ]

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame (needs pandas)."""
        import pandas as pd

        return pd.DataFrame(self.table)

    def __repr__(self) -> str:
        lines = [f"Choice: {self.sentence}"]
        width = min(WIDEST, max([NARROWEST, *(len(score.name) for score in self.scores)]))
        for line in self.table:
            chosen = f"{line['weight']:5.0%}" if line["weight"] else "     "
            behind = f", behind {line['behind']:.1f} ± {line['error']:.1f} points" if self.way != "copies" else ""
            result = line["note"] or (
                f"{line['right']} of {line['asked']} right, loss {line['loss']:.3f}{behind}, "
                f"{1e-3 * line['price']:.2g} ms per picture"
            )
            lines.append(f"  {line['look']:<{width}} {chosen}  {result}")
        return "\n".join(lines)


def _join_words(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# The drawing: the accuracy of each look as a bar, and an example of what each finds near.

CHOSEN_COLOUR, OTHER_COLOUR = "#1b6ca8", "#9aa3ab"
MOST_BARS = 16
NAME_WIDTH = 28  # letters of a name per line; the name of a join is a list
TEXT_WIDTH = 50  # % of the width that the words on a bar take


def draw_choice(choice: Choice, images: Any, form: PictureForm, path: str | os.PathLike[str] | None = None) -> Any:
    """Draw a bar for each look that was tried, the best first, as a Matplotlib figure; write it to ``path`` if given.

    With ``images``, as they were given to ``fit``, each line shows an example and the one that the look finds nearest.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    tried = [score for score in choice.scores if score.asked][:MOST_BARS]
    figure = Figure(figsize=(10, 1.2 + 0.75 * len(tried)), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(len(tried), 3, width_ratios=[6, 1, 1])
    for line, score in enumerate(tried):
        _draw_bar(figure.add_subplot(grid[line, 0]), score, chosen=score.name in choice.weights)
        if images is not None and score.nearest is not None and choice.way != "copies":
            listed = as_list(images)
            pictures = form.pictures([listed[row] for row in score.nearest])
            for column, picture in enumerate(pictures):
                title = ("query", "nearest")[column] if line == 0 else ""
                _draw_picture(figure.add_subplot(grid[line, 1 + column]), picture, title)
    figure.suptitle(choice.sentence, fontsize=11, wrap=True)
    if path is not None:
        from kcrc.files.figures import save_figure

        save_figure(figure, path)
    return figure


def _draw_bar(axis: Any, score: LookScore, *, chosen: bool) -> None:
    axis.barh([0], [100 * score.accuracy], color=CHOSEN_COLOUR if chosen else OTHER_COLOUR)
    axis.set_xlim(0, 100)
    axis.set_yticks([0], [textwrap.fill(score.name, NAME_WIDTH)], fontsize=9)
    axis.set_xticks([])
    behind = f", {score.behind:.1f} ± {score.error:.1f} behind" if score.behind else ""
    is_inside = 100 * score.accuracy >= TEXT_WIDTH
    place, ink = (1.0, "white") if is_inside else (100 * score.accuracy + 1, "black")
    axis.text(place, 0, f"{score.right} of {score.asked}{behind}", va="center", fontsize=8, color=ink)
    axis.spines[["top", "right", "bottom"]].set_visible(False)


def _draw_picture(axis: Any, picture: Array, title: str) -> None:
    axis.imshow(picture, cmap="gray" if picture.ndim == 2 else None)
    axis.set_xticks([])
    axis.set_yticks([])
    axis.set_title(title, fontsize=8)
