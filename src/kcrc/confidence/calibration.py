"""How sure an answer is: probabilities, and sets of classes with a promised coverage.

Both are fitted on the stored examples' own answers, each asked as if it were not stored, so no data are set aside.

Probabilities of a query with class residuals r_c (∞ for a class that is not in its dictionary):

    f_c = exp(−g(r_c)/T) / Σ exp(−g(r)/T),    g(r) = log r, or r^λ/λ with λ of −1, 1, 2
    p_c = (1 − δ) f_c + δ / C,                δ = ε + (1 − ε) η (1 − max f)

T, ε, η and λ minimise the log-loss (``kcrc.confidence.log_loss``); with two classes λ is always 0, the logarithm, so
that p grows with the decision function. δ, the share of doubt, is what a class not in the dictionary gets. It grows, by
η, as the winner leads by less: one share for all would be too much for clear answers and too little for the others.
Where all neighbours agree it is how often such answers were wrong. p falls as r grows, so classes rank as in
``decision_function``.

Sets hold the classes with p_c high enough: 1 − p_c at most the ⌈(B + 1) coverage⌉-th smallest of 1 − p_truth over B
examples (split conformal, the score LAC), B of all classes or of the class in question.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kcrc.arrays import Array
from kcrc.confidence import log_loss
from kcrc.confidence.likeness import UsualAnswers
from kcrc.confidence.log_loss import Coded
from kcrc.confidence.open_set import OpenSet
from kcrc.errors import ParameterError, StateError
from kcrc.left_out.answers import LeftOut
from kcrc.left_out.exclusion import Exclusion
from kcrc.model import FittedModel

TINY = 1e-12
POWERS = (0, 1, 2, -1)  # of equal loss the first is taken
STRANGERS = 500  # examples asked without their whole class, at most


@dataclass(frozen=True)
class Calibration:
    """temperature T; doubt ε, its growth η, and δ of unanimous queries; power λ (0 is the logarithm); trials: how many
    answers it was fitted on."""

    temperature: float = 0.5
    doubt: float = 0.05
    growth: float = 0.0
    unanimous_doubt: float = 0.05
    power: int = 0
    trials: int = 0

    @classmethod
    def fit(cls, residuals: Array, truth: Array) -> Calibration:
        """residuals (B, C) of examples asked without themselves, and their class numbers (B,)."""
        n_classes = residuals.shape[1]
        if n_classes == 1:
            return cls(trials=len(truth))
        coded = np.isfinite(residuals).sum(axis=1) > 1
        wrong = residuals.argmin(axis=1) != truth
        # Half a wrong answer is added, and as many answers as it takes coded ones, which err more often, to be half
        # wrong: without unanimous answers they are as doubtful as coded ones, and with many never certain.
        wrong_coded = (wrong[coded].sum() + 0.5) / (coded.sum() + 1.0)
        share = (wrong[~coded].sum() + 0.5) / ((~coded).sum() + 0.5 / wrong_coded)
        unanimous = float(min(share * n_classes / (n_classes - 1), 1.0))
        if not coded.any():
            return cls(unanimous_doubt=unanimous, trials=len(truth))
        powers = POWERS if n_classes > 2 else (0,)
        answers = Coded.of(residuals[coded], truth[coded])
        tried = ((*log_loss.fitted(_gaps(answers.residuals, power), answers), power) for power in powers)
        _, temperature, doubt, growth, power = min(tried)
        if n_classes == 2:
            unanimous = min(unanimous, doubt)  # no coded query has a higher decision function
        return cls(temperature, doubt, growth, unanimous, power, len(truth))

    def probabilities(self, residuals: Array) -> Array:
        """(B, C), rows sum to 1, from residuals (B, C)."""
        mixed = _mixed(_gaps(residuals, self.power), self.temperature, self.doubt, self.growth)
        alone = np.isfinite(residuals).sum(axis=1) <= 1
        mixed[alone] = _mixed(_gaps(residuals[alone], self.power), self.temperature, self.unanimous_doubt, 0.0)
        return np.asarray(mixed / mixed.sum(axis=1, keepdims=True))


def _mixed(gaps: Array, temperature: float, doubt: float, growth: float) -> Array:
    """p of the module's formula, from g(r_c) less the smallest of its row."""
    fit = np.exp(-gaps / temperature)
    fit /= fit.sum(axis=1, keepdims=True)
    doubts = doubt + (1.0 - doubt) * growth * (1.0 - fit.max(axis=1, keepdims=True))
    return np.asarray((1.0 - doubts) * fit + doubts / gaps.shape[1])


