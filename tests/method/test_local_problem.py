"""One local problem, five ways: every combination of form, decision, locality, normalisation and kernel through the
paper's formulas, the stages, the compiled stage, and both judges of tuning, in small and in large units."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from problems import problem
from same_answers import assert_same_parts, assert_same_residuals

from kcrc import KCRCClassifier, paper
from kcrc.classifier.parameters import settings_of
from kcrc.method import pipeline
from kcrc.method.compiled_plan import plan
from kcrc.method.fitted_model import FittedModel
from kcrc.native import native
from kcrc.tuning.left_out.trials import Trials
from kcrc.tuning.scoring import DECISIONS, score_margins, staged_margins

FORMS = ("rkhs", "gram", "raw")
LOCALITIES = {
    "nearest": {"n_neighbors": 9, "locality": "atoms"},
    "classes": {"n_neighbors": 2, "locality": "classes"},
    "global": {"n_neighbors": None, "locality": "atoms"},
}
UNITS = (1.0, 1e4)  # of a feature: no answer depends on it
N_CLASSES, GAMMA, MU = 4, 0.2, 0.05


def manhattan(a, b):
    return float(np.abs(a - b).sum())


def squared(a, b):
    return float(((a - b) ** 2).sum())


class Known(NamedTuple):
    """A kernel by its formula, and the parameters that say it; ``distance``: what its exponential is of."""

    formula: object
    options: dict
    distance: object = None
    gamma: float | None = None


def kernels_of(unit: float) -> dict[str, Known]:
    gamma = GAMMA / unit**2
    polynomial = {"kernel": "polynomial", "gamma": gamma, "degree": 2, "coef0": 0.5}
    return {
        "linear": Known(paper.linear, {"kernel": "linear"}),
        "rbf": Known(paper.rbf(gamma), {"kernel": "rbf", "gamma": gamma}, squared, gamma),
        "polynomial": Known(lambda a, b: (gamma * float(a @ b) + 0.5) ** 2, polynomial),
        "exp": Known(paper.rbf(gamma), {"kernel": "exp", "gamma": gamma}, squared, gamma),
        "exp, manhattan": Known(
            paper.from_distance(manhattan, (unit / GAMMA) ** 0.5),
            {"kernel": "exp", "distance": "manhattan", "gamma": GAMMA / unit},
            manhattan,
            GAMMA / unit,
        ),
        "polarisation": Known(paper.polarisation(squared), {"kernel": "polarisation"}),
        "function": Known(paper.linear, {"kernel": _products}),
        "precomputed": Known(paper.rbf(gamma), {"kernel": "precomputed"}),
    }


def _products(A, B):
    return A @ B.T


@cache
def samples(unit):
    """Overlapping classes with a duplicate of another class, a class of one, an example and a query without length."""
    X, y, Xq = problem(5, n=26, d=4, classes=3, queries=7)
    X[7], X[2], y[0], Xq[1] = X[3], 0.0, 3, 0.0
    return unit * X, y, unit * Xq


@cache
def tables(unit, name):
    """The kernel and, where it is made of one, the distance of all samples, examples first, by the slow formulas."""
    X, _, Xq = samples(unit)
    known, both = kernels_of(unit)[name], [*X, *Xq]
    made = [None if f is None else np.array([[f(a, b) for b in both] for a in both]) for f in known[::2]]
    return made[0], made[1]


def cases():
    for form, locality, normalize, unit in product(FORMS, LOCALITIES, (True, False), UNITS):
        for name in kernels_of(unit) if form != "raw" else ("linear",):
            if not (name == "precomputed" and locality == "classes"):  # which needs means, and says so
                yield form, locality, normalize, unit, name


class Walk:
    """A model, and what the paper's formulas say of every query."""

    def __init__(self, form, locality, normalize, unit, name, decision):
        self.form, self.normalize, self.decision = form, normalize, decision
        X, self.y, Xq = samples(unit)
        self.K, self.far = tables(unit, name)
        self.n = len(X)
        self.known = kernels_of(unit)[name]
        if name == "precomputed":
            X, Xq = self.K[: self.n, : self.n], self.K[self.n :, : self.n]
        self.X, self.Xq = X, Xq
        self.mu = MU * (1.0 if normalize else self.mean_square())
        options = {"scaling": "plain", "gamma": 1.0, "mu": self.mu, "form": form, "decision": decision}
        options |= {**LOCALITIES[locality], "normalize_columns": normalize, **self.known.options}
        classifier = KCRCClassifier(**options)
        vectors, labels = classifier._validate(X, self.y, reset=True)
        method, _ = settings_of(classifier).make_method(vectors, labels)
        self.model = FittedModel.build(method, vectors, np.arange(N_CLASSES), labels, np.arange(self.n))

    def mean_square(self):
        """Of the columns, so that a penalty means the same in all units where they stay as they are."""
        G = self.K[: self.n, : self.n]
        return float(np.diag(G @ G if self.form == "gram" else G).mean())

    def by_the_paper(self, rows, query):
        """Coefficients, and residuals of all classes."""
        rows = rows[rows >= 0]
        G, k, own = self.K[np.ix_(rows, rows)], self.K[rows, self.n + query], self.K[self.n + query, self.n + query]
        options = {"normalize": self.normalize, "ratio": self.decision == "ratio"}
        if self.form == "raw":
            x, found = paper.crc_rls(self.X[rows].T, self.Xq[query], self.y[rows], self.mu, **options)
        elif self.form == "gram":
            x, found = paper.kcrc_rls(G, k, self.y[rows], self.mu, **options)
        else:
            x, found = paper.kcrc_rkhs(G, k, own, self.y[rows], self.mu, **options)
        return x, np.array([found.get(c, np.inf) for c in range(N_CLASSES)])

    def expected_margin(self, rows, residuals, truth):
        """What tuning says of a class: log(best other residual) − log(its own)."""
        classes = self.y[rows[rows >= 0]]
        if truth not in classes or len(set(classes)) == 1:
            return np.inf if truth in classes else -np.inf
        if not np.isfinite(residuals).any():
            return np.inf if classes[0] == truth else -np.inf
        own, other = residuals[truth], np.delete(residuals, truth).min()
        return np.log(other / own) if np.isfinite(own) else -np.inf

    def trials(self, rows, truth):
        """The queries as trials, in every way that trials can tell their kernel: (trials, gamma)."""
        real, near = rows >= 0, np.maximum(rows, 0)
        labels = np.where(real, self.y[near], -1).astype(np.int32)
        asked = self.n + np.arange(len(rows))

        def of(table):
            return table[asked[:, None], near], table[near[:, :, None], near[:, None, :]]

        k, G = of(self.K)
        yield Trials(labels, truth, dot=k, dots=G, self_dot=self.K[asked, asked]), None
        if self.far is not None:
            cross, among = of(self.far)
            yield Trials(labels, truth, cross=cross, among=among), self.known.gamma
        if self.known.distance is squared:
            _, dots = of(np.vstack([self.X, self.Xq]) @ np.vstack([self.X, self.Xq]).T)
            squares = np.diagonal(dots, axis1=1, axis2=2)
            yield Trials(labels, truth, cross=cross, dots=dots, squares=squares), self.known.gamma


