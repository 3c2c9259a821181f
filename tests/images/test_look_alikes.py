"""Copies of pictures under another label are found in a gallery, whatever their vectors say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from photos import shapes

from kcrc.gallery import Gallery
from kcrc.images.look_alikes import BITS, similar_pairs


def test_pairs_are_those_of_comparing_all():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 1 << 63, 300, dtype=np.uint64)
    for i in range(0, 60, 2):  # the next differs in i / 4 bits, and in 14 at last
        turned = rng.choice(64, i // 4, replace=False)
        bits[i + 1] = bits[i] ^ np.uint64(sum(1 << int(bit) for bit in turned))
    small = np.ones((300, 4), np.float32) / 2
    labels = np.where(np.arange(300) % 4 == 3, 0, np.arange(300) % 4)  # every other pair has one label
    expected = [
        (i, j)
        for i in range(300)
        for j in range(i + 1, 300)
        if int(bits[i] ^ bits[j]).bit_count() <= BITS and labels[i] != labels[j]
    ]
    assert len(expected) > 5
    assert sorted(similar_pairs(bits, small, labels)) == expected
    small[expected[0][0]] *= -1
    assert sorted(similar_pairs(bits, small, labels)) == expected[1:]


def test_the_same_picture_a_thousand_times_is_no_trouble():
    bits, small = np.zeros(3000, np.uint64), np.ones((3000, 1), np.float32)
    pairs = similar_pairs(bits, small, np.arange(3000) % 2)
    assert set(np.ravel(pairs)) == set(range(3000))
    assert len(pairs) < 3000
    assert similar_pairs(bits[:1], small[:1], np.zeros(1)) == []


@pytest.fixture
def gallery(tmp_path: Path):
    photos = tmp_path / "photos"
    for number in range(18):
        there = photos / ("wren", "robin", "heron")[number % 3] / f"{number}.jpg"
        there.parent.mkdir(parents=True, exist_ok=True)
        shapes(number).save(there, quality=90)
    copied = photos / "wren" / "0.jpg"
    half = shapes(0).resize((64, 48))
    half.save(photos / "robin" / "copy.jpg", quality=60)
    with Gallery.from_folder(photos, tmp_path / "g.kcrc", feature="hog") as made:
        yield made, copied


def test_a_half_size_copy_under_another_label_is_found(gallery):
    made, copied = gallery
    audit = made.audit()
    pairs = [{Path(made.example(i).source).name for i in (c.row, c.other)} for c in audit.clashes]
    assert pairs == [{copied.name, "copy.jpg"}]
    (copy,) = audit.clashes
    assert {copy.label, copy.other_label} == {"wren", "robin"}
    assert audit.unseen == 0
    assert made.audit([copy.row]).clashes == audit.clashes
    others = [example for example in made.find() if example not in (copy.row, copy.other)]
    assert made.audit(others).clashes == []


def test_examples_without_a_picture_are_counted(tmp_path: Path):
    rng = np.random.default_rng(0)
    with Gallery.create(tmp_path / "v.kcrc", dim=3) as made:
        made.add(["a", "b"] * 6, rng.normal(size=(12, 3)))
        assert made.audit().unseen == 12
