"""How settings are tried: the examples that are asked, what a setting made of each of them, and what that has cost.

Examples stand in a stratified order, of which the search asks some places. What every setting answered at every place
is kept, so that settings are compared on the very same examples and nobody is asked twice.

The clock decides nothing: the budget is counted in arithmetic, so the same data give the same choice on every machine,
busy or idle. Only a search of which even the fewest trials come to three times its budget is cut short.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.parallel import over_chunks
from kcrc.tuning.costs import DOUBLE, SPEED, posing_cost, solving_cost
from kcrc.tuning.field import Bench, Field, SearchBudget
from kcrc.tuning.grid import Grid
from kcrc.tuning.judging import needs_double
from kcrc.tuning.left_out.trials import Geometry, Trials
from kcrc.tuning.setting import Score, Setting

MOST = 2500  # examples asked
FEWEST = 32  # so many are asked whatever it costs
FOLDS = 8  # of a global dictionary
OVERSPENT = 3.0  # times the budget: from there on every setting is tried on no more examples than one batch


class Trying:
    """The left-out answers of settings on a field, by who sits on the bench, within a budget."""

    def __init__(self, field: Field, bench: Bench, budget: SearchBudget) -> None:
        self.field, self.bench = field, bench
        self.n_jobs, self.progress = budget.n_jobs, budget.progress
        self.budget, self.spent = SPEED * budget.seconds, 0.0
        self.phase = (0.0, 0.5)
        """The share of the work that the present step begins and ends at: each takes about half of what is left."""
        self.order = stratified(field.labels, np.random.default_rng(budget.seed), field.eligible)[:MOST]
        self.margins: dict[Setting, Array] = {}  # by place in the order; NaN where not asked
        self.hard = np.arange(len(self.order))  # the places that tell settings apart, see ``Search``
        self.share = 1.0  # of all places, that those are (or stand for)
        self.grid = Grid(field, self.order, iterates=bench.iterates)
        self.geometry = self.grid.geometry

    @property
    def mates(self) -> float:
        """How many examples the class of one that is asked typically has, itself included."""
        labels = self.field.labels
        return float(np.median(np.bincount(labels)[labels[self.order]]))

    # What is known ---------------------------------------------------------------------------------------------------

    def score(self, setting: Setting) -> Score:
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

    def cost(self, name: str, locality: str, group: list[Setting], trials: int) -> float:
        """Arithmetic of trials of a group of settings, roughly."""
        atoms = {s: self.atoms(s) for s in group}
        problems = {(s.kernel, s.gamma, s.form, s.n_neighbors, s.share): atoms[s] for s in group}
        solved = {(s.kernel, s.gamma, s.form, s.n_neighbors, s.share, s.mu): atoms[s] for s in group}
        posing = sum(
            posing_cost(k, form, 0.0 if share is None else self.bench.projecting)
            for (_, _, form, _, share), k in problems.items()
        )
        widest = max(atoms.values())
        if self._together(name):
            folds = -(-trials // self._fold)
            factorising = sum(k**3 / 3 for k in solved.values())
            each = self.bench.effort * sum(15.0 * k * k for k in solved.values())
            return self.geometry(name).cost(folds, widest) + trials * each + folds * (posing + factorising)
        solving = sum(
            solving_cost(k) * (DOUBLE if needs_double(int(k), mu, True) else 1.0) for (*_, mu), k in solved.items()
        )
        return self.geometry(name).cost(trials, widest) + trials * self.bench.effort * (posing + solving)

    def atoms(self, setting: Setting) -> float:
        """Of a dictionary: the union of several members' nearest examples is as large as all of them together."""
        typical = 1.0 if setting.locality == "atoms" else self.field.typical_class
        every = setting.n_neighbors * typical * self.grid.members(setting.geometry)
        return min(float(len(self.field.labels)), every)

    def price(self, setting: Setting) -> float:
        """Arithmetic of one answer, roughly: to find its dictionary, and to pose and solve its problem."""
        k, projecting = self.atoms(setting), 0.0 if setting.share is None else self.bench.projecting
        stage = posing_cost(k, setting.form, projecting) + solving_cost(k)
        return self.grid.finding(setting.geometry) + self.bench.effort * stage

    @property
    def _fold(self) -> int:
        return max(1, len(self.field.labels) // FOLDS)

    def _together(self, name: str) -> bool:
        """Whether examples are left out together, in folds."""
        return self.field.whole and self.geometry(name).has_folds

    # How it is tried -------------------------------------------------------------------------------------------------

    def tried(self, settings: list[Setting], places: Array, share: float) -> None:
        """Ask all ``settings`` at these places, or at so many of the first as ``share`` of the budget allows.

        Progress goes by the work of this step, not by the budget: small data need a part of that only."""
        groups: dict[tuple[str, str, bytes], list[Setting]] = {}
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
            self._asked(*key[:2], group, open_[key][np.isin(open_[key], places[:count])], shown)
        self.phase = (end, (1.0 + end) / 2)

    def _asked(self, name: str, locality: str, group: list[Setting], places: Array, shown: Callable[[], None]) -> None:
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
            found = self._left_out(self.geometry(name), locality, group, self.order[batch], step)
            for setting, own in zip(group, found, strict=True):
                self.margins[setting][batch] = own
            shown()

    def _left_out(self, geometry: Geometry, locality: str, group: list[Setting], rows: Array, step: int) -> Array:
        """Margins (settings, B) of the examples ``rows``."""
        largest = max(s.n_neighbors for s in group)
        if self.field.whole and geometry.has_folds:
            return self._judged(geometry.fold(rows), group)

        def piece(part: slice) -> Array:
            which = rows[part]
            trials = geometry.trials(which, largest) if locality == "atoms" else geometry.class_trials(which, largest)
            return self._judged(trials, group)

        return np.concatenate(over_chunks(piece, len(rows), step, self.n_jobs), axis=1)

    def _judged(self, trials: Trials, group: list[Setting]) -> Array:
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
                out[i] = found[size, mus.index(group[i].mu), self.bench.decisions.index(group[i].decision)]
        return out


def stratified(labels: Array, rng: np.random.Generator, eligible: Array) -> Array:
    """The eligible rows in an order of which every beginning holds the classes in their own shares."""
    rows = np.flatnonzero(eligible)
    place = np.empty(len(rows))
    for c in np.unique(labels[rows]):
        mine = np.flatnonzero(labels[rows] == c)
        place[mine] = (rng.permutation(len(mine)) + rng.random(len(mine))) / len(mine)
    return rows[np.argsort(place, kind="stable")]
