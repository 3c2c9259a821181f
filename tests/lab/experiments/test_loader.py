from __future__ import annotations

import numpy as np
import pytest

from kcrc.errors import DataError
from kcrc.images import datasets
from lab import datasets as published
from lab.experiments.loader import Loader


def cell(**values: object) -> dict[str, object]:
    return {"dataset": "digits", "feature": "none", "gallery": 20, "per_class": 20, "seed": 0, **values}


def rows(X: np.ndarray) -> set[bytes]:
    return {row.tobytes() for row in np.ascontiguousarray(X)}


def test_dictionaries_of_one_seed_are_nested_and_queries_stay_the_same() -> None:
    loader = Loader()
    small, large = loader.split(cell(per_class=5)), loader.split(cell())
    assert len(small.y) == 50
    assert rows(small.X) <= rows(large.X)
    assert np.array_equal(small.queries, large.queries)


def test_no_query_is_in_the_gallery() -> None:
    split = Loader().split(cell(per_class=3))
    assert len(split.truth) == 1797 - 200
    gallery, _ = datasets.split_per_class(published.load("digits").labels, 20, 0)
    assert not rows(split.queries) & rows(published.load("digits").vectors(gallery))


def test_fewer_queries_are_some_of_the_queries_and_seeds_differ() -> None:
    loader = Loader()
    few, all_ = loader.split(cell(queries=100)), loader.split(cell())
    assert len(few.truth) == 100
    assert rows(few.queries) <= rows(all_.queries)
    assert np.array_equal(few.queries[few.drawn], all_.queries[all_.drawn[:100]])  # the first of the same draw
    assert not np.array_equal(few.X, loader.split(cell(seed=1, queries=100)).X)


def test_random_faces_are_drawn_anew_for_each_seed() -> None:
    loader = Loader()
    first, again = (loader.vectors("digits", "random-faces", 0) for _ in range(2))
    assert first.shape == (1797, 504)
    assert first is again
    assert not np.allclose(first, loader.vectors("digits", "random-faces", 1))


def test_a_set_without_a_split_needs_one_from_the_protocol() -> None:
    with pytest.raises(DataError, match="gallery and per_class"):
        Loader().split(cell(gallery=None, per_class=None))
