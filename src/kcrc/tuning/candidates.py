"""The candidates of a search: where it starts, which lie one step from another, and what the prior holds best.

Nothing is at an edge but what would be meaningless: the steps are factors, and there is always one more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method import coding, projections
from kcrc.method.projections.base import Projection
from kcrc.tuning import constants
from kcrc.tuning.left_out.trials import Geometry
from kcrc.tuning.result import CandidateSetting
from kcrc.tuning.scoring import DECISIONS
from kcrc.tuning.settings import MethodSettings, is_open


def fixed_values(settings: MethodSettings, *, atoms: int) -> dict[str, Any]:
    """The values of parameters that have one; ``atoms``: how many examples a global dictionary has."""
    member, coder, projection = settings.member, settings.coder, settings.member.projection
    names = ("n_neighbors", "gamma", "mu", "form", "decision", "locality")
    fixed = {name: getattr(member, name) for name in names if not is_open(getattr(member, name))}
    if settings.global_dictionary:
        fixed["n_neighbors"] = atoms
    if "n_neighbors" in fixed or not settings.of_products:
        fixed.setdefault("locality", "atoms")  # a given number counts examples, unless the caller says classes
    part = projections.resolve(projection)
    if isinstance(projection, Projection) or not part.has_components:
        fixed["share"] = None
    if not isinstance(coder, str):
        fixed["mu"] = getattr(coder, "mu", 0.01)
    if coding.resolve(coder).needs_columns or not part.identity:
        fixed.setdefault("form", "gram")
    return fixed


@dataclass(eq=False)
class Candidates:
    """The candidates among which a search chooses, and the examples that it leaves out.

    makers    geometries by name, each made when it is first needed
    labels    (n,) class numbers
    order     rows of the examples that can be left out, in a stratified order; the first ones give the kernels' widths
    kernels   to try
    fixed     values of parameters that have one
    iterates  whether the coder does
    n_candidates  atoms that n_neighbors may count; None for all but the example that is left out
    whole     whether the dictionary is the global one
    favoured  the geometry of the prior's favourite; None where it has none
    keep      geometries of which the best candidate stays to the end
    alone     geometries that the best candidate must not be below
    """

    makers: Mapping[str, Callable[[], Geometry]]
    labels: Array
    order: Array
    kernels: tuple[str, ...]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    iterates: bool = False
    n_candidates: int | None = None
    whole: bool = False
    favoured: str | None = None
    keep: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    made: dict[str, Geometry] = field(default_factory=dict)  # geometries, until they are let go
    facts: dict[str, tuple[int, float]] = field(default_factory=dict)  # what is kept of each
    base: dict[str, float] = field(default_factory=dict)  # gamma at which a kernel is as wide as the neighbourhood

    @property
    def largest(self) -> int:
        """Atoms that a dictionary can have."""
        return min(len(self.labels) - 1, self.n_candidates or len(self.labels))

    @cached_property
    def n_classes(self) -> int:
        return int(self.labels.max()) + 1

    # The examples -----------------------------------------------------------------------------------------------

    @cached_property
    def _class_sizes(self) -> Array:
        return np.sort(np.bincount(self.labels))[::-1]

    def class_width(self, count: int) -> int:
        """Examples of so many whole classes at most."""
        return int(self._class_sizes[:count].sum())

    def classes_within(self, atoms: int) -> int:
        """How many whole classes are no more examples than that, whichever they are."""
        return int(np.searchsorted(np.cumsum(self._class_sizes), atoms, side="right"))

    @cached_property
    def typical_class(self) -> float:
        """Examples of a class that is near: of the class of an example taken at random, Σ n² / n. Where classes are of
        one size that is their size; a large class is near as often as it is large."""
        sizes = self._class_sizes.astype(float)
        return float((sizes**2).sum() / sizes.sum())

    @cached_property
    def examples_per_class(self) -> float:
        """How many examples the class of one that is left out typically has, itself included."""
        return float(np.median(np.bincount(self.labels)[self.labels[self.order]]))

    # The geometries ---------------------------------------------------------------------------------------------

    def geometry(self, name: str) -> Geometry:
        """The geometry of this name, made once."""
        if name not in self.made:
            self.made[name] = self.makers[name]()
            self.facts[name] = self.made[name].members, self.made[name].finding
        return self.made[name]

    def facts_of(self, name: str) -> tuple[int, float]:
        """How many distances' nearest examples make up a dictionary of this geometry; operations to find one."""
        if name not in self.facts:
            self.geometry(name)
        return self.facts[name]

    def in_folds(self, name: str) -> bool:
        """Whether examples of this geometry are left out together, in folds."""
        return self.whole and self.geometry(name).has_folds

    def forget(self, keep: Iterable[str]) -> None:
        """Let go of all geometries but those to ``keep``."""
        self.made = {name: made for name, made in self.made.items() if name in set(keep)}

    # The candidates ---------------------------------------------------------------------------------------------

    def most_atoms(self, name: str, kernel: str) -> int:
        """Atoms that a dictionary is tried with.

        Vectors about the mean of the examples add up to 0: an example that is left out is minus the sum of all others,
        whose class has one atom too few, and a kernel of dot products sees that (of noise it answers seven in ten
        right). Among half of the others it hardly does, and those stand for more of them. Where examples are left
        out in folds, none is alone in what is missing.
        """
        telling = kernel in ("linear", "given") and self.geometry(name).centred and not self.in_folds(name)
        return max(1, int(constants.CENTRED_SHARE * self.largest)) if telling else self.largest

    def most_classes(self, name: str, kernel: str) -> int:
        """Whole classes that a dictionary is tried with."""
        most = self.most_atoms(name, kernel)
        return self.n_classes if most == self.largest else max(1, self.classes_within(most))

    @property
    def affordable_classes(self) -> int:
        """Whole classes that are few enough atoms, and no more than twice as many where the largest are near."""
        usual = int(constants.MOST_CLASS_ATOMS / self.typical_class + 1e-9)
        return min(usual, self.classes_within(2 * constants.MOST_CLASS_ATOMS))

    def first(self, name: str) -> list[CandidateSetting]:
        """Where the search starts in a geometry: with atoms, which cost less, where whole classes are not asked for."""
        return self._starts(name, self._open("locality", ("atoms",)))

    def first_classes(self, name: str) -> list[CandidateSetting]:
        """Where it starts with whole classes, where atoms are not asked for."""
        return self._starts(name, () if "locality" in self.fixed else ("classes",))

    def _open(self, name: str, otherwise: Iterable[Any]) -> list[Any]:
        return [self.fixed[name]] if name in self.fixed else list(otherwise)

    def _starts(self, name: str, localities: Iterable[str]) -> list[CandidateSetting]:
        found = []
        for kernel, gamma in self._widths(name):
            for locality in localities:
                for size in self._first_sizes(name, locality, kernel):
                    gram = self.fixed.get("form") == "gram" and not self.iterates
                    start = constants.FIRST_PENALTIES_GRAM if gram else constants.FIRST_PENALTIES
                    for mu in self._open("mu", start):
                        form = self._open("form", ("rkhs",))[0]
                        for share in self._open("share", constants.FIRST_SHARES):
                            one = CandidateSetting(name, locality, size, kernel, gamma, mu, form, DECISIONS[0], share)
                            found += self._both(one)
        return list(dict.fromkeys(found))

    def _both(self, candidate: CandidateSetting) -> list[CandidateSetting]:
        """The candidate under both decisions: the second costs nothing."""
        return [replace(candidate, decision=decision) for decision in self._open("decision", DECISIONS)]

    def _first_sizes(self, name: str, locality: str, kernel: str) -> list[int]:
        if locality == "atoms":  # a union of many is as large as the nearest of one
            members = self.geometry(name).members
            most = self.most_atoms(name, kernel)
            if "n_neighbors" in self.fixed:
                given = min(int(self.fixed["n_neighbors"]), self.largest)
                return [given] if given <= most or len(self.makers) == 1 else []  # other scalings are compared fairly
            return sorted({min(max(4, s // members), most) for s in constants.FIRST_SIZES})
        most = self.most_classes(name, kernel)
        if "locality" not in self.fixed and min(self.affordable_classes, self.n_classes - 1, most) < 2:
            return []  # two classes are too many atoms, or all there are
        if "n_neighbors" in self.fixed:
            given = min(int(self.fixed["n_neighbors"]), self.n_classes)
            return [given] if given <= most or len(self.makers) == 1 else []
        count = int(np.clip(constants.FIRST_CLASS_ATOMS / self.typical_class, 2, constants.FIRST_CLASSES))
        return [min(most, max(2, self.affordable_classes), count)]

    def _widths(self, name: str) -> list[tuple[str, float | None]]:
        """(kernel, gamma) pairs; gammas are placed from the data's own distances."""
        pairs: list[tuple[str, float | None]] = []
        for kernel in self.kernels:
            if kernel in ("linear", "given"):
                pairs.append((kernel, None))
            elif "gamma" in self.fixed:
                given = self.fixed["gamma"]
                pairs.append((kernel, self.geometry(name).scale if given == "scale" else float(given)))
            else:
                if name not in self.base:
                    some = self.order[: constants.WIDTH_EXAMPLES]
                    cross = self.geometry(name).trials(some, constants.WIDTH_NEIGHBOUR).cross
                    assert cross is not None
                    near = float(np.median(cross))
                    base = 1.0 / near if near > 0 else 0.0
                    self.base[name] = base if 0.0 < base < np.inf else 1.0  # squares overflow, or vanish
                pairs += [(kernel, factor * self.base[name]) for factor in constants.FIRST_WIDTHS]
        return pairs

    def neighbours(self, s: CandidateSetting) -> list[CandidateSetting]:
        """Candidates one step from ``s`` along each parameter that is open."""
        out = []
        if "n_neighbors" not in self.fixed:
            out += [replace(s, n_neighbors=size) for size in self._other_sizes(s)]
        if "mu" not in self.fixed:
            least, most = self._least_penalty(s), constants.MOST_PENALTY
            out += [replace(s, mu=mu) for mu in (_round(s.mu / 10), _round(s.mu * 10)) if least <= mu <= most]
        if "gamma" not in self.fixed and s.gamma is not None:
            base, most = self.base[s.geometry], constants.WIDTH_RANGE
            out += [replace(s, gamma=g) for g in (s.gamma / 2, s.gamma * 2) if 1 / most <= g / base <= most]
        if s.share is not None and "share" not in self.fixed:
            shares = (s.share / 2, 2 * s.share)
            out += [replace(s, share=share) for share in shares if constants.LEAST_SHARE <= share <= 1]
        if "form" not in self.fixed and s.locality == "atoms":
            out.append(replace(s, form="gram" if s.form == "rkhs" else "rkhs"))
        return [both for one in out for both in self._both(one)]

    def _least_penalty(self, s: CandidateSetting) -> float:
        if self.iterates:
            return constants.LEAST_PENALTY_ITERATING
        gram = s.form == "gram" and self.in_folds(s.geometry)
        return constants.LEAST_PENALTY_GRAM if gram else constants.LEAST_PENALTY

    def _other_sizes(self, s: CandidateSetting) -> list[int]:
        if s.locality == "atoms":
            most = min(constants.MOST_ATOMS // self.geometry(s.geometry).members, self.most_atoms(s.geometry, s.kernel))
        else:
            most = min(self.affordable_classes, self.most_classes(s.geometry, s.kernel))
        return [size for size in (s.n_neighbors // 2, 2 * s.n_neighbors) if 2 <= size <= most]

    # The prior --------------------------------------------------------------------------------------------------

    def favourite(self) -> CandidateSetting | None:
        """What the prior holds best, with the values that are fixed; None where it knows nothing of such examples.

        With 2 to 8 examples per class left-out answers are few, and each comes from classes that are smaller by the one
        left out. So a candidate has to beat the prior's favourite by more than the noise of the answers, and by the
        more, the fewer examples a class has. With two per class the prior decides alone: leaving one out leaves a
        single one of its class, and what wins there loses where there are two.

        ``lab.experiments.studies.prior`` made the table it rests on: 144 fixed settings, few examples of each class of
        nine sets, six public and three made up; training rows only. Mean points below the best setting of each set:

            examples per class                                              2     4     8    16
            scaled, within own; 50 nearest, RBF, mu = 0.1, residual       2.4   2.3   2.4   2.2   the favourite
            the best of that number                                       2.3   1.9   2.4   2.0

        "own" is the shrinkage d / (n − 1 + d), the RBF as wide as the data ("scale"). The best differ from it by less
        than the table is sure of. Where all vectors have the same length nothing is to be scaled.
        """
        prior = constants.FAVOURITE
        if self.favoured is None or prior["kernel"] not in self.kernels or self.whole:
            return None
        wanted = {**prior, **self.fixed}
        largest = self.largest if wanted["locality"] == "atoms" else self.n_classes
        scale = self.geometry(self.favoured).scale
        gamma = scale if wanted["gamma"] == "scale" else float(wanted["gamma"])
        wanted |= {"gamma": gamma, "n_neighbors": min(wanted["n_neighbors"], largest)}
        return CandidateSetting(self.favoured, **wanted)

    @property
    def prior_decides(self) -> bool:
        """Whether examples per class are too few for any other candidate."""
        return self.examples_per_class < constants.PRIOR_ALONE

    @property
    def errors_needed(self) -> float:
        """Standard errors by which a candidate has to beat the favourite."""
        return constants.PRIOR_ERRORS / self.examples_per_class


def _round(mu: float) -> float:
    """Powers of ten reached from above and from below are the same number."""
    return float(f"{mu:.6g}")


def stratify(labels: Array, rng: np.random.Generator, eligible: Array) -> Array:
    """The eligible rows in an order of which every beginning holds the classes in their own shares."""
    rows = np.flatnonzero(eligible)
    place = np.empty(len(rows))
    for c in np.unique(labels[rows]):
        mine = np.flatnonzero(labels[rows] == c)
        place[mine] = (rng.permutation(len(mine)) + rng.random(len(mine))) / len(mine)
    return rows[np.argsort(place, kind="stable")]
