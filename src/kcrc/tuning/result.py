"""What a search gives: the settings with nothing open, and the table of what leave-one-out made of every candidate."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.few_examples import FEWEST
from kcrc.errors import ParameterError
from kcrc.method.distances.pair_cache import PairCache
from kcrc.method.preparation import Prepared
from kcrc.tuning import constants
from kcrc.tuning.settings import MethodSettings


@dataclass(frozen=True)
class CandidateSetting:
    """One setting of the parameters that the search chooses.

    Attributes
    ----------
    geometry : str
        The scaling by name, or the weights of a unified distance.
    locality : str
        "atoms" or "classes".
    n_neighbors : int
        The size of the dictionary.
    kernel : str
        The kernel by name; "given" is one that the caller fixed.
    gamma : float or None
        Its width; None where it has none.
    mu : float
        The penalty.
    form : str
        "raw", "gram" or "rkhs".
    decision : str
        What classes are judged by.
    share : float or None
        The dimension after the projection over the most there can be (the atoms; for KFDA classes − 1); None where it
        is not searched.
    """

    geometry: str
    locality: str
    n_neighbors: int
    kernel: str
    gamma: float | None
    mu: float
    form: str
    decision: str
    share: float | None = None


@dataclass
class Score:
    """What leave-one-out made of one candidate.

    Attributes
    ----------
    right : int
        Right answers.
    trials : int
        Examples that it was tried on.
    loss : float
        How much the answers doubted the truth; smaller is better (``kcrc.tuning.result``).
    share : float
        Where it was tried on the hard examples only, what share of all they are; the others are taken as right.
    price : float
        The arithmetic of one answer, roughly, with the search for its neighbours.
    accuracy : float
        The share of right answers.
    error : float
        The standard error of the accuracy; never 0, so that 10 of 10 does not count as certainty.
    """

    right: int = 0
    trials: int = 0
    loss: float = 1.0
    share: float = 1.0
    price: float = 0.0

    @property
    def accuracy(self) -> float:
        return 1.0 - self.share * (1.0 - self.right / self.trials) if self.trials else 0.0

    @property
    def error(self) -> float:
        if not self.trials:
            return 1.0
        p = (self.right + 1) / (self.trials + 2)
        return float(self.share * np.sqrt(p * (1 - p) / self.trials))


@dataclass(frozen=True, eq=False)
class Tuning:
    """What the search for parameters tried and chose: ``tuning_`` of a classifier.

    Attributes
    ----------
    best : CandidateSetting
        What was chosen.
    scores : dict of CandidateSetting to Score
        What leave-one-out made of every setting that was tried.
    seconds : float
        How long it took.
    scaling : Scaling
        The scaling that was chosen, fitted.
    weights : dict or None
        Of the members of a unified distance; ``best.geometry`` says whether they were learned.
    accuracy : float
        Leave-one-out accuracy of the chosen setting on ``trials`` examples: those it was chosen by, so a little too
        good.
    trials : int
        On how many examples ``accuracy`` was measured: all that can be left out, or a sample of them.
    table : list of dict
        Every setting tried, the best first: its parameters, accuracy, standard error, loss and number of trials.
    frontier : list of dict
        Lines of the table, cheapest first: the settings of which none is both cheaper and at least as accurate.
    """

    best: CandidateSetting
    scores: dict[CandidateSetting, Score]
    seconds: float
    scaling: Any = field(repr=False)
    weights: dict[str, float] | None = None

    @property
    def accuracy(self) -> float:
        return self.scores[self.best].accuracy

    @property
    def trials(self) -> int:
        return self.scores[self.best].trials

    @property
    def table(self) -> list[dict[str, Any]]:
        score = self.scores
        order = sorted(score, key=lambda s: (-score[s].trials, -score[s].accuracy, score[s].loss))
        return [self._line(s) for s in order]

    def _line(self, setting: CandidateSetting) -> dict[str, Any]:
        score = self.scores[setting]
        return vars(setting) | {name: getattr(score, name) for name in ("accuracy", "error", "loss", "trials", "price")}

    @property
    def frontier(self) -> list[dict[str, Any]]:
        lines: list[dict[str, Any]] = []
        for setting in sorted(
            self._comparable_settings, key=lambda s: (self.scores[s].price, -self.scores[s].accuracy)
        ):
            if not lines or self.scores[setting].accuracy > lines[-1]["accuracy"]:
                lines.append(self._line(setting))
        return lines

    @property
    def _comparable_settings(self) -> list[CandidateSetting]:
        """The settings that were tried on as many examples as the chosen one, not on hard ones only."""
        return [s for s, score in self.scores.items() if score.trials >= self.trials and score.share == 1.0]

    def cheaper(self, *, within: float = 0.002) -> dict[str, Any]:
        """The cheapest setting whose accuracy is at most ``within`` below the chosen one's, as parameters:
        ``KCRCClassifier(**clf.tuning_.cheaper(within=0.002))``. The chosen one's own where none is cheaper."""
        if not 0.0 <= within < 1.0:
            raise ParameterError(f"within is a loss of accuracy, at least 0 and below 1; got {within!r}.")
        from kcrc.tuning.geometries import scaling_named  # which loads what makes geometries

        score, named = self.scores, scaling_named(self.best.geometry) is not None
        near = [
            s
            for s in self._comparable_settings
            if score[s].accuracy >= self.accuracy - within
            and s.share == self.best.share
            and (named or s.geometry == self.best.geometry)
        ]
        cheapest = min([*near, self.best], key=lambda s: (score[s].price, -score[s].accuracy))
        values = {name: getattr(cheapest, name) for name in ("n_neighbors", "mu", "form", "decision", "locality")}
        if cheapest.kernel != "given":
            values |= {"kernel": cheapest.kernel, "gamma": "scale" if cheapest.gamma is None else cheapest.gamma}
        return values | ({"scaling": scaling_named(cheapest.geometry)} if named else {})

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame (needs pandas)."""
        import pandas as pd

        return pd.DataFrame(self.table)

    def __repr__(self) -> str:
        b = self.best
        width = "" if b.gamma is None else f" gamma={b.gamma:.4g}"
        share = "" if b.share is None else f"c = {b.share:g} of the most, "
        score = self.scores[b]
        accuracy = f"leave-one-out accuracy {score.accuracy:.2%} ± {score.error:.2%} on {score.trials} examples"
        if score.trials < FEWEST:
            accuracy = f"too few examples ({score.trials}) to measure the accuracy"
        tried = "1 setting" if len(self.scores) == 1 else f"{len(self.scores)} settings"
        return (
            f"Tuning: scaling {b.geometry}, {b.n_neighbors} nearest {b.locality}, {b.kernel} kernel{width}, {share}"
            f"mu={b.mu:g}, {b.form}, {b.decision}; {accuracy}; {tried} in {self.seconds:.1f} s"
        )

    def plot(self, path: str | Path | None = None) -> Any:
        """The best accuracy by each parameter; returns the Matplotlib figure, and writes it to ``path`` if given."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        names = ("geometry", "n_neighbors", "gamma", "mu", "form", "decision")
        figure = Figure(figsize=(13, 6.5), layout="constrained")
        FigureCanvasAgg(figure)
        for place, name in enumerate(names):
            axis = figure.add_subplot(2, 3, place + 1)
            self._plot_one(axis, name)
        figure.suptitle(
            f"Leave-one-out accuracy by parameter; chosen: {self.best.geometry}, K = {self.best.n_neighbors}"
        )
        if path is not None:
            from kcrc.files.figures import save_figure

            save_figure(figure, path)
        return figure

    def _plot_one(self, axis: Any, name: str) -> None:
        points: dict[Any, list[tuple[float, float]]] = {}
        for setting, score in self.scores.items():
            value = getattr(setting, name)
            key = ("none" if value is None else value) if name != "n_neighbors" else (setting.locality, value)
            points.setdefault(key, []).append((score.accuracy, score.error))
        best = {key: max(values) for key, values in points.items()}
        chosen = getattr(self.best, name)
        if name in ("gamma", "mu"):
            numbers = sorted(k for k in best if not isinstance(k, str))
            if numbers:
                axis.errorbar(
                    numbers, [best[k][0] for k in numbers], [best[k][1] for k in numbers], marker="o", capsize=3
                )
                axis.set_xscale("log")
            if chosen is not None:
                axis.axvline(chosen, color="#b8336a", linestyle="--")
        else:
            keys = sorted(best, key=str) if name != "n_neighbors" else sorted(best)
            shown = [f"{k[1]} {k[0]}" if isinstance(k, tuple) else str(k) for k in keys]
            mine = (self.best.locality, chosen) if name == "n_neighbors" else chosen
            colours = ["#1b6ca8" if k == mine else "#9aa3ab" for k in keys]
            axis.bar(shown, [best[k][0] for k in keys], yerr=[best[k][1] for k in keys], color=colours, capsize=3)
            axis.tick_params(axis="x", rotation=35)
            low = min(best[k][0] for k in keys)
            axis.set_ylim(max(0.0, low - 0.05), 1.0)
        axis.set_title(name)
        axis.set_ylabel("accuracy")


