"""A distance that is not symmetric: one kernel of it, the mean of both directions, on every path."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from problems import GIVEN, problem

from kcrc import KCRCClassifier, distances, kernels, paper
from kcrc.method import pipeline
from kcrc.method.distances import Unified
from kcrc.method.distances.custom import CallableDistance, SlowDistanceWarning
from kcrc.method.distances.pixel import Manhattan
from kcrc.method.preparation import Samples
from kcrc.tuning.left_out.distance_geometry import DistanceGeometry
from kcrc.tuning.left_out.surroundings import Surroundings

GAMMA = 0.15


def uphill(u, v):
    """Climbing costs three times as much as going down, and setting out costs something too."""
    total = 0.01
    for i in range(len(u)):
        step = v[i] - u[i]
        total += 3.0 * step if step > 0 else -step
    return total


@dataclass(frozen=True)
class Uphill(Manhattan):
    """The same as a part of the library would have it, with a price: its pairs are looked up."""

    symmetric: ClassVar[bool] = False
    cost: ClassVar[float] = 50.0

    def pairwise(self, a, b):
        return np.array([[uphill(u, v) for v in b["vectors"]] for u in a["vectors"]]).reshape(len(a), len(b))

    def rowwise(self, a, b, rows):
        return np.array([self.pairwise(a.take([i]), b.take(line))[0] for i, line in enumerate(rows)])

    def within(self, b, rows):
        return np.array([self.pairwise(b.take(line), b.take(line)) for line in rows])


def compiled():
    return distances.resolve(pytest.importorskip("numba").njit(uphill))


MADE = {"python": lambda: CallableDistance(uphill), "njit": compiled, "looked up": Uphill}


def expected(X):
    """The kernel matrix, by the definition."""
    far = np.array([[(uphill(u, v) + uphill(v, u)) / 2 for v in X] for u in X])
    np.fill_diagonal(far, 0.0)
    return np.exp(-GAMMA * far)


def fitted(distance, X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowDistanceWarning)
        settings = {**GIVEN, "n_neighbors": 9, "kernel": "exp", "gamma": GAMMA, **options}
        return KCRCClassifier(distance=distance, **settings).fit(X, y)


@pytest.mark.parametrize("name", MADE)
def test_the_kernel_is_symmetric_in_all_its_forms(name):
    X, _, Q = problem(1, n=12, queries=5)
    kernel = kernels.Exponential(MADE[name](), GAMMA)
    a, b, G = kernel.prepare(Q), kernel.prepare(X), expected(np.concatenate([Q, X]))
    rows = np.array([[0, 4, 7], [1, 2, 3], [11, 9, 0], [5, 6, 4], [8, 10, 2]])
    np.testing.assert_allclose(kernel.gram(a, b), G[:5, 5:], rtol=1e-12)
    np.testing.assert_allclose(kernel.gram(b, a), G[5:, :5], rtol=1e-12)
    np.testing.assert_allclose(kernel.cross(a, b, rows), np.take_along_axis(G[:5, 5:], rows, 1), rtol=1e-12)
    among = G[5:, 5:][rows[:, :, None], rows[:, None, :]]
    np.testing.assert_allclose(kernel.local(b, rows), among, rtol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(b), np.diag(G)[5:])
    polar = kernels.Polarisation(MADE[name]())
    np.testing.assert_allclose(polar.gram(a, b), polar.gram(b, a).T, rtol=1e-12)


@pytest.mark.parametrize("form", ["rkhs", "gram"])
@pytest.mark.parametrize("n_neighbors", [9, None])
@pytest.mark.parametrize("name", MADE)
def test_every_tier_gives_the_papers_answer(name, n_neighbors, form):
    X, y, Q = problem(2, n=30, queries=4)
    G = expected(np.concatenate([Q, X]))
    model = fitted(MADE[name](), X, y, n_neighbors=n_neighbors, form=form).model_
    found = pipeline.classify(model, Q)
    staged = pipeline.classify(model, Q, compiled=False)
    np.testing.assert_allclose(found.residuals, staged.residuals, rtol=1e-9)
    for at, q in enumerate(Q):
        far = np.array([uphill(q, x) for x in X])  # the search goes by the direction that was asked
        rows = np.argsort(far, kind="stable")[:n_neighbors]
        np.testing.assert_array_equal(found.rows[at], rows)
        K, k = G[4:, 4:][np.ix_(rows, rows)], G[at, 4:][rows]
        if form == "gram":
            _, residuals = paper.kcrc_rls(K, k, y[rows], 0.01)
        else:
            _, residuals = paper.kcrc_rkhs(K, k, 1.0, y[rows], 0.01)
        for c, residual in residuals.items():
            assert found.residuals[at, c] == pytest.approx(residual, rel=1e-8)


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("tabled", [False, True])
def test_trials_see_the_same_kernel(name, tabled):
    X, y, _ = problem(3, n=25)
    distance = MADE[name]()
    around = Surroundings(Samples(X), y, np.arange(25))
    if tabled:
        around = around.with_tables(distance, 1e12, 1)
    which = (4, 20)
    G = expected(X)
    trials = DistanceGeometry(distance, around, y, around.groups).trials(np.array(which), 6)
    for at, i in enumerate(which):
        far = np.array([uphill(X[i], x) if j != i else np.inf for j, x in enumerate(X)])
        rows = np.argsort(far, kind="stable")[:6]
        np.testing.assert_allclose(np.exp(-GAMMA * trials.cross[at]), G[i, rows], rtol=1e-5)
        np.testing.assert_allclose(np.exp(-GAMMA * trials.among[at]), G[np.ix_(rows, rows)], rtol=1e-5)


@pytest.mark.parametrize("name", MADE)
def test_a_member_of_a_unified_distance_is_seen_both_ways_too(name):
    X, y, Q = problem(4, n=30, queries=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowDistanceWarning)
        unified = Unified({"one": MADE[name](), "two": "euclidean"}).fit(X, y, sample_shape=(6,))
    kernel = kernels.Exponential(unified, GAMMA)
    everyone = kernel.prepare(np.concatenate([Q, X]))
    G = kernel.gram(everyone, everyone)
    np.testing.assert_allclose(G, G.T, rtol=1e-12)
    rows = np.array([[7, 9, 30], [12, 5, 21]])
    off = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose(
        kernel.local(everyone, rows)[:, off], G[rows[:, :, None], rows[:, None, :]][:, off], rtol=1e-9
    )
    np.testing.assert_allclose(kernel.cross(everyone.take([0, 1]), everyone, rows), np.take_along_axis(G[:2], rows, 1))


def test_an_uneven_precomputed_matrix_is_seen_both_ways_among_the_examples():
    X, y, Q = problem(5, n=30, queries=4)
    D = np.array([[uphill(u, v) for v in X] for u in X])
    np.fill_diagonal(D, 0.0)
    asked = np.array([[uphill(q, v) for v in X] for q in Q])
    options = {**GIVEN, "n_neighbors": None, "distance": "precomputed", "kernel": "exp", "gamma": GAMMA}
    uneven = KCRCClassifier(**options).fit(D, y).explain(asked)
    even = KCRCClassifier(**options).fit((D + D.T) / 2, y).explain(asked)
    np.testing.assert_allclose(uneven.residuals, even.residuals, rtol=1e-9)
    np.testing.assert_array_equal(uneven.rows, even.rows)