def _gaps(residuals: Array, power: int) -> Array:
    """g(r_c) less the smallest of its row, ∞ for a class that is not in the dictionary."""
    present = np.maximum(residuals, TINY)
    values = np.log(present) if power == 0 else present ** float(power) / power
    values = np.where(np.isfinite(residuals), values, np.inf)
    return np.asarray(values - values.min(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class ConformalSets:
    """scores (B,) of the examples' true classes, and those classes' names (B,)."""

    scores: Array
    names: Array

    def threshold(self, coverage: float, among: Array | slice = slice(None)) -> float:
        """The largest score a class in the set may have; ∞ (every class) where the examples are too few to promise."""
        scores = np.sort(self.scores[among])
        place = int(np.ceil(round(coverage * (len(scores) + 1), 9)))
        return float(scores[place - 1]) if place <= len(scores) else np.inf

    def members(self, scores: Array, classes: Array, coverage: float, class_conditional: bool) -> Array:
        """(B, C) bool: which classes are in each query's set, from scores (B, C)."""
        if isinstance(coverage, bool) or not isinstance(coverage, (int, float, np.number)) or not 0 < coverage < 1:
            raise ParameterError(f"coverage is a share between 0 and 1, such as 0.95; got {coverage!r}.")
        if class_conditional:
            limits = np.array([self.threshold(coverage, self.names == c) for c in classes])
        else:
            limits = np.full(len(classes), self.threshold(coverage))
        return np.asarray(scores <= limits)


def conformity(probabilities: Array, nearest: Array, centre: float, spread: float) -> Array:
    """1 − p (B, C), queries with equal p (all neighbours agree) told apart by their log nearest distance (B,).

    Without this the many unanimous queries would share one score, and coverage could only jump over them.
    """
    with np.errstate(over="ignore"):  # 1 / ∞ is the 0 that is meant
        strange = 1.0 / (1.0 + np.exp((centre - nearest) / spread))[:, None]
    return np.asarray(1.0 - probabilities + 1e-7 * strange)


@dataclass(frozen=True, eq=False)
class Confidence:
    """All that was learned from the examples' own answers.

    A batch of queries is compared with B of them, in the order of ``sets``: ``usual`` (B, 5) are signs and whether the
    answer was right, ``answered`` (B,) the answers, ``asked`` (B,) the examples' row numbers.
    """

    exclusion: Exclusion
    calibration: Calibration
    left_out: LeftOut | None
    open_set: OpenSet | None
    sets: ConformalSets | None
    usual: Array | None = None
    answered: Array | None = None
    asked: Array | None = None

    @classmethod
    def of(cls, model: FittedModel, groups: Array | None, *, fixed: bool = False) -> Confidence:
        """For a model just fitted; ``fixed``: but for its metric, which was fitted elsewhere."""
        exclusion = Exclusion.of(model, groups, fixed=fixed)
        left = LeftOut.of(model, exclusion)
        if left is None:
            return cls(exclusion, Calibration(), None, None, None)
        strangers = None
        if len(np.unique(model.labels)) > 2:
            strangers = LeftOut.of(model, exclusion, without_classes=True, at_most=min(STRANGERS, len(left)))
        calibration = Calibration.fit(left.residuals, left.truth)
        open_set = OpenSet.fit(left.signs, None if strangers is None else strangers.signs)
        bare = cls(exclusion, calibration, left, open_set, None)
        p = calibration.probabilities(left.residuals)
        batch = np.arange(len(left))
        sets = ConformalSets(bare.scores(p, left.signs)[batch, left.truth], model.classes[left.truth])
        usual = np.column_stack([left.signs, left.right])
        return cls(exclusion, calibration, left, open_set, sets, usual, model.classes[left.winner], left.rows)

    def scores(self, probabilities: Array, signs: Array) -> Array:
        """(B, C) what sets are made by."""
        assert self.open_set is not None
        return conformity(probabilities, signs[:, 0], float(self.open_set.centre[0]), float(self.open_set.spread[0]))

    def needed_sets(self) -> ConformalSets:
        if self.sets is None:
            raise StateError(_TOO_FEW.format(what="Sets with a promised coverage"))
        return self.sets

    def needed_open_set(self) -> OpenSet:
        if self.open_set is None:
            raise StateError(_TOO_FEW.format(what='Saying "unknown"'))
        return self.open_set

    def needed_usual(self) -> UsualAnswers:
        if self.usual is None or self.answered is None or self.asked is None:
            raise StateError(
                _TOO_FEW.format(what="Comparing queries with the examples")
                + " Where an earlier version stored this classifier, it has to learn anew: retune(), kcrc tune."
            )
        return UsualAnswers(self.usual[:, :-1], self.answered, self.usual[:, -1] > 0.5, self.asked)


_TOO_FEW = (
    "{what} needs the examples' own answers, each asked without itself, which are not to be had here: too few examples "
    "(8 or more are needed), or a global dictionary so large that asking even a few would take minutes. Store more "
    "examples (and call retune() if they came by partial_fit), or give n_neighbors."
)
