"""The grid the search walks on: where it starts, and which settings lie beside one.

Nothing is at an edge but what would be meaningless: the steps are factors, and there is always one more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.tuning.field import Field
from kcrc.tuning.left_out.trials import Geometry
from kcrc.tuning.result import Candidate
from kcrc.tuning.scoring import DECISIONS

SIZES = (25,)  # where the walk starts: atoms,
CLASS_COUNT = 4  # classes, where whole classes make the dictionary,
WIDTHS = (0.5, 2.0)  # gamma, times 1 / the squared distance of neighbour 25,
PENALTIES = (1e-3, 1e-1)  # mu,
GRAM_PENALTIES = (1e-5, 1e-2)  # mu where D = G, of which DᵀD has the squared condition,
SHARES = (1.0,)  # and the dimension after projection over the most there can be
LARGEST, LARGEST_CLASSES = 800, 250  # atoms of a dictionary, and of whole classes: where those are large, the nearest
# atoms serve as well for less
START = 120  # atoms of whole classes with which the walk starts, where two classes are not more
ABOUT_MEAN = 0.5  # of the other examples: so many a dictionary may have where their mean would tell, see ``most``
LEAST_ITERATING = 1e-3  # mu for coders that iterate, which need tens of times longer for a tenth of it


class Candidates:
    """``order`` are the examples in the order of the trials: the first place the kernel's widths. ``iterates``: the
    coder does."""

    def __init__(self, field: Field, order: Array, *, iterates: bool) -> None:
        self.field, self.order, self.iterates = field, order, iterates
        self.fixed = dict(field.fixed)
        self.makers = dict(field.geometries)
        self.made: dict[str, Geometry] = {}
        self.facts: dict[str, tuple[int, float]] = {}  # what is kept of a geometry that is let go
        self.base: dict[str, float] = {}  # gamma at which the kernel is as wide as the neighbourhood, by geometry

    def geometry(self, name: str) -> Geometry:
        if name not in self.made:
            self.made[name] = self.makers[name]()
            self.facts[name] = self.made[name].members, self.made[name].finding
        return self.made[name]

    def members(self, name: str) -> int:
        """Distances whose nearest examples make up a dictionary of this geometry."""
        return (self.facts.get(name) or self._known(name))[0]

    def finding(self, name: str) -> float:
        """Arithmetic of finding the dictionary of one query."""
        return (self.facts.get(name) or self._known(name))[1]

    def _known(self, name: str) -> tuple[int, float]:
        self.geometry(name)
        return self.facts[name]

    def forget(self, keep: Iterable[str]) -> None:
        """Let go of all geometries but those to ``keep``."""
        self.made = {name: made for name, made in self.made.items() if name in set(keep)}

    def _open(self, name: str, otherwise: Iterable[Any]) -> list[Any]:
        return [self.fixed[name]] if name in self.fixed else list(otherwise)

    def most(self, name: str, kernel: str) -> int:
        """Atoms that a dictionary is tried with.

        Vectors about the mean of the examples add up to 0: an example that is left out is minus the sum of all others,
        whose class has one atom too few, and a kernel of dot products sees that (of noise it answers seven in ten
        right). Among half of the others it hardly does, and those stand for more of them. Where examples are left
        out in folds, none is alone in what is missing.
        """
        geometry = self.geometry(name)
        folds = self.field.whole and geometry.has_folds
        telling = kernel in ("linear", "given") and geometry.centred and not folds
        return max(1, int(ABOUT_MEAN * self.field.largest)) if telling else self.field.largest

    def most_classes(self, name: str, kernel: str) -> int:
        """Whole classes that a dictionary is tried with."""
        most = self.most(name, kernel)
        return self.field.n_classes if most == self.field.largest else max(1, self.field.classes_within(most))

    @property
    def affordable_classes(self) -> int:
        """Whole classes that are few enough atoms, and no more than twice as many where the largest are near."""
        usual = int(LARGEST_CLASSES / self.field.typical_class + 1e-9)
        return min(usual, self.field.classes_within(2 * LARGEST_CLASSES))

    def first(self, name: str) -> list[Candidate]:
        """Where the walk starts in a geometry: with atoms, which cost less, where whole classes are not asked for."""
        return self._starts(name, self._open("locality", ("atoms",)))

    def first_classes(self, name: str) -> list[Candidate]:
        """Where the walk starts with whole classes, if those are open to it."""
        return self._starts(name, () if "locality" in self.fixed else ("classes",))

    def _starts(self, name: str, localities: Iterable[str]) -> list[Candidate]:
        found = []
        for kernel, gamma in self._widths(name):
            for locality in localities:
                for size in self._first_sizes(name, locality, kernel):
                    start = GRAM_PENALTIES if self.fixed.get("form") == "gram" and not self.iterates else PENALTIES
                    for mu in self._open("mu", start):
                        form = self._open("form", ("rkhs",))[0]
                        for share in self._open("share", SHARES):
                            one = Candidate(name, locality, size, kernel, gamma, mu, form, DECISIONS[0], share)
                            found += self._both(one)
        return list(dict.fromkeys(found))

    def _both(self, setting: Candidate) -> list[Candidate]:
        """The setting under both decisions: the second costs nothing."""
        return [replace(setting, decision=decision) for decision in self._open("decision", DECISIONS)]

    def _first_sizes(self, name: str, locality: str, kernel: str) -> list[int]:
        if locality == "atoms":  # a union of many is as large as the nearest of one
            members = self.geometry(name).members
            most = self.most(name, kernel)
            if "n_neighbors" in self.fixed:
                given = min(int(self.fixed["n_neighbors"]), self.field.largest)
                return [given] if given <= most or len(self.makers) == 1 else []  # other metrics are judged fairly
            return sorted({min(max(4, s // members), most) for s in SIZES})
        typical = self.field.typical_class
        most = self.most_classes(name, kernel)
        if "locality" not in self.fixed and min(self.affordable_classes, self.field.n_classes - 1, most) < 2:
            return []  # two classes are too many atoms, or all there are
        if "n_neighbors" in self.fixed:
            given = min(int(self.fixed["n_neighbors"]), self.field.n_classes)
            return [given] if given <= most or len(self.makers) == 1 else []
        return [min(most, max(2, self.affordable_classes), int(np.clip(START / typical, 2, CLASS_COUNT)))]

    def _widths(self, name: str) -> list[tuple[str, float | None]]:
        """(kernel, gamma) pairs; gammas are placed from the data's own distances."""
        pairs: list[tuple[str, float | None]] = []
        for kernel in self.field.kernels:
            if kernel in ("linear", "given"):
                pairs.append((kernel, None))
            elif "gamma" in self.fixed:
                given = self.fixed["gamma"]
                pairs.append((kernel, self.geometry(name).scale if given == "scale" else float(given)))
            else:
                if name not in self.base:
                    cross = self.geometry(name).trials(self.order[:64], 25).cross
                    assert cross is not None
                    near = float(np.median(cross))
                    base = 1.0 / near if near > 0 else 0.0
                    self.base[name] = base if 0.0 < base < np.inf else 1.0  # squares overflow, or vanish
                pairs += [(kernel, factor * self.base[name]) for factor in WIDTHS]
        return pairs

    def neighbours(self, s: Candidate) -> list[Candidate]:
        """One step from a setting along each parameter that is open."""
        out = []
        if "n_neighbors" not in self.fixed:
            out += [replace(s, n_neighbors=size) for size in self._other_sizes(s)]
        if "mu" not in self.fixed:
            least = 1e-9 if self.field.whole and self.geometry(s.geometry).has_folds and s.form == "gram" else 1e-6
            if self.iterates:
                least = LEAST_ITERATING
            out += [replace(s, mu=mu) for mu in (_rounded(s.mu / 10), _rounded(s.mu * 10)) if least <= mu <= 100]
        if "gamma" not in self.fixed and s.gamma is not None:
            base = self.base[s.geometry]
            out += [replace(s, gamma=g) for g in (s.gamma / 2, s.gamma * 2) if 1e-3 <= g / base <= 1e3]
        if s.share is not None and "share" not in self.fixed:
            out += [replace(s, share=share) for share in (s.share / 2, 2 * s.share) if 1 / 16 <= share <= 1]
        if "form" not in self.fixed and s.locality == "atoms":
            out.append(replace(s, form="gram" if s.form == "rkhs" else "rkhs"))
        return [both for one in out for both in self._both(one)]

    def _other_sizes(self, s: Candidate) -> list[int]:
        if s.locality == "atoms":
            most = min(LARGEST // self.geometry(s.geometry).members, self.most(s.geometry, s.kernel))
        else:
            most = min(self.affordable_classes, self.most_classes(s.geometry, s.kernel))
        return [size for size in (s.n_neighbors // 2, 2 * s.n_neighbors) if 2 <= size <= most]


def _rounded(mu: float) -> float:
    """Powers of ten reached from above and from below are the same number."""
    return float(f"{mu:.6g}")


# What tends to win before anything is asked: where the walk begins, and what decides while evidence is weak.
#
# With 2 to 8 examples a class left-out answers are few, and each comes from classes that are smaller by the one left
# out. So a setting has to beat the prior's favourite by more than the noise of the answers, and by the more, the fewer
# examples a class has. With two a class the prior decides alone: an example left out leaves a single one of its class,
# and what wins there loses where there are two.
#
# The study ``lab.experiments.studies.prior`` makes the table it rests on: 144 fixed settings, few examples of each
# class of nine sets, six public and three made up; training rows only. Mean points below the best setting of each set:
#
#     examples a class                                                2     4     8    16
#     scaled, within own; 50 nearest, RBF, mu = 0.1, residual       2.4   2.3   2.4   2.2   the favourite
#     the best of that number                                       2.3   1.9   2.4   2.0
#
# "own" is the shrinkage d / (n − 1 + d), the RBF as wide as the data ("scale"). The best differ from it by less than
# the table is sure of. Where all vectors have the same length nothing is to be scaled.

FAVOURITE: dict[str, Any] = {
    "locality": "atoms", "n_neighbors": 50, "kernel": "rbf", "gamma": "scale", "mu": 0.1, "form": "rkhs",
    "decision": "residual", "share": None,
}  # fmt: skip
FEWEST_PER_CLASS = 3  # examples a class, below which the prior decides alone
ERRORS = 16.0  # standard errors a setting has to be better by, over the number of examples a class


def favourite(candidates: Candidates) -> Candidate | None:
    """What the prior holds best on this field, with what the caller fixed; None where it knows nothing of such."""
    field = candidates.field
    if field.favoured is None or FAVOURITE["kernel"] not in field.kernels or field.whole:
        return None
    wanted = {**FAVOURITE, **candidates.fixed}
    largest = field.largest if wanted["locality"] == "atoms" else field.n_classes
    scale = candidates.geometry(field.favoured).scale
    gamma = scale if wanted["gamma"] == "scale" else float(wanted["gamma"])
    return Candidate(field.favoured, **{**wanted, "gamma": gamma, "n_neighbors": min(wanted["n_neighbors"], largest)})


def errors_needed(per_class: float) -> float:
    """Standard errors by which a setting has to beat the favourite where classes have so many examples."""
    return ERRORS / per_class
