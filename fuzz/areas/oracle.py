"""Answers beside those of ``kcrc.paper``, one query after the other: problems with ties, duplicates, odd scales.

A disagreement counts unless it is a tie: equal distances at the edge of the neighbourhood, or two classes whose
residuals, by the paper, differ by less than both ways of computing them are exact to. Squared distances come from
products, so their rounding grows with (offset / spread)² of the examples. A query that resembles no example (all kernel
values below 10⁻³⁰, or 10⁻¹⁸ in single precision) may be the nearest's, where the paper divides by what is left of them.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from fuzz.area import Area, Wrong, register
from fuzz.borrowed import from_tests
from fuzz.place import Place
from kcrc import KCRCClassifier, paper

Values = Any
_NOTHING = {4: 1e-18, 8: 1e-30}  # by the bytes of a number
_SHARP = 1e-12  # by which squares of residuals may differ, beside the energy of the query


def _euclidean(a: Values, b: Values) -> float:
    return float(np.linalg.norm(a - b))


def _manhattan(a: Values, b: Values) -> float:
    return float(np.abs(a - b).sum())


_DISTANCES = {"euclidean": _euclidean, "manhattan": _manhattan}


@register("oracle", about="answers beside paper.py", share=2000)
class Oracle(Area):
    def load(self) -> None:
        self.within = from_tests("support/same_answers.py").within

    def plant(self, place: Place, rng: random.Random) -> dict[str, Any]:
        values = np.random.default_rng(rng.getrandbits(32))
        n, d, classes = rng.choice([2, 5, 20, 60]), rng.choice([1, 2, 5, 12]), rng.choice([2, 3, 5])
        y = values.permutation(np.arange(n) % classes)
        centres = values.normal(size=(classes, d)) * rng.choice([0.3, 1.0, 3.0])
        X, Q = centres[y] + values.normal(size=(n, d)), centres[np.arange(6) % classes] + values.normal(size=(6, d))
        kind = rng.choice(["plain", "plain", "grid", "copies", "near", "offset", "scale", "far"])
        if kind == "grid":
            X, Q = np.round(X), np.round(Q)
        elif kind == "copies":
            X, Q[0] = X[values.integers(0, max(1, n // 3), n)], X[0]
        elif kind == "near":
            X = X[values.integers(0, max(1, n // 3), n)] + 1e-7 * values.normal(size=(n, d))
        elif kind == "offset":
            offset = rng.choice([1e2, 1e3, 1e4, 1e5])
            X, Q = X + offset, Q + offset
        elif kind == "scale":
            scale = rng.choice([1e-30, 1e-6, 1e6, 1e30])
            X, Q = X * scale, Q * scale
        elif kind == "far":
            Q = Q * rng.choice([10.0, 1e3])
        dtype = rng.choice(["f8", "f8", "f4"])
        X, Q = X.astype(dtype), Q.astype(dtype)
        spread = float(np.std(X.astype(float), axis=0).mean()) or 1.0
        return {
            "X": X, "y": y, "Q": Q, "kind": kind, "gamma": rng.choice([0.1, 0.5, 2.0]) / (d * spread**2),
            "options": {
                "n_neighbors": rng.choice([1, 2, 5, 15, 30, None]), "mu": rng.choice([1e-4, 1e-2, 1e-2, 1.0]),
                "form": rng.choice(["gram", "rkhs"]), "kernel": rng.choice(["rbf", "rbf", "linear", "exp"]),
                "distance": rng.choice(list(_DISTANCES)), "n_jobs": 1,
            },
        }  # fmt: skip

    def use(self, place: Place, planted: dict[str, Any]) -> None:
        X, y, Q, options = planted["X"], planted["y"], planted["Q"], planted["options"]
        gamma, dist = planted["gamma"], _DISTANCES[options["distance"]]
        given: dict[str, Any] = {"scaling": "plain", "decision": "ratio", "locality": "atoms"}
        made = KCRCClassifier(**given, **options, gamma=gamma).fit(X, y)
        labels, evidence = made.predict(Q), made.explain(Q)
        kernel: paper.Kernel = paper.linear
        if options["kernel"] == "rbf":
            kernel = paper.rbf(gamma)
        elif options["kernel"] == "exp":
            # "exp" of a plain length is that of its square (kcrc.kernels).
            squared = options["distance"] == "euclidean"
            kernel = paper.from_distance((lambda a, b: dist(a, b) ** 2) if squared else dist, gamma**-0.5)
        atoms, queries = X.astype(float), Q.astype(float)
        spread = float(atoms.var(axis=0).sum()) or 1.0
        cancelled = float(np.finfo(made.model_.vectors.dtype).eps * (atoms**2).sum(axis=1).max() / spread)
        tolerance = self.within(made.model_) + 4 * cancelled * (options["n_neighbors"] or len(X)) / options["mu"]
        for q, *both, rows in zip(queries, labels, evidence.labels, evidence.rows, strict=True):
            rows = rows[rows >= 0]
            problem = _neighbours_problem(atoms, q, rows, dist, options["n_neighbors"], X.dtype)
            limits = tolerance, _NOTHING[X.dtype.itemsize]
            for label in {int(one) for one in both}:  # of predict and of explain
                problem = problem or _answer_problem(atoms[rows], y[rows], q, label, kernel, options, *limits)
            if problem:
                raise Wrong(f"{planted['kind']} {X.dtype} {X.shape} {options}: {problem}")


def _neighbours_problem(
    atoms: Values, q: Values, rows: Values, dist: paper.Dist, K: int | None, dtype: np.dtype[Any]
) -> str:
    """What is wrong with the neighbours, but for their order among equal distances."""
    all_distances = np.array([dist(atom, q) for atom in atoms])
    due = np.sort(all_distances)[: K or len(atoms)]
    have = np.sort(all_distances[rows])
    # Distances of single precision are those of centred numbers, whose rounding is beside their largest.
    sharp = float(np.finfo(dtype).eps) * 64 * (float(np.abs(all_distances).max()) or 1.0)
    if len(due) != len(have) or len(set(rows.tolist())) != len(rows):
        return f"{len(have)} neighbours of {len(due)}"
    worst = float(np.abs(have - due).max())
    return f"a neighbour is {worst:g} further away than another, at {due[-1]:g}" if worst > sharp else ""


def _answer_problem(
    atoms: Values,
    labels: Values,
    q: Values,
    label: int,
    kernel: paper.Kernel,
    options: Any,
    tolerance: float,
    nothing: float,
) -> str:
    """What is wrong with the answer, given its neighbours."""
    if len(set(labels.tolist())) == 1:
        return "" if label == labels[0] else "all neighbours agree, and the answer is another"
    G = np.array([[kernel(a, b) for b in atoms] for a in atoms])
    k, energy = np.array([kernel(a, q) for a in atoms]), kernel(q, q)
    if options["form"] == "gram":
        x, residuals = paper.kcrc_rls(G, k, labels, options["mu"])
        energy = float(k @ k)
    else:
        x, residuals = paper.kcrc_rkhs(G, k, energy, labels, options["mu"])
    best = min(residuals.values())
    if options["kernel"] != "linear" and k.max() < nothing and label == labels[0]:
        return ""
    if not np.isfinite(best):
        return "" if label == labels[0] else "no class has a part, and the answer is not that of the nearest"
    if label not in residuals:
        return "the answer is no class of its neighbours"
    length = float(np.linalg.norm(x[labels == label])) or 1.0
    with np.errstate(over="ignore"):
        ours, theirs = np.square([residuals[label], best])
    within = 4 * tolerance * theirs + (4 * tolerance + _SHARP) * energy / length**2
    return "" if ours <= theirs + within else f"residual {ours**0.5:.9g} of the answer, {best:.9g} of the best"
