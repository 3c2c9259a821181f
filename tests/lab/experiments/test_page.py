from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from kcrc.errors import DataError
from kcrc.report.tables import Table
from lab.__main__ import main
from lab.experiments.base import Claim, Experiment, Plan, Report, Run
from lab.experiments.loader import Loader
from lab.experiments.page import compose, write_report

ORIGIN = {"commit": "abc1234", "machine": "a machine, 2 cores", "load": 0.1, "when": "2024-01-01 00:00 UTC"}


def left(out: Path, name: str, title: str) -> None:
    """The report of an experiment that was not run."""

    def nothing(*_: object) -> None: ...

    experiment = Experiment(name, title, "section 9", {}, {}, {}, nothing, nothing, nothing)  # type: ignore[arg-type]
    runs = [
        Run({"seed": s, "method": "NN"}, {"accuracy": 97.0, "n_queries": 50, "confusion": [[1]]}, ORIGIN, f"k{s}")
        for s in range(3)
    ]
    report = Report(
        [Table("tab", "All of it.", ("method", "ours", "paper"), [["NN", "97.00 ± 0.10", 96.5]])],
        [("fig", "A figure.")],
        [
            Claim("It is so.", True, "97", (96.0, 98.0), True),
            Claim("It is nearly so.", True, "", (-1.0, 2.5), False),
            Claim("It is not.", False, cause="The moon."),
            Claim("Who knows.", None),
        ],
        ["A note."],
    )
    write_report(out / name, experiment, report, runs, Plan(out))


def test_the_page_has_ours_the_papers_the_claims_and_the_origin(tmp_path: Path) -> None:
    left(tmp_path / "docs" / "runs", "one", "Fig. 1: one")
    page = compose(tmp_path / "docs" / "runs", tmp_path / "docs" / "page.md", ("one", "two")).read_text()
    assert "| NN | 97.00 ± 0.10 | 96.5 |" in page
    assert "It is so. **Holds** (97; 95 % interval 96.00 to 98.00)." in page
    assert "It is nearly so. **Holds, but not beyond chance** (95 % interval −1.00 to 2.50)." in page
    assert "It is not. **Does not hold here**. Why: The moon." in page
    assert "Of 4 statements checked, 2 hold (1 of them not beyond chance), 1 do not hold here (0 of" in page
    assert "and 1 could not be checked." in page
    assert "3 repeats (seeds 0–2), 50 queries each; commit abc1234; a machine, 2 cores" in page
    assert "![A figure.](runs/one/fig.png)" in page
    assert "[Fig. 1: one](#fig-1-one)" in page
    assert "Not run yet, or without data: two." in page
    assert str(tmp_path) not in page


def test_experiments_come_in_their_order_and_none_is_lost(tmp_path: Path) -> None:
    left(tmp_path, "two", "Second")
    left(tmp_path, "one", "First")
    page = compose(tmp_path, tmp_path / "page.md", ("one", "two")).read_text()
    assert page.index("## First") < page.index("## Second")


def test_runs_are_listed_with_seed_configuration_and_commit(tmp_path: Path) -> None:
    left(tmp_path, "one", "First")
    rows = list(csv.DictReader((tmp_path / "one" / "runs.csv").read_text().splitlines()))
    assert [row["seed"] for row in rows] == ["0", "1", "2"]
    assert json.loads(rows[1]["configuration"]) == {"seed": 1, "method": "NN"}
    assert json.loads(rows[1]["measured"]) == {"accuracy": 97.0, "n_queries": 50, "confusion": [[1]]}
    assert rows[1]["commit"] == "abc1234"


def test_nothing_and_damaged_reports_are_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no report"):
        compose(tmp_path, tmp_path / "page.md", ("one",))
    left(tmp_path, "one", "First")
    (tmp_path / "one" / "report.json").write_text("{")
    with pytest.raises(DataError, match="damaged"):
        compose(tmp_path, tmp_path / "page.md", ("one",))
    (tmp_path / "one" / "report.json").write_text("{}")
    with pytest.raises(DataError, match="another version"):
        compose(tmp_path, tmp_path / "page.md", ("one",))


def test_the_command_runs_an_experiment_and_writes_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib", reason="the figures need matplotlib")
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "tables34", "--quick", "--queries", "20", "--out", "out"]) == 0
    shown = capsys.readouterr()
    assert "Tables 3 and 4" in shown.out
    assert "stand in" in shown.out
    assert "CroppedYale" in shown.err
    page = (tmp_path / "out" / "reproduction.md").read_text()
    assert "Command: `python -m lab reproduce tables34 --quick --queries 20`." in page


def test_the_command_names_what_is_missing_and_what_is_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "fig6", "--data", str(tmp_path)]) == 1
    assert "caltech101_spm.npz" in capsys.readouterr().err
    assert main(["reproduce", "fig66"]) == 2
    assert "fig6" in capsys.readouterr().err
    assert Loader().has("digits")
