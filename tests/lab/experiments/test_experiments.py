"""Every experiment in a reduced form on digits: it runs, and its tables and figures are there."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kcrc.report.tables import Table, mean_std, with_sign
from lab import experiments
from lab.experiments import accuracy, beyond, fig3, tables34
from lab.experiments.base import Plan, Run
from lab.experiments.loader import Loader
from lab.experiments.page import compose
from lab.experiments.runner import reproduce

pytest.importorskip("matplotlib", reason="the figures need matplotlib")

SMALL: dict[str, dict[str, Any]] = {
    "fig3": {
        "settings": ({"dataset": "same-direction", "n_train": 25, "n_test": 100, "noise_variance": 0.15},),
        "dimensions": (2, 8),
        "grid": 9,
        "seeds": 1,
        "methods": {"CRC-GD": {"scaling": "plain"}, "KCRC-GD": {"scaling": "plain"}},
    },
    "fig4": {"sizes": (5,), "galleries": (10,), "neighbours": (20,)},
    "fig5": {"sizes": (5,), "galleries": (10,), "neighbours": (20,), "learning": {"n_iter": 1, "init_iter": 1}},
    "fig6": {"sizes": (5,), "galleries": (10,), "neighbours": (20,)},
    "fig7": {"sizes": (2,)},
    "family": {"methods": ("NN", "KCRC-LCD", "ProCRC-LCD", "KCRC-Sum-GD")},
    "beyond": {"sizes": (1, 3), "contenders": (beyond.OURS, "1-NN", "tuned kNN", "nearest class mean", beyond.FIXED)},
}


def tiny(name: str) -> Any:
    """The experiment with a quick form cut down to seconds."""
    experiment = experiments.load(name)
    cut = {"tuning_seconds": 0.2, "tune_at": 20, **SMALL.get(name, {})}
    return replace(
        experiment,
        quick={**experiment.quick, **({} if experiment.stand_in else cut)},
        stand_in={**experiment.stand_in, **cut} if experiment.stand_in else {},
    )


@pytest.mark.parametrize("name", experiments.names())
def test_an_experiment_leaves_its_tables_figures_and_report(name: str, tmp_path: Path) -> None:
    report = reproduce(tiny(name), Plan(tmp_path, quick=True, queries=40 if name != "fig3" else None))
    assert report is not None
    folder = tmp_path / name
    for table in report.tables:
        assert table.rows
        assert (folder / f"{table.name}.csv").read_text().count("\n") == len(table.rows) + 1
        assert (folder / f"{table.name}.md").is_file()
    for stem, caption in report.figures:
        assert caption
        assert (folder / f"{stem}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (folder / f"{stem}.svg").read_bytes()
    assert report.figures
    if name == "fig3":
        assert [claim.held for claim in report.claims] == [True, True]
    page = compose(tmp_path, tmp_path / "page.md", experiments.names()).read_text()
    assert f"]({name}/{report.figures[0][0]}.png)" in page or f"](./{name}/{report.figures[0][0]}.png)" in page
    record = json.loads((folder / "report.json").read_text())
    runs = (folder / "runs.csv").read_text().splitlines()
    assert len(runs) == record["cells"] + 1


def test_the_table_of_few_examples_says_how_many_draws_a_line_is_of(tmp_path: Path) -> None:
    values = {"accuracy": 90.0, "fit_seconds": 1.0, "add_seconds": 0.1, "query_ms": 1.0}
    runs = [
        Run({"dataset": "d", "title": "D", "series": name, "x": x, "seed": seed}, values, {}, "")
        for x, draws in ((2, 3), (15, 2))
        for seed in range(draws)
        for name in (beyond.OURS, "1-NN")
    ]
    table = beyond.report(runs, {}, tmp_path).tables[0]
    assert table.columns == ("a class", "draws", beyond.OURS, "1-NN")
    assert [row[:2] for row in table.rows] == [[2, 3], [15, 2]]


def test_same_direction_data_are_as_the_paper_says() -> None:
    X, y = fig3.same_direction(4000, 3, 0.15, np.random.default_rng(0))
    assert np.allclose(X[y == 0].mean(axis=0), 2.0, atol=0.06)
    assert np.allclose(X[y == 1].mean(axis=0), -2.0, atol=0.06)
    assert np.allclose(X[y == 0].var(axis=0), 4.0 / 12.0 + 0.15, atol=0.05)  # of a uniform of width 2, and the noise


def test_accuracy_is_that_of_the_fitted_method() -> None:
    cell = {"dataset": "digits", "gallery": 10, "per_class": 10, "seed": 3, "queries": 200, "method": "NN"}
    loader = Loader()
    values = accuracy.measure({**cell, "confusion": True}, loader)
    split = loader.split(cell)
    distances = ((split.queries[:, None] - split.X[None]) ** 2).sum(axis=2)
    right = split.y[distances.argmin(axis=1)] == split.truth
    assert values["accuracy"] == pytest.approx(100 * right.mean(), abs=0.6)  # equal distances may go either way
    assert np.trace(values["confusion"]) == pytest.approx(2 * values["accuracy"])
    assert values["n_train"] == 100


def test_parameters_chosen_at_a_smaller_k_are_kept() -> None:
    cell = {
        "dataset": "digits", "gallery": 10, "per_class": 10, "seed": 0, "queries": 20, "method": "KCRC-LCD",
        "options": {"n_neighbors": 60}, "tune_at": 20, "tuning_seconds": 0.2,
    }  # fmt: skip
    values, model, _ = accuracy.measured_model(cell, Loader())
    assert model.n_neighbors == 60
    assert model.mu == values["chosen"]["mu"]
    assert values["chosen"]["n_neighbors"] == 20


def _run(series: str, x: Any, seed: int, accuracy_: float, **cell: Any) -> Run:
    return Run({"series": series, "x": x, "seed": seed, **cell}, {"accuracy": accuracy_}, {}, "")


def test_differences_are_explained_only_when_the_repeats_do_not() -> None:
    assert accuracy.compared([97.0, 97.4], 97.0, "because")[1:] == [97.0, "+0.20", "agrees"]
    assert accuracy.compared([90.0, 90.2], 97.0, "because")[2:] == ["−6.90", "because"]
    assert accuracy.compared([80.0, 100.0], 97.0, "because")[3] == "within two standard deviations; because"
    assert accuracy.compared([], 97.0, "because") == [None, 97.0, None, "not measured"]


def test_lines_gather_the_repeats_of_each_point() -> None:
    runs = [_run("A", 2, 1, 5.0), _run("A", 1, 0, 1.0), _run("A", 2, 0, 4.0), _run("B", 1, 0, 9.0)]
    assert accuracy.lines(runs) == {"A": ([1, 2], [[1.0], [4.0, 5.0]]), "B": ([1], [[9.0]])}


def test_running_times_are_set_beside_the_papers() -> None:
    def timed(series: str, ms: float, threads: str) -> Run:
        cell = {"x": "MNIST", "series": series, "seed": 0, "threads": threads, "K": 50}
        return Run(cell, {"ms": ms, "fit_seconds": 0.1, "n_train": 500}, {}, "")

    runs = [timed(s, ms * f, t) for s, ms in (("KCRC-LCD", 0.05), ("SRC-GD", 5.0)) for t, f in (("all", 1), ("one", 2))]
    first, second = tables34._rows(runs, "MNIST")
    assert first[2:8] == ["0.05", "0.1", 2.2618, "45×", "1.00×", "1.00×"]
    assert second[5:8] == ["68×", "100.00×", f"{338.69 / 2.2618:.2f}×"]
    assert [c.held for c in tables34._claims(runs, ["MNIST"])] == [True, True]


def test_tables_escape_and_align() -> None:
    table = Table("t", "A table.", ("name", "value"), [["a|b", 1.5], ["c", None]])
    assert table.markdown() == "| name | value |\n| --- | ---: |\n| a\\|b | 1.5 |\n| c | – |\n"
    assert table.csv() == "name,value\na|b,1.5\nc,\n"
    assert mean_std([1.0, 2.0]) == "1.50 ± 0.71"
    assert mean_std([1.0]) == "1.00"
    assert with_sign(-1.25) == "−1.25"
