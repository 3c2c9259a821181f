"""The search: which setting classifies the stored examples best when each is left out.

Three rounds, each on more trials with fewer settings: all geometries on a small grid; the full grid on the best
geometries, which grows where the best point lies on its edge; the leading settings on as many examples as the time
allows. Ties go to the cheaper setting. The same trials are used for every setting of a round, so that they are
compared on the same examples.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kcrc.parallel import over_chunks
from kcrc.prepared import Array
from kcrc.tuning.geometry import Geometry, Trials
from kcrc.tuning.judging import DECISIONS, kernel_of, margins
from kcrc.tuning.setting import Score, Setting

SIZES, FIRST_SIZES, LARGEST = (12, 25, 50, 100, 200), (25, 150), 800
CLASS_COUNTS = (2, 4, 8, 12)
WIDTHS, FIRST_WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0), (0.5, 2.0)  # gamma, times 1 / the squared distance of neighbour 25
PENALTIES, FIRST_PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0), (1e-3, 1e-1)
TRIALS = (256, 512, 2500)  # of the three rounds, at most
FINALISTS = 40


@dataclass
class Grid:
    """The values of each parameter; a fixed one has a single value."""

    fixed: Mapping[str, Any]
    widths: list[float] = field(default_factory=list)

    def values(self, name: str, otherwise: Iterable[Any]) -> list[Any]:
        return [self.fixed[name]] if name in self.fixed else list(otherwise)


class Search:
    """``geometries`` by name; ``fixed`` parameters are not searched; ``seconds`` bounds the whole."""

    def __init__(
        self,
        geometries: Mapping[str, Callable[[], Geometry]],
        labels: Array,
        *,
        fixed: Mapping[str, Any],
        kernels: tuple[str, ...],
        judge: Callable[..., Array] | None,
        seconds: float,
        n_jobs: int | None,
        seed: int,
        progress: Callable[[float], None],
        eligible: Array,
        most: int | None = None,
        keep: tuple[str, ...] = (),
    ) -> None:
        self.makers = dict(geometries)
        self.made: dict[str, Geometry] = {}
        self.labels = labels
        self.fixed = dict(fixed)
        self.kernels = kernels
        self.judge = judge
        self.n_jobs = n_jobs
        self.progress = progress
        self.start = time.perf_counter()
        self.seconds = seconds
        self.most = min(len(labels) - 1, most or len(labels))  # atoms that n_neighbors may count
        self.keep = keep  # geometries whose best setting stays to the end, so that the best is not below it
        self.scores: dict[Setting, Score] = {}
        self.base: dict[str, float] = {}
        self.order = stratified(labels, np.random.default_rng(seed), eligible)

    # What is tried --------------------------------------------------------------------------------------------------

    def geometry(self, name: str) -> Geometry:
        if name not in self.made:
            self.made[name] = self.makers[name]()
        return self.made[name]

    def _gammas(self, name: str, factors: Iterable[float]) -> list[tuple[str, float | None]]:
        """(kernel, gamma) pairs; gammas are placed from the data's own distances."""
        pairs: list[tuple[str, float | None]] = []
        for kernel in self.kernels:
            if kernel in ("linear", "given"):
                pairs.append((kernel, None))
            elif "gamma" in self.fixed:
                pairs.append((kernel, float(self.fixed["gamma"])))
            else:
                if name not in self.base:
                    cross = self.geometry(name).trials(self.order[:64]).cross
                    assert cross is not None
                    near = float(np.median(cross[:, : min(25, cross.shape[1])]))
                    self.base[name] = 1.0 / near if near > 0 else 1.0
                pairs += [(kernel, factor * self.base[name]) for factor in factors]
        return pairs

    def _settings(
        self,
        name: str,
        sizes: Iterable[int],
        counts: Iterable[int],
        widths: Iterable[float],
        mus: Iterable[float],
        forms: Iterable[str],
    ) -> list[Setting]:
        value = Grid(self.fixed).values
        localities = value("locality", ("atoms", "classes"))
        some_mus = value("mu", mus)
        decisions = value("decision", DECISIONS)
        n_classes = int(self.labels.max()) + 1
        found = []
        for kernel, gamma in self._gammas(name, widths):
            for locality in localities:
                if locality == "atoms":
                    members = self.geometry(name).members  # a union of many is as large as the nearest of one
                    some_sizes = value("n_neighbors", [max(4, round(s / members)) for s in sizes])
                    dictionary_sizes = sorted({min(s, self.most) for s in some_sizes})
                    some_forms = value("form", forms)
                else:
                    typical = len(self.labels) / n_classes
                    allowed = [c for c in counts if c < n_classes and c * typical <= LARGEST]
                    if not allowed and localities == ["classes"]:
                        allowed = [min(2, n_classes)]
                    dictionary_sizes = sorted({min(int(c), n_classes) for c in value("n_neighbors", allowed)})
                    some_forms = value("form", ("rkhs",))
                found += [
                    Setting(name, locality, size, kernel, gamma, mu, form, decision)
                    for size in dictionary_sizes
                    for mu in some_mus
                    for form in some_forms
                    for decision in decisions
                ]
        return found

    # How it is tried ------------------------------------------------------------------------------------------------

    def left(self, share: float) -> float:
        """Seconds until ``share`` of the time is used."""
        return self.start + share * self.seconds - time.perf_counter()

    def tried(self, settings: list[Setting], n_trials: int, share: float) -> None:
        """Bring all ``settings`` to ``n_trials`` trials, or to as many as fit into ``share`` of the time."""
        by_geometry: dict[tuple[str, str, int], list[Setting]] = {}
        for setting in settings:
            done = self.scores.setdefault(setting, Score()).trials
            by_geometry.setdefault((setting.geometry, setting.locality, done), []).append(setting)
        begun = time.perf_counter()
        allowed = max(0.05, self.left(share))
        whole = sum(max(0, n_trials - done) for (_, _, done) in by_geometry)
        spent = 0
        for (name, locality, done), group in by_geometry.items():
            rows = self.order[done : max(done, n_trials)]
            geometry = self.geometry(name)
            width = max(s.n_neighbors for s in group) * (geometry.members if locality == "atoms" else 8)
            step = int(np.clip(6e6 / max(width, 40) ** 2, 4, 64))
            for at in range(0, len(rows), 4 * step):
                share_used = (time.perf_counter() - begun) / allowed
                if spent and share_used > 1.0 and share_used > spent / max(1, whole):
                    break
                batch = rows[at : at + 4 * step]
                right = self._right(geometry, locality, group, batch, step)
                for setting, count in zip(group, right, strict=True):
                    self.scores[setting].right += int(count)
                    self.scores[setting].trials += len(batch)
                spent += len(batch)
                self.progress(min(1.0, 1.0 - self.left(1.0) / self.seconds))

    def _right(self, geometry: Geometry, locality: str, group: list[Setting], rows: Array, step: int) -> Array:
        def piece(part: slice) -> Array:
            which = rows[part]
            if locality == "atoms":
                geometry.width = max(1, min(max(s.n_neighbors for s in group), len(self.labels) - 1))
                trials = geometry.trials(which)
            else:
                made = geometry.class_trials(which, max(s.n_neighbors for s in group))
                assert made is not None
                trials = made
            return np.asarray((self._margins(trials, group) > 0).sum(axis=1))

        return np.asarray(np.sum(over_chunks(piece, len(rows), step, self.n_jobs), axis=0))

    def _margins(self, trials: Trials, group: list[Setting]) -> Array:
        """(settings, B); settings that share a kernel and a form share the work."""
        out = np.empty((len(group), len(trials.truth)), np.float32)
        shared: dict[tuple[str, float | None], list[int]] = {}
        for i, s in enumerate(group):
            shared.setdefault((s.kernel, s.gamma), []).append(i)
        for (_, gamma), members in shared.items():
            kernel = kernel_of(trials, gamma)
            for form in sorted({group[i].form for i in members}):
                mine = [i for i in members if group[i].form == form]
                mus = sorted({group[i].mu for i in mine})
                if trials.rank is None:
                    sizes = sorted({group[i].n_neighbors for i in mine})
                    found = self._judged(trials, kernel, trials.labels, sizes, mus, form)
                    for i in mine:
                        at = sizes.index(group[i].n_neighbors), mus.index(group[i].mu)
                        out[i] = found[(*at, DECISIONS.index(group[i].decision))]
                    continue
                for count in sorted({group[i].n_neighbors for i in mine}):
                    labels = np.where(trials.rank < count, trials.labels, -1).astype(np.int32)
                    width = _reach(trials.rank, count)
                    local = (kernel[0][:, :width, :width], kernel[1][:, :width], kernel[2])
                    cut = trials if trials.atoms is None else replace(trials, atoms=trials.atoms[:, :width])
                    found = self._judged(cut, local, labels[:, :width], [width], mus, form)
                    for i in mine:
                        if group[i].n_neighbors == count:
                            out[i] = found[0, mus.index(group[i].mu), DECISIONS.index(group[i].decision)]
        return out

    def _judged(
        self, trials: Trials, kernel: Any, labels: Array, sizes: list[int], mus: list[float], form: str
    ) -> Array:
        if self.judge is not None:
            return self.judge(trials, kernel, labels, sizes, mus, form)
        # Over the vectors themselves with the ridge coder is the linear kernel's own space.
        return margins(kernel, labels, trials.truth, sizes, mus, "rkhs" if form == "raw" else form)

    # The rounds -----------------------------------------------------------------------------------------------------

    def leading(self, settings: Iterable[Setting], count: int) -> list[Setting]:
        return sorted(settings, key=lambda s: (-self.scores[s].accuracy, s.cost))[:count]

    def run(self) -> Setting:
        """The best setting."""
        names = list(self.makers)
        if len(names) > 1 and not self.keep:
            names = self._best_geometries(names)
        settings = self._full(names)
        for n_trials, share in ((96, 0.4), (192, 0.5), (384, 0.55), (TRIALS[1], 0.6)):
            self.tried(settings, n_trials, share)
            settings = self._promising(settings)
        settings += self._grown(settings)
        return self._final(settings)

    def _promising(self, settings: list[Setting]) -> list[Setting]:
        """Without those that are clearly behind the best: more trials would not change that."""
        best = max((self.scores[s] for s in settings), key=lambda score: score.accuracy)
        kept = self._kept(settings)
        return [s for s in settings if s in kept or self.scores[s].accuracy >= best.accuracy - 2.5 * best.error]

    def _kept(self, settings: Iterable[Setting]) -> list[Setting]:
        """The best setting of each geometry that stays to the end."""
        leaders = []
        for name in self.keep:
            leaders += self.leading([s for s in settings if s.geometry == name], 1)
        return leaders

    def _best_geometries(self, names: list[str]) -> list[str]:
        first: dict[str, list[Setting]] = {
            name: self._settings(name, FIRST_SIZES, (4,), FIRST_WIDTHS, FIRST_PENALTIES, ("rkhs",)) for name in names
        }
        self.tried([s for group in first.values() for s in group], TRIALS[0], 0.25)
        best = {name: max(self.scores[s].accuracy for s in group) for name, group in first.items()}
        top = max(best.values())
        error = max(Score(int(top * TRIALS[0]), TRIALS[0]).error, 0.004)
        near = sorted((name for name in names if best[name] >= top - 2 * error), key=lambda name: -best[name])
        # One of each kind: the shrinkages of the within-class metric are near to each other by nature.
        kinds = [name.split()[0] for name in near]
        keep = [name for at, name in enumerate(near) if kinds[at] not in kinds[:at]][:3]
        for name in set(self.made) - set(keep):
            del self.made[name]
        return keep

    def _full(self, names: list[str]) -> list[Setting]:
        # With few examples a fine grid would only fit their noise.
        few = len(self.order) < 200
        widths, penalties = (WIDTHS[::2], PENALTIES[::2]) if few else (WIDTHS, PENALTIES)
        found = []
        for name in names:
            found += self._settings(name, SIZES, CLASS_COUNTS, widths, penalties, ("rkhs", "gram"))
        return list(dict.fromkeys(found))

    def _grown(self, settings: list[Setting]) -> list[Setting]:
        """Neighbours of the best points beyond the edge of the grid, as long as the edge is where the best lie."""
        added: list[Setting] = []
        for _ in range(3):
            known = set(self.scores)
            new = [s for best in self.leading([*settings, *added], 4) for s in self._beyond(best) if s not in known]
            if not new or self.left(0.7) < 0:
                break
            new = list(dict.fromkeys(new))
            self.tried(new, TRIALS[1], 0.7)
            added += new
        return added

    def _beyond(self, s: Setting) -> list[Setting]:
        out = []
        same = [
            o for o in self.scores if o.geometry == s.geometry and o.locality == s.locality and o.kernel == s.kernel
        ]
        if "n_neighbors" not in self.fixed and s.n_neighbors == max(o.n_neighbors for o in same):
            limit = LARGEST if s.locality == "atoms" else LARGEST * (int(self.labels.max()) + 1) // len(self.labels)
            if s.locality == "atoms":
                limit = min(limit // self.geometry(s.geometry).members, self.most)
            bigger = min(2 * s.n_neighbors, limit, len(self.labels) - 1)
            out += [
                replace(s, n_neighbors=bigger, mu=o.mu) for o in same if o.mu <= 10 * s.mu and bigger > s.n_neighbors
            ]
        if "mu" not in self.fixed:
            if s.mu == min(o.mu for o in same) and s.mu > 1e-6:
                out.append(replace(s, mu=s.mu / 10))
            if s.mu == max(o.mu for o in same) and s.mu < 100:
                out.append(replace(s, mu=s.mu * 10))
        if "gamma" not in self.fixed and s.gamma is not None:
            gammas = [o.gamma for o in same if o.gamma is not None]
            if s.gamma == min(gammas) and s.gamma > 1e-3 * self.base[s.geometry]:
                out.append(replace(s, gamma=s.gamma / 2))
            if s.gamma == max(gammas) and s.gamma < 1e3 * self.base[s.geometry]:
                out.append(replace(s, gamma=s.gamma * 2))
        return list(dict.fromkeys(out))

    def _final(self, settings: list[Setting]) -> Setting:
        finalists = list(dict.fromkeys([*self.leading(settings, FINALISTS), *self._kept(settings)]))
        n_trials = TRIALS[1]
        while n_trials < min(TRIALS[2], len(self.order)) and self.left(0.9) > 0:
            n_trials = min(2 * n_trials, TRIALS[2], len(self.order))
            self.tried(finalists, n_trials, 0.9)
            best = [*self.leading(finalists, max(8, len(finalists) // 2)), *self._kept(finalists)]
            finalists = list(dict.fromkeys(best))
        most = max(self.scores[s].trials for s in finalists)
        full = [s for s in finalists if self.scores[s].trials == most]
        top = max(self.scores[s].right for s in full)
        return min((s for s in full if self.scores[s].right == top), key=lambda s: s.cost)


def _reach(rank: Array, count: int) -> int:
    """How many of the leading atoms hold all whose rank is below ``count``."""
    return max(1, int((np.where(rank < count, np.arange(1, rank.shape[1] + 1), 0)).max()))


def stratified(labels: Array, rng: np.random.Generator, eligible: Array) -> Array:
    """The eligible rows in an order of which every beginning holds the classes in their own shares."""
    rows = np.flatnonzero(eligible)
    place = np.empty(len(rows))
    for c in np.unique(labels[rows]):
        mine = np.flatnonzero(labels[rows] == c)
        place[mine] = (rng.permutation(len(mine)) + rng.random(len(mine))) / len(mine)
    return rows[np.argsort(place, kind="stable")]
