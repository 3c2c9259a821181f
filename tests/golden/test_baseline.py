"""Answers and choices are those of the classifier before its modules moved: see ``golden/write_baseline.py``.

Labels are equal, and rows too, but for examples that are equally far away. Numbers are as near as BLAS kernels for
different CPUs come to each other: in double precision to what was kept of them, in single precision to six digits of
residuals, four of contributions (of the largest of their query) and three of probabilities.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

GOLDEN = Path(__file__).parent
sys.path.insert(0, str(GOLDEN))

from write_baseline import (  # noqa: E402 (beside the files it wrote)
    CHOICES,
    CHOSEN,
    DATA,
    IN_DOUBLE,
    PARAMETERS,
    SEEDS,
    SOURCES,
    answers,
    choice,
    digest,
)

BASELINE = GOLDEN / "baseline"
DISTANCES = 1e-5
SINGLE = {"residuals": 1e-6, "contributions": 1e-4, "probabilities": 1e-3}
DOUBLE = dict.fromkeys(SINGLE, 2.0**-22)  # what was kept is rounded to single precision


@cache
def chosen() -> dict[str, Any]:
    return json.loads((BASELINE / CHOICES).read_text("utf-8"))


def skip_unless_same_data(name: str, sha256: str) -> None:
    file = f"{SOURCES[name].file}.npz"
    if not (DATA / file).exists():
        pytest.skip(f"{file} is not here; set KCRC_DATA to the folder that has it")
    if digest(name) != sha256:
        pytest.skip(f"{file} is another file than the baseline was written with (SHA-256 {sha256[:12]}…)")


def assert_same_rows(now: np.ndarray, distances: np.ndarray, then: np.ndarray) -> None:
    """In the same places, or in those of others that are as far away."""
    assert now[:, : then.shape[1]].shape == then.shape
    for query, place in np.argwhere(now[:, : then.shape[1]] != then):
        there = np.flatnonzero(now[query] == then[query, place])
        assert len(there) == 1, f"query {query}: row {then[query, place]} is not in the dictionary"
        np.testing.assert_allclose(distances[query, there[0]], distances[query, place], rtol=DISTANCES)


def assert_same_contributions(now: dict[str, np.ndarray], then: dict[str, np.ndarray], within: float) -> None:
    """Of each example, wherever it stands among others that are as far away."""
    parts = then["contributions"]
    largest = np.maximum(np.abs(parts).max(axis=1), np.finfo(np.float32).tiny)
    rows = then["rows"][:, : parts.shape[1]]
    assert len(now["rows"]) == len(rows)
    for query, known in enumerate(rows):
        places = [np.flatnonzero(now["rows"][query] == row)[0] if row >= 0 else at for at, row in enumerate(known)]
        apart = np.abs(now["contributions"][query, places] - parts[query]) / largest[query]
        assert apart.max() <= within, f"query {query}"


@pytest.mark.parametrize("setting", PARAMETERS)
@pytest.mark.parametrize("name", SOURCES)
def test_answers_under_given_parameters_are_those_of_the_baseline(name: str, setting: str) -> None:
    with np.load(BASELINE / f"{name}.npz", allow_pickle=False) as stored:
        skip_unless_same_data(name, str(stored["sha256"]))
        then = {key.partition("/")[2]: stored[key] for key in stored.files if key.startswith(f"{setting}/")}
    now, within = answers(name, setting), DOUBLE if setting in IN_DOUBLE else SINGLE
    np.testing.assert_array_equal(now["labels"], then["labels"])
    np.testing.assert_array_equal(now["how"], then["how"])
    assert_same_rows(now["rows"], now["distances"], then["rows"])
    assert_same_contributions(now, then, within["contributions"])
    residuals, probabilities = (
        np.take_along_axis(now[of], then["classes"], 1) for of in ("residuals", "probabilities")
    )
    np.testing.assert_allclose(
        residuals, then["residuals"], rtol=within["residuals"], atol=1e-6
    )  # squares are computed
    np.testing.assert_allclose(now["energy"], then["energy"], rtol=within["residuals"])
    np.testing.assert_allclose(probabilities, then["probabilities"], rtol=0, atol=within["probabilities"])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CHOSEN)
def test_choices_without_arguments_are_those_of_the_baseline(name: str, seed: int) -> None:
    known = chosen()[name]
    skip_unless_same_data(name, known["sha256"])
    now, then = choice(name, seed), known["seeds"][str(seed)]
    for value in ("gamma", "accuracy"):  # a mean of distances, and a share
        np.testing.assert_allclose(np.array(now.pop(value), float), np.array(then[value], float), rtol=1e-5)
    assert now == {key: then[key] for key in now}
    assert then.keys() - now.keys() == {"gamma", "accuracy"}


def test_the_baseline_is_small() -> None:
    assert sum(path.stat().st_size for path in BASELINE.iterdir()) < 2_000_000
