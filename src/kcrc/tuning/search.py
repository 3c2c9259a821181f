"""The search: which setting classifies the stored examples best when each is left out.

A walk on a grid without edges. It starts with a few cheap settings of every geometry. The best of them, the probes, are
asked about all examples: those about which every probe is clearly right would be answered by any setting worth having,
so the walk judges settings on the others, the hard ones. Each step tries the neighbours of the settings that lead
(twice and half the atoms, twice and half the kernel's width, ten times and a tenth of the penalty, the other form,
twice and half the dimension after projection) until no leader has an untried neighbour; what is dear is tried as far as
the budget of the step goes. The finalists, among them the favourites of the prior, see all examples, so that what is
said of them is not biased by the choice of the hard ones. Among those that are right as often as the best, or nearly,
the ``loss`` decides, and where that cannot be told apart the price.

A local dictionary is another for every example left out anyway. A global one is not, and would have to be made anew
for each; there an eighth of the examples is left out together, so that one dictionary serves them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.parallel import over_chunks
from kcrc.tuning import candidates
from kcrc.tuning.candidates import Candidates
from kcrc.tuning.field import DOUBLE, SPEED, Field, Scorer, SearchBudget, posing_cost, solving_cost
from kcrc.tuning.left_out.trials import Geometry, Trials
from kcrc.tuning.result import Candidate, Score, doubts, paired_error
from kcrc.tuning.scoring import DECISIONS, needs_double

# How settings are tried: the examples that are asked, what a setting made of each of them, and what that has cost.
#
# Examples stand in a stratified order, of which the search asks some places. What every setting answered at every
# place is kept, so that settings are compared on the very same examples and nobody is asked twice.
#
# The clock decides nothing: the budget is counted in arithmetic, so the same data give the same choice on every
# machine, busy or idle. Only a search of which even the fewest trials come to three times its budget is cut short.

MOST = 2500  # examples asked
FEWEST = 32  # so many are asked whatever it costs
FOLDS = 8  # of a global dictionary
OVERSPENT = 3.0  # times the budget: from there on every setting is tried on no more examples than one batch


class Evaluator:
    """The left-out answers of settings on a field, by a scorer, within a budget."""

    def __init__(self, field: Field, scorer: Scorer, budget: SearchBudget) -> None:
        self.field, self.scorer = field, scorer
        self.n_jobs, self.progress = budget.n_jobs, budget.progress
        self.budget, self.spent = SPEED * budget.seconds, 0.0
        self.phase = (0.0, 0.5)
        """The share of the work that the present step begins and ends at: each takes about half of what is left."""
        self.order = stratified(field.labels, np.random.default_rng(budget.seed), field.eligible)[:MOST]
        self.margins: dict[Candidate, Array] = {}  # by place in the order; NaN where not asked
        self.hard = np.arange(len(self.order))  # the places that tell settings apart, see ``Search``
        self.share = 1.0  # of all places, that those are (or stand for)
        self.candidates = Candidates(field, self.order, iterates=scorer.iterates)
        self.geometry = self.candidates.geometry

    @property
    def examples_per_class(self) -> float:
        """How many examples the class of one that is asked typically has, itself included."""
        labels = self.field.labels
        return float(np.median(np.bincount(labels)[labels[self.order]]))

    # What is known ---------------------------------------------------------------------------------------------------

    def score(self, setting: Candidate) -> Score:
        """By all places where all were asked; else by the hard ones, the others taken as right; else by those asked."""
        margins = self.margins[setting]
        asked = ~np.isnan(margins)
        share = 1.0
        if self.share < 1.0 and not asked.all() and asked[self.hard].any():
            asked, share = asked & self._is_hard, self.share
        return Score(int((margins[asked] > 0).sum()), int(asked.sum()), share=share)

    @property
    def _is_hard(self) -> Array:
        found = np.zeros(len(self.order), bool)
        found[self.hard] = True
        return found

    # What it costs ---------------------------------------------------------------------------------------------------

    def cost(self, name: str, locality: str, group: list[Candidate], trials: int) -> float:
        """Arithmetic of trials of a group of settings, roughly."""
        atoms = {s: self.atoms(s) for s in group}
        problems = {(s.kernel, s.gamma, s.form, s.n_neighbors, s.share): atoms[s] for s in group}
        solved = {(s.kernel, s.gamma, s.form, s.n_neighbors, s.share, s.mu): atoms[s] for s in group}
        posing = sum(
            posing_cost(k, form, 0.0 if share is None else self.scorer.projecting)
            for (_, _, form, _, share), k in problems.items()
        )
        widest = max(atoms.values())
        if self._together(name):
            folds = -(-trials // self._fold)
            factorising = sum(k**3 / 3 for k in solved.values())
            each = self.scorer.effort * sum(15.0 * k * k for k in solved.values())
            return self.geometry(name).cost(folds, widest) + trials * each + folds * (posing + factorising)
        solving = sum(
            solving_cost(k) * (DOUBLE if needs_double(int(k), mu, True) else 1.0) for (*_, mu), k in solved.items()
        )
        return self.geometry(name).cost(trials, widest) + trials * self.scorer.effort * (posing + solving)

    def atoms(self, setting: Candidate) -> float:
        """Of a dictionary: the union of several members' nearest examples is as large as all of them together."""
        typical = 1.0 if setting.locality == "atoms" else self.field.typical_class
        every = setting.n_neighbors * typical * self.candidates.members(setting.geometry)
        return min(float(len(self.field.labels)), every)

    def price(self, setting: Candidate) -> float:
        """Arithmetic of one answer, roughly: to find its dictionary, and to pose and solve its problem."""
        k, projecting = self.atoms(setting), 0.0 if setting.share is None else self.scorer.projecting
        stage = posing_cost(k, setting.form, projecting) + solving_cost(k)
        return self.candidates.finding(setting.geometry) + self.scorer.effort * stage

    @property
    def _fold(self) -> int:
        return max(1, len(self.field.labels) // FOLDS)

    def _together(self, name: str) -> bool:
        """Whether examples are left out together, in folds."""
        return self.field.whole and self.geometry(name).has_folds

    # How it is tried -------------------------------------------------------------------------------------------------

    def evaluate(self, settings: list[Candidate], places: Array, share: float) -> None:
        """Ask all ``settings`` at these places, or at so many of the first as ``share`` of the budget allows.

        Progress goes by the work of this step, not by the budget: small data need a part of that only."""
        groups: dict[tuple[str, str, bytes], list[Candidate]] = {}
        for setting in settings:
            known = self.margins.setdefault(setting, np.full(len(self.order), np.nan, np.float32))
            missing = np.isnan(known[places])
            groups.setdefault((setting.geometry, setting.locality, missing.tobytes()), []).append(setting)
        open_ = {key: places[np.frombuffer(key[2], bool)] for key in groups}
        count = len(places)

        def cost(count: int) -> float:
            some = {key: int(np.frombuffer(key[2], bool)[:count].sum()) for key in groups}
            return sum(self.cost(*key[:2], group, some[key]) for key, group in groups.items() if some[key])

        while count > FEWEST and self.spent + cost(count) > share * self.budget:
            count = max(FEWEST, count * 3 // 4)
        before, due = self.spent, max(cost(count), 1.0)
        start, end = self.phase

        def shown() -> None:
            self.progress(start + (end - start) * min(1.0, (self.spent - before) / due))

        for key, group in groups.items():
            self._evaluate_batches(*key[:2], group, open_[key][np.isin(open_[key], places[:count])], shown)
        self.phase = (end, (1.0 + end) / 2)

    def _evaluate_batches(
        self, name: str, locality: str, group: list[Candidate], places: Array, shown: Callable[[], None]
    ) -> None:
        largest = max(s.n_neighbors for s in group)
        members = self.geometry(name).members
        width = largest * members if locality == "atoms" else self.field.class_width(largest)
        step = int(np.clip(6e6 / max(width, 40) ** 2, 2, 64))
        taken = self._fold if self._together(name) else 4 * step
        for at in range(0, len(places), taken):
            if self.spent > OVERSPENT * self.budget and not any(np.isnan(self.margins[s]).all() for s in group):
                break
            batch = places[at : at + taken]
            self.spent += self.cost(name, locality, group, len(batch))
            found = self._left_out_margins(self.geometry(name), locality, group, self.order[batch], step)
            for setting, own in zip(group, found, strict=True):
                self.margins[setting][batch] = own
            shown()

    def _left_out_margins(
        self, geometry: Geometry, locality: str, group: list[Candidate], rows: Array, step: int
    ) -> Array:
        """Margins (settings, B) of the examples ``rows``."""
        largest = max(s.n_neighbors for s in group)
        if self.field.whole and geometry.has_folds:
            return self._score(geometry.fold(rows), group)

        def piece(part: slice) -> Array:
            which = rows[part]
            trials = geometry.trials(which, largest) if locality == "atoms" else geometry.class_trials(which, largest)
            return self._score(trials, group)

        return np.concatenate(over_chunks(piece, len(rows), step, self.n_jobs), axis=1)

    def _score(self, trials: Trials, group: list[Candidate]) -> Array:
        """(settings, B); settings that share a kernel, a form and the penalties share the work."""
        out = np.empty((len(group), len(trials.truth)), np.float32)
        by_size: dict[tuple[str, float | None, str, float | None, int], list[int]] = {}
        for i, s in enumerate(group):
            by_size.setdefault((s.kernel, s.gamma, s.form, s.share, s.n_neighbors), []).append(i)
        shared: dict[tuple[Any, ...], list[int]] = {}
        for (kernel, gamma, form, share, size), members in by_size.items():
            mus = tuple(sorted({group[i].mu for i in members}))
            count = size if trials.rank is not None else 0
            shared.setdefault((kernel, gamma, form, share, mus, count), []).extend(members)
        for (_, gamma, form, share, mus, count), members in shared.items():
            if trials.rank is None:
                sizes, labels = sorted({group[i].n_neighbors for i in members}), trials.labels
            else:  # the atoms of the nearest ``count`` classes, or of the nearest ``count`` of each distance
                sizes, labels = [trials.labels.shape[1]], np.where(trials.rank < count, trials.labels, -1)
            found = self.scorer.score(trials, gamma, labels.astype(np.int32), sizes, list(mus), form, share)
            for i in members:
                size = 0 if trials.rank is not None else sizes.index(group[i].n_neighbors)
                out[i] = found[size, mus.index(group[i].mu), self.scorer.decisions.index(group[i].decision)]
        return out


def stratified(labels: Array, rng: np.random.Generator, eligible: Array) -> Array:
    """The eligible rows in an order of which every beginning holds the classes in their own shares."""
    rows = np.flatnonzero(eligible)
    place = np.empty(len(rows))
    for c in np.unique(labels[rows]):
        mine = np.flatnonzero(labels[rows] == c)
        place[mine] = (rng.permutation(len(mine)) + rng.random(len(mine))) / len(mine)
    return rows[np.argsort(place, kind="stable")]


TRIALS_FIRST = 256
PROBES = 2  # of each geometry that is left
HARD, HARD_LEAST, HARD_MOST = 2.0, 64, 300  # times as many as some probe got wrong; and places at least and at most
STEPS, LEADERS, FINALISTS = 6, 4, 12
DEAREST = 0.3  # of what is left of the budget: more for one finalist would leave too little for the others
FEW = 200  # with fewer examples a fine grid would only fit their noise
CLOSE = 2.5  # standard errors
NEAR, NEAR_EXAMPLES = 0.5, 1.01  # standard errors, or examples: right as often as the best, or nearly
TIED, TIED_EXAMPLES, TIED_ERRORS = 0.02, 0.75, 0.5  # of the loss, or of so many examples, or standard errors: the same
SAME_PRICE = 1.25  # factor


class Search(Evaluator):
    """The walk over a field, by a scorer, within a budget."""

    def run(self) -> Candidate:
        """The best setting."""
        self.progress(0.0)
        everywhere = np.arange(len(self.order))
        favourite = candidates.favourite(self.candidates)
        self.favourites = [] if favourite is None else [favourite]
        if favourite is not None and self.examples_per_class < candidates.FEWEST_PER_CLASS:
            self.evaluate(self.favourites, everywhere, 1.0)
            return favourite
        first = {name: found for name in self.candidates.makers if (found := self.candidates.first(name))}
        started = [s for group in first.values() for s in group]
        self.evaluate(list(dict.fromkeys([*started, *self.favourites])), everywhere[:TRIALS_FIRST], 0.25)
        kept = self._kept(started)
        names = self._best_geometries(first)
        settings = list(dict.fromkeys([*(s for name in names for s in first[name]), *self.favourites, *kept]))
        self._find_hard([s for name in names for s in self.leading(first[name], PROBES)], everywhere)
        classes = [s for name in names for s in self.candidates.first_classes(name)]
        again = dict.fromkeys([*self.favourites, *kept, *self._close(settings)])
        self.evaluate([*again, *self._cheapest(classes, self.hard, 0.4)], self.hard, 0.4)
        settings += classes
        steps = STEPS if len(self.order) >= FEW else 2
        for step in range(steps):
            until = 0.4 + 0.3 * (step + 1) / steps
            near = dict.fromkeys(n for s in self._leaders(settings) for n in self.candidates.neighbours(s))
            near = {n: None for n in near if n not in self.margins}
            if not near or self.spent > until * self.budget:
                break
            new = self._cheapest(near, self.hard, until)
            self.evaluate(new, self.hard, until)
            settings += new
        return self._final(settings, everywhere)

    def _find_hard(self, probes: list[Candidate], everywhere: Array) -> None:
        """The places about which some probe is wrong, and those that are nearly so."""
        if any(self._together(s.geometry) for s in probes):
            return
        self.evaluate(probes, everywhere, 0.35)
        margins = np.stack([self.margins[s] for s in probes])
        if np.isnan(margins).any():
            return
        wrong = (margins <= 0).any(axis=0)
        rank = margins.argsort(axis=1, kind="stable").argsort(axis=1).min(axis=0)
        count = int(np.clip(HARD * wrong.sum(), HARD_LEAST, len(self.order)))
        if count < len(self.order):
            self.share = count / len(self.order)
            self.hard = np.sort(np.lexsort((rank, ~wrong))[:count])[:HARD_MOST]  # a beginning is a fair sample of them

    def _affordable(
        self, settings: Iterable[Candidate], places: Array, until: float, most: float = 1.0
    ) -> list[Candidate]:
        """In their order those that can be tried before so much of the budget is spent, each for no more than the share
        ``most`` of what is left of that; the cheapest where that is none."""
        left, each = until * self.budget - self.spent, self._prices(settings, places)
        found: dict[Candidate, None] = {}
        for s, price in each.items():
            same = any(replace(s, decision=other) in found for other in DECISIONS)  # both come of one solution
            if same or price <= most * left:
                left -= 0.0 if same else price
                found[s] = None
        return list(found) or sorted(each, key=lambda s: each[s])[:1]

    def _cheapest(self, settings: Iterable[Candidate], places: Array, until: float) -> list[Candidate]:
        """As many of them as can be tried, the cheapest first."""
        each = self._prices(settings, places)
        return self._affordable(sorted(each, key=lambda s: each[s]), places, until)

    def _prices(self, settings: Iterable[Candidate], places: Array) -> dict[Candidate, float]:
        """Arithmetic of trying each at these places."""
        return {s: self.cost(s.geometry, s.locality, [s], len(places)) for s in settings}

    def leading(self, settings: Iterable[Candidate], count: int) -> list[Candidate]:
        """The best of those that were tried."""
        known = {s: self.score(s).accuracy for s in settings if s in self.margins}
        return sorted(known, key=lambda s: (-known[s], self.price(s)))[:count]

    def _leaders(self, settings: list[Candidate]) -> list[Candidate]:
        """Those the walk goes on from: the best of all, and the best of each kind that is close."""
        close = self._close(settings)
        kinds: dict[tuple[str, str, str], list[Candidate]] = {}
        for s in close:
            kinds.setdefault((s.geometry, s.locality, s.kernel), []).append(s)
        best_of_kinds = [s for kind in kinds.values() for s in self.leading(kind, 1)]
        return list(dict.fromkeys([*self.leading(close, LEADERS), *best_of_kinds]))

    def _close(self, settings: list[Candidate]) -> list[Candidate]:
        """Without those that are clearly behind the best: more trials would not change that. What has not been tried
        is close."""
        scores = {s: self.score(s) for s in settings if s in self.margins}
        best = max(scores.values(), key=lambda score: score.accuracy)
        least = best.accuracy - CLOSE * best.error
        return [s for s in settings if s not in scores or scores[s].accuracy >= least]

    def _kept(self, settings: Iterable[Candidate]) -> list[Candidate]:
        """The best setting of each geometry that stays to the end."""
        settings = list(settings)
        return [s for name in self.field.keep for s in self.leading([s for s in settings if s.geometry == name], 1)]

    def _best_geometries(self, first: Mapping[str, list[Candidate]]) -> list[str]:
        best = {name: max((self.score(s) for s in group), key=lambda x: x.accuracy) for name, group in first.items()}
        top = max(best.values(), key=lambda score: score.accuracy)
        near = [name for name in best if best[name].accuracy >= top.accuracy - 2 * max(top.error, 0.004)]
        near.sort(key=lambda name: -best[name].accuracy)
        # One of each kind: the shrinkages of the within-class metric are near to each other by nature.
        kinds = [name if name in self.field.keep else name.split()[0] for name in near]
        keep = [name for at, name in enumerate(near) if kinds[at] not in kinds[:at]][:3]
        self.candidates.forget([*keep, *(s.geometry for s in self.favourites)])
        return keep

    def _final(self, settings: list[Candidate], everywhere: Array) -> Candidate:
        leading = self._affordable(self.leading(settings, FINALISTS), everywhere, 0.95, most=DEAREST)
        finalists = list(dict.fromkeys([*leading, *self.favourites, *self._kept(settings)]))
        self.evaluate(finalists, everywhere, 1.0)
        # Where the budget ended first, those found late have had fewer trials: half as many are enough to be compared.
        trials = max(self.score(s).trials for s in finalists)
        compared = [s for s in finalists if 2 * self.score(s).trials >= trials]
        alone = [s for s in compared if s.geometry in self.field.alone]
        if alone:  # however clear its answers, the best is right no less often than any of these
            least = max(self.score(s).accuracy for s in alone)
            compared = [s for s in compared if self.score(s).accuracy >= least]
        return self._best(compared)

    def _best(self, settings: list[Candidate]) -> Candidate:
        """Of those that are nearly as often right as any, the least doubting; of those that doubt no more, the
        cheapest; and a favourite of the prior where that does not beat it clearly."""
        scores = {s: self.score(s) for s in settings}
        together = ~np.isnan([self.margins[s] for s in settings]).any(axis=0)  # all were asked there
        doubt = {s: doubts(self.margins[s][together]) for s in settings}
        mean = {s: float(doubt[s].mean()) for s in settings}
        top = max(scores.values(), key=lambda score: score.accuracy)
        least = top.accuracy - max(NEAR * top.error, NEAR_EXAMPLES / top.trials)
        near = [s for s in settings if scores[s].accuracy >= least]
        clearest = min(near, key=lambda s: mean[s])

        def tied(s: Candidate) -> bool:
            noise = TIED_ERRORS * paired_error(doubt[s], doubt[clearest])
            return mean[s] - mean[clearest] <= max(TIED * mean[clearest], TIED_EXAMPLES / top.trials, noise)

        same = [s for s in near if tied(s)]
        cheapest = min(self.price(s) for s in same)
        best = min((s for s in same if self.price(s) <= SAME_PRICE * cheapest), key=lambda s: mean[s])
        return next((s for s in self.favourites if s in doubt and not self._beats(best, s, doubt)), best)

    def _beats(self, one: Candidate, favourite: Candidate, doubt: Mapping[Candidate, Array]) -> bool:
        """Whether it is better than the favourite by more than the noise of the answers: less in doubt, or more often
        right."""
        errors = candidates.errors_needed(self.examples_per_class)
        clearer = float((doubt[favourite] - doubt[one]).mean()) > errors * paired_error(doubt[one], doubt[favourite])
        both = ~(np.isnan(self.margins[one]) | np.isnan(self.margins[favourite]))
        gained = (self.margins[one][both] > 0).astype(int) - (self.margins[favourite][both] > 0)
        return clearer or bool(gained.sum() > errors * np.sqrt(np.abs(gained).sum()))

    @property
    def scores(self) -> dict[Candidate, Score]:
        """Of all that was tried, by the examples each was asked about."""
        found = {}
        for setting, margins in self.margins.items():
            score = self.score(setting)
            asked = margins[self.hard] if score.share < 1.0 else margins
            loss = score.share * float(np.nanmean(doubts(asked)))
            found[setting] = replace(score, loss=loss, price=self.price(setting))
        return found


# A search without a walk, for callers who choose among many classifiers and need each of them only nearly as good.
#
# Of vectors it looks at two geometries, the prior's favoured one and the vectors as they are, since to make one costs
# as much as to try many settings in it; in each at the settings that a walk starts from, with a quarter and twice the
# atoms.

BRIEF_TRIALS_FIRST = 400
PLAIN = "plain"


class BriefSearch(Search):
    """As ``Search``, from the first settings straight to the finalists."""

    def run(self) -> Candidate:
        favourite = candidates.favourite(self.candidates)
        if favourite is None:
            self.favourites, names = [], list(self.candidates.makers)
        elif self.examples_per_class < candidates.FEWEST_PER_CLASS:  # which decides alone
            return super().run()
        else:
            self.favourites = [favourite]
            names = [name for name in self.candidates.makers if name in (PLAIN, favourite.geometry)]
        self.progress(0.0)
        everywhere = np.arange(len(self.order))
        settings = list(dict.fromkeys(sized for name in names for sized in self._first(name)))
        self.evaluate([*settings, *self.favourites], everywhere[:BRIEF_TRIALS_FIRST], 0.5)
        return self._final(settings, everywhere)

    def _first(self, name: str) -> list[Candidate]:
        """Where a walk would start, with fewer atoms too where their number is open, and with more where a distance is
        not so costly that candidates are found by another."""
        first = self.candidates.first(name)
        if "n_neighbors" in self.candidates.fixed:
            return first
        times = (0.25, 1, 2) if self.field.most is None else (0.25, 1)
        sizes = [[max(2, int(factor * s.n_neighbors)) for factor in times] for s in first]
        return [
            replace(s, n_neighbors=min(size, self.candidates.most(s.geometry, s.kernel)))
            for s, own in zip(first, sizes, strict=True)
            for size in own
        ]
