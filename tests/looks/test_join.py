"""Looks as one: distances are those of the parts, weighed; what is shared is looked at once."""

from __future__ import annotations

import numpy as np

from kcrc.looks.base import registry
from kcrc.looks.join import JoinLook, join_weights, seen_by
from kcrc.looks.kinds import kind_of
from looks.drawings import drawings


def parts():
    images, labels = drawings(5)
    pictures = list(images)
    kind = kind_of(pictures)
    fitted = [registry.make(name, kind=kind).fit(pictures, labels) for name in ("pixels", "hog")]
    return pictures, fitted


def test_squared_distances_add_up_by_weight():
    pictures, (one, other) = parts()
    seen = {look.name: look.see(pictures) for look in (one, other)}
    join = JoinLook((one, other), (0.3, 0.7)).fitted(seen)
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
    join = JoinLook((one, other), (0.5, 0.5)).fitted(seen)
    asked = []
    see = type(one).see
    monkeypatch.setattr(type(one), "see", lambda self, given: asked.append(self.name) or see(self, given))
    found = seen_by([one, join], pictures)
    assert sorted(asked) == ["hog", "pixels"]
    np.testing.assert_array_equal(found[0], seen["pixels"])
    np.testing.assert_allclose(found[1], join.joined(seen), atol=1e-6)
