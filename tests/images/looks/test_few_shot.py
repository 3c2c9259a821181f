"""One or two examples per class: looks are rated by augmented copies that must come back to their own class."""

from __future__ import annotations

import numpy as np
import pytest

from images.looks.drawings import drawings
from kcrc import ImageClassifier, KCRCClassifier, looks
from kcrc.images.looks.base import LookDescription, descriptions
from kcrc.images.looks.few_shot import augment, augmented_copies, is_few_shot


def test_a_copy_is_the_same_on_every_run_and_like_its_original(rng):
    image = drawings(1)[0][1]
    first, second = (augment(image, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert first.dtype == image.dtype
    assert first.shape == image.shape
    assert not np.array_equal(first, image)
    noise = rng.integers(0, 256, image.shape)
    mine = np.corrcoef(first.ravel(), image.ravel())[0, 1]
    assert mine > np.corrcoef(noise.ravel(), image.ravel())[0, 1] + 0.2


def test_copies_come_in_the_order_of_the_pictures_and_keep_colour_and_type():
    images = [*drawings(1, colour=True)[0], drawings(1)[0][0] / np.float32(255)]
    copies = augmented_copies(images, 2)
    assert [copy.shape for copy in copies] == [image.shape for image in images for _ in range(2)]
    assert copies[-1].dtype == np.float32
    assert 0 <= copies[-1].min() <= copies[-1].max() <= 1


def test_few_are_fewer_than_three_a_class():
    assert is_few_shot(np.array([0, 1, 2]))
    assert is_few_shot(np.array([0, 0, 1, 1, 2]))
    assert not is_few_shot(np.repeat([0, 1], 4))
    assert is_few_shot(np.repeat([0, 1], 3))  # six examples asked say nothing
    assert is_few_shot(np.repeat([0, 1], 4), np.zeros(8, int))  # and of one group nobody can be


@pytest.mark.parametrize(
    ("images", "labels", "groups"),
    [
        (np.repeat(drawings(1)[0], 4, axis=0), np.repeat(list("abc"), 4), None),  # nothing but duplicates
        (drawings(3)[0], np.array(list("abc") * 3), [0] * 9),  # all of one group
        (drawings(3)[0], np.array(["a"] * 9), None),  # one class
        (np.zeros((9, 12, 12), np.uint8), np.array(list("abc") * 3), None),  # nothing to see
        (np.full((9, 1, 1), 7, np.uint8), np.array(list("abc") * 3), None),
    ],
)
def test_examples_that_say_nothing_are_stored_all_the_same(images, labels, groups):
    made = ImageClassifier(looks=["pixels", "sift"], tuning_seconds=1, verbose=False)
    made.fit(images, labels, groups=groups)
    assert set(made.predict(images)) <= set(labels)
    np.testing.assert_allclose(made.predict_proba(images).sum(axis=1), 1.0)


def test_one_example_a_class_chooses_by_copies():
    images, labels = drawings(1)
    made = ImageClassifier(looks=["pixels", "hog", "geometric blur"], verbose=False).fit(images, labels)
    choice = made.choice_
    assert choice.way == "copies"
    assert "deformed copies" in choice.sentence
    assert {line["asked"] for line in choice.table} == {3 * (160 // 3)}
    assert "behind" not in repr(choice)  # copies are not compared pair by pair
    new, truth = drawings(10, first=50)
    alone = ImageClassifier(looks=["pixels"], verbose=False).fit(images, labels)
    assert np.mean(made.predict(new) == truth) > np.mean(alone.predict(new) == truth)
    evidence = made.explain(new[:2])
    assert set(evidence.rows.ravel()) == {0, 1, 2}
    np.testing.assert_allclose(made.predict_proba(new).sum(axis=1), 1.0)


def test_two_examples_of_a_class_are_asked_of_each_other_and_outweigh_copies_and_prior(monkeypatch):
    """Red is the class, green the picture: a look at either knows every copy, but only red the other example."""
    labels = np.array(list("abc") * 2)
    images = np.zeros((6, 8, 8, 3), np.uint8)
    for at in range(6):
        images[at] = 60 * (at % 3) + 30, 30 * at + 30, 0

    def seen(pictures, red, green):
        means = [picture.mean(axis=(0, 1)) / 30 for picture in pictures]
        return np.stack([red * np.eye(10)[round(mean[0])] + green * np.eye(10)[round(mean[1])] for mean in means])

    def red(pictures):
        return seen(pictures, 1.0, 0.1)  # the same in every number would be a duplicate, which counts for nothing

    def green(pictures):
        return seen(pictures, 0.0, 1.0)

    monkeypatch.setattr(
        "kcrc.images.looks.few_shot.augmented_copies", lambda pictures, each: [p for p in pictures for _ in range(each)]
    )
    monkeypatch.setitem(descriptions, "green", LookDescription("green", prior=(0.5, 0.5, 0.9)))
    given = [looks.of_feature(one.__name__, one, price=looks.Price(picture=1)) for one in (red, green)]
    made = ImageClassifier(looks=given, verbose=False).fit(images, labels)
    assert {line["look"]: line["right"] / line["asked"] for line in made.choice_.table} == {"red": 1, "green": 1}
    assert made.choice_.weights == {"red": 1.0}
    one_each = ImageClassifier(looks=given, verbose=False).fit(images[:3], labels[:3])
    assert one_each.choice_.weights == {"green": 1.0}  # where nothing can be asked the prior decides


def test_a_distance_is_looked_at_even_where_no_example_can_be_asked():
    """The parameters that are taken unasked used a kernel of the pixels, whatever the distance was."""
    images, labels = drawings(1)
    new = drawings(4, first=70)[0]
    by_pixels = KCRCClassifier().fit(images / 255.0, labels).predict_proba(new / 255.0)
    by_shape = KCRCClassifier(distance="geometric-blur").fit(images / 255.0, labels)
    assert type(by_shape.model_.method.kernel).__name__ == "Exponential"
    assert not np.allclose(by_shape.predict_proba(new / 255.0), by_pixels)
