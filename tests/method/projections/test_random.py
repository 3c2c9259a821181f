"""The random projection: the same Ψ for every batch, of the scale and size it says."""

from __future__ import annotations

import numpy as np

from kcrc import projections


def made(gram, real, seed=0, **options):
    labels = np.zeros(gram.shape[:2], int)
    return projections.make("random", **options).matrix(gram, labels, real, np.random.default_rng(seed))


def test_depends_on_the_seed_and_the_number_of_atoms_alone():
    rng = np.random.default_rng(1)
    ones = np.ones((3, 9), bool)
    first = made(rng.normal(size=(3, 9, 9)), ones, n_components=4)
    np.testing.assert_array_equal(first, made(rng.normal(size=(1, 9, 9)), ones[:1], n_components=4))
    assert not np.array_equal(first, made(rng.normal(size=(3, 9, 9)), ones, seed=1, n_components=4))
    assert first.shape == (1, 9, 4)
    assert made(np.ones((2, 9, 9)), ones[:2]).shape == (1, 9, 5)
    assert made(np.ones((2, 9, 9), np.float32), ones[:2]).dtype == np.float32


def test_padding_has_rows_of_zeros():
    real = np.arange(9) < np.array([[9], [6]])
    psi = made(np.ones((2, 9, 9)), real, n_components=4)
    assert psi.shape == (2, 9, 4)
    np.testing.assert_array_equal(psi[1, 6:], 0.0)
    np.testing.assert_array_equal(psi[0, :6], psi[1, :6])


def test_how_wide_the_others_of_a_batch_are_does_not_matter():
    """Dictionaries of unequal size are padded to the widest: each has the Ψ it has alone, wherever its atoms stand."""
    real = np.array([[True] * 9, [True] * 6 + [False] * 3, [False, True] * 3 + [True] * 3])
    for count in (None, 0.3, 4):
        psi = made(np.ones((3, 9, 9)), real, n_components=count)
        alone = made(np.ones((1, 6, 6)), np.ones((1, 6), bool), n_components=count)[0]
        for line in (1, 2):
            np.testing.assert_array_equal(psi[line, real[line], : alone.shape[1]], alone)
            np.testing.assert_array_equal(psi[line, :, alone.shape[1] :], 0.0)


def test_keeps_lengths_on_average():
    psi = made(np.ones((1, 300, 300)), np.ones((1, 300), bool), n_components=200)[0]
    x = np.random.default_rng(2).normal(size=300)
    assert abs(np.linalg.norm(psi.T @ x) / np.linalg.norm(x) - 1) < 0.15


def test_a_float_is_a_share_of_the_atoms():
    ones = np.ones((1, 9), bool)
    for share, c in ((0.1, 1), (1 / 3, 3), (0.5, 5), (1.0, 9)):
        np.testing.assert_array_equal(
            made(np.ones((1, 9, 9)), ones, n_components=share), made(np.ones((1, 9, 9)), ones, n_components=c)
        )
