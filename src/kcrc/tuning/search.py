"""The search: which setting classifies the stored examples best when each is left out.

A walk on a grid without edges. It starts with a few settings of every geometry; each step tries the neighbours of the
settings that lead (twice and half the atoms, twice and half the kernel's width, ten times and a tenth of the penalty,
the other form, twice and half the dimension after projection) until no leader has an untried neighbour; then the
leaders are compared on more and more examples. All settings of a step are tried on the same examples. Among those that
are right as often as the best, or nearly, the ``loss`` decides, and where that hardly differs the price.

A local dictionary is another for every example left out anyway. A global one is not, and would have to be made anew
for each; there an eighth of the examples is left out together, so that one dictionary serves them all.

The clock decides nothing: the budget is counted in arithmetic, so the same data give the same choice on every machine,
busy or idle. Only a search of which even the fewest trials come to three times its budget is cut short.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kcrc.arrays import Array
from kcrc.left_out.trials import Geometry, Trials
from kcrc.parallel import over_chunks
from kcrc.tuning.costs import SPEED, posing_cost, solving_cost
from kcrc.tuning.field import Bench, Field, SearchBudget
from kcrc.tuning.grid import Grid
from kcrc.tuning.judging import DECISIONS
from kcrc.tuning.loss import loss
from kcrc.tuning.setting import Score, Setting

TRIALS_FIRST, TRIALS_WALK, TRIALS_FINAL = 256, 512, 2500
STEPS, LEADERS, FINALISTS = 6, 6, 32
FEW = 200  # with fewer examples a fine grid would only fit their noise
CLOSE = 2.5  # standard errors
NEAR, NEAR_EXAMPLES = 0.5, 1.01  # standard errors, or examples: right as often as the best, or nearly
TIED, TIED_EXAMPLES = 0.02, 0.75  # of the loss, or a loss of so many examples: less is not worth a higher price
FOLDS = 8  # of a global dictionary
OVERSPENT = 3.0  # times the budget: from there on every setting is tried on no more examples than one batch


class Search:
    """The walk over a field, by who sits on the bench, within a budget."""

    def __init__(self, field: Field, bench: Bench, budget: SearchBudget) -> None:
        self.field, self.bench = field, bench
        self.n_jobs, self.progress = budget.n_jobs, budget.progress
        self.budget, self.spent = SPEED * budget.seconds, 0.0
        self.phase = (0.0, 0.5)
        """The share of the work that the present step begins and ends at: each takes about half of what is left."""
        self.scores: dict[Setting, Score] = {}
        self.margins: dict[Setting, list[Array]] = {}
        self.order = stratified(field.labels, np.random.default_rng(budget.seed), field.eligible)
        self.grid = Grid(field, self.order, iterates=bench.iterates)
        self.geometry = self.grid.geometry

    # How it is tried ------------------------------------------------------------------------------------------------

    def _cost(self, name: str, locality: str, group: list[Setting], trials: int) -> float:
        """Arithmetic of trials of a group of settings, roughly."""
        typical = 1.0 if locality == "atoms" else len(self.field.labels) / self.field.n_classes
        atoms = {
            s: min(float(len(self.field.labels)), s.n_neighbors * typical * self.geometry(name).members) for s in group
        }
        problems = {(s.kernel, s.gamma, s.form, s.n_neighbors, s.share): atoms[s] for s in group}
        solved = {(s.kernel, s.gamma, s.form, s.n_neighbors, s.share, s.mu): atoms[s] for s in group}
        posing = sum(
            posing_cost(k, form, 0.0 if share is None else self.bench.projecting)
            for (_, _, form, _, share), k in problems.items()
        )
        factorising = sum(k**3 / 3 for k in solved.values())
        widest = max(atoms.values())
        if self._together(name):
            folds = -(-trials // self._fold)
            each = self.bench.effort * sum(15.0 * k * k for k in solved.values())
            return self.geometry(name).cost(folds, widest) + trials * each + folds * (posing + factorising)
        solving = sum(solving_cost(k) for k in solved.values())
        return self.geometry(name).cost(trials, widest) + trials * self.bench.effort * (posing + solving)

    @property
    def _fold(self) -> int:
        return max(1, len(self.field.labels) // FOLDS)

    def _together(self, name: str) -> bool:
        """Whether examples are left out together, in folds."""
        return self.field.whole and self.geometry(name).has_folds

    def tried(self, settings: list[Setting], n_trials: int, share: float) -> None:
        """Bring all ``settings`` to ``n_trials`` trials, or to as many as ``share`` of the budget allows.

        Progress goes by the work of this step, not by the budget: small data need a part of that only."""
        groups: dict[tuple[str, str, int], list[Setting]] = {}
        for setting in settings:
            done = self.scores.setdefault(setting, Score()).trials
            groups.setdefault((setting.geometry, setting.locality, done), []).append(setting)
        n_trials = min(n_trials, len(self.order))

        def cost(trials: int) -> float:
            return sum(self._cost(*key[:2], group, max(0, trials - key[2])) for key, group in groups.items())

        while n_trials > 32 and self.spent + cost(n_trials) > share * self.budget:
            n_trials = max(32, n_trials * 3 // 4)
        before, due = self.spent, max(cost(n_trials), 1.0)
        start, end = self.phase
        for (name, locality, done), group in groups.items():
            rows = self.order[done : max(done, n_trials)]
            largest = max(s.n_neighbors for s in group)
            width = largest * (
                self.geometry(name).members if locality == "atoms" else len(self.field.labels) // self.field.n_classes
            )
            step = int(np.clip(6e6 / max(width, 40) ** 2, 2, 64))
            taken = self._fold if self._together(name) else 4 * step
            for at in range(0, len(rows), taken):
                if self.spent > OVERSPENT * self.budget and all(self.scores[s].trials for s in group):
                    break
                batch = rows[at : at + taken]
                self.spent += self._cost(name, locality, group, len(batch))
                margins = self._left_out(self.geometry(name), locality, group, batch, step)
                for setting, own in zip(group, margins, strict=True):
                    self.margins.setdefault(setting, []).append(own)
                    self.scores[setting].right += int((own > 0).sum())
                    self.scores[setting].trials += len(batch)
                self.progress(start + (end - start) * min(1.0, (self.spent - before) / due))
        self.phase = (end, (1.0 + end) / 2)

    def _left_out(self, geometry: Geometry, locality: str, group: list[Setting], rows: Array, step: int) -> Array:
        """Margins (settings, B) of the examples ``rows``."""
        largest = max(s.n_neighbors for s in group)
        if self.field.whole and geometry.has_folds:
            return self._margins(geometry.fold(rows), group)

        def piece(part: slice) -> Array:
            which = rows[part]
            trials = geometry.trials(which, largest) if locality == "atoms" else geometry.class_trials(which, largest)
            return self._margins(trials, group)

        return np.concatenate(over_chunks(piece, len(rows), step, self.n_jobs), axis=1)

    def _margins(self, trials: Trials, group: list[Setting]) -> Array:
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
            found = self.bench.judge(trials, gamma, labels.astype(np.int32), sizes, list(mus), form, share)
            for i in members:
                size = 0 if trials.rank is not None else sizes.index(group[i].n_neighbors)
                out[i] = found[size, mus.index(group[i].mu), DECISIONS.index(group[i].decision)]
        return out

    # The steps ------------------------------------------------------------------------------------------------------

    def leading(self, settings: Iterable[Setting], count: int) -> list[Setting]:
        return sorted(settings, key=lambda s: (-self.scores[s].accuracy, self._price(s)))[:count]

    def run(self) -> Setting:
        """The best setting."""
        self.progress(0.0)
        first = {name: self.grid.first(name) for name in self.grid.makers}
        self.tried([s for group in first.values() for s in group], TRIALS_FIRST, 0.25)
        kept = self._kept([s for group in first.values() for s in group])
        names = self._best_geometries(first)
        settings = list(dict.fromkeys([*(s for name in names for s in first[name]), *kept]))
        n_trials = min(TRIALS_WALK, len(self.order))
        self.tried(list(dict.fromkeys([*self._close(settings), *kept])), n_trials, 0.35)
        steps = STEPS if len(self.order) >= FEW else 2
        for step in range(steps):
            leaders = self._leaders(settings)
            new = {n: None for s in leaders for n in self.grid.neighbours(s) if n not in self.scores}
            if not new or self.spent > 0.65 * self.budget:
                break
            self.tried(list(new), n_trials, 0.35 + 0.3 * (step + 1) / steps)
            settings += new
        return self._final(settings)

    def _leaders(self, settings: list[Setting]) -> list[Setting]:
        """Those the walk goes on from: the best of all, and the best of each kind that is close."""
        close = self._close(settings)
        kinds: dict[tuple[str, str, str], list[Setting]] = {}
        for s in close:
            kinds.setdefault((s.geometry, s.locality, s.kernel), []).append(s)
        best_of_kinds = [s for kind in kinds.values() for s in self.leading(kind, 2)]
        return list(dict.fromkeys([*self.leading(close, LEADERS), *best_of_kinds]))

    def _close(self, settings: list[Setting]) -> list[Setting]:
        """Without those that are clearly behind the best: more trials would not change that."""
        best = max((self.scores[s] for s in settings), key=lambda score: score.accuracy)
        return [s for s in settings if self.scores[s].accuracy >= best.accuracy - CLOSE * best.error]

    def _kept(self, settings: Iterable[Setting]) -> list[Setting]:
        """The best setting of each geometry that stays to the end."""
        settings = list(settings)
        return [s for name in self.field.keep for s in self.leading([s for s in settings if s.geometry == name], 1)]

    def _best_geometries(self, first: Mapping[str, list[Setting]]) -> list[str]:
        best = {name: max((self.scores[s] for s in group), key=lambda x: x.accuracy) for name, group in first.items()}
        top = max(best.values(), key=lambda score: score.accuracy)
        near = [name for name in best if best[name].accuracy >= top.accuracy - 2 * max(top.error, 0.004)]
        near.sort(key=lambda name: -best[name].accuracy)
        # One of each kind: the shrinkages of the within-class metric are near to each other by nature.
        kinds = [name if name in self.field.keep else name.split()[0] for name in near]
        keep = [name for at, name in enumerate(near) if kinds[at] not in kinds[:at]][:3]
        self.grid.forget(keep)
        return keep

    def _final(self, settings: list[Setting]) -> Setting:
        trials = max(self.scores[s].trials for s in settings)
        known = self.leading([s for s in settings if 2 * self.scores[s].trials >= trials], FINALISTS // 4)
        finalists = list(dict.fromkeys([*self.leading(settings, FINALISTS), *known, *self._kept(settings)]))
        n_trials, most = TRIALS_WALK, min(TRIALS_FINAL, len(self.order))
        self.tried(finalists, n_trials, 0.7)  # those of the start may have had fewer trials
        while n_trials < most and self.spent < 0.95 * self.budget:
            n_trials = min(2 * n_trials, most)
            self.tried(finalists, n_trials, 0.95)
            best = [*self.leading(finalists, max(8, len(finalists) // 2)), *self._kept(finalists)]
            finalists = list(dict.fromkeys(best))
        # Where the budget ended first, those found late have had fewer trials: half as many are enough to be compared.
        trials = max(self.scores[s].trials for s in finalists)
        compared = self.leading([s for s in finalists if 2 * self.scores[s].trials >= trials], len(finalists))
        for setting, margins in self.margins.items():
            self.scores[setting].loss = loss(np.concatenate(margins))
        alone = [s for s in compared if s.geometry in self.field.alone]
        if alone:  # however clear its answers, the best is right no less often than any of these
            least = max(self.scores[s].accuracy for s in alone)
            compared = [s for s in compared if self.scores[s].accuracy >= least]
        return self._best(compared)

    def _best(self, settings: list[Setting]) -> Setting:
        """Of those that are nearly as often right as any, the least doubting; of those, the cheapest."""
        top = max((self.scores[s] for s in settings), key=lambda score: score.accuracy)
        least = top.accuracy - max(NEAR * top.error, NEAR_EXAMPLES / top.trials)
        near = [s for s in settings if self.scores[s].accuracy >= least]
        clearest = min(self.scores[s].loss for s in near)
        most = clearest + max(TIED * clearest, TIED_EXAMPLES / top.trials)
        tied = [s for s in near if self.scores[s].loss <= most]
        return min(tied, key=lambda s: (self._price(s), self.scores[s].loss))

    def _price(self, setting: Setting) -> float:
        """Of an answer: the union of several members' nearest examples is as large as all of them together."""
        atoms = setting.n_neighbors * self.geometry(setting.geometry).members
        return replace(setting, n_neighbors=min(atoms, len(self.field.labels))).cost


def stratified(labels: Array, rng: np.random.Generator, eligible: Array) -> Array:
    """The eligible rows in an order of which every beginning holds the classes in their own shares."""
    rows = np.flatnonzero(eligible)
    place = np.empty(len(rows))
    for c in np.unique(labels[rows]):
        mine = np.flatnonzero(labels[rows] == c)
        place[mine] = (rng.permutation(len(mine)) + rng.random(len(mine))) / len(mine)
    return rows[np.argsort(place, kind="stable")]
