"""The search: which candidate classifies the stored examples best when each is left out.

It starts with a few cheap candidates of every geometry. The best of them, the probes, are tried on all examples: those
about which every probe is clearly right would be answered by any candidate worth having, so the steps compare
candidates on the others, the hard ones. Each step tries the neighbours of the candidates that lead (twice and half the
atoms, twice and half the kernel's width, ten times and a tenth of the penalty, the other form, twice and half the
dimension after projection) until no leader has an untried neighbour; what is dear is tried as far as the budget of the
step goes. The finalists, among them the favourite of the prior, see all examples, so that what is said of them is not
biased by the choice of the hard ones. Among those that are right as often as the best, or nearly, the loss decides, and
where that cannot be told apart the price.

A local dictionary is another for every example left out anyway. A global one is not, and would have to be made again
for each; there an eighth of the examples is left out together, so that one dictionary serves them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.parallel import over_chunks
from kcrc.tuning import constants
from kcrc.tuning.candidates import Candidates
from kcrc.tuning.left_out.trials import Trials
from kcrc.tuning.result import CandidateSetting, Score, doubts, paired_error
from kcrc.tuning.scoring import DECISIONS, MarginScorer, needs_double, posing_cost, solving_cost


class CandidateEvaluator:
    """Tries candidates on left-out examples, and knows what each made of them and what that has cost.

    Examples stand in a stratified order, of which the search tries some places. What every candidate answered at every
    place is kept, so that candidates are compared on the very same examples and none is tried twice.

    The clock decides nothing: the budget is counted in operations, so the same data give the same choice on every
    machine, busy or idle. Only a search of which even the fewest trials come to a multiple of its budget is cut short.
    """

    def __init__(
        self,
        candidates: Candidates,
        scorer: MarginScorer,
        seconds: float,
        *,
        n_jobs: int | None = None,
        progress: Callable[[float], None] = lambda share: None,
    ) -> None:
        self.candidates, self.scorer, self.geometry = candidates, scorer, candidates.geometry
        self.n_jobs, self.progress = n_jobs, progress
        self.budget, self.spent = constants.SPEED * seconds, 0.0
        self.phase = (0.0, 0.5)
        """The share of the work that the present step begins and ends at: each takes about half of what is left."""
        self.order = candidates.order[: constants.MOST_TRIALS]
        self.margins: dict[CandidateSetting, Array] = {}  # by place in the order; NaN where not tried
        self.hard = np.arange(len(self.order))  # the places that tell candidates apart
        self.share = 1.0  # of all places, that those are (or stand for)

    # What is known ---------------------------------------------------------------------------------------------------

    def score(self, candidate: CandidateSetting) -> Score:
        """By all places where all were tried; else by the hard ones, the others taken as right; else by those tried."""
        margins = self.margins[candidate]
        tried = ~np.isnan(margins)
        share = 1.0
        if self.share < 1.0 and not tried.all() and tried[self.hard].any():
            is_hard = np.zeros(len(self.order), bool)
            is_hard[self.hard] = True
            tried, share = tried & is_hard, self.share
        return Score(int((margins[tried] > 0).sum()), int(tried.sum()), share=share)

    @property
    def scores(self) -> dict[CandidateSetting, Score]:
        """Of all candidates that were tried, by the examples each was tried on."""
        table = {}
        for candidate, margins in self.margins.items():
            score = self.score(candidate)
            tried = margins[self.hard] if score.share < 1.0 else margins
            loss = score.share * float(np.nanmean(doubts(tried)))
            table[candidate] = replace(score, loss=loss, price=self.price(candidate))
        return table

    # What it costs ---------------------------------------------------------------------------------------------------

    def cost(self, name: str, group: list[CandidateSetting], trials: int) -> float:
        """Operations for trials of a group of candidates of one geometry, roughly."""
        atoms = {s: self.atoms(s) for s in group}
        problems = {(s.kernel, s.gamma, s.form, s.n_neighbors, s.share): atoms[s] for s in group}
        solved = {(s.kernel, s.gamma, s.form, s.n_neighbors, s.share, s.mu): atoms[s] for s in group}
        posing = sum(
            posing_cost(k, form, 0.0 if share is None else self.scorer.projecting)
            for (_, _, form, _, share), k in problems.items()
        )
        widest = max(atoms.values())
        if self.candidates.in_folds(name):
            folds = -(-trials // self.fold)
            factorising = sum(k**3 / 3 for k in solved.values())
            each = self.scorer.effort * sum(constants.FOLD_PAIR * k * k for k in solved.values())
            return self.geometry(name).cost(folds, widest) + trials * each + folds * (posing + factorising)
        double = constants.DOUBLE_EFFORT
        solving = sum(
            solving_cost(k) * (double if needs_double(int(k), mu, True) else 1.0) for (*_, mu), k in solved.items()
        )
        return self.geometry(name).cost(trials, widest) + trials * self.scorer.effort * (posing + solving)

    def atoms(self, candidate: CandidateSetting) -> float:
        """Of a dictionary: the union of several members' nearest examples is as large as all of them together."""
        typical = 1.0 if candidate.locality == "atoms" else self.candidates.typical_class
        every = candidate.n_neighbors * typical * self.candidates.facts_of(candidate.geometry)[0]
        return min(float(len(self.candidates.labels)), every)

    def price(self, candidate: CandidateSetting) -> float:
        """Operations for one answer, roughly: to find its dictionary, and to pose and solve its problem."""
        k, projecting = self.atoms(candidate), 0.0 if candidate.share is None else self.scorer.projecting
        stage = posing_cost(k, candidate.form, projecting) + solving_cost(k)
        return self.candidates.facts_of(candidate.geometry)[1] + self.scorer.effort * stage

    @property
    def fold(self) -> int:
        """How many examples leave a global dictionary together."""
        return max(1, len(self.candidates.labels) // constants.FOLDS)

    # How candidates are tried ----------------------------------------------------------------------------------------

    def evaluate(self, candidates: Iterable[CandidateSetting], places: Array, until: float) -> None:
        """Try all ``candidates`` at these places, or at so many of the first as the budget allows up to a share of it.

        Progress goes by the work of this step, not by the budget: small data need a part of that only."""
        groups: dict[tuple[str, str, bytes], list[CandidateSetting]] = {}
        missing: dict[bytes, Array] = {}
        for candidate in candidates:
            known = self.margins.setdefault(candidate, np.full(len(self.order), np.nan, np.float32))
            untried = np.isnan(known[places])
            missing[untried.tobytes()] = untried
            groups.setdefault((candidate.geometry, candidate.locality, untried.tobytes()), []).append(candidate)
        count = len(places)

        def cost(count: int) -> float:
            trials = {key: int(untried[:count].sum()) for key, untried in missing.items()}
            return sum(self.cost(key[0], group, trials[key[2]]) for key, group in groups.items() if trials[key[2]])

        while count > constants.FEWEST_TRIALS and self.spent + cost(count) > until * self.budget:
            count = max(constants.FEWEST_TRIALS, count * 3 // 4)
        before, due = self.spent, max(cost(count), 1.0)
        start, end = self.phase

        def show() -> None:
            self.progress(start + (end - start) * min(1.0, (self.spent - before) / due))

        some = np.zeros(len(self.order), bool)
        some[places[:count]] = True
        for (name, locality, key), group in groups.items():
            left = places[missing[key]]
            self._evaluate_group(name, locality, group, left[some[left]], show)
        self.phase = (end, (1.0 + end) / 2)

    def _evaluate_group(
        self, name: str, locality: str, group: list[CandidateSetting], places: Array, show: Callable[[], None]
    ) -> None:
        """Try candidates of one geometry and locality, a batch of examples at a time."""
        geometry, largest = self.geometry(name), max(s.n_neighbors for s in group)
        width = largest * geometry.members if locality == "atoms" else self.candidates.class_width(largest)
        step = int(np.clip(constants.BATCH_ATOMS / max(width, 40) ** 2, 2, 64))
        taken = self.fold if self.candidates.in_folds(name) else 4 * step
        for at in range(0, len(places), taken):
            overspent = self.spent > constants.OVERSPENT * self.budget
            if overspent and not any(np.isnan(self.margins[s]).all() for s in group):
                break
            batch = places[at : at + taken]
            self.spent += self.cost(name, group, len(batch))
            margins = self._left_out_margins(group, self.order[batch], step)
            for candidate, own in zip(group, margins, strict=True):
                self.margins[candidate][batch] = own
            show()

    def _left_out_margins(self, group: list[CandidateSetting], rows: Array, step: int) -> Array:
        """Margins (candidates, B) of the examples ``rows``."""
        geometry, locality = self.geometry(group[0].geometry), group[0].locality
        largest = max(s.n_neighbors for s in group)
        if self.candidates.in_folds(group[0].geometry):
            return self._score(geometry.fold(rows), group)

        def piece(part: slice) -> Array:
            which = rows[part]
            trials = geometry.trials(which, largest) if locality == "atoms" else geometry.class_trials(which, largest)
            return self._score(trials, group)

        return np.concatenate(over_chunks(piece, len(rows), step, self.n_jobs), axis=1)

    def _score(self, trials: Trials, group: list[CandidateSetting]) -> Array:
        """Margins (candidates, B); candidates that share a kernel, a form and the penalties share the work."""
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
            margins = self.scorer.score(trials, gamma, labels.astype(np.int32), sizes, list(mus), form, share)
            for i in members:
                size = 0 if trials.rank is not None else sizes.index(group[i].n_neighbors)
                out[i] = margins[size, mus.index(group[i].mu), self.scorer.decisions.index(group[i].decision)]
        return out


class Search:
    """The search among ``candidates``: which to try next, and which is the best."""

    def __init__(self, evaluator: CandidateEvaluator) -> None:
        self.evaluator, self.candidates = evaluator, evaluator.candidates
        favourite = self.candidates.favourite()
        self.favourites = [] if favourite is None else [favourite]
        self.everywhere = np.arange(len(evaluator.order))

    def run(self, *, brief: bool = False) -> CandidateSetting:
        """The best candidate; ``brief``: nearly as good a one, without steps."""
        self.evaluator.progress(0.0)
        if self.favourites and self.candidates.prior_decides:
            self.evaluator.evaluate(self.favourites, self.everywhere, 1.0)
            return self.favourites[0]
        return self._run_briefly() if brief else self._run()

    def _run(self) -> CandidateSetting:
        evaluator, everywhere = self.evaluator, self.everywhere
        first = {name: found for name in self.candidates.makers if (found := self.candidates.first(name))}
        started = [s for group in first.values() for s in group]
        places = everywhere[: constants.FIRST_TRIALS]
        evaluator.evaluate(list(dict.fromkeys([*started, *self.favourites])), places, constants.SPENT_FIRST)
        kept = self._best_of_kept(started)
        names = self._best_geometries(first)
        settings = list(dict.fromkeys([*(s for name in names for s in first[name]), *self.favourites, *kept]))
        self._find_hard([s for name in names for s in self.leading(first[name], constants.PROBES)])
        classes = [s for name in names for s in self.candidates.first_classes(name)]
        again = dict.fromkeys([*self.favourites, *kept, *self._close(settings)])
        until = constants.SPENT_HARD
        evaluator.evaluate([*again, *self._cheapest(classes, evaluator.hard, until)], evaluator.hard, until)
        settings += classes
        steps = constants.STEPS if len(everywhere) >= constants.FEW_EXAMPLES else constants.STEPS_FEW
        for step in range(steps):
            until = constants.SPENT_HARD + constants.SPENT_STEPS * (step + 1) / steps
            near = dict.fromkeys(n for s in self._leaders(settings) for n in self.candidates.neighbours(s))
            near = {n: None for n in near if n not in evaluator.margins}
            if not near or evaluator.spent > until * evaluator.budget:
                break
            new = self._cheapest(near, evaluator.hard, until)
            evaluator.evaluate(new, evaluator.hard, until)
            settings += new
        return self._final(settings)

    def _run_briefly(self) -> CandidateSetting:
        """From the first candidates straight to the finalists, for callers who choose among many classifiers.

        Of vectors it looks at two geometries, the prior's favoured one and the vectors as they are, since to make one
        costs as much as to try many candidates in it; in each at the candidates that a search starts from, with a
        quarter and twice the atoms.
        """
        names = list(self.candidates.makers)
        if self.favourites:
            names = [name for name in names if name in ("plain", self.favourites[0].geometry)]
        settings = list(dict.fromkeys(sized for name in names for sized in self._first_sized(name)))
        places = self.everywhere[: constants.FIRST_TRIALS_BRIEF]
        self.evaluator.evaluate([*settings, *self.favourites], places, constants.SPENT_BRIEF)
        return self._final(settings)

    def _first_sized(self, name: str) -> list[CandidateSetting]:
        """Where a search would start, with fewer atoms too where their number is open, and with more where no other
        distance searches first because this one is costly."""
        first = self.candidates.first(name)
        if "n_neighbors" in self.candidates.fixed:
            return first
        times = constants.BRIEF_SIZES if self.candidates.n_candidates is None else constants.BRIEF_SIZES[:2]
        sizes = [[max(2, int(factor * s.n_neighbors)) for factor in times] for s in first]
        return [
            replace(s, n_neighbors=min(size, self.candidates.most_atoms(s.geometry, s.kernel)))
            for s, own in zip(first, sizes, strict=True)
            for size in own
        ]

    def _find_hard(self, probes: list[CandidateSetting]) -> None:
        """Find the places about which some probe is wrong, and those that are nearly so."""
        evaluator = self.evaluator
        if any(self.candidates.in_folds(s.geometry) for s in probes):
            return
        evaluator.evaluate(probes, self.everywhere, constants.SPENT_PROBES)
        margins = np.stack([evaluator.margins[s] for s in probes])
        if np.isnan(margins).any():
            return
        wrong = (margins <= 0).any(axis=0)
        rank = margins.argsort(axis=1, kind="stable").argsort(axis=1).min(axis=0)
        count = int(np.clip(constants.HARD_TIMES * wrong.sum(), constants.HARD_LEAST, len(rank)))
        if count < len(rank):
            hard = np.sort(np.lexsort((rank, ~wrong))[:count])
            evaluator.share = count / len(rank)
            evaluator.hard = hard[: constants.HARD_MOST]  # a beginning is a fair sample of them

    # What can be afforded --------------------------------------------------------------------------------------------

    def _affordable(
        self, settings: Iterable[CandidateSetting], places: Array, until: float, most: float = 1.0
    ) -> list[CandidateSetting]:
        """In their order those that can be tried before so much of the budget is spent, each for no more than the share
        ``most`` of what is left of that; the cheapest where that is none."""
        evaluator = self.evaluator
        left, costs = until * evaluator.budget - evaluator.spent, self._costs(settings, places)
        affordable: dict[CandidateSetting, None] = {}
        for s, cost in costs.items():
            same = any(replace(s, decision=other) in affordable for other in DECISIONS)  # both come of one solution
            if same or cost <= most * left:
                left -= 0.0 if same else cost
                affordable[s] = None
        return list(affordable) or sorted(costs, key=lambda s: costs[s])[:1]

    def _cheapest(self, settings: Iterable[CandidateSetting], places: Array, until: float) -> list[CandidateSetting]:
        """As many of them as can be tried, the cheapest first."""
        costs = self._costs(settings, places)
        return self._affordable(sorted(costs, key=lambda s: costs[s]), places, until)

    def _costs(self, settings: Iterable[CandidateSetting], places: Array) -> dict[CandidateSetting, float]:
        """Operations to try each at these places."""
        return {s: self.evaluator.cost(s.geometry, [s], len(places)) for s in settings}

    # Which are the best ----------------------------------------------------------------------------------------------

    def leading(self, settings: Iterable[CandidateSetting], count: int) -> list[CandidateSetting]:
        """The best of those that were tried."""
        evaluator = self.evaluator
        known = {s: evaluator.score(s).accuracy for s in settings if s in evaluator.margins}
        return sorted(known, key=lambda s: (-known[s], evaluator.price(s)))[:count]

    def _leaders(self, settings: list[CandidateSetting]) -> list[CandidateSetting]:
        """Those whose neighbours a step tries: the best of all, and the best of each kind that is close."""
        close = self._close(settings)
        kinds: dict[tuple[str, str, str], list[CandidateSetting]] = {}
        for s in close:
            kinds.setdefault((s.geometry, s.locality, s.kernel), []).append(s)
        best_of_kinds = [s for kind in kinds.values() for s in self.leading(kind, 1)]
        return list(dict.fromkeys([*self.leading(close, constants.LEADERS), *best_of_kinds]))

    def _close(self, settings: list[CandidateSetting]) -> list[CandidateSetting]:
        """Without those that are clearly behind the best: more trials would not change that. What has not been tried
        is close."""
        scores = {s: self.evaluator.score(s) for s in settings if s in self.evaluator.margins}
        best = max(scores.values(), key=lambda score: score.accuracy)
        least = best.accuracy - constants.CLOSE_ERRORS * best.error
        return [s for s in settings if s not in scores or scores[s].accuracy >= least]

    def _best_of_kept(self, settings: Iterable[CandidateSetting]) -> list[CandidateSetting]:
        """The best of each geometry that stays to the end."""
        by_name: dict[str, list[CandidateSetting]] = {name: [] for name in self.candidates.keep}
        for s in settings:
            by_name.get(s.geometry, []).append(s)
        return [s for group in by_name.values() for s in self.leading(group, 1)]

    def _best_geometries(self, first: Mapping[str, list[CandidateSetting]]) -> list[str]:
        """The names of the few that are close to the best; the others are let go."""
        scores = {name: [self.evaluator.score(s) for s in group] for name, group in first.items()}
        best = {name: max(group, key=lambda x: x.accuracy) for name, group in scores.items()}
        top = max(best.values(), key=lambda score: score.accuracy)
        least = top.accuracy - constants.GEOMETRY_ERRORS * max(top.error, constants.GEOMETRY_LEAST)
        near = [name for name in best if best[name].accuracy >= least]
        near.sort(key=lambda name: -best[name].accuracy)
        # One of each kind: the shrinkages of the within-class scaling are near to each other by nature.
        kinds = [name if name in self.candidates.keep else name.split()[0] for name in near]
        keep = [name for at, name in enumerate(near) if kinds[at] not in kinds[:at]][: constants.MOST_GEOMETRIES]
        self.candidates.forget([*keep, *(s.geometry for s in self.favourites)])
        return keep

    def _final(self, settings: list[CandidateSetting]) -> CandidateSetting:
        """Try the finalists on all examples, and take the best of them."""
        leading = self.leading(settings, constants.FINALISTS)
        leading = self._affordable(leading, self.everywhere, constants.SPENT_FINAL, most=constants.DEAREST_FINALIST)
        finalists = list(dict.fromkeys([*leading, *self.favourites, *self._best_of_kept(settings)]))
        self.evaluator.evaluate(finalists, self.everywhere, 1.0)
        # Where the budget ended first, those found late have had fewer trials: half as many are enough to be compared.
        scores = {s: self.evaluator.score(s) for s in finalists}
        trials = max(score.trials for score in scores.values())
        compared = [s for s in finalists if 2 * scores[s].trials >= trials]
        alone = [s for s in compared if s.geometry in self.candidates.alone]
        if alone:  # however clear its answers, the best is right no less often than any of these
            least = max(scores[s].accuracy for s in alone)
            compared = [s for s in compared if scores[s].accuracy >= least]
        return self._best(compared)

    def _best(self, settings: list[CandidateSetting]) -> CandidateSetting:
        """Of those that are nearly as often right as any, the least doubting; of those that doubt no more, the
        cheapest; and a favourite of the prior where that does not beat it clearly."""
        evaluator = self.evaluator
        scores = {s: evaluator.score(s) for s in settings}
        together = ~np.isnan([evaluator.margins[s] for s in settings]).any(axis=0)  # all were tried there
        doubt = {s: doubts(evaluator.margins[s][together]) for s in settings}
        mean = {s: float(doubt[s].mean()) for s in settings}
        top = max(scores.values(), key=lambda score: score.accuracy)
        least = top.accuracy - max(constants.NEAR_ERRORS * top.error, constants.NEAR_EXAMPLES / top.trials)
        near = [s for s in settings if scores[s].accuracy >= least]
        clearest = min(near, key=lambda s: mean[s])

        def is_tied(s: CandidateSetting) -> bool:
            noise = constants.TIED_ERRORS * paired_error(doubt[s], doubt[clearest])
            within = max(constants.TIED_LOSS * mean[clearest], constants.TIED_EXAMPLES / top.trials, noise)
            return mean[s] - mean[clearest] <= within

        same = [s for s in near if is_tied(s)]
        cheapest = min(evaluator.price(s) for s in same)
        best = min((s for s in same if evaluator.price(s) <= constants.SAME_PRICE * cheapest), key=lambda s: mean[s])
        return next((s for s in self.favourites if s in doubt and not self._beats(best, s, doubt)), best)

    def _beats(
        self, one: CandidateSetting, favourite: CandidateSetting, doubt: Mapping[CandidateSetting, Array]
    ) -> bool:
        """Whether it is better than the favourite by more than the noise of the answers: less in doubt, or more often
        right."""
        errors, margins = self.candidates.errors_needed, self.evaluator.margins
        clearer = float((doubt[favourite] - doubt[one]).mean()) > errors * paired_error(doubt[one], doubt[favourite])
        both = ~(np.isnan(margins[one]) | np.isnan(margins[favourite]))
        gained = (margins[one][both] > 0).astype(int) - (margins[favourite][both] > 0)
        return clearer or bool(gained.sum() > errors * np.sqrt(np.abs(gained).sum()))
