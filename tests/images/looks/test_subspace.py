"""Where pictures lie among the examples, also outside the subspace of those: as a left-out example does."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from images.looks.drawings import drawings
from kcrc import ImageClassifier
from kcrc._base.arrays import unit_rows
from kcrc.images.looks.base import FeatureLook, kind_of, registry
from kcrc.images.looks.choosing import fit_to_all
from kcrc.images.looks.join import JoinLook, vectors_of_looks
from kcrc.images.looks.saving import _read_look


def squared(a, b):
    return ((a[:, None] - b[None]) ** 2).sum(axis=2)


@pytest.fixture(scope="module")
def pictures():
    images, labels = drawings(9)
    return list(images), labels


def fitted(pictures, labels, names=("pixels", "hog")):
    kind = kind_of(pictures)
    return [registry.make(name, kind=kind).fit_see(pictures, labels) for name in names]


def test_distances_of_queries_to_examples_are_those_of_the_whole_vectors(pictures):
    images, labels = pictures
    stored, asked = images[::2], images[1::2]
    looks = fitted(stored, labels[::2])
    assert len(looks) == 2
    for look, seen in looks:
        assert isinstance(look, FeatureLook)
        assert look.axes is not None

        def whole(given, feature=look.feature):
            return unit_rows(feature.transform(given))

        np.testing.assert_allclose(squared(look.see(asked), seen), squared(whole(asked), whole(stored)), atol=1e-4)
        assert look.see(asked)[:, -1].max() > 0.1  # or nothing was tested


def test_distances_to_a_join_are_those_of_the_parts(pictures):
    images, labels = pictures
    stored, asked = images[::2], images[1::2]
    (one, mine), (other, theirs) = fitted(stored, labels[::2])
    seen = {one.name: mine, other.name: theirs}
    join = JoinLook((one, other), (0.3, 0.7)).with_axes(seen)
    expected = 0.3 * squared(one.see(asked), mine) + 0.7 * squared(other.see(asked), theirs)
    found = squared(vectors_of_looks([join], asked)[0], vectors_of_looks([join], stored, stored=True)[0])
    np.testing.assert_allclose(found, expected, atol=1e-4)
    np.testing.assert_array_equal(join.to_stored(join.join(seen))[:, -1], 0.0)


def test_a_query_lies_where_the_same_picture_left_out_does(pictures):
    """Left-out answers are what probabilities are learned from."""
    images, labels = pictures
    some = np.arange(0, len(images), 2)
    (_, seen), _ = fitted([images[row] for row in some], labels[some])
    for left in range(3):
        others = np.delete(np.arange(len(some)), left)
        (without, stored), _ = fitted([images[row] for row in some[others]], labels[some[others]])
        asked = without.see([images[some[left]]])
        np.testing.assert_allclose(squared(asked, stored)[0], squared(seen[[left]], seen[others])[0], atol=1e-4)


def test_examples_that_come_later_are_stored_within_the_span(pictures):
    """Each lies outside in a direction of its own, and as one coordinate they would be alike."""
    images, labels = pictures
    clf = ImageClassifier(looks=["hog"]).fit(images[::2], labels[::2])
    assert clf.ensemble_.members[0].look.outside
    clf.partial_fit(images[1::4], labels[1::4])
    np.testing.assert_array_equal(clf.model_.raw[:, -1], 0.0)
    np.testing.assert_array_equal(
        clf.model_.raw[: len(images[::2])], clf.ensemble_.vectors(images[::2], stored=True)[0]
    )
    assert clf.ensemble_.vectors(images[3::4])[0][:, -1].max() > 0.1


def test_more_examples_than_a_look_was_fitted_with_are_like_queries(pictures, monkeypatch):
    images, labels = pictures
    clf = ImageClassifier(looks=["pixels", "hog"]).fit(images[::2], labels[::2])
    parts = tuple(look for look, _ in fitted(images[::2], labels[::2]))
    join = JoinLook(parts, (0.5, 0.5)).with_axes(
        dict(zip(("pixels", "hog"), vectors_of_looks(parts, images[::2]), strict=True))
    )
    assert join.outside
    assert not join.for_more_examples().outside
    assert join.for_more_examples().see(images[:2]).shape == (2, len(join.axes))
    assert clf.ensemble_.members[0].look.outside

    class Seen(Exception):
        pass

    def seen(looks, pictures):
        raise Seen(*(look.outside for look in looks))

    monkeypatch.setattr("kcrc.images.looks.choosing.vectors_of_looks", seen)
    monkeypatch.setattr("kcrc.images.looks.choosing.MOST_EXAMPLES", 5)
    numbers = np.unique(labels, return_inverse=True)[1]
    task = SimpleNamespace(labels=numbers, groups=None, pictures=images)
    with pytest.raises(Seen) as found:
        fit_to_all(task, [replace(clf.ensemble_.members[0], look=join), *clf.ensemble_.members])
    assert not any(found.value.args)


def test_files_of_before_have_no_such_coordinate(pictures):
    images, labels = pictures
    (look, seen), (other, theirs) = fitted(images[::2], labels[::2])
    join = JoinLook((look, other), (0.5, 0.5)).with_axes({look.name: seen, other.name: theirs})
    for one in (look, join):
        again = _read_look(one.state())
        np.testing.assert_array_equal(again.see(images[:4]), one.see(images[:4]))
        state = one.state()
        for told in (state, *state.get("parts", ())):
            del told["beyond"]
        before = _read_look(state)
        assert not before.outside
        np.testing.assert_array_equal(before.see(images[:4]), one.see(images[:4])[:, :-1])
