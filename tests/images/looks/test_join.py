"""Looks as one: distances are those of the parts, weighed; what is shared is looked at once."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from images.looks.drawings import drawings
from kcrc.errors import ParameterError
from kcrc.images.looks import choosing
from kcrc.images.looks.base import kind_of, of_feature, registry
from kcrc.images.looks.evaluation import LookResult
from kcrc.images.looks.join import JoinLook, join_weights, vectors_of_looks


def parts():
    images, labels = drawings(5)
    pictures = list(images)
    kind = kind_of(pictures)
    fitted = [registry.make(name, kind=kind).fit(pictures, labels) for name in ("pixels", "hog")]
    return pictures, fitted


def test_squared_distances_add_up_by_weight():
    pictures, (one, other) = parts()
    seen = {look.name: look.see(pictures) for look in (one, other)}
    join = JoinLook((one, other), (0.3, 0.7)).with_axes(seen)
    assert join.axes is not None
    together = join.see(pictures)

    def squared(vectors):
        return ((vectors[:, None] - vectors[None]) ** 2).sum(axis=2)

    expected = 0.3 * squared(seen["pixels"]) + 0.7 * squared(seen["hog"])
    np.testing.assert_allclose(squared(together), expected, atol=1e-5)


def test_weights_are_half_equal_and_half_by_error():
    assert join_weights([0.1, 0.1]) == (0.5, 0.5)
    np.testing.assert_allclose(join_weights([0.1, 0.3]), (0.25 + 0.375, 0.25 + 0.125))


def test_a_look_that_is_also_a_part_looks_once(monkeypatch):
    pictures, (one, other) = parts()
    seen = {look.name: look.see(pictures) for look in (one, other)}
    join = JoinLook((one, other), (0.5, 0.5)).with_axes(seen)
    asked = []
    see = type(one).see
    monkeypatch.setattr(type(one), "see", lambda self, given: asked.append(self.name) or see(self, given))
    found = vectors_of_looks([one, join], pictures)
    assert sorted(asked) == ["hog", "pixels"]
    np.testing.assert_array_equal(found[0], seen["pixels"])
    np.testing.assert_allclose(found[1], join.join(seen), atol=1e-6)


TRUTH = np.arange(100) % 2


def trial(name: str, errors: int, price: float) -> LookResult:
    """A look that is wrong about so many of a hundred."""
    said = np.where(np.arange(100) < errors, 1 - TRUTH, TRUTH)
    logs = np.log(np.where(np.arange(2) == said[:, None], 0.9, 0.1))
    look = of_feature(name, "pixels", size=(8, 8))
    return LookResult(SimpleNamespace(look=look), np.zeros((100, 1)), logs, price, 0.0, None)


@pytest.mark.parametrize(("wrong", "joined"), [(30, True), (40, False)])
def test_a_cheap_look_that_is_often_wrong_is_not_joined(monkeypatch, wrong, joined):
    """Its vectors would stand beside the others at no less than half an equal weight."""
    monkeypatch.setattr(choosing, "_evaluate_join", lambda evaluator, parts, errors: [one.name for one in parts])
    tried = [trial("one", 5, 60.0), trial("two", 8, 60.0), trial("weak", wrong, 60.0)]
    (made,) = choosing._evaluate_joins(SimpleNamespace(truth=TRUTH), tried)
    assert ("weak" in made) == joined
    assert made[:2] == ["one", "two"]


def test_where_all_are_often_wrong_they_are_joined(monkeypatch):
    monkeypatch.setattr(choosing, "_evaluate_join", lambda evaluator, parts, errors: [one.name for one in parts])
    tried = [trial("one", 40, 60.0), trial("two", 45, 60.0)]
    assert choosing._evaluate_joins(SimpleNamespace(truth=TRUTH), tried) == [["one", "two"]]


def test_without_looks_it_says_what_to_do():
    with pytest.raises(ParameterError, match="at least one"):
        choosing.evaluate_looks(SimpleNamespace(), [])


@pytest.mark.parametrize(("wrong", "joins"), [(2, 2), (40, 1)])
def test_a_costly_look_is_joined_where_it_is_not_far_behind(monkeypatch, wrong, joins):
    """Every query would pay for it."""
    tried = [trial("one", 1, 60.0), trial("two", 3, 60.0), trial("costly", wrong, 50_000.0)]
    monkeypatch.setattr(choosing, "_evaluate_join", lambda evaluator, parts, errors: [one.name for one in parts])
    made = choosing._evaluate_joins(SimpleNamespace(truth=TRUTH), tried)
    assert made[0] == ["one", "two"]
    assert len(made) == joins
    assert ("costly" in made[-1]) == (joins == 2)
