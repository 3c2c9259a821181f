"""What would change its mind: compared with all sets tried one by one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from kcrc import KCRCClassifier
from kcrc._base.arrays import Array
from kcrc.confidence.answerer import Answerer
from kcrc.updates import turning_points as turning
from kcrc.updates.turning_points import tipping, turning_points


def asked(seed: int, *, count: int = 30, **options: object) -> tuple[Answerer, Array]:
    """An answerer of three classes that overlap, and queries between them."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % 3
    vectors = rng.normal(size=(count, 6)) + 0.5 * labels[:, None]
    usual = {"n_neighbors": 7, "mu": 0.1, "kernel": "linear", "scaling": "unit", "decision": "ratio"}
    fitted = KCRCClassifier(**{**usual, **options}).fit(vectors, labels.astype(str))
    return fitted.answerer_, rng.normal(size=(12, 6)) + 0.5


def smallest(answerer: Answerer, query: Array, most: int) -> set[tuple[int, ...]]:
    """All sets of the fewest examples, up to ``most``, without which the answer is another."""
    usual = answerer.explain(query).labels[0]
    for size in range(1, most + 1):
        found = {
            one
            for one in combinations(range(len(answerer.model)), size)
            if answerer.what_if(query, list(one)).evidence.labels[0] != usual
        }
        if found:
            return found
    return set()


@pytest.mark.parametrize("count", [30, 9, 4])  # more than a dictionary and what steps in, and fewer
def test_single_examples_and_pairs_are_all_found(count: int) -> None:
    sizes = set()
    for seed in range(2):
        answerer, queries = asked(seed, count=count)
        for query in queries[:6]:
            expected, told = smallest(answerer, query, 2), turning_points(answerer, query)
            named = {tuple(sorted(point.without)) for point in told.points}
            if expected:
                assert told.exact
                assert named <= expected
            else:
                assert not told.exact
            for point in told.points:
                assert answerer.what_if(query, list(point.without)).labels[0] == point.label
            sizes.add(len(next(iter(expected), ())))
            alone = tipping(answerer, query, answerer.explain(query))
            assert (alone is not None) == (len(next(iter(expected), ())) == 1)
    assert {1, 2} & sizes


@pytest.mark.parametrize("options", [{"n_neighbors": None}, {"locality": "classes", "n_neighbors": 2}])
def test_dictionaries_of_all_examples_are_taken_apart_greedily(options: dict[str, object]) -> None:
    answerer, queries = asked(0, **options)
    told = [turning_points(answerer, query) for query in queries[:3]]
    assert not any(one.exact for one in told)
    points = [(query, point) for query, one in zip(queries, told, strict=False) for point in one.points]
    assert points
    then = [answerer.what_if(query, list(point.without)).labels[0] for query, point in points]
    assert then == [point.label for _, point in points]
    assert all(label != answerer.explain(query).labels[0] for label, (query, _) in zip(then, points, strict=True))


def test_too_many_pairs_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turning, "WORK", 0.0)
    found = [turning_points(*(answerer, query)) for answerer, queries in [asked(1)] for query in queries]
    assert {len(told.points[0].without) for told in found if told.exact} <= {1}
    assert [told for told in found if not told.exact and len(told.points[0].without) >= 2]


def test_the_label_is_of_the_kind_that_the_classes_are() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    fitted = KCRCClassifier(n_neighbors=8, scaling="plain", gamma=1.0, mu=0.1).fit(
        rng.normal(size=(60, 6)) + 0.5 * labels[:, None], labels
    )
    found = [turning_points(fitted.answerer_, query).points for query in rng.normal(size=(5, 6))]
    assert any(found)
    for point in (point for points in found for point in points):
        assert type(point.label) is int
        assert point.label in fitted.classes_.tolist()
