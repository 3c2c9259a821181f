"""Every look of the registry sees pictures as it promises, and a user's own is one call away."""

from __future__ import annotations

from typing import get_args, get_type_hints

import numpy as np
import pytest

from images.looks.drawings import drawings
from kcrc import ImageClassifier, looks
from kcrc.images.looks.base import KINDS, LookDescription, PictureKind, kind_of, registry

COSTLY = {"coarse pyramid", "pyramid", "embedding"}
CHEAP = sorted(set(looks.names()) - COSTLY)


@pytest.mark.parametrize("name", looks.names())
def test_a_look_has_a_prior_of_its_own(name):
    prior = looks.describe(name).prior
    assert prior is not LookDescription.prior
    assert len(prior) == len(KINDS)
    assert all(0 <= value <= 1 for value in prior)


@pytest.mark.parametrize(
    ("name", "words"), [("fine hog", "fine outlines"), ("sift", "sift"), ("a feature of mine", "a feature of mine")]
)
def test_a_look_is_said_in_words_and_without_them_by_its_name(name, words):
    assert looks.describe(name).words == words


@pytest.mark.parametrize("name", CHEAP)
@pytest.mark.parametrize(("side", "colour"), [(8, False), (20, True), (80, False)])
def test_a_look_sees_every_picture_by_itself(name, side, colour):
    images, labels = drawings(3, side=side, colour=colour)
    pictures = list(images)
    look = registry.make(name, kind=kind_of(pictures))
    if look is None:
        assert type(None) in get_args(get_type_hints(registry.maker(name))["return"])
        return
    fitted = look.fit(pictures, labels)
    seen = fitted.see(pictures)
    assert seen.dtype == np.float32
    assert len(seen) == len(pictures)
    assert np.isfinite(seen).all()
    np.testing.assert_allclose(fitted.see(pictures[2:3])[0], seen[2], atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(seen.reshape(len(seen), -1), axis=1), 1.0, atol=1e-3)


def test_costly_looks_are_for_pictures_large_enough():
    kind = PictureKind(200, 300, True, False, 10)
    assert registry.make("pyramid", kind=kind).price.picture > registry.make("coarse pyramid", kind=kind).price.picture
    small = PictureKind(20, 20, True, False, 10)
    assert [registry.make(name, kind=small) for name in sorted(COSTLY)] == [None, None, None]


def test_kinds_are_told_apart():
    strokes = kind_of(list(drawings(3)[0]))
    assert (strokes.name, strokes.height, strokes.width) == ("strokes", 20, 20)
    assert kind_of(list(drawings(3, colour=True)[0])).name == "colour"
    noise = np.random.default_rng(0).uniform(0.2, 0.8, (4, 30, 40))
    assert kind_of(list(noise)).name == "grey"
    assert PictureKind(300, 200, True, False, 5).size(30) == (30, 20)


def test_a_look_of_ones_own_is_registered_by_one_call():
    def brightest(pictures):
        return np.stack([picture.mean(axis=(1, 2)).repeat(2)[:4] + 1 for picture in pictures])

    try:

        @looks.register("brightest rows")
        def own(kind):
            return looks.of_feature("brightest rows", brightest, price=looks.Price(picture=5))

        images, labels = drawings(4)
        made = ImageClassifier(looks=["brightest rows"], tuning_seconds=1).fit(images, labels)
        assert made.choice_.weights == {"brightest rows": 1.0}
        assert "brightest rows" in looks.names()
    finally:
        registry._makers.pop("brightest rows", None)


def test_outlines_of_small_colour_pictures_are_the_same_whichever_colour_is_the_lighter():
    images, labels = drawings(4, side=40)
    rng = np.random.default_rng(0)
    coloured = []
    for image in images:
        ink = image[..., None] / 255.0
        figure, ground = np.array([(200, 60, 20), (20, 90, 200)])[rng.permutation(2)]
        coloured.append((ink * figure + (1 - ink) * ground).astype(np.uint8))
    swapped = [picture[..., ::-1] for picture in coloured]
    kind = kind_of(coloured)
    assert kind.colour
    fitted = registry.make("hog", kind=kind).fit(coloured, labels)
    seen, other = fitted.see(coloured), fitted.see(swapped)
    assert (np.linalg.norm(seen[:, None] - other[None], axis=2).argmin(axis=1) == np.arange(len(images))).all()
