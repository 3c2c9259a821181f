"""A model as if examples were others answers as one that was made of those."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from problems import given

from kcrc.errors import StateError
from kcrc.updates.what_if import Supposition

WAYS: dict[str, dict[str, object]] = {
    "nearest": {"n_neighbors": 7},
    "all": {"n_neighbors": None},
    "classes": {"n_neighbors": 2, "locality": "classes"},
}


@pytest.mark.parametrize("way", WAYS)
def test_a_supposition_is_as_good_as_a_fit(way: str) -> None:
    options = {**WAYS[way], "kernel": "linear"}  # others follow the examples by their width
    rng = np.random.default_rng(0)
    vectors, queries = rng.normal(size=(34, 5)), rng.normal(size=(20, 5))
    labels = np.array(["a", "b", "c"])[np.arange(34) % 3]
    made = given(**options).fit(vectors[:30], labels[:30]).answerer_
    supposed = Supposition(
        labels={0: "b", 4: "d", 7: "a"},
        gone={2, 7},
        vectors=vectors[30:],
        classes=tuple(labels[30:]),
        ids=(30, 31, 32, 33),
    )
    then = labels.copy()
    then[[0, 4]] = ["b", "d"]
    stay = np.delete(np.arange(34), [2, 7])
    expected = given(**options).fit(vectors[stay], then[stay], rows=stay).answerer_
    found = replace(made, model=supposed.of(made.model))
    assert found.labels(queries).tolist() == expected.labels(queries).tolist()
    mine, theirs = found.explain(queries), expected.explain(queries)
    np.testing.assert_allclose(np.sort(mine.residuals), np.sort(theirs.residuals), rtol=1e-6)
    assert len(made.model) == 30


def test_supposing_nothing_changes_nothing_and_everything_is_an_error() -> None:
    made = given(n_neighbors=4).fit(np.eye(9), ["a", "b", "c"] * 3).answerer_
    assert Supposition().of(made.model) is made.model
    with pytest.raises(StateError, match="none left"):
        Supposition(gone=set(range(9))).of(made.model)
