"""What was chosen of the looks and why: a table of all that were tried, a sentence."""

from __future__ import annotations

import os
import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.images.looks.pictures import PictureForm, as_list

NARROWEST, WIDEST = 16, 48  # characters of the column of names


@dataclass(frozen=True)
class LookScore:
    """What one look, or a join of some, made of the examples asked as if they were not stored.

    Attributes
    ----------
    name : str
        The look.
    right : int
        Right answers; where nothing can be left out, deformed copies of examples that came back to their original.
    asked : int
        Examples that were asked, the same ones for all looks; or copies.
    loss : float
        The mean −log p of the truth.
    behind : float
        By how many points it is behind the leader; not known of copies.
    error : float
        The standard error of that, paired; not known of copies.
    price : float
        µs to see one picture and to compare it.
    seconds : float
        How long trying it took.
    note : str
        Why it was not tried.
    nearest : tuple of (int, int), or None
        The numbers of an example and of the one it found nearest to it.
    accuracy : float
        The share of right answers; NaN where it was not tried.
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
    """Which looks were chosen, and all that was tried: ``choice_`` of an ``ImageClassifier``.

    Attributes
    ----------
    weights : dict of str to float
        The weights of the looks that answer, the heaviest first.
    scores : tuple of LookScore
        All looks that were tried, the best first.
    way : str
        "single" for one look, "fusion" for several, "copies" where there were few examples.
    right : int
        How many examples are answered right without themselves.
    asked : int
        Of how many.
    sentence : str
        What was chosen, in plain words.
    table : list of dict
        One line a look, the best first.
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
        names = _listed(list(self.weights))
        shares = f", {' to '.join(str(max(part, 1)) for part in parts)}" if len(parts) > 1 else ""
        if not self.asked:
            return f"{names}{shares}; there are too few examples to test it."
        if self.way == "copies":
            return (
                f"{names}{shares}; {self.right} of {self.asked} deformed copies are recognised. "
                "There are too few examples to go by those alone."
            )
        return f"{names}{shares}; {self.right} of {self.asked} examples are answered right when left out."

    @property
    def table(self) -> list[dict[str, Any]]:
        """One line a look, the best first."""
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
        """The table as a pandas DataFrame (needs pandas)."""
        import pandas as pd

        return pd.DataFrame(self.table)

    def __repr__(self) -> str:
        lines = [f"Choice: {self.sentence}"]
        width = min(WIDEST, max([NARROWEST, *(len(score.name) for score in self.scores)]))
        for line in self.table:
            chosen = f"{line['weight']:5.0%}" if line["weight"] else "     "
            behind = f", behind {line['behind']:.1f} ± {line['error']:.1f} points" if self.way != "copies" else ""
            told = line["note"] or (
                f"{line['right']} of {line['asked']} right, loss {line['loss']:.3f}{behind}, "
                f"{1e-3 * line['price']:.2g} ms a picture"
            )
            lines.append(f"  {line['look']:<{width}} {chosen}  {told}")
        return "\n".join(lines)


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# What was chosen as a picture: how often each look is right, and an example of what each finds near.

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
            given = as_list(images)
            shown = form.pictures([given[row] for row in score.nearest])
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
