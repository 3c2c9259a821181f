"""Who leaves together: groups that nobody named, and folds of small classes, whatever the order of the rows."""

from __future__ import annotations

import numpy as np
import pytest
from problems import given
from sklearn.datasets import load_digits, load_wine

from kcrc import ImageClassifier, KCRCClassifier
from kcrc.errors import ParameterError
from kcrc.tuning.left_out.sample import find_groups, folds_of_small_classes, same_groups


def bursts(seed=0, *, classes=3, scenes=8, frames=4, d=40, apart=0.1):
    """Examples of ``classes``, each of some scenes of which there are several frames; labels; and the scenes."""
    rng = np.random.default_rng(seed)
    scene = np.repeat(np.arange(classes * scenes), frames)
    y = scene // scenes
    centres = np.repeat(rng.normal(size=(classes, d)), scenes, axis=0) + rng.normal(size=(classes * scenes, d))
    X = centres[scene] + apart * rng.normal(size=(len(scene), d))
    order = rng.permutation(len(y))
    return X[order], y[order], scene[order]


def partition(groups):
    """The groups as sets of places."""
    return {frozenset(np.flatnonzero(groups == g).tolist()) for g in np.unique(groups)}


@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e12])
@pytest.mark.parametrize("frames", [3, 4, 7])
def test_the_frames_of_a_scene_are_one_group(frames, scale):
    X, y, scene = bursts(frames=frames)
    assert partition(find_groups(scale * X + 3 * scale, y)) == partition(scene)


def test_groups_do_not_depend_on_units_or_order():
    X, y, scene = bursts(1)
    order = np.random.default_rng(5).permutation(len(y))
    units = 10.0 ** np.linspace(-6, 6, X.shape[1])
    assert partition(find_groups((X * units)[order], y[order])) == partition(scene[order])


@pytest.mark.parametrize("rows", [slice(0, 100), slice(0, 400), slice(None)])
def test_independent_digits_stay_single(rows):
    X, y = load_digits(return_X_y=True)
    assert len(np.unique(find_groups(X[rows], y[rows]))) == len(y[rows])


def test_independent_wines_in_their_units_stay_single():
    X, y = load_wine(return_X_y=True)
    assert len(np.unique(find_groups(X, y))) == len(y)


def test_a_dense_class_of_independent_examples_stays_single():
    rng = np.random.default_rng(0)
    X = np.concatenate([0.1 * rng.normal(size=(60, 6)), 1.0 * rng.normal(size=(60, 6)) + 2.0])
    groups = find_groups(X, np.repeat([0, 1], 60))
    assert len(np.unique(groups)) >= 110


@pytest.mark.parametrize("far", [1.0, 4.0, 20.0])
@pytest.mark.parametrize("each", [6, 10, 30, 100])
@pytest.mark.parametrize("d", [1, 2, 3, 5, 10])
def test_independent_examples_of_few_dimensions_stay_single(d, each, far):
    """Some are near to each other by chance, the more so the fewer dimensions there are."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), each)
    X = far * rng.normal(size=(3, d))[y] + rng.normal(size=(len(y), d))
    assert len(np.unique(find_groups(X, y))) >= len(y) - 1


@pytest.mark.parametrize("each", [6, 10, 30, 100])
def test_independent_examples_of_a_curve_in_many_dimensions_stay_single(each):
    """As drawings that differ in one thing only, such as the width of their stripes."""
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(3), each)
    waves, phases, sizes = rng.uniform(1, 8, (3, 50)), rng.uniform(0, 6, (3, 50)), rng.normal(size=(3, 50))
    X = sizes[y] * np.cos(rng.random((len(y), 1)) * waves[y] + phases[y])
    assert len(np.unique(find_groups(X, y))) == len(y)


@pytest.mark.parametrize("scenes", [3, 8])
def test_pairs_are_found_where_dimensions_are_many(scenes):
    X, y, scene = bursts(2, frames=2, scenes=scenes)
    assert partition(find_groups(X, y)) == partition(scene)


def test_a_near_copy_among_independent_examples_is_found():
    X, y = load_digits(return_X_y=True)
    X, y = np.concatenate([X[:300], X[[0, 5]] + 0.3]), np.concatenate([y[:300], y[[0, 5]]])
    assert partition(find_groups(X, y)) == partition(np.array([*range(300), 0, 5]))


def test_a_class_has_at_least_two_groups():
    """However near to each other its examples are, compared with other classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 5)) * np.repeat([1e-3, 1.0], [11, 9])[:, None] + np.repeat([0, 1, 50], [2, 9, 9])[:, None]
    y = np.repeat([0, 1, 2], [2, 9, 9])
    groups = find_groups(X, y)
    assert all(len(np.unique(groups[y == c])) >= 2 for c in range(3))


