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

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from kcrc._base.arrays import Array
from kcrc.tuning import prior
from kcrc.tuning.judging import DECISIONS
from kcrc.tuning.loss import doubts, paired_error
from kcrc.tuning.setting import Score, Setting
from kcrc.tuning.trying import Trying

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


class Search(Trying):
    """The walk over a field, by who sits on the bench, within a budget."""

    def run(self) -> Setting:
        """The best setting."""
        self.progress(0.0)
        everywhere = np.arange(len(self.order))
        favourite = prior.favourite(self.grid)
        self.favourites = [] if favourite is None else [favourite]
        if favourite is not None and self.mates < prior.FEWEST_MATES:
            self.tried(self.favourites, everywhere, 1.0)
            return favourite
        first = {name: found for name in self.grid.makers if (found := self.grid.first(name))}
        started = [s for group in first.values() for s in group]
        self.tried(list(dict.fromkeys([*started, *self.favourites])), everywhere[:TRIALS_FIRST], 0.25)
        kept = self._kept(started)
        names = self._best_geometries(first)
        settings = list(dict.fromkeys([*(s for name in names for s in first[name]), *self.favourites, *kept]))
        self._find_hard([s for name in names for s in self.leading(first[name], PROBES)], everywhere)
        classes = [s for name in names for s in self.grid.first_classes(name)]
        again = dict.fromkeys([*self.favourites, *kept, *self._close(settings)])
        self.tried([*again, *self._cheapest(classes, self.hard, 0.4)], self.hard, 0.4)
        settings += classes
        steps = STEPS if len(self.order) >= FEW else 2
        for step in range(steps):
            until = 0.4 + 0.3 * (step + 1) / steps
            near = {n: None for s in self._leaders(settings) for n in self.grid.neighbours(s) if n not in self.margins}
            if not near or self.spent > until * self.budget:
                break
            new = self._cheapest(near, self.hard, until)
            self.tried(new, self.hard, until)
            settings += new
        return self._final(settings, everywhere)

    def _find_hard(self, probes: list[Setting], everywhere: Array) -> None:
        """The places about which some probe is wrong, and those that are nearly so."""
        if any(self._together(s.geometry) for s in probes):
            return
        self.tried(probes, everywhere, 0.35)
        margins = np.stack([self.margins[s] for s in probes])
        if np.isnan(margins).any():
            return
        wrong = (margins <= 0).any(axis=0)
        rank = margins.argsort(axis=1, kind="stable").argsort(axis=1).min(axis=0)
        count = int(np.clip(HARD * wrong.sum(), HARD_LEAST, len(self.order)))
        if count < len(self.order):
            self.share = count / len(self.order)
            self.hard = np.sort(np.lexsort((rank, ~wrong))[:count])[:HARD_MOST]  # a beginning is a fair sample of them

    def _affordable(self, settings: Iterable[Setting], places: Array, until: float, most: float = 1.0) -> list[Setting]:
        """In their order those that can be tried before so much of the budget is spent, each for no more than the share
        ``most`` of what is left of that; the cheapest where that is none."""
        left, each = until * self.budget - self.spent, self._prices(settings, places)
        found: dict[Setting, None] = {}
        for s, price in each.items():
            same = any(replace(s, decision=other) in found for other in DECISIONS)  # both come of one solution
            if same or price <= most * left:
                left -= 0.0 if same else price
                found[s] = None
        return list(found) or sorted(each, key=lambda s: each[s])[:1]

    def _cheapest(self, settings: Iterable[Setting], places: Array, until: float) -> list[Setting]:
        """As many of them as can be tried, the cheapest first."""
        each = self._prices(settings, places)
        return self._affordable(sorted(each, key=lambda s: each[s]), places, until)

    def _prices(self, settings: Iterable[Setting], places: Array) -> dict[Setting, float]:
        """Arithmetic of trying each at these places."""
        return {s: self.cost(s.geometry, s.locality, [s], len(places)) for s in settings}

    def leading(self, settings: Iterable[Setting], count: int) -> list[Setting]:
        """The best of those that were tried."""
        known = {s: self.score(s).accuracy for s in settings if s in self.margins}
        return sorted(known, key=lambda s: (-known[s], self.price(s)))[:count]

    def _leaders(self, settings: list[Setting]) -> list[Setting]:
        """Those the walk goes on from: the best of all, and the best of each kind that is close."""
        close = self._close(settings)
        kinds: dict[tuple[str, str, str], list[Setting]] = {}
        for s in close:
            kinds.setdefault((s.geometry, s.locality, s.kernel), []).append(s)
        best_of_kinds = [s for kind in kinds.values() for s in self.leading(kind, 1)]
        return list(dict.fromkeys([*self.leading(close, LEADERS), *best_of_kinds]))

    def _close(self, settings: list[Setting]) -> list[Setting]:
        """Without those that are clearly behind the best: more trials would not change that. What has not been tried
        is close."""
        scores = {s: self.score(s) for s in settings if s in self.margins}
        best = max(scores.values(), key=lambda score: score.accuracy)
        least = best.accuracy - CLOSE * best.error
        return [s for s in settings if s not in scores or scores[s].accuracy >= least]

    def _kept(self, settings: Iterable[Setting]) -> list[Setting]:
        """The best setting of each geometry that stays to the end."""
        settings = list(settings)
        return [s for name in self.field.keep for s in self.leading([s for s in settings if s.geometry == name], 1)]

    def _best_geometries(self, first: Mapping[str, list[Setting]]) -> list[str]:
        best = {name: max((self.score(s) for s in group), key=lambda x: x.accuracy) for name, group in first.items()}
        top = max(best.values(), key=lambda score: score.accuracy)
        near = [name for name in best if best[name].accuracy >= top.accuracy - 2 * max(top.error, 0.004)]
        near.sort(key=lambda name: -best[name].accuracy)
        # One of each kind: the shrinkages of the within-class metric are near to each other by nature.
        kinds = [name if name in self.field.keep else name.split()[0] for name in near]
        keep = [name for at, name in enumerate(near) if kinds[at] not in kinds[:at]][:3]
        self.grid.forget([*keep, *(s.geometry for s in self.favourites)])
        return keep

    def _final(self, settings: list[Setting], everywhere: Array) -> Setting:
        leading = self._affordable(self.leading(settings, FINALISTS), everywhere, 0.95, most=DEAREST)
        finalists = list(dict.fromkeys([*leading, *self.favourites, *self._kept(settings)]))
        self.tried(finalists, everywhere, 1.0)
        # Where the budget ended first, those found late have had fewer trials: half as many are enough to be compared.
        trials = max(self.score(s).trials for s in finalists)
        compared = [s for s in finalists if 2 * self.score(s).trials >= trials]
        alone = [s for s in compared if s.geometry in self.field.alone]
        if alone:  # however clear its answers, the best is right no less often than any of these
            least = max(self.score(s).accuracy for s in alone)
            compared = [s for s in compared if self.score(s).accuracy >= least]
        return self._best(compared)

    def _best(self, settings: list[Setting]) -> Setting:
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

        def tied(s: Setting) -> bool:
            noise = TIED_ERRORS * paired_error(doubt[s], doubt[clearest])
            return mean[s] - mean[clearest] <= max(TIED * mean[clearest], TIED_EXAMPLES / top.trials, noise)

        same = [s for s in near if tied(s)]
        cheapest = min(self.price(s) for s in same)
        best = min((s for s in same if self.price(s) <= SAME_PRICE * cheapest), key=lambda s: mean[s])
        return next((s for s in self.favourites if s in doubt and not self._beats(best, s, doubt)), best)

    def _beats(self, one: Setting, favourite: Setting, doubt: Mapping[Setting, Array]) -> bool:
        """Whether it is better than the favourite by more than the noise of the answers: less in doubt, or more often
        right."""
        errors = prior.errors_needed(self.mates)
        clearer = float((doubt[favourite] - doubt[one]).mean()) > errors * paired_error(doubt[one], doubt[favourite])
        both = ~(np.isnan(self.margins[one]) | np.isnan(self.margins[favourite]))
        gained = (self.margins[one][both] > 0).astype(int) - (self.margins[favourite][both] > 0)
        return clearer or bool(gained.sum() > errors * np.sqrt(np.abs(gained).sum()))

    @property
    def scores(self) -> dict[Setting, Score]:
        """Of all that was tried, by the examples each was asked about."""
        found = {}
        for setting, margins in self.margins.items():
            score = self.score(setting)
            asked = margins[self.hard] if score.share < 1.0 else margins
            loss = score.share * float(np.nanmean(doubts(asked)))
            found[setting] = replace(score, loss=loss, price=self.price(setting))
        return found
