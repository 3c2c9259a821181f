from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcrc.errors import DataError, ParameterError
from kcrc.images.datasets import split_per_class, subset_per_class


@given(
    counts=st.lists(st.integers(4, 9), min_size=1, max_size=5),
    n_train=st.integers(1, 3),
    seed=st.integers(0, 99),
)
def test_each_class_gives_its_share_and_no_row_is_on_both_sides(counts, n_train, seed):
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    train, test = split_per_class(labels, n_train, seed)
    assert np.bincount(labels[train]).tolist() == [n_train] * len(counts)
    assert sorted([*train, *test]) == list(range(len(labels)))


def test_a_seed_repeats_itself_and_another_differs():
    labels = np.repeat(["a", "b", "c"], 20)
    first, again, other = (split_per_class(labels, 5, seed)[0].tolist() for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_the_draw_of_a_class_does_not_depend_on_the_others():
    both = np.repeat(["a", "b"], 20)
    together = split_per_class(both, 5, 3)[0]
    alone = split_per_class(both[:20], 5, 3)[0]
    assert together[together < 20].tolist() == alone.tolist()


def test_n_test_bounds_the_other_side():
    _, test = split_per_class(np.repeat([0, 1], 20), 5, 0, n_test=4)
    assert len(test) == 8


def test_too_few_of_a_class_names_it():
    with pytest.raises(DataError, match="got 3 of the class wren"):
        split_per_class(np.array(["wren"] * 3 + ["owl"] * 9), 3)
    with pytest.raises(ParameterError, match="n_train"):
        split_per_class(np.zeros(4), 0)


def test_subset_keeps_small_classes_whole():
    labels = np.repeat([0, 1], [3, 30])
    assert np.bincount(labels[subset_per_class(labels, 10)]).tolist() == [3, 10]