# How much a setting's answers doubted the true class: what tells settings apart that are right equally often.
#
# Where most answers are right, settings differ by a few borderline examples, and counting them leaves the choice to
# luck. A margin m becomes the probability p = 1 / (1 + exp(−m / t)) of the true class against the best other, and the
# loss is the mean of (1 − p)² (Brier). Margins of different settings are not on one scale, so each has the temperature
# t that serves it best. Where the true class is not in the dictionary there is no margin: the answer is as wrong as
# the others that were (and one more that is certain), or whole classes, which leave the true one out more often, would
# seem worse than they are.


def doubts(margins: Array) -> Array:
    """The doubt (B,) of each answer with ``margins`` (B,), 0 to 1; NaN where there is none."""
    from scipy.special import expit  # not needed to answer

    margins = np.asarray(margins, np.float32)
    there = ~np.isnan(margins)
    known = margins[there]
    right = known > 0
    wrong = np.isfinite(known) & ~right
    temperatures = np.array(constants.TEMPERATURES, np.float32)
    doubt = expit(known / -temperatures[:, None]) ** 2
    of_wrong = (doubt[:, wrong].sum(axis=1) + 1.0) / (int(wrong.sum()) + 1)
    doubt = np.where(right, doubt, of_wrong[:, None])
    out = np.full(len(margins), np.nan, np.float32)
    out[there] = doubt[int(doubt.sum(axis=1).argmin())]
    return out


def loss(margins: Array) -> float:
    """The mean doubt of the answers there are, 0 to 1."""
    return float(np.nanmean(doubts(margins)))


def paired_error(one: Array, other: Array) -> float:
    """The standard error of the mean difference of two settings' doubts about the same examples."""
    return float((one - other).std() / np.sqrt(len(one)))


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The ``settings`` with nothing open, and the ``report`` of the search; None where nothing was tried.

    ``pairs`` are distances between examples that were measured on the way, ``prepared`` what distances prepared of the
    examples: a model of the same examples need not make them again.
    """

    settings: MethodSettings
    report: Tuning | None = None
    pairs: Mapping[str, PairCache] | None = None
    prepared: Mapping[Hashable, Prepared] = field(default_factory=dict)