def test_examples_that_are_all_equal_are_groups_of_copies():
    X, y = np.ones((6, 3)), np.array([0, 0, 1, 1, 2, 2])
    assert len(np.unique(find_groups(X, y))) == 1


def test_same_groups_are_those_with_the_same_members():
    then = same_groups(np.array([1, 2, 3, 4]), np.array([0, 0, 1, 2]), np.array([1, 2, 3, 4]), np.array([5, 5, 6, 6]))
    np.testing.assert_array_equal(then, [1, 2])


def test_left_out_answers_are_of_other_scenes():
    X, _, scene = bursts(2, classes=1, scenes=16, frames=5)
    y = scene % 2  # a scene says nothing of another
    by_frames, by_scenes = (given(n_neighbors=5).fit(X, y, groups=g) for g in (None, "auto"))
    share = [float(clf.confidence_.left_out.right.mean()) for clf in (by_frames, by_scenes)]
    assert share[0] == 1.0
    assert share[1] < 0.7
    other, _, _ = bursts(7, classes=1, scenes=16, frames=1)
    sure = [float(clf.predict_proba(other).max(axis=1).mean()) for clf in (by_frames, by_scenes)]
    assert sure[1] < sure[0] - 0.1


@pytest.mark.parametrize("store", [False, True])
def test_groups_are_found_again_when_examples_come_or_go(tmp_path, store):
    X, y, _ = bursts(3)
    options = {"n_neighbors": 8, "scaling": "standard", "kernel": "rbf", "gamma": "scale", "mu": 0.1, "form": "rkhs",
               "decision": "ratio", "locality": "atoms"}  # fmt: skip
    clf = KCRCClassifier(**options).fit(X[:80], y[:80])
    clf.predict_proba(X[:2])  # learns how sure answers are, of which some stay as they are
    if store:
        clf.save(tmp_path / "a.npz")
        clf = KCRCClassifier.load(tmp_path / "a.npz")
    clf.partial_fit(X[80:], y[80:]).forget([0, 1, 2, 50])
    rest = np.delete(np.arange(len(y)), [0, 1, 2, 50])
    fresh = KCRCClassifier(**options).fit(X[rest], y[rest], rows=rest)
    np.testing.assert_allclose(clf.predict_proba(X), fresh.predict_proba(X), rtol=1e-9)


def test_groups_are_auto_none_or_given():
    X, y, _ = bursts()
    with pytest.raises(ParameterError, match='groups must be "auto", None, or the group of each example'):
        KCRCClassifier().fit(X, y, groups="by name")
    with pytest.raises(ParameterError, match="groups must be"):
        ImageClassifier().fit(np.zeros((4, 8, 8), np.uint8), [0, 0, 1, 1], groups="by name")


def test_a_matrix_of_distances_has_no_groups_of_its_own():
    X, y, _ = bursts(4)
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    auto, none = (
        KCRCClassifier(distance="precomputed", tuning_seconds=0.2).fit(D, y, groups=g).tuning_ for g in ("auto", None)
    )
    assert auto.best == none.best
    assert auto.accuracy == none.accuracy


