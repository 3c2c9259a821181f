"""A look that cannot be made of these examples is left out with its reason, and the others answer."""

from __future__ import annotations

import numpy as np
import pytest

from images.looks.drawings import drawings
from kcrc import ImageClassifier, looks
from kcrc.errors import DataError, ParameterError
from kcrc.images.looks import choosing, evaluation
from kcrc.images.looks.base import registry


def failing(name: str = "failing"):
    def function(pictures):
        raise RuntimeError("no film in the camera")

    return looks.of_feature(name, function, price=looks.Price(picture=1))


def notes_of(made: ImageClassifier) -> dict[str, str]:
    return {line["look"]: line["note"] for line in made.choice_.table if line["note"]}


@pytest.fixture
def registered():
    """Register a maker of looks for one test."""
    names: list[str] = []

    def enter(name, maker):
        looks.names()
        looks.register(name)(maker)
        names.append(name)

    yield enter
    for name in names:
        registry._makers.pop(name, None)


@pytest.mark.parametrize("each", [1, 2, 4])
def test_visual_words_that_few_small_pictures_cannot_give_are_not_tried(each):
    images, labels = drawings(each, side=48, colour=True)
    made = ImageClassifier(looks=["pixels", "pyramid"], verbose=False).fit(images, labels)
    assert made.choice_.weights == {"pixels": 1.0}
    assert notes_of(made)["pyramid"].startswith("not tried: 1024 visual words need as many descriptors")
    assert "not tried: 1024 visual words" in repr(made.choice_)


@pytest.mark.parametrize(("each", "shape"), [(1, (1, 20)), (3, (1, 20)), (2, (8, 8)), (1, (8, 8, 3)), (1, (48, 48, 3))])
@pytest.mark.parametrize("way", ["noise", "blank", "identical"])
def test_few_pictures_of_any_size_are_stored_with_nothing_named(each, shape, way, monkeypatch):
    slow = {"embedding", "marginal", "textons", "shape context", "geometric blur"}
    names = tuple(name for name in looks.names() if name not in slow)
    monkeypatch.setattr(looks, "names", lambda: names)
    rng = np.random.default_rng(0)
    if way == "noise":
        images = rng.integers(0, 256, (3 * each, *shape)).astype(np.uint8)
    else:
        one = rng.integers(0, 256, shape) if way == "identical" else np.full(shape, 200)
        images = np.repeat(one.astype(np.uint8)[None], 3 * each, axis=0)
    labels = np.array(list("abc") * each)
    made = ImageClassifier(verbose=False, tuning_seconds=5).fit(images, labels)
    assert set(made.predict(images)) <= set(labels)
    assert made.choice_.weights


@pytest.mark.parametrize("each", [1, 6])
def test_a_look_of_ones_own_that_fails_ends_no_fit(each, registered, monkeypatch):
    def unmade(kind):
        raise ParameterError("The lens is missing.")

    registered("failing", lambda kind: failing())
    registered("unmade", unmade)
    monkeypatch.setattr(looks, "names", lambda: ("failing", "pixels", "unmade"))
    images, labels = drawings(each)
    made = ImageClassifier(verbose=False).fit(images, labels)
    assert made.choice_.weights == {"pixels": 1.0}
    notes = notes_of(made)
    assert notes["unmade"] == "not tried: The lens is missing."
    assert notes["failing"].startswith("not tried: ")
    assert "no film in the camera" in notes["failing"]


@pytest.mark.parametrize("each", [1, 6])
def test_where_no_look_works_the_error_names_each_with_its_reason(each):
    images, labels = drawings(each)
    with pytest.raises(DataError, match=r"None of the 2 looks works.*one: .*no film.*other: .*no film"):
        ImageClassifier(looks=[failing("one"), failing("other")], verbose=False).fit(images, labels)
    with pytest.raises(DataError, match=r"^The function .*no film"):  # one alone is its own error
        ImageClassifier(looks=[failing()], verbose=False).fit(images, labels)


def test_an_option_that_is_wrong_for_every_look_is_said_once():
    images, labels = drawings(1)
    with pytest.raises(ParameterError, match=r"^n_jobs"):
        ImageClassifier(looks=["pixels", "hog"], n_jobs="many", verbose=False).fit(images, labels)


def test_a_look_that_fails_for_an_example_beyond_those_it_was_chosen_with_is_left_out(monkeypatch):
    monkeypatch.setattr(evaluation, "MOST_EXAMPLES", 24)
    monkeypatch.setattr(choosing, "MOST_EXAMPLES", 24)
    images, labels = drawings(12)
    lost = sorted(set(range(36)) - set(evaluation.balanced_sample(np.unique(labels, return_inverse=True)[1], 24)))[0]
    images[lost] = 7

    def vectors(pictures):
        if any(np.all(picture == 7) for picture in pictures):
            raise RuntimeError("over-exposed")
        return np.stack([picture.mean(axis=2)[::8, ::8].ravel() + 1.0 for picture in pictures])

    own = looks.of_feature("own", vectors, price=looks.Price(picture=1))
    made = ImageClassifier(looks=[own, "hog"], verbose=False)
    monkeypatch.setattr(
        choosing, "_nothing_left_to_win", lambda *given: True
    )  # the first look leads alone, whichever it is
    monkeypatch.setattr(
        choosing, "_reason_to_skip", lambda look, left, evaluator, results, sparing: "no" if results else ""
    )
    made.fit(images, labels)
    assert made.choice_.weights == {"hog": 1.0}
    assert "over-exposed" in notes_of(made)["own"]
    assert len(made.model_) == 36
