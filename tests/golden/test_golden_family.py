"""Saved classifiers of methods since the paper, and with a search that was named, as an earlier version wrote them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from same_answers import assert_same_answers, within

from kcrc import KCRCClassifier, coding, decisions
from kcrc.method.neighbours.searches import SEARCHES

GOLDEN = Path(__file__).parent
sys.path.insert(0, str(GOLDEN))
from write_family import ANSWERS, CASES, answers  # noqa: E402 (beside the files it wrote)

THERE = GOLDEN / "classifier2-family"
BEFORE = {"coder-ridge", "coder-lasso", "decision-ratio", "decision-residual"}


@pytest.mark.parametrize("name", CASES)
def test_it_opens_with_the_same_answers(name: str) -> None:
    """So many examples are few enough for every search to find all neighbours; without its package it is exact."""
    then = json.loads((THERE / ANSWERS).read_text("utf-8"))[name]
    classifier = KCRCClassifier.load(THERE / f"{name}.kcrcmodel")
    assert_same_answers(answers(classifier), then, within(classifier.model_))


def test_whatever_a_file_may_name_has_a_golden_file() -> None:
    """The older ones are in the files of ``write.py``."""
    named = {f"coder-{name}" for name in coding.names()} | {f"decision-{name}" for name in decisions.names()}
    named |= {f"search-{name}" for name in SEARCHES if name not in ("auto", "exact")}
    assert named - BEFORE == {name for name in CASES if not name.startswith("metric-")}
