"""Several distances as one: the sum of normalised distances, its views, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from problems import given, problem

from kcrc import KCRCClassifier, distances
from kcrc.errors import DataError, ParameterError, UnknownName
from kcrc.method.distances import Unified
from kcrc.method.distances.custom import SlowDistanceWarning
from kcrc.method.distances.unified import of_a_kind


def fitted(X, distance):
    return distance.fit(X, np.zeros(len(X), int), sample_shape=X.shape[1:])


def scale(among, y):
    """How far some examples are from the nearest of a few of their class, on average; ``among`` (n, n) distances."""
    asked, mates = of_a_kind(y)
    return np.mean([min(among[i, j] for j in few) for i, few in zip(asked, mates, strict=True)])


def by_hand(Q, X, weights):
    """Σ w Dist^power / scale, for Euclidean (squared) and Manhattan; all examples are of one class."""
    total = 0.0
    for w, order, power in zip(weights, (2, 1), (2, 1), strict=True):
        far = np.array([[np.linalg.norm(a - b, order) ** power for b in X] for a in Q])
        among = np.array([[np.linalg.norm(a - b, order) ** power for b in X] for a in X])
        total = total + w * far / scale(among, np.zeros(len(X)))
    return total


def test_the_scale_asks_examples_about_others_of_their_class():
    y = np.array([0, 1, 1, 2, 2, 2, 2, 2, 3])
    asked, mates = of_a_kind(y)
    assert sorted(asked) == [1, 2, 3, 4, 5, 6, 7]  # those of classes of one have nobody to ask
    assert (y[mates] == y[asked][:, None]).all()
    assert (mates != asked[:, None]).all()
    alone, others = of_a_kind(np.arange(5))
    assert sorted(alone) == [0, 1, 2, 3, 4]
    assert (others != alone[:, None]).all()
    assert len(of_a_kind(np.zeros(1))[0]) == 0


def test_copies_and_single_examples_leave_a_scale():
    two = np.array([[0.0, 0.0], [2.0, 2.0]])
    assert fitted(two, Unified(["euclidean"])).scales == pytest.approx((8.0,))
    assert fitted(np.repeat(two, 10, axis=0), Unified(["euclidean"])).scales == pytest.approx((8.0,))
    copies = np.repeat(np.random.default_rng(0).normal(size=(10, 5)), 4, axis=0)
    copies[3] += 1e-4  # a single one that is no copy must not set the scale of all
    assert Unified(["euclidean"]).fit(copies, np.repeat(np.arange(10), 4), sample_shape=(5,)).scales[0] > 1.0
    assert fitted(np.ones((4, 2)), Unified(["euclidean"])).scales == (1.0,)
    assert fitted(np.ones((1, 2)), Unified(["euclidean"])).scales == (1.0,)


@pytest.mark.parametrize(
    ("weights", "expected"), [(None, (0.5, 0.5)), ([3, 1], (0.75, 0.25)), ({"manhattan": 2}, (0, 1))]
)
def test_the_weighted_sum_of_normalised_distances(weights, expected):
    X, _, Q = problem(1)
    distance = fitted(X, Unified(["euclidean", "manhattan"], weights=weights))
    a, b = distance.prepare(Q), distance.prepare(X)
    want = by_hand(Q, X, expected)
    np.testing.assert_allclose(distance.pairwise(a, b), want, rtol=1e-10)
    rows = np.random.default_rng(0).integers(len(X), size=(len(Q), 5))
    np.testing.assert_allclose(distance.rowwise(a, b, rows), np.take_along_axis(want, rows, 1), rtol=1e-10)
    assert tuple(distance.weights_.values()) == expected


def test_the_unit_of_a_member_does_not_matter():
    X, y, Q = problem(2)
    views = [{"a": X, "b": X[:, ::-1] * unit} for unit in (1.0, 1e5)]
    asked = [{"a": Q, "b": Q[:, ::-1] * unit} for unit in (1.0, 1e5)]
    unified = Unified({"a": "euclidean", "b": "manhattan"})
    answers = [
        given(6, distance=unified, kernel="exp").fit(view, y).explain(query).residuals
        for view, query in zip(views, asked, strict=True)
    ]
    np.testing.assert_allclose(*answers, rtol=1e-8)


def test_members_go_by_name_object_and_function():
    mixed = Unified(["euclidean", distances.make("manhattan"), "euclidean", lambda u, v: float(abs(u - v).max())])
    assert len(mixed.weights_) == 4
    assert list(mixed.weights_)[:3] == ["euclidean", "manhattan", "euclidean 2"]
    assert Unified({"mine": "chessboard"}).weights_ == {"mine": 1.0}
    X, _, Q = problem(3)
    with pytest.warns(SlowDistanceWarning):
        distance = fitted(X, mixed)
    assert np.isfinite(distance.pairwise(distance.prepare(Q), distance.prepare(X))).all()


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"members": []}, ParameterError, "at least one"),
        ({"members": "euclidean"}, ParameterError, "list of distances"),
        ({"members": ["euclidan"]}, UnknownName, "Did you mean 'euclidean'"),
        ({"members": ["precomputed"]}, ParameterError, "cannot be one"),
        ({"members": [Unified()]}, ParameterError, "one by one"),
        ({"members": ["euclidean", "manhattan"], "weights": [1]}, ParameterError, "2 members"),
        ({"members": ["euclidean"], "weights": [-1]}, ParameterError, "0 or more"),
        ({"members": ["euclidean"], "weights": "heavy"}, ParameterError, "auto"),
        ({"members": ["euclidean"], "weights": {"manhattan": 1}}, UnknownName, "member"),
        ({"members": ["euclidean"], "views": {"manhattan": "x"}}, UnknownName, "member"),
    ],
)
def test_what_makes_no_sense_is_refused(options, error, said):
    with pytest.raises(error, match=said):
        Unified(**options)


def test_a_member_without_weight_is_not_measured():
    def never(u, v):
        raise AssertionError("measured")

    X, _, Q = problem(4)
    distance = Unified({"euclidean": "euclidean", "never": never}, weights=(1, 0))
    a, b = distance.prepare(Q), distance.prepare(X)
    np.testing.assert_allclose(distance.pairwise(a, b), ((Q[:, None] - X[None]) ** 2).sum(-1))


def test_members_that_keep_the_same_keep_it_once():
    X, _, _ = problem(5)
    kept = fitted(X, Unified(["euclidean", "manhattan", "chessboard"])).prepare(X)
    assert sum(part.shape == X.shape for part in kept.parts.values()) == 1


def test_polarisation_needs_every_member_to_have_an_origin():
    assert "polarisation" in Unified(["euclidean", "manhattan"]).rules
    assert Unified(["euclidean", distances.make("geometric-blur")]).rules == ("exp",)
    X, y, Q = problem(6)
    one = given(9, distance=Unified(["sqeuclidean"]), kernel="polarisation").fit(X, y)
    np.testing.assert_array_equal(one.predict(Q), given(9, kernel="linear").fit(X, y).predict(Q))


# Views --------------------------------------------------------------------------------------------------------------


def two_views(seed):
    X, y, Q = problem(seed, n=48, d=16)
    unified = Unified({"left": "euclidean", "texture": "sift"}, views={"texture": "picture"})

    def views(Z):
        return {"left": Z[:, :5], "picture": Z.reshape(-1, 4, 4)}

    return unified, views(X), y, views(Q)


def test_each_member_looks_at_its_own_view():
    unified, X, y, Q = two_views(7)
    classifier = given(7, distance=unified, kernel="exp").fit(X, y)
    evidence = classifier.explain(Q)
    alone = []
    for name, view in (("euclidean", "left"), ("sift", "picture")):
        flat, asked = (Z[view].reshape(len(Z[view]), -1) for Z in (X, Q))
        one = distances.make(name).fit(flat, y, sample_shape=X[view].shape[1:])
        among = one.pairwise(one.prepare(flat), one.prepare(flat)) ** one.power
        alone.append(one.pairwise(one.prepare(asked), one.prepare(flat)) ** one.power / scale(among, y))
    want = 0.5 * (alone[0] + alone[1])
    assert len(evidence.rows) == len(want) > 0
    for i, rows in enumerate(evidence.rows):
        members = set(np.argsort(alone[0][i], kind="stable")[:7]) | set(np.argsort(alone[1][i], kind="stable")[:7])
        assert set(rows[rows >= 0]) == members
        np.testing.assert_allclose(evidence.distances[i][rows >= 0], np.sort(want[i, sorted(members)]), rtol=1e-6)


def test_views_can_be_added_to_and_forgotten():
    unified, X, y, Q = two_views(8)
    first = {name: view[:30] for name, view in X.items()}
    rest = {name: view[30:] for name, view in X.items()}
    whole = given(7, distance=unified, kernel="exp").fit(first, y[:30])
    before = whole.explain(Q).residuals
    whole.partial_fit(rest, y[30:])
    assert len(whole.model_) == 48
    whole.forget(np.arange(30, 48))
    np.testing.assert_allclose(whole.explain(Q).residuals, before, rtol=1e-9)
    assert KCRCClassifier(distance=unified, tuning_seconds=2).fit(X, y).predict(Q).shape == (7,)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda Q: Q.pop("left"), "lacks the view 'left'"),
        (lambda Q: Q.update(right=Q["left"]), "'right', which is not known"),
        (lambda Q: Q.update(left=Q["left"][:-1]), "differ in their number"),
        (lambda Q: Q.update(left=Q["left"][:, :-1]), "shape"),
        (lambda Q: Q.update(left=[["a"] * 5] * 7), "array of numbers"),
    ],
)
def test_wrong_views_are_named(change, said):
    unified, X, y, Q = two_views(9)
    classifier = given(7, distance=unified, kernel="exp").fit(X, y)
    change(Q)
    with pytest.raises(DataError, match=said):
        classifier.predict(Q)


def test_views_need_a_distance_that_knows_them():
    unified, X, y, Q = two_views(10)
    with pytest.raises(ParameterError, match="which to look"):
        given(7).fit(X, y)
    with pytest.raises(ParameterError, match="coarse_distance"):
        given(7, distance=unified, kernel="exp", n_candidates=20).fit(X, y)
    with pytest.raises(ParameterError, match="mix the views"):
        given(7, distance=unified, kernel="exp", scaling="unit").fit(X, y)
    with pytest.raises(DataError, match="looks at the view 'right'"):
        given(7, distance=Unified({"right": "euclidean"}), kernel="exp").fit(X, y)
    with pytest.raises(DataError, match="plain arrays"):
        given(7, distance=unified, kernel="exp").fit(X["left"], y)
    with pytest.raises(DataError, match="dict of views"):
        given(7).fit(X["left"], y).predict(Q)
    with pytest.raises(DataError, match="empty"):
        given(7, distance=unified, kernel="exp").fit({}, y)
    coarse = given(7, distance=unified, kernel="exp", n_candidates=20, coarse_distance=Unified({"left": "manhattan"}))
    assert set(coarse.fit(X, y).predict(Q)) <= set(y)


@pytest.mark.parametrize(
    "views",
    ["image", "", 3, True, [], [1], ["shape"], [("shape",)], {"shape": 3}, {"shape": None}, {"shape": []}, object()],
)
def test_odd_views_are_refused_in_a_sentence(views):
    with pytest.raises(ParameterError, match=r"views is None, or a dict .* as in \{'shape': 'image'\}; got "):
        Unified({"shape": "tangent", "ink": "manhattan"}, views=views)


@pytest.mark.parametrize("views", [{"sheep": "image"}, {"shape": "image", 3: "sums"}, [(["shape"], "image")]])
def test_views_of_members_that_are_not_there_are_refused(views):
    with pytest.raises(UnknownName, match=r"Unknown member .* Known: ink, shape"):
        Unified({"shape": "tangent", "ink": "manhattan"}, views=views)


def test_views_stay_what_they_are():
    given = Unified({"shape": "tangent", "ink": "manhattan"}, views={"shape": "image", "ink": "sums"})
    assert given.views == (("ink", "sums"), ("shape", "image"))
    assert replace(given).views == given.views
    assert replace(Unified(views={})).views == ()