# Folds ---------------------------------------------------------------------------------------------------------------


def folds(y, groups=None):
    alone = np.arange(len(y)) if groups is None else np.asarray(groups)
    return folds_of_small_classes(np.asarray(y), alone)


def test_each_fold_takes_one_example_of_each_small_class():
    y = np.repeat([0, 1, 2], 4)
    fold = folds(y)
    assert len(partition(fold)) == 4
    for members in partition(fold):
        np.testing.assert_array_equal(np.sort(y[list(members)]), [0, 1, 2])


def test_a_larger_class_loses_the_same_share():
    y = np.repeat([0, 1, 2], [3, 3, 9])
    assert len(partition(folds(y))) == 3
    for members in partition(folds(y)):
        np.testing.assert_array_equal(np.bincount(y[list(members)]), [1, 1, 3])


def test_groups_leave_whole_and_their_class_stays():
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1])
    groups = np.array([7, 7, 2, 2, 5, 5, 5, 3, 9])
    fold = folds(y, groups)
    assert all(len(np.unique(fold[groups == g])) == 1 for g in groups)
    assert all(len(np.unique(fold[y == c])) == 2 for c in (0, 1))


def test_a_group_of_two_classes_is_in_one_fold():
    fold = folds([0, 0, 1, 1], [4, 5, 5, 6])
    assert fold[1] == fold[2]


def test_folds_follow_from_the_examples_that_are_there():
    y = np.array([0, 1, 0, 1, 1, 0, 0, 1])
    kept = np.array([0, 1, 3, 5, 6, 7])
    assert partition(folds(y[kept])) == partition(folds(y[kept], groups=kept * 3 + 1))
    np.testing.assert_array_equal(folds(y), [0, 0, 1, 1, 2, 2, 3, 3])


@pytest.mark.parametrize("y", [np.repeat([0, 1], 11), np.zeros(5, int)], ids=["large classes", "one class"])
def test_others_are_left_out_alone(y):
    assert len(np.unique(folds(y))) == len(y)


def test_answers_in_folds_are_those_without_the_fold():
    """With a scaling that learns nothing, exactly."""
    X, y, _ = bursts(6, frames=1, scenes=4, d=6)
    clf = given(n_neighbors=5, gamma=0.2).fit(X, y, groups=None)
    left, fold = clf.confidence_.left_out, folds(y)
    assert len(left.rows) == len(y)
    for row, residuals in zip(left.rows, left.residuals, strict=True):
        rest = given(n_neighbors=5, gamma=0.2).fit(X[fold != fold[row]], y[fold != fold[row]])
        np.testing.assert_allclose(rest.explain(X[[row]]).residuals[0], residuals, rtol=1e-6)


def test_scalings_that_learn_from_labels_learn_without_the_fold():
    X, y, _ = bursts(6, frames=1, scenes=4, d=6)
    scaled = {"scaling": "within", "n_neighbors": 5, "gamma": 0.2}
    left, fold = given(**scaled).fit(X, y, groups=None).confidence_.left_out, folds(y)
    assert len(left.rows) == len(y)
    for row, residuals in zip(left.rows, left.residuals, strict=True):
        rest = given(**scaled).fit(X[fold != fold[row]], y[fold != fold[row]])
        np.testing.assert_allclose(rest.explain(X[[row]]).residuals[0], residuals, rtol=1e-6)


@pytest.mark.parametrize("scaling", ["plain", "within"])
def test_of_small_classes_without_meaning_answers_are_no_better_than_chance(scaling):
    right = []
    for seed in range(8):
        X = np.random.default_rng(seed).normal(size=(40, 60))
        clf = given(n_neighbors=8, scaling=scaling).fit(X, np.arange(40) % 10)
        right.append(clf.confidence_.left_out.right.mean())
    assert np.mean(right) < 0.16
