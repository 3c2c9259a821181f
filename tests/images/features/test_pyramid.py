from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from kcrc.errors import DataError, ParameterError
from kcrc.images.features import make
from kcrc.images.features.codebook import hard, learn_words, llc, nearest_words
from kcrc.images.features.dense_sift import dense_sift, grid
from kcrc.images.features.pyramid import pool


def slow_sift(image, top, left, patch):
    """One descriptor, pixel by pixel."""
    padded = np.pad(image.astype(np.float64), 1, mode="edge")
    bins, width = np.zeros((4, 4, 8)), patch / 4
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            dy, dx = padded[y + 2, x + 1] - padded[y, x + 1], padded[y + 1, x + 2] - padded[y + 1, x]
            place = (np.arctan2(dy, dx) % (2 * np.pi)) / (2 * np.pi) * 8
            low = int(place)
            for i in range(4):
                for j in range(4):
                    near = max(0, 1 - abs(top + (i + 0.5) * width - y - 0.5) / width)
                    near *= max(0, 1 - abs(left + (j + 0.5) * width - x - 0.5) / width)
                    bins[i, j, low % 8] += near * np.hypot(dy, dx) * (1 - place + low)
                    bins[i, j, (low + 1) % 8] += near * np.hypot(dy, dx) * (place - low)
    away = ((np.arange(4) + 0.5) * width - patch / 2) / (patch / 2)
    v = (bins * np.exp(-0.5 * (away[:, None] ** 2 + away[None, :] ** 2))[:, :, None]).ravel()
    v = np.minimum(v / np.linalg.norm(v), 0.2)
    return v / np.linalg.norm(v)


def test_sift_is_what_the_slow_formula_says():
    image = np.random.default_rng(0).random((27, 24)).astype(np.float32)
    descriptors, centres = dense_sift(image, patch=16, step=6)
    tops, lefts = grid(27, 16, 6), grid(24, 16, 6)
    expected = [slow_sift(image, t, s, 16) for t in tops for s in lefts]
    np.testing.assert_allclose(descriptors, expected, atol=1e-5)
    np.testing.assert_allclose(centres[0], [(tops[0] + 8) / 27, (lefts[0] + 8) / 24], rtol=1e-6)


def test_sift_does_not_see_contrast_and_is_zero_where_nothing_is():
    image = np.random.default_rng(0).random((40, 40)).astype(np.float32)
    image[:, 24:] = 0.5
    bright, _ = dense_sift(0.5 + 0.4 * image, step=8)
    plain, _ = dense_sift(image, step=8)
    np.testing.assert_allclose(bright, plain, atol=1e-5)
    blank, _ = dense_sift(np.full((40, 40), 0.3, np.float32))
    assert not blank.any()


@pytest.mark.parametrize(("length", "patch", "step"), [(16, 16, 6), (21, 16, 6), (300, 16, 6), (50, 8, 5)])
def test_patches_lie_inside_and_in_the_middle(length, patch, step):
    tops = grid(length, patch, step)
    first, last = tops[0], length - patch - tops[-1]
    assert first >= 0
    assert last >= 0
    assert abs(first - last) <= 1
    assert max(first, last) < step


def test_llc_minimises_its_objective():
    rng = np.random.default_rng(0)
    words, x = rng.normal(size=(12, 6)), rng.normal(size=(1, 6))
    near, weights = llc(x, words, k=3)
    assert near[0].tolist() == np.argsort(((words - x) ** 2).sum(axis=1))[:3].tolist()
    B = words[near[0]]
    C = (B - x) @ (B - x).T

    def objective(c):
        return c @ C @ c + 1e-4 * np.trace(C) * c @ c

    found = minimize(objective, np.full(3, 1 / 3), constraints={"type": "eq", "fun": lambda c: c.sum() - 1}, tol=1e-12)
    np.testing.assert_allclose(weights[0], found.x, atol=1e-3)


def test_a_descriptor_that_is_a_word_is_written_by_it_alone():
    words = np.random.default_rng(0).normal(size=(9, 5)).astype(np.float32)
    near, weights = llc(words, words, k=4)
    assert near[:, 0].tolist() == list(range(9))
    np.testing.assert_allclose(weights[:, 0], 1.0, atol=0.01)
    assert hard(words, words)[0][:, 0].tolist() == list(range(9))


def test_nearest_words_are_sorted_and_distinct():
    rng = np.random.default_rng(0)
    x, words = rng.normal(size=(20, 4)), rng.normal(size=(15, 4))
    expected = ((x[:, None] - words[None]) ** 2).sum(axis=2).argsort(axis=1)[:, :5]
    assert nearest_words(x, words, 5).tolist() == expected.tolist()


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("levels", [1, 3, 4])
def test_pooling_cell_by_cell(largest, levels):
    rng = np.random.default_rng(0)
    near, weights = rng.integers(0, 7, (50, 2)), rng.normal(size=(50, 2)).astype(np.float32)
    centres = rng.random((50, 2)).astype(np.float32)
    expected = []
    for level in range(levels):
        side = 2**level
        for i in range(side):
            for j in range(side):
                cell = np.zeros(7)
                for words, shares, (down, across) in zip(near, weights, centres, strict=True):
                    if (int(down * side), int(across * side)) == (i, j):
                        for word, share in zip(words, shares, strict=True):
                            cell[word] = max(cell[word], share) if largest else cell[word] + share
                expected.append(cell)
    pooled = pool(near, weights, centres, 7, levels=levels, largest=largest)
    assert len(pooled) == 7 * sum(4**level for level in range(levels))
    np.testing.assert_allclose(pooled, np.concatenate(expected), atol=1e-4)


@pytest.mark.parametrize(("levels", "cells"), [(3, 21), (4, 85)])
@pytest.mark.parametrize(("coding", "pooling"), [("llc", "max"), ("hard", "sum")])
def test_cells_of_the_paper_and_unit_length(pictures, levels, cells, coding, pooling):
    options = {"n_words": 16, "levels": levels, "coding": coding, "pooling": pooling}
    pooled = make("pyramid", n_components=None, **options).fit(pictures)
    vectors = pooled.transform(pictures)
    assert vectors.shape == (12, 16 * cells)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    # PCA to more components than there are images keeps all distances among the training images.
    reduced = make("pyramid", n_components=3000, **options).fit(pictures)
    assert reduced.dim <= 11
    short = reduced.transform(pictures)
    np.testing.assert_allclose(
        np.linalg.norm(short[:, None] - short[None], axis=2),
        np.linalg.norm(vectors[:, None] - vectors[None], axis=2),
        atol=1e-3,
    )


def test_it_tells_stripes_from_blobs(pictures):
    vectors = make("pyramid", n_words=16).fit(pictures[:8]).transform(pictures)
    away = np.linalg.norm(vectors[8:, None] - vectors[None, :8], axis=2)
    assert (away.argmin(axis=1) % 2 == np.arange(4) % 2).all()


def test_too_little_to_learn_words_from(pictures):
    with pytest.raises(DataError, match="visual words"):
        make("pyramid", n_words=1024).fit(pictures[:2])
    with pytest.raises(DataError, match="visual words"):
        learn_words(np.zeros((3, 128)), 8, seed=0)


@pytest.mark.parametrize(
    "bad",
    [
        {"coding": "soft"},
        {"pooling": "mean"},
        {"levels": 0},
        {"n_words": 3},
        {"n_components": 0},
        {"patch": 10},
        {"longest_side": 8},
    ],
)
def test_options_that_make_no_sense(pictures, bad):
    with pytest.raises(ParameterError):
        make("pyramid", **bad).fit(pictures)