@pytest.mark.parametrize("decision", DECISIONS)
@pytest.mark.parametrize(("form", "locality", "normalize", "unit", "name"), list(cases()))
def test_every_way_poses_the_same_problem(form, locality, normalize, unit, name, decision):
    walk = Walk(form, locality, normalize, unit, name, decision)
    staged = pipeline.classify(walk.model, walk.Xq, compiled=False)
    told = [staged]
    if walk.model.method.n_neighbors is not None and plan(walk.model) is not None:
        told.append(pipeline.classify(walk.model, walk.Xq))
    paper_says = [walk.by_the_paper(rows, at) for at, rows in enumerate(staged.rows)]
    coded = 0
    for at, (x, residuals) in enumerate(paper_says):
        rows = staged.rows[at]
        classes = walk.y[rows[rows >= 0]]
        for evidence in told:
            np.testing.assert_array_equal(evidence.rows[at], rows)
            if len(set(classes)) == 1 or not np.isfinite(residuals).any():
                assert evidence.how[at] == (1 if len(set(classes)) == 1 else 2)
                assert evidence.winner[at] == classes[0]
                continue
            coded += 1
            assert_same_parts(evidence.coefficients[at : at + 1, rows >= 0], x[None])
            assert_same_residuals(evidence.residuals[at], residuals)
            assert evidence.winner[at] == residuals.argmin()
    assert coded >= 4
    tried = 0
    for truth in range(N_CLASSES):
        expected = [walk.expected_margin(rows, r, truth) for rows, (_, r) in zip(staged.rows, paper_says, strict=True)]
        for found in judged(walk, staged.rows, np.full(len(walk.Xq), truth, np.int32)):
            np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)
            tried += 1
    assert tried >= N_CLASSES * (1 if native is None else 2)


def judged(walk, rows, truth):
    """The margins of the queries by either scorer, for the decision that is searched."""
    size, at = [rows.shape[1]], DECISIONS.index(walk.decision)
    near, real = np.maximum(rows, 0), rows >= 0
    for trials, gamma in walk.trials(rows, truth):
        assert trials.labels[~real].max(initial=-1) == -1
        if gamma is None:
            seen = replace(trials, asked=walk.Xq, atoms=walk.X[near])
            staged = staged_margins(seen, gamma, trials.labels, size, [walk.mu], walk.form, normalize=walk.normalize)
            yield staged[0, 0, at]
        if native is not None:
            made = score_margins(trials, gamma, trials.labels, size, [walk.mu], walk.form, normalize=walk.normalize)
            yield made[0, 0, at]
