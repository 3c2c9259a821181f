"""Settings check themselves, say what is open, and make each part once."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from problems import Costly, given, problem
from threadpoolctl import ThreadpoolController, threadpool_limits

from kcrc import KCRCClassifier, distances, kernels, scaling
from kcrc._base.parallel import _libraries
from kcrc.classifier.parameters import settings_of
from kcrc.errors import ParameterError
from kcrc.method.distances import Unified
from kcrc.tuning import tune as module
from kcrc.tuning.result import CandidateSetting, SearchResult
from kcrc.tuning.settings import SEARCHED
from kcrc.tuning.tune import Tuner, searches_kernel, takes_any_scaling, takes_vectors, tune

EUCLIDEAN, MANHATTAN, UNION = (distances.make(name) for name in ("euclidean", "manhattan", "unified"))


def settings_from(classifier, X=None, y=None):
    X, y = problem(0)[:2] if X is None else (X, y)
    classifier._validate(X, y, reset=True)
    return settings_of(classifier)


def settings(**options):
    return settings_from(KCRCClassifier(**options))


def test_nothing_is_open_where_all_is_given():
    assert settings_from(given()).is_closed
    assert not settings_from(given(mu="auto")).is_closed
    assert not settings_from(given(form="gram", projection="kpca")).is_closed  # its dimension
    assert not settings_from(given(distance=Unified(["euclidean", "manhattan"], weights="auto"))).is_closed
    X, y = problem(0)[:2]
    assert tune(settings_from(given(), X, y), X, y).report is None


def test_what_follows_from_what_is_given_is_filled_in():
    assert settings(distance="precomputed").member.kernel == "exp"
    assert settings(distance="precomputed", kernel="rbf").member.kernel == "exp"
    assert settings(distance="precomputed", kernel="polarisation").member.kernel == "polarisation"
    assert settings(kernel="precomputed").member.scaling == "plain"
    assert settings(form="raw", kernel="rbf").member.kernel == "linear"
    assert {getattr(settings().member, name) for name in SEARCHED} == {"auto"}


def test_settings_never_change_and_check_themselves():
    one = settings()
    with pytest.raises(FrozenInstanceError):
        one.seed = 3
    changed = one.with_values(mu=0.5)
    assert (changed.member.mu, one.member.mu) == (0.5, "auto")
    with pytest.raises(ParameterError, match='projection works with form="gram"'):
        one.with_values(form="rkhs", projection="kpca")
    with pytest.raises(ParameterError, match="n_candidates=5 must be at least n_neighbors=6"):
        replace(one, n_candidates=5).with_values(n_neighbors=6)


def test_the_weights_of_members_add_up_to_one():
    one = settings()
    both = replace(one, members=(replace(one.member, weight=0.25), replace(one.member, weight=0.75)))
    assert [member.weight for member in both.members] == [0.25, 0.75]
    for weights in ((0.5, 0.4), (1.5, -0.5), ()):
        with pytest.raises(ParameterError, match="must be positive and add up to 1; got"):
            replace(one, members=tuple(replace(one.member, weight=weight) for weight in weights))


def test_the_result_of_a_search_has_nothing_open_and_makes_the_method():
    X, y = problem(2, n=60)[:2]
    result = tune(settings_from(KCRCClassifier(tuning_seconds=0.5, n_jobs=1), X, y), X, y)
    assert result.settings.is_closed
    assert isinstance(result, SearchResult)
    method, scaled = result.settings.make_method(X, y)
    assert method.scaling is result.settings.member.scaling is result.report.scaling  # fitted once
    assert scaled.shape == X.shape
    assert method.decision == result.report.best.decision


def test_each_part_is_made_once(monkeypatch):
    """A distance that learns is fitted by the search and taken over; so is a kernel that is not searched."""
    X, y = problem(2, n=60)[:2]
    fits, made = [], []
    fit, resolve = type(MANHATTAN).fit, kernels.resolve
    monkeypatch.setattr(type(MANHATTAN), "fit", lambda *args, **more: (fits.append(1), fit(*args, **more))[1])
    monkeypatch.setattr("kcrc.tuning.settings.kernels.resolve", lambda *a, **k: (made.append(a), resolve(*a, **k))[1])
    options = {"distance": "manhattan", "kernel": "polarisation", "scaling": "plain", "tuning_seconds": 0.5}
    classifier = KCRCClassifier(**options)
    classifier._validate(X, y, reset=True)
    result = tune(settings_of(classifier), X, y)
    made.clear()
    method, _ = result.settings.make_method(X, y)
    assert made == []
    assert len(fits) == 1
    assert method.kernel is result.settings.member.fitted_kernel
    assert (method.distance, method.coarse_distance) == result.settings.member.distances


def test_one_thread_chooses_where_one_is_asked_for(monkeypatch):
    def threads():
        """Of the libraries of NumPy and SciPy: others may load one of their own before this test."""
        loaded = ThreadpoolController().select(user_api="blas").lib_controllers
        ours = {library.filepath for library in _libraries()}
        return {library.filepath: library.num_threads for library in loaded if library.filepath in ours}

    inside = []

    def watched(*args):
        inside.append(threads())
        return choose(*args)

    choose = module._tune
    monkeypatch.setattr(module, "_tune", watched)
    X, y = problem(0)[:2]
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        for n_jobs in (1, 2):
            KCRCClassifier(n_jobs=n_jobs, tuning_seconds=0.1).fit(X, y)
        assert threads() == before
    assert before
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


def fitted_parts(X, y, **options):
    """The settings as a search starts from them, and the examples scaled."""
    return module._fit_parts(settings_from(KCRCClassifier(**options), X, y), X, y)[:2]


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
    assert fitted_parts(X, y, **NOT_SEARCHED[name])[0].member.scaling == "plain"
    found, scaled = fitted_parts(mixed, y, **NOT_SEARCHED[name])
    assert found.member.scaling == "standard"
    np.testing.assert_allclose(scaled, scaling.Standard().fit(mixed, y).transform(mixed))
    assert fitted_parts(mixed, y, **NOT_SEARCHED[name], scaling="plain")[0].member.scaling == "plain"  # as given


def test_units_stay_where_nobody_knows_what_a_part_expects():
    X, y, _ = problem(4, n=40)
    mixed = np.abs(X) * np.array([1e4, 1.0, 1.0, 1e-3, 1.0, 1.0])
    for options in ({"kernel": lambda A, B: A @ B.T}, {"distance": "chi2"}):
        assert fitted_parts(mixed, y, **options)[0].member.scaling == "plain"


def test_a_classifier_with_a_given_kernel_answers_in_mixed_units_as_after_scaling():
    X, y, Xq = problem(6, n=120, queries=60)
    factors = np.array([1e6, 1.0, 1.0, 1e-4, 1.0, 1e3])
    mixed = KCRCClassifier(kernel="polynomial", tuning_seconds=1).fit(X * factors, y)
    assert isinstance(mixed.model_.method.scaling, scaling.Standard)
    scaler = scaling.Standard().fit(X, y)
    scaled = KCRCClassifier(kernel="polynomial", tuning_seconds=1).fit(scaler.transform(X), y)
    same = mixed.predict(Xq * factors) == scaled.predict(scaler.transform(Xq))
    assert same.mean() > 0.95


def test_what_was_chosen_keeps_its_distances():
    X, y, _ = problem(4, n=40)
    best = CandidateSetting("plain", "atoms", 5, "rbf", 1.0, 0.1, "rkhs", "ratio")

    def closed(chosen=EUCLIDEAN, **options):
        fitted = fitted_parts(X, y, **options)[0]
        tuner = Tuner(fitted, X, y, np.arange(40), lambda share: None)
        return tuner._close(best, None, chosen).member, fitted.member

    assert closed()[0].distances is None
    other, fitted = closed(MANHATTAN, distance="manhattan")
    assert other.distances == (MANHATTAN, MANHATTAN)
    coarse, fitted = closed(UNION, distance="manhattan", n_candidates=20)
    assert coarse.distances == (UNION, fitted.distances[1])


def test_the_parameters_that_are_searched_are_what_a_candidate_has():
    assert set(SEARCHED) == {
        "n_neighbors", "scaling", "kernel", "gamma", "mu", "form", "decision", "locality"
    }  # fmt: skip
