"""KCRCClassifier: what it does with examples over time, and what it says when it cannot."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import given as settled
from problems import problem
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import manhattan_distances, rbf_kernel
from sklearn.neighbors import KNeighborsClassifier

from kcrc import methods, scaling
from kcrc.errors import DataError, KCRCError, ParameterError, UnknownName


def same_answers(a, b, Xq, rows=True):
    left, right = a.explain(Xq), b.explain(Xq)
    np.testing.assert_array_equal(left.labels, right.labels)
    np.testing.assert_allclose(left.residuals, right.residuals, rtol=1e-9, atol=1e-9)
    if rows:
        np.testing.assert_array_equal(left.rows, right.rows)


# Properties of the method ------------------------------------------------------------------------------------------


def test_one_neighbour_is_the_nearest_neighbour_classifier():
    X, y, Xq = problem(1, queries=30)
    knn = KNeighborsClassifier(1).fit(X, y).predict(Xq)
    np.testing.assert_array_equal(settled(1).fit(X, y).predict(Xq), knn)
    np.testing.assert_array_equal(methods.make("NN").fit(X, y).predict(Xq), knn)


@pytest.mark.parametrize("form", ["gram", "rkhs", "raw"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "polynomial", "exp", "polarisation"])
def test_all_neighbours_are_the_global_dictionary(form, kernel):
    X, y, Xq = problem(2)
    options = {"form": form, "kernel": kernel, "mu": 0.1}
    everyone = settled(None, **options).fit(X, y)
    same_answers(everyone, settled(len(X), **options).fit(X, y), Xq)
    same_answers(everyone, settled(10 * len(X), **options).fit(X, y), Xq)


@pytest.mark.parametrize("K", [12, None])
@pytest.mark.parametrize("form", ["gram", "rkhs"])
def test_the_order_of_the_examples_changes_nothing(K, form, rng):
    X, y, Xq = problem(3)
    shuffled = rng.permutation(len(X))
    a = settled(K, form=form, gamma=0.1).fit(X, y).explain(Xq)
    b = settled(K, form=form, gamma=0.1).fit(X[shuffled], y[shuffled]).explain(Xq)
    np.testing.assert_array_equal(a.rows, shuffled[b.rows])
    np.testing.assert_allclose(a.coefficients, b.coefficients, atol=1e-9)
    np.testing.assert_allclose(a.residuals, b.residuals, atol=1e-9)


@pytest.mark.parametrize("locality", ["atoms", "classes"])
@pytest.mark.parametrize("K", [3, None])
def test_an_answer_does_not_depend_on_its_batch_or_the_threads(K, locality):
    X, y, Xq = problem(4, n=60, queries=25)
    clf = settled(K, locality=locality, n_jobs=1).fit(X, y)
    together = clf.explain(Xq)
    assert len(together) == 25
    for i in range(len(Xq)):
        alone = clf.explain(Xq[i : i + 1])
        width = alone.rows.shape[1]
        np.testing.assert_array_equal(alone.rows[0], together.rows[i][:width])
        np.testing.assert_allclose(alone.residuals[0], together.residuals[i], rtol=1e-9)
    threaded = settled(K, locality=locality, n_jobs=2, memory_budget="1MiB").fit(X, y).explain(Xq)
    np.testing.assert_allclose(threaded.residuals, together.residuals, rtol=1e-9)


@pytest.mark.parametrize("metric", scaling.names())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("K", "locality"), [(10, "atoms"), (2, "classes"), (None, "atoms")])
def test_a_probability_is_the_same_alone_and_in_a_batch(metric, dtype, K, locality):
    """Bit for bit where the dictionary is local; a global one is solved for all queries of a batch together."""
    X, y, Xq = problem(12, n=90, queries=40)
    clf = settled(K, locality=locality, scaling=metric).fit(X.astype(dtype), y)
    Xq = Xq.astype(dtype)
    off = 0.0 if K is not None else 1e-4 if dtype is np.float32 else 1e-9
    together = clf.predict_proba(Xq)
    for size in (1, 2, 7):
        apart = np.concatenate([clf.predict_proba(Xq[at : at + size]) for at in range(0, 40, size)])
        np.testing.assert_allclose(apart, together, rtol=0, atol=off)


def test_whole_classes_as_dictionary():
    X, y, Xq = problem(5, classes=5)
    evidence = settled(2, locality="classes").fit(X, y).explain(Xq)
    means = np.array([X[y == c].mean(axis=0) for c in range(5)])
    assert len(evidence.rows) == len(Xq) == 7
    for i, q in enumerate(Xq):
        nearest = np.argsort(np.linalg.norm(means - q, axis=1))[:2]
        rows = evidence.rows[i][evidence.rows[i] >= 0]
        assert sorted(rows) == sorted(np.flatnonzero(np.isin(y, nearest)))


def test_decision_residual_is_the_ratio_without_the_division():
    X, y, Xq = problem(6)
    ratio = settled(None, decision="ratio").fit(X, y).explain(Xq)
    plain = settled(None, decision="residual").fit(X, y).explain(Xq)
    for c in range(4):
        length = np.sqrt(np.where(ratio.neighbour_labels == c, ratio.coefficients**2, 0).sum(axis=1))
        np.testing.assert_allclose(ratio.residuals[:, c] * length, plain.residuals[:, c], rtol=1e-9)


@pytest.mark.parametrize("m", [2, 4, 8, 16, 32, 64, 128, 256])
def test_same_direction_data(m):
    """Paper, "Data with the same direction distribution": kernels classify it all, CRC near chance."""
    rng = np.random.default_rng(m)

    def draw(n):
        side = np.arange(n) % 2
        X = rng.uniform(1, 3, size=(n, m)) + rng.normal(scale=np.sqrt(0.15), size=(n, m))
        return np.where(side[:, None] == 0, X, -X), side

    (X, y), (Xq, yq) = draw(100), draw(200)
    accuracy = {
        name: (methods.make(name).fit(X, y).predict(Xq) == yq).mean() for name in ("KCRC-GD", "KCRC-LCD", "CRC-GD")
    }
    assert accuracy["KCRC-GD"] == 1.0
    assert accuracy["KCRC-LCD"] == 1.0
    assert accuracy["CRC-GD"] < 0.75


# Adding and forgetting ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("K", [8, None])
@pytest.mark.parametrize("locality", ["atoms", "classes"])
def test_adding_in_pieces_is_fitting_at_once(K, locality):
    X, y, Xq = problem(7)
    options = {"n_neighbors": K, "locality": locality, "gamma": 0.1}
    whole = settled(**options).fit(X, y)
    pieces = settled(**options).fit(X[:5], y[:5])
    for i in range(5, len(X), 7):
        pieces.partial_fit(X[i : i + 7], y[i : i + 7])
    same_answers(whole, pieces, Xq)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), K=st.sampled_from([1, 5, None]), locality=st.sampled_from(["atoms", "classes"]))
def test_adding_then_forgetting_restores_every_answer(seed, K, locality):
    X, y, Xq = problem(seed)
    more, more_y, _ = problem(seed + 1, n=9)
    clf = settled(K, locality=locality, gamma=0.1).fit(X, y)
    before = clf.explain(Xq)
    clf.partial_fit(more, more_y + 100)
    assert 103 in clf.classes_
    clf.forget(np.arange(len(X), len(X) + 9))
    after = clf.explain(Xq)
    np.testing.assert_array_equal(before.rows, after.rows)
    np.testing.assert_array_equal(before.residuals, after.residuals)
    np.testing.assert_array_equal(clf.classes_, before.classes)


def test_rows_keep_their_numbers():
    X, y, _ = problem(8)
    clf = settled(1).fit(X, y)
    clf.forget([0, 5])
    assert clf.explain(X[10:11]).rows[0, 0] == 10
    clf.partial_fit(X[:1] + 50, [7])
    assert clf.explain(X[:1] + 50).rows[0, 0] == len(X)
    assert clf.predict(X[:1] + 50)[0] == 7
    with pytest.raises(ParameterError, match="row number 5"):
        clf.forget(5)


def test_forget_class():
    X, y, Xq = problem(9)
    names = np.array(["wren", "robin", "finch", "owl"])[y]
    clf = settled(10, gamma=0.1).fit(X, names)
    clf.forget_class("owl")
    assert list(clf.classes_) == ["finch", "robin", "wren"]
    others = names != "owl"
    same_answers(clf, settled(10, gamma=0.1).fit(X[others], names[others]), Xq, rows=False)
    with pytest.raises(UnknownName, match="Did you mean 'wren'"):
        clf.forget_class("wern")


def test_one_more_example_does_not_touch_the_others(rng):
    X = rng.normal(size=(5000, 20)).astype(np.float32)
    y = np.arange(5000) % 3
    clf = settled(5).fit(X, y)
    assert np.shares_memory(clf.model_.vectors, X)  # no copy of the caller's array either
    clf.partial_fit(X[:1] + 1, [0])
    old = clf.model_.vectors
    clf.partial_fit(X[:1] + 2, [1])
    assert np.shares_memory(clf.model_.vectors, old)
    assert len(clf.model_) == 5002


def test_classes_announced_before_their_first_example():
    X, y, Xq = problem(10)
    clf = settled(5).partial_fit(X, y, classes=[0, 1, 2, 3, 4])
    assert list(clf.classes_) == [0, 1, 2, 3, 4]
    assert clf.decision_function(Xq).shape == (len(Xq), 5)
    assert (clf.decision_function(Xq)[:, 4] == 0).all()
    clf.partial_fit(X[:1] + 30, [4])
    assert clf.predict(X[:1] + 30)[0] == 4


# Given matrices, functions and images ------------------------------------------------------------------------------


def test_precomputed_distances_and_kernels_equal_computed_ones():
    X, y, Xq = problem(11)
    own = settled(9, distance="manhattan", kernel="exp", gamma=0.2).fit(X, y)
    given_ = settled(9, distance="precomputed", kernel="exp", gamma=0.2).fit(manhattan_distances(X), y)
    np.testing.assert_allclose(
        own.explain(Xq).residuals, given_.explain(manhattan_distances(Xq, X)).residuals, rtol=1e-7
    )
    for K in (9, None):
        for form in ("gram", "rkhs"):
            own = settled(K, gamma=0.2, form=form).fit(X, y)
            given_ = settled(K, kernel="precomputed", form=form).fit(rbf_kernel(X, gamma=0.2), y)
            np.testing.assert_allclose(
                own.explain(Xq).residuals, given_.explain(rbf_kernel(Xq, X, gamma=0.2)).residuals, rtol=1e-6
            )
    given_.forget([3])
    assert 3 not in given_.explain(rbf_kernel(Xq, X, gamma=0.2)).rows
    with pytest.raises(ParameterError, match="precomputed"):
        given_.partial_fit(rbf_kernel(Xq, X, gamma=0.2), y[: len(Xq)])
    with pytest.raises(DataError, match="constant diagonal"):
        settled(5, kernel="precomputed").fit(X @ X.T, y).predict(Xq @ X.T)
    as_many = problem(11, queries=len(X))[2]  # as many queries as examples are still not the examples
    own = settled(9, gamma=0.2).fit(X, y)
    given_ = settled(9, kernel="precomputed").fit(rbf_kernel(X, gamma=0.2), y)
    np.testing.assert_allclose(
        own.explain(as_many).residuals, given_.explain(rbf_kernel(as_many, X, gamma=0.2)).residuals, rtol=1e-6
    )


@pytest.mark.filterwarnings("ignore::kcrc.method.distances.custom.SlowDistanceWarning")
def test_functions_as_distance_and_kernel():
    X, y, Xq = problem(12)
    named = settled(9, distance="manhattan", kernel="rbf", gamma=0.2).fit(X, y)
    functions = settled(
        9, distance=lambda u, v: float(np.abs(u - v).sum()), kernel=lambda A, B: rbf_kernel(A, B, gamma=0.2)
    ).fit(X, y)
    same_answers(named, functions, Xq)


def test_images_are_samples():
    digits = load_digits()
    flat, images = digits.data[:300], digits.images[:300]
    a = settled(20).fit(flat[:200], digits.target[:200])
    b = settled(20).fit(images[:200], digits.target[:200])
    np.testing.assert_array_equal(a.predict(flat[200:]), b.predict(images[200:]))
    with pytest.raises(DataError, match="shape"):
        b.predict(images[200:, :, :4])


def test_float32_stays_float32_and_agrees():
    X, y, Xq = problem(13)
    wide = settled(15).fit(X, y)
    narrow = settled(15).fit(X.astype(np.float32), y)
    assert narrow.model_.vectors.dtype == np.float32
    np.testing.assert_array_equal(wide.predict(Xq), narrow.predict(Xq))
    np.testing.assert_allclose(wide.decision_function(Xq), narrow.decision_function(Xq), atol=1e-3)


def test_odd_data_have_answers():
    X, y, Xq = problem(14)
    for options in ({}, {"form": "gram"}, {"form": "raw"}, {"n_neighbors": None}, {"scaling": "unit"}):
        for data in (np.zeros_like(X), np.ones_like(X), np.repeat(X[:1], len(X), 0)):
            clf = settled(**options).fit(data, y)
            assert np.isin(clf.predict(data[:3]), y).all()
            assert np.isin(clf.predict(Xq), y).all()
        assert (settled(**options).fit(X, np.ones(len(X))).predict(Xq) == 1).all()
        assert settled(**options).fit(X[:1], [5]).predict(Xq[:1])[0] == 5
        assert settled(**options).fit(X, y).predict(np.zeros((1, 6))).shape == (1,)


# Errors -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be a whole number, 1 or more, or None; got 0"),
        ({"n_neighbors": 2.5}, "n_neighbors must be a whole number"),
        ({"n_candidates": 3}, "at least n_neighbors"),
        ({"distance": "euclidian"}, "Did you mean 'euclidean'"),
        ({"coarse_distance": "city", "n_candidates": 60}, "Unknown distance 'city'. Known:"),
        ({"kernel": "gauss"}, "Unknown kernel 'gauss'. Known:"),
        ({"scaling": "units"}, "Did you mean 'unit'"),
        ({"gamma": 0}, "gamma is a number above 0; got 0"),
        ({"mu": -1}, "mu is a number, 0 or more; got -1"),
        ({"form": "grem"}, "Did you mean 'gram'"),
        ({"decision": "ratios"}, "Did you mean 'ratio'"),
        ({"locality": "class"}, "Did you mean 'classes'"),
        ({"coder": "rigde"}, "Did you mean 'ridge'"),
        ({"projection": "ident"}, "Did you mean 'identity'"),
        ({"normalize_columns": 3}, "True or False"),
        ({"memory_budget": "lots"}, "memory_budget"),
        ({"memory_budget": 10}, "at least 1 MiB"),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, "NaN"),
        ({"kernel": "polarisation", "distance": "precomputed"}, "polarisation"),
    ],
)
def test_bad_parameters_say_what_to_do(options, message):
    X, y, _ = problem(15)
    data = np.abs(X @ X.T) if options.get("distance") == "precomputed" else X
    with pytest.raises(KCRCError, match=message):
        settled(**options).fit(data, y)


def test_a_failed_call_leaves_the_model_as_it_was():
    X, y, Xq = problem(16)
    clf = settled(10).fit(X, y)
    before = clf.explain(Xq)
    broken = Xq.copy()
    broken[0, 0] = np.nan
    for call in (
        lambda: clf.predict(broken),
        lambda: clf.predict(Xq[:, :3]),
        lambda: clf.partial_fit(broken, y[: len(Xq)]),
        lambda: clf.partial_fit(Xq[:, :3], y[: len(Xq)]),
        lambda: clf.partial_fit(Xq, y[:2]),
        lambda: clf.forget(np.arange(len(X))),
        lambda: clf.forget([0, 10_000]),
        lambda: clf.forget(["a"]),
        lambda: clf.forget_class("nobody"),
        lambda: clf.fit(X[:0], y[:0]),
        lambda: clf.fit(broken, y[: len(Xq)]),
        lambda: clf.fit(X[:, :3], np.where(y == 0, np.inf, y)),
        lambda: clf.set_params(kernel="gauss").fit(X[:, :3], y),
        lambda: clf.set_params(kernel="rbf", n_neighbors=0).fit(X, y),
    ):
        with pytest.raises(ValueError):  # noqa: PT011  (scikit-learn words its own checks)
            call()
        np.testing.assert_array_equal(clf.explain(Xq).residuals, before.residuals)


def test_a_kernel_that_turns_nan_on_a_query_is_named():
    X, y, Xq = problem(17)

    def kernel(A, B):
        values = rbf_kernel(A, B, gamma=0.1)
        return np.where(np.abs(A).max(axis=1)[:, None] > 50, np.nan, values)

    clf = settled(10, kernel=kernel).fit(X, y)
    with pytest.raises(DataError, match=r"kernel function .*kernel at .* returned NaN .* sets of 1 and 10"):
        clf.predict(Xq * 1000)
    assert np.isin(clf.predict(Xq), y).all()


def test_a_precomputed_kernel_and_distance_must_be_square():
    X, y, _ = problem(18)
    for options in ({"kernel": "precomputed"}, {"distance": "precomputed"}):
        with pytest.raises(DataError, match="square"):
            settled(**options).fit(X, y)


def test_random_state_and_memory_budget_forms():
    X, y, Xq = problem(19)
    expected = settled(10).fit(X, y).predict(Xq)
    for options in (
        {"random_state": 3},
        {"random_state": np.random.RandomState(0)},
        {"memory_budget": 2**21},
        {"memory_budget": "1.5 MiB"},
        {"n_jobs": -1},
    ):
        np.testing.assert_array_equal(settled(10, **options).fit(X, y).predict(Xq), expected)
    with pytest.raises(ParameterError, match="n_jobs"):
        settled(10, n_jobs=0).fit(X, y).predict(Xq)


@pytest.mark.parametrize("form", ["gram", "raw"])
def test_single_precision_examples_are_coded_in_double_where_the_penalty_is_small(form):
    """Many alike atoms in single precision, and a penalty far below its rounding: the answers of double precision."""
    rng = np.random.default_rng(0)
    y = np.arange(240) % 6
    X = (3.0 * rng.normal(size=(6, 8))[y] + 0.8 * rng.normal(size=(240, 8))).astype(np.float32)
    Q = X[::3] + 0.3 * rng.normal(size=(80, 8)).astype(np.float32)
    options = {"kernel": "linear" if form == "raw" else "rbf", "gamma": 0.02, "mu": 1e-8, "form": form}
    single = settled(None, **options).fit(X, y).explain(Q)
    double = settled(None, **options).fit(X.astype(np.float64), y).explain(Q.astype(np.float64))
    assert np.mean(single.labels == double.labels) > 0.9
    size = np.linalg.norm(double.coefficients, axis=1)
    np.testing.assert_allclose(np.linalg.norm(single.coefficients, axis=1), size, rtol=0.2)
