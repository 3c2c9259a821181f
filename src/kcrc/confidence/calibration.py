"""How sure an answer is: probabilities, and sets of classes with a promised coverage.

Both are fitted on the stored examples' own answers, each asked as if it were not stored, so no data are set aside.

Probabilities of a query with class residuals r_c (∞ for a class that is not in its dictionary):

    f_c = exp(−g(r_c)/T) / Σ exp(−g(r)/T),    g(r) = log r, or r^λ/λ with λ of −1, 1, 2
    p_c = (1 − δ) f_c + δ / C,                δ = ε + (1 − ε) η (1 − max f), but not below ν: δ ← √(δ² + ν²)

T, ε, η and λ minimise the log-loss (``kcrc.confidence.calibration``); with two classes λ is always 0, the logarithm, so
that p grows with the decision function. δ, the share of doubt, is what a class not in the dictionary gets. It grows, by
η, as the winner leads by less: one share for all would be too much for clear answers and too little for the others.
Where all neighbours agree it is how often such answers were wrong. ν is what so few examples cannot exclude: where all
answers to m groups of examples are right, a share 1 − α^(1/m) may be wrong (``SURELY``). p falls as r grows, so
classes rank as in ``decision_function``; those that differ by rounding alone are alike (``BITS``), but for the answer,
which is just ahead of them.

Answers that are equally clear differ in how near the query is to examples of its class: δ is multiplied by h(t), which
grows with t, the log distance to the three nearest of them, and is 1 in the mean over the examples (``Familiarity``).
Without it most answers on clean data would share one probability, so that none comes first to be looked at.

Sets hold the classes with p_c high enough: 1 − p_c at most the ⌈(B + 1) coverage⌉-th smallest of 1 − p_truth over B
examples (split conformal, the score LAC), B of all classes or of the class in question.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.parallel import one_blas_thread
from kcrc.confidence.likeness import UsualAnswers
from kcrc.confidence.open_set import OpenSet
from kcrc.errors import ParameterError, StateError
from kcrc.method.evidence import FAR, Evidence, log_distance
from kcrc.method.fitted_model import FittedModel
from kcrc.tuning.left_out.answers import LeftOut
from kcrc.tuning.left_out.exclusion import Exclusion
from kcrc.tuning.left_out.sample import find_groups, same_groups

# The temperature and the doubts with the least log-loss over answers whose truth is known, by gradients.
#
# With z_c = −g_c / T, f = softmax(z) and δ = ε + (1 − ε) η (1 − max f), the probabilities are p_c = (1 − δ) f_c + δ /
# C, and the loss of an answer is −Σ w_c log p_c: w is 1 − s for the true class and s / (C − 1) for the others, s as
# small as Platt's (examples that are all answered right do not make for a temperature of 0). Classes that are not in a
# dictionary have f_c = 0, so only those that are in it are looked at: the work grows with them and not with C.

ENTRIES = 1_000_000  # (answers × classes in their dictionaries) looked at; the answers come in a random order
FEWEST = 100
START = np.array([-0.5, -4.0, -2.0])  # log T over the scale of the gaps, and the logits of ε and η
BOUNDS = ((-6.0, 6.0), (-12.0, 0.0), (-12.0, 12.0))
LARGEST = 12.0  # logit of ε, where unanimous answers are that doubtful
SURELY = 0.32  # α: the chance that more answers are wrong than is allowed for


@dataclass(frozen=True, eq=False)
class Coded:
    """Answers as far as they matter: residuals (B, m) rising, ∞ beyond the classes of a dictionary, the place of the
    truth among them (B,), −1 where it is not, and the number C of all classes."""

    residuals: Array
    truth: Array
    n_classes: int

    @classmethod
    def of(cls, residuals: Array, truth: Array) -> Coded:
        """From residuals (B, C) and the numbers of the true classes (B,)."""
        present = np.isfinite(residuals)
        width = int(present.sum(axis=1).max())
        few = max(FEWEST, ENTRIES // width)
        residuals, truth = residuals[:few], truth[:few]
        order = np.argsort(residuals, axis=1, kind="stable")[:, :width]
        near = np.take_along_axis(residuals, order, 1)
        place = (order == truth[:, None]) & np.isfinite(near)
        return cls(near, np.where(place.any(axis=1), place.argmax(axis=1), -1), residuals.shape[1])


def fit_parameters(gaps: Array, coded: Coded, least: float = 0.0) -> tuple[float, float, float, float]:
    """The least mean log-loss, T, ε (no less than ``least``) and η, for gaps g (B, m), each row less its first, of the
    ``coded`` answers."""
    from scipy.optimize import minimize

    second = gaps[:, 1]
    scale = float(np.median(second)) or float(second.mean()) or 1.0
    loss = _Loss(gaps, coded, scale)
    share = float(np.clip(least, TINY, 1.0 - TINY))
    low = float(np.clip(np.log(share / (1.0 - share)), BOUNDS[1][0], LARGEST))
    start = np.array([START[0], max(START[1], low), START[2]])
    bounds = (BOUNDS[0], (low, max(BOUNDS[1][1], low)), BOUNDS[2])
    with one_blas_thread():  # of three numbers: threads cost fifty times what there is to do
        best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 100, "ftol": 1e-9})
    return float(best.fun), *loss.parameters(best.x)


class _Loss:
    """point (3,) -> (mean loss, its gradient (3,))."""

    def __init__(self, gaps: Array, coded: Coded, scale: float) -> None:
        self.scale, self.n_classes = scale, coded.n_classes
        self.present = np.isfinite(gaps)
        self.gaps = np.where(self.present, gaps, 0.0)
        soft = 1.0 / (len(gaps) + 2.0)
        other = soft / (self.n_classes - 1)
        inside = coded.truth >= 0
        self.weights = np.where(self.present, other, 0.0)
        self.weights[np.flatnonzero(inside), coded.truth[inside]] = 1.0 - soft
        absent = self.n_classes - self.present.sum(axis=1)
        self.absent_weight = np.where(inside, absent * other, (absent - 1) * other + (1.0 - soft))

    def parameters(self, point: Array) -> tuple[float, float, float]:
        ratio, doubt, growth = point
        return float(self.scale * np.exp(ratio)), float(_logistic(doubt)), float(_logistic(growth))

    def __call__(self, point: Array) -> tuple[float, Array]:
        temperature, doubt, growth = self.parameters(point)
        cooled = self.gaps / temperature
        fit = np.where(self.present, np.exp(-cooled), 0.0)
        fit /= fit.sum(axis=1, keepdims=True)
        unsure = 1.0 - fit[:, 0]
        doubts = doubt + (1.0 - doubt) * growth * unsure
        p = (1.0 - doubts)[:, None] * fit + (doubts / self.n_classes)[:, None]
        loss = -(self.weights * np.log(p)).sum(axis=1) - self.absent_weight * np.log(doubts / self.n_classes)
        slope = -self.weights / p  # of the loss, by p
        by_doubts = (slope * (1.0 / self.n_classes - fit)).sum(axis=1) - self.absent_weight / doubts
        by_fit = slope * (1.0 - doubts)[:, None]
        by_fit[:, 0] -= by_doubts * (1.0 - doubt) * growth
        by_log_temperature = (by_fit * fit * (cooled - (fit * cooled).sum(axis=1, keepdims=True))).sum(axis=1)
        by_doubt = by_doubts * (1.0 - growth * unsure) * doubt * (1.0 - doubt)
        by_growth = by_doubts * (1.0 - doubt) * unsure * growth * (1.0 - growth)
        gradient = np.array([by_log_temperature.mean(), by_doubt.mean(), by_growth.mean()])
        return float(loss.mean()), gradient


def _logistic(value: float) -> float:
    return float(1.0 / (1.0 + np.exp(-value)))


TINY = 1e-12
BITS = 44  # of a probability: so different are the logarithms, too, of all that differ
SLOPE = 0.3  # of the growth of doubt with distance, where nothing is known
SLOPES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.3)
POWERS = (0, 1, 2, -1)  # of equal loss the first is taken
STRANGERS = 500  # examples asked without their whole class, at most


@dataclass(frozen=True)
class Familiarity:
    """h(t) = exp(κ s) / level with s = 4 tanh((t − centre) / (4 spread)): how doubt grows with the distance t.

    ``slope`` κ has the least log-loss, with a prior around SLOPE: few answers are wrong, so there is little to go by.
    """

    slope: float = 0.0
    centre: float = 0.0
    spread: float = 1.0
    level: float = 1.0

    @classmethod
    def candidates(cls, far: Array) -> list[Familiarity]:
        """One for every slope that is tried, for answers at log distances (B,)."""
        known = far[np.isfinite(far)]
        spread = float(known.std()) if len(known) else 0.0
        if not spread > 0:
            return []
        bare = [cls(slope, float(np.median(known)), spread) for slope in SLOPES]
        return [replace(one, level=float(one.factor(known).mean())) for one in bare]

    def factor(self, far: Array) -> Array:
        """h (B,) for log distances (B,); 1 where one is not known."""
        steps = 4.0 * np.tanh(0.25 * (far - self.centre) / self.spread)
        return np.where(np.isfinite(far), np.exp(self.slope * np.where(np.isfinite(far), steps, 0.0)) / self.level, 1.0)


def not_excluded(groups: int, n_classes: int) -> float:
    """ν after answers to so many groups of examples, by none of which it is known to be less."""
    if n_classes == 1:
        return 0.0
    return float(min(1.0, (1.0 - SURELY ** (1.0 / groups)) * n_classes / (n_classes - 1)))


@dataclass(frozen=True)
class Calibration:
    """temperature T; doubt ε, its growth η, and δ of unanimous queries; power λ (0 is the logarithm); trials: how many
    answers it was fitted on; familiarity: h; unseen: ν, what they cannot exclude."""

    temperature: float = 0.5
    doubt: float = 0.05
    growth: float = 0.0
    unanimous_doubt: float = 0.05
    power: int = 0
    trials: int = 0
    familiarity: Familiarity = Familiarity()
    unseen: float = 0.0

    @classmethod
    def fit(cls, residuals: Array, truth: Array, far: Array | None = None, groups: Array | None = None) -> Calibration:
        """residuals (B, C) of left-out examples, their class numbers (B,), the log distances (B,) to the nearest
        examples of the class answered, and the groups (B,) that left with them (None: each alone)."""
        known = len(truth) if groups is None else len(np.unique(groups))
        bare = replace(cls._fit(residuals, truth), unseen=not_excluded(known, residuals.shape[1]))
        if far is None or residuals.shape[1] == 1:
            return bare
        few = max(FEWEST, ENTRIES // residuals.shape[1])
        some, at, true = residuals[:few], far[:few], truth[:few]

        def loss(known: Familiarity) -> float:
            p = replace(bare, familiarity=known).probabilities(some, at)[np.arange(len(true)), true]
            return float(-np.log(p).sum() + 0.5 * ((known.slope - SLOPE) / SLOPE) ** 2)

        return replace(bare, familiarity=min(Familiarity.candidates(far), key=loss, default=Familiarity()))

    @classmethod
    def _fit(cls, residuals: Array, truth: Array) -> Calibration:
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
        # Of two classes no coded query has a higher decision function than unanimous ones: it is no less doubtful.
        agreed = (~coded).sum()
        least = min(1.0, 2.0 * wrong[~coded].sum() / (agreed + 1.0)) if n_classes == 2 else 0.0
        tried = ((*fit_parameters(_gaps(answers.residuals, power), answers, least), power) for power in powers)
        _, temperature, doubt, growth, power = min(tried)
        if n_classes == 2:
            unanimous = min(unanimous, doubt)  # at the bound these differ by rounding
        return cls(temperature, doubt, growth, unanimous, power, len(truth))

    def probabilities(self, residuals: Array, far: Array | None = None) -> Array:
        """(B, C), rows sum to 1, from residuals (B, C) and, to tell equally clear answers apart, ``far`` (B,) as in
        ``fit``."""
        batch, n_classes = residuals.shape
        factor = np.ones(batch) if far is None else self.familiarity.factor(far)
        fit = np.exp(-_gaps(residuals, self.power) / self.temperature)
        fit /= fit.sum(axis=1, keepdims=True)
        doubts = self.doubt + (1.0 - self.doubt) * self.growth * (1.0 - fit.max(axis=1))
        alone = np.isfinite(residuals).sum(axis=1) <= 1
        doubts[alone] = self.unanimous_doubt
        if n_classes > 2:
            doubts = np.minimum(doubts * factor, 1.0)
        elif self.familiarity.slope:  # p grows with the decision function: unanimous answers stay above coded ones
            apart = doubts[alone] * factor[alone] / self.doubt
            doubts[alone] = self.doubt * apart / (1.0 + apart)
        doubts = np.minimum(np.hypot(doubts, self.unseen), 1.0)
        mixed = (1.0 - doubts)[:, None] * fit + (doubts / n_classes)[:, None]
        return _put_answer_ahead(mixed / mixed.sum(axis=1, keepdims=True), residuals.argmin(axis=1))


def _put_answer_ahead(p: Array, winner: Array) -> Array:
    """p (B, C) to BITS bits, of which every class but the winner (B,) has less than it."""
    mantissas, exponents = np.frexp(p)
    places = np.rint(np.ldexp(mantissas, BITS))
    rounded = np.ldexp(places, exponents - BITS)
    batch = np.arange(len(p))
    below = np.ldexp(places[batch, winner] - 1.0, exponents[batch, winner] - BITS)
    tied = rounded >= rounded[batch, winner, None]
    tied[batch, winner] = False
    return np.asarray(np.where(tied, below[:, None], rounded))


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
    """All that was learned from the examples' own answers; ``strangers`` are those to examples asked without their
    whole class. ``groups`` (m,) is what the caller said of the examples of ``exclusion``, if anything;
    ``groups_found``: those of ``exclusion`` were found, and are to be found again when examples come or go;
    ``revision``: how many examples had come or gone, since the parameters were chosen, when it was learned.

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
    strangers: LeftOut | None = None
    groups: Array | None = None
    revision: int = 0
    groups_found: bool = False

    @classmethod
    def of(
        cls,
        model: FittedModel,
        groups: Array | None,
        *,
        unnamed_groups: bool = False,
        fixed: bool = False,
        before: tuple[Confidence, FittedModel] | None = None,
        revision: int = 0,
        exclusion: Exclusion | None = None,
    ) -> Confidence:
        """For a model as it is; ``unnamed_groups``: those that belong together are found, unless samples are rows
        of a matrix; ``fixed``: its scaling was fitted elsewhere. ``before``: what was learned of an earlier
        model, of whose answers those are taken that nothing has touched since. ``exclusion`` is given where the scaling
        was fitted on the examples of an earlier moment."""
        if exclusion is None:
            method = model.method
            matrix = method.distance.given_as_matrix or method.kernel.given_as_matrix
            together = find_groups(model.raw, model.labels) if unnamed_groups and not matrix else groups
            exclusion = Exclusion.of(model, together, fixed=fixed)
        known, known_strangers = None, None
        if before is not None:
            earlier, its_model = before
            known = None if earlier.left_out is None else (earlier.left_out, its_model)
            if known is not None:
                then = earlier.exclusion.with_folds(its_model).groups_of(its_model)
                now = exclusion.with_folds(model).groups_of(model)
                same = known[0].rows[np.isin(known[0].rows, same_groups(its_model.ids, then, model.ids, now))]
                known = (known[0].among(same), its_model) if len(same) else None
            known_strangers = None if earlier.strangers is None else (earlier.strangers, its_model)
        left = LeftOut.of(model, exclusion, before=known)
        if left is None:
            groups_known = len(np.unique(exclusion.groups_of(model)))
            unseen = not_excluded(groups_known, len(model.classes))
            bare = cls(exclusion, Calibration(unseen=unseen), None, None, None)
            return replace(bare, groups=groups, revision=revision, groups_found=unnamed_groups)
        strangers = None
        if len(np.unique(model.labels)) > 2:
            few = min(STRANGERS, len(left))
            strangers = LeftOut.of(model, exclusion, without_classes=True, at_most=few, before=known_strangers)
        orders = model.method.n_neighbors is not None  # a global dictionary orders nothing
        told = cls.from_answers(exclusion, left, strangers, model.classes, orders=orders)
        return replace(told, groups=groups, revision=revision, groups_found=unnamed_groups)

    @classmethod
    def from_answers(
        cls, exclusion: Exclusion, left: LeftOut, strangers: LeftOut | None, classes: Array, *, orders: bool = True
    ) -> Confidence:
        """From left-out answers, of a model or an ensemble; ``orders``: distances in them tell familiar queries."""
        far = left.signs[:, FAR] if orders else None
        calibration = Calibration.fit(left.residuals, left.truth, far, exclusion.groups_of_rows(left.rows))
        open_set = OpenSet.fit(left.signs, None if strangers is None else strangers.signs)
        bare = cls(exclusion, calibration, left, open_set, None)
        p = calibration.probabilities(left.residuals, far)
        batch = np.arange(len(left))
        return replace(
            bare,
            sets=ConformalSets(bare.scores(p, left.signs)[batch, left.truth], classes[left.truth]),
            usual=np.column_stack([left.signs, left.right]),
            answered=classes[left.winner],
            asked=left.rows,
            strangers=strangers,
        )

    def for_audit(self, model: FittedModel) -> Confidence:
        """For questions on one stored example, such as whether its label is wrong: only its copies leave with it, and
        the group that the caller named. Of a group that was found the others stay, for they were labelled by themselves
        and speak for its label or against it; how sure answers are is learned from answers like that."""
        if not self.groups_found:
            return self
        exclusion = self.exclusion.with_copies(model)
        groups, copies = (len(np.unique(out.groups_of(model))) for out in (self.exclusion, exclusion))
        if groups == copies:
            return self
        bare = replace(self, exclusion=exclusion, groups_found=False)
        left = LeftOut.of(model, exclusion)
        if left is None:
            return bare
        far = left.signs[:, FAR] if model.method.n_neighbors is not None else None
        calibration = Calibration.fit(left.residuals, left.truth, far, exclusion.groups_of_rows(left.rows))
        return replace(bare, calibration=calibration)

    def probabilities(self, evidence: Evidence) -> Array:
        """(B, C) of the answers in ``evidence``."""
        told_apart = self.calibration.familiarity.slope > 0
        return self.calibration.probabilities(evidence.residuals, log_distance(evidence) if told_apart else None)

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
                + " Where an earlier version stored this classifier, it has to learn again: retune(), kcrc tune."
            )
        return UsualAnswers(self.usual[:, :-1], self.answered, self.usual[:, -1] > 0.5, self.asked)


_TOO_FEW = (
    "{what} needs the examples' own answers, each asked without itself, which are not to be had here: too few examples "
    "(8 or more are needed), or a global dictionary so large that asking even a few would take minutes. Store more "
    "examples (and call retune() if they came by partial_fit), or give n_neighbors."
)
