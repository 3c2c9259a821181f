"""What would change its mind: every answer that is told was asked for without those very examples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from photos import small_picture

from kcrc import KCRCClassifier
from kcrc.report.case import Case, Part, every_part
from kcrc.report.evidence_page import MOST, what_if_section, what_ifs


@pytest.fixture(scope="module")
def case() -> Case:
    rng = np.random.default_rng(1)
    y = np.array(["wren", "robin"])[np.arange(60) % 2]
    X = rng.standard_normal((60, 5)) + 1.5 * np.eye(2, 5)[np.arange(60) % 2]
    classifier = KCRCClassifier(n_neighbors=15).fit(X, y)
    query = X[:1] + 0.3

    def without(ids: list[int]) -> tuple[str, float | None]:
        other = classifier.answerer_.what_if(query, ids)
        return str(other.evidence.labels[0]), float(other.probability[0])

    evidence = classifier.explain(query)
    return Case("q.jpg", evidence, None, lambda i: small_picture(), lambda i: "", without=without)


def turning_at(count: int, case: Case) -> tuple[Case, list[Part]]:
    """The case, as if it turned when so many examples are gone, and 40 examples for it."""
    parts = [Part(at, case.best, "", 0.02, 1.0) for at in range(40)]
    return replace(case, without=lambda ids: (case.best if len(ids) < count else "another", 0.5)), parts


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 11, MOST, MOST + 1, 100])
def test_as_many_are_left_out_as_it_takes(count: int, case: Case) -> None:
    turning, parts = turning_at(count, case)
    found = what_ifs(turning, parts)
    assert found[0].without == (0,)
    last = found[-1]
    assert len(last.without) == min(count, MOST)
    assert (last.label == "another") == (count <= MOST)


def test_what_is_told_is_what_the_others_answer(case: Case) -> None:
    found = what_ifs(case, every_part(case, 0))
    assert found
    assert case.without is not None
    assert all((one.label, one.chance) == case.without(list(one.without)) for one in found)
    text = str(what_if_section(case, every_part(case, 0), level=2))
    assert "What would change its mind?" in text
    assert "Without the strongest example" in text


def test_where_nobody_can_be_asked_nothing_is_told(case: Case) -> None:
    assert what_if_section(replace(case, without=None), every_part(case, 0), level=2) is None
