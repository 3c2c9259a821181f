"""Choosing in four steps, each a small value: what is wished for, the ground, the search, what was found."""

from __future__ import annotations

import numpy as np
import pytest
from problems import Costly, given, problem
from threadpoolctl import ThreadpoolController, threadpool_limits

from kcrc import KCRCClassifier, distances, kernels, scaling
from kcrc._base.parallel import FOREIGN
from kcrc.classifier import parameters
from kcrc.classifier.parameters import (
    Ground,
    Parameters,
    Wish,
    searches_kernel,
    settled,
    takes_any_scaling,
    takes_vectors,
)
from kcrc.method.distances import Unified
from kcrc.tuning.tune import tune

EUCLIDEAN, MANHATTAN, UNION = (distances.make(name) for name in ("euclidean", "manhattan", "unified"))


def wish(**options):
    return Wish.of(KCRCClassifier(**options))


def test_nothing_is_wished_where_all_is_given():
    assert not Wish.of(given()).open
    assert Wish.of(given(mu="auto")).open
    assert Wish.of(given(projection="kpca")).open  # its dimension
    assert Wish.of(given(distance=Unified(["euclidean", "manhattan"], weights="auto"))).open


def test_a_wish_fills_in_what_follows():
    assert wish(distance="precomputed").params["kernel"] == "exp"
    assert wish(distance="precomputed", kernel="rbf").params["kernel"] == "exp"
    assert wish(distance="precomputed", kernel="polarisation").params["kernel"] == "polarisation"
    assert wish(kernel="precomputed").params["scaling"] == "plain"
    assert wish(form="raw", kernel="rbf").params["kernel"] == "linear"
    assert wish().params == dict.fromkeys(wish().params, "auto")


def test_one_thread_chooses_where_one_is_asked_for(monkeypatch):
    def threads():
        found = ThreadpoolController().select(user_api="blas").lib_controllers
        return {library.filepath: library.num_threads for library in found if FOREIGN not in library.filepath}

    inside = []

    def watched(request, X, y):
        inside.append(threads())
        return tune(request, X, y)

    monkeypatch.setattr("kcrc.tuning.tune.tune", watched)
    X, y = problem(0)[:2]
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        for n_jobs in (1, 2):
            KCRCClassifier(n_jobs=n_jobs, tuning_seconds=0.1).fit(X, y)
        assert threads() == before
    assert set(inside[0].values()) == {1}
    assert inside[1] == before  # what somebody set is not raised


def test_which_kernels_are_searched():
    for name in ("auto", "exp", "linear", "rbf"):
        assert searches_kernel(name, EUCLIDEAN)
        assert searches_kernel(name, MANHATTAN) == (name in ("auto", "exp"))
    for kernel in ("polynomial", "polarisation", kernels.RBF(1.0), np.dot):
        assert not searches_kernel(kernel, EUCLIDEAN)


def test_which_distances_take_any_metric():
    assert takes_any_scaling(EUCLIDEAN, EUCLIDEAN)
    assert takes_any_scaling(MANHATTAN, EUCLIDEAN)
    assert takes_any_scaling(UNION, UNION)
    assert not takes_any_scaling(EUCLIDEAN, UNION)  # which would learn anew under each
    assert not takes_any_scaling(distances.make("chi2"), EUCLIDEAN)


def test_which_parts_are_at_home_among_any_vectors():
    for kernel in ("auto", "linear", "polynomial", "polarisation", kernels.RBF(1.0)):
        assert takes_vectors(kernel, MANHATTAN, EUCLIDEAN)
    assert not takes_vectors(np.dot, EUCLIDEAN, EUCLIDEAN)
    assert not takes_vectors("rbf", distances.make("chi2"), EUCLIDEAN)
    assert not takes_vectors(kernels.Exponential(distances.make("chi2")), EUCLIDEAN, EUCLIDEAN)


def ground(X, y, **options):
    classifier = KCRCClassifier(**options)
    vectors, labels = classifier._validate(X, y, reset=True)
    return Ground.of(Parameters(classifier), Wish.of(classifier), vectors, labels)


NOT_SEARCHED = {
    "a polynomial": {"kernel": "polynomial"},
    "a kernel object": {"kernel": kernels.RBF(0.1)},
    "another distance": {"kernel": "rbf", "distance": "manhattan"},
    "a costly distance": {"distance": Costly()},
    "a union as the coarse one": {"n_candidates": 20, "coarse_distance": "unified"},
}


@pytest.mark.parametrize("name", NOT_SEARCHED)
def test_mixed_units_are_standardised_where_the_scaling_cannot_be_searched(name):
    X, y, _ = problem(4, n=40)
    mixed = X * np.array([1e4, 1.0, 1.0, 1e-3, 1.0, 1.0])
    assert ground(X, y, **NOT_SEARCHED[name]).params["scaling"] == "plain"
    found = ground(mixed, y, **NOT_SEARCHED[name])
    assert found.params["scaling"] == "standard"
    np.testing.assert_allclose(found.scaled, scaling.Standard().fit(mixed, y).transform(mixed))
    assert ground(mixed, y, **NOT_SEARCHED[name], scaling="plain").params["scaling"] == "plain"  # what is given is kept


def test_units_stay_where_nobody_knows_what_a_part_expects():
    X, y, _ = problem(4, n=40)
    mixed = np.abs(X) * np.array([1e4, 1.0, 1.0, 1e-3, 1.0, 1.0])
    for options in ({"kernel": lambda A, B: A @ B.T}, {"distance": "chi2"}):
        assert ground(mixed, y, **options).params["scaling"] == "plain"


def test_a_classifier_with_a_given_kernel_answers_in_mixed_units_as_after_scaling():
    X, y, Xq = problem(6, n=120, queries=60)
    factors = np.array([1e6, 1.0, 1.0, 1e-4, 1.0, 1e3])
    mixed = KCRCClassifier(kernel="polynomial", tuning_seconds=1).fit(X * factors, y)
    assert isinstance(mixed.model_.method.scaling, scaling.Standard)
    scaler = scaling.Standard().fit(X, y)
    scaled = KCRCClassifier(kernel="polynomial", tuning_seconds=1).fit(scaler.transform(X), y)
    same = mixed.predict(Xq * factors) == scaled.predict(scaler.transform(Xq))
    assert same.mean() > 0.95


def test_what_was_found_keeps_its_distances():
    X, y, _ = problem(4, n=40)
    plain = ground(X, y)
    assert settled({"mu": 1}, plain) == {"mu": 1}
    other = ground(X, y, distance="manhattan")
    assert settled({"mu": 1}, other) == {"mu": 1, "distances": (other.distance, other.distance)}
    assert settled({"mu": 1, "distance": UNION}, other) == {"mu": 1, "distances": (UNION, UNION)}
    coarse = ground(X, y, distance="manhattan", n_candidates=20)
    assert settled({"distance": UNION}, coarse) == {"distances": (UNION, coarse.coarse)}


def test_the_table_of_what_is_searched_is_what_a_setting_has():
    assert set(parameters.SEARCHED) == {
        "n_neighbors", "scaling", "kernel", "gamma", "mu", "form", "decision", "locality"
    }  # fmt: skip
