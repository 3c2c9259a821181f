from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kcrc.errors import DataError, ParameterError, UnknownName
from kcrc.report.tables import Table
from lab import experiments
from lab.experiments import provenance
from lab.experiments.base import Cell, Experiment, Plan, Protocol, Report, Run
from lab.experiments.loader import Loader
from lab.experiments.runner import arranged, kept, key_of, left, possible, reproduce


class Counting:
    """An experiment of five cells that counts how often it measures, and can be told to fail."""

    def __init__(self) -> None:
        self.measured: list[int] = []
        self.stop_at: int | None = None
        self.refuse: int | None = None

    def measure(self, cell: Cell, loader: Loader) -> dict[str, Any]:
        if cell["seed"] == self.stop_at:
            raise KeyboardInterrupt
        if cell["seed"] == self.refuse:
            raise DataError("no such rows")
        self.measured.append(cell["seed"])
        return {"accuracy": 10.0 * cell["seed"], "n_queries": 4, "fit_seconds": 1500.0, "predict_seconds": 300.0}

    @staticmethod
    def cells(protocol: Protocol) -> list[Cell]:
        return [{"seed": seed, "sizes": (1, 2), **protocol["settings"][0]} for seed in range(protocol["seeds"])]

    @staticmethod
    def report(runs: Sequence[Run], protocol: Protocol, folder: Path) -> Report:
        return Report([Table("t", "All.", ("seed", "a"), [[r.cell["seed"], r.values["accuracy"]] for r in runs])])

    def experiment(self, **protocol: Any) -> Experiment:
        whole = {"settings": ({"dataset": "digits"},), "seeds": 5, **protocol}
        return Experiment(
            "count", "Counting", "nowhere", whole, {"seeds": 2}, {}, self.cells, self.measure, self.report
        )


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    counting = Counting()
    counting.stop_at = 3
    plan = Plan(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        reproduce(counting.experiment(), plan)
    assert counting.measured == [0, 1, 2]
    counting.stop_at = None
    report = reproduce(counting.experiment(), plan)
    assert counting.measured == [0, 1, 2, 3, 4]
    assert report is not None
    assert [row[1] for row in report.tables[0].rows] == [0.0, 10.0, 20.0, 30.0, 40.0]
    assert not [p for p in (tmp_path / "cells").rglob("*") if p.name.startswith(".")]  # nothing half-written


def test_a_finished_run_measures_nothing_again_unless_told_to(tmp_path: Path) -> None:
    counting = Counting()
    reproduce(counting.experiment(), Plan(tmp_path))
    reproduce(counting.experiment(), Plan(tmp_path))
    assert len(counting.measured) == 5
    reproduce(counting.experiment(), Plan(tmp_path, fresh=True))
    assert len(counting.measured) == 10


def test_a_damaged_or_foreign_result_is_measured_again(tmp_path: Path) -> None:
    counting = Counting()
    reproduce(counting.experiment(), Plan(tmp_path))
    (tmp_path / "count" / "runs.csv").unlink()  # which has them too
    files = sorted((tmp_path / "cells" / "count").iterdir())
    files[0].write_text("{")
    record = json.loads(files[1].read_text())
    files[1].write_text(json.dumps({**record, "cell": {**record["cell"], "seed": 77}}))
    reproduce(counting.experiment(), Plan(tmp_path))
    assert len(counting.measured) == 7


def test_the_list_of_a_finished_run_is_as_good_as_its_cells(tmp_path: Path) -> None:
    counting = Counting()
    first = reproduce(counting.experiment(), Plan(tmp_path))
    shutil.rmtree(tmp_path / "cells")  # as after a clone: only what is committed is there
    again = reproduce(counting.experiment(), Plan(tmp_path))
    assert first is not None
    assert again is not None
    assert again.tables == first.tables
    assert len(counting.measured) == 5
    listed = tmp_path / "count" / "runs.csv"
    listed.write_text(listed.read_text().replace('""seed"": 3', '""seed"": 33').replace('""accuracy"": 20', '""accu'))
    reproduce(counting.experiment(), Plan(tmp_path))
    assert counting.measured[5:] == [2, 3]  # a damaged row and one of another configuration


def test_what_is_left_is_counted_and_estimated(tmp_path: Path) -> None:
    counting = Counting()
    found = left(counting.experiment(), Plan(tmp_path))
    assert (found.cells, found.due, found.seconds) == (5, 5, None)
    assert str(found) == "count: 5 of 5 cells are left."
    reproduce(counting.experiment(), Plan(tmp_path, seeds=2))
    found = left(counting.experiment(), Plan(tmp_path))
    assert (found.cells, found.due, found.seconds) == (5, 3, pytest.approx(3 * 1800.0))
    assert str(found) == "count: 3 of 5 cells are left, about 1 h 30 min."
    assert str(left(counting.experiment(), Plan(tmp_path, seeds=2))) == "count: all 2 cells are measured."
    assert left(experiments.load("fig4"), Plan(tmp_path, data=tmp_path)) is None


def test_another_configuration_has_another_place() -> None:
    cell = {"seed": 0, "method": "NN", "options": {"a": 1, "b": 2}}
    assert key_of(cell) == key_of({"options": {"b": 2, "a": 1}, "method": "NN", "seed": 0})
    assert len({key_of(cell), key_of({**cell, "seed": 1}), key_of({**cell, "options": {"a": 1}})}) == 3


def test_every_number_has_a_seed_a_configuration_a_commit_and_a_machine(tmp_path: Path) -> None:
    reproduce(Counting().experiment(), Plan(tmp_path, seeds=1))
    (file,) = (tmp_path / "cells" / "count").iterdir()
    record = json.loads(file.read_text())
    assert record["cell"] == {"seed": 0, "sizes": [1, 2], "dataset": "digits"}
    assert record["origin"]["commit"]
    assert "cores" in record["origin"]["machine"]
    assert kept(file.parent, record["cell"]) is not None


def test_a_cell_that_cannot_be_measured_ends_nothing(tmp_path: Path) -> None:
    counting = Counting()
    counting.refuse = 2
    said: list[str] = []
    report = reproduce(counting.experiment(), Plan(tmp_path), said.append)
    assert report is not None
    assert [row[0] for row in report.tables[0].rows] == [0, 1, 3, 4]
    assert any("could not be measured: no such rows" in text for text in said)
    counting.refuse = None
    reproduce(counting.experiment(), Plan(tmp_path))
    assert counting.measured == [0, 1, 3, 4, 2]


def test_missing_data_are_named_with_their_owner_and_place(tmp_path: Path) -> None:
    said: list[str] = []
    experiment = experiments.load("fig4")
    assert reproduce(experiment, Plan(tmp_path, data=tmp_path), said.append) is None
    (message,) = said
    assert "yann.lecun.com" in message
    assert str(tmp_path / "mnist.npz") in message


def test_settings_without_data_are_left_out_and_the_others_stay(tmp_path: Path) -> None:
    counting = Counting()
    experiment = counting.experiment(settings=({"dataset": "digits"}, {"dataset": "usps"}))
    protocol, notes = arranged(experiment, Plan(tmp_path), Loader(), lambda text: None)
    assert protocol is not None
    assert [s["dataset"] for s in protocol["settings"]] == ["digits"]
    assert "usps" in notes[0]
    assert str(tmp_path) not in notes[0]  # the page names no folder of this machine


def test_methods_and_distances_of_the_future_are_left_out_with_a_sentence() -> None:
    cells = [
        {"method": "NN", "seed": 0},
        {"method": "KCRC-9", "seed": 0},
        {"method": "KCRC-9", "seed": 1},
        {"method": "NN", "options": {"distance": "telepathy"}, "seed": 0},
    ]
    there, notes = possible(cells)
    assert there == cells[:1]
    assert len(notes) == 2
    assert "KCRC-9 is not registered" in notes[0]


def test_quick_and_the_callers_numbers_override_the_protocol(tmp_path: Path) -> None:
    experiment = Counting().experiment()
    for plan, seeds in ((Plan(tmp_path), 5), (Plan(tmp_path, quick=True), 2), (Plan(tmp_path, quick=True, seeds=3), 3)):
        protocol, _ = arranged(experiment, plan, Loader(), lambda text: None)
        assert protocol is not None
        assert protocol["seeds"] == seeds


def test_the_full_run_repeats_what_is_quick_ten_times_and_the_rest_five() -> None:
    experiment = experiments.load("fig5")
    cells = experiment.cells({**experiment.protocol, **experiment.full})
    seeds = {
        name: {c["seed"] for c in cells if c["series"] == name} for name in ("KCRC-LCD", "CRC-GD", "SRC-GD", "LC-KSVD")
    }
    assert {name: len(found) for name, found in seeds.items()} == {
        "KCRC-LCD": 10, "CRC-GD": 10, "SRC-GD": 5, "LC-KSVD": 5,
    }  # fmt: skip
    asked = {(c["method"], c["options"].get("n_neighbors")): c["queries"] for c in cells if c["panel"] == "b"}
    assert asked["KCRC-GD", None] is None  # all
    assert asked["KCRC-LCD", 760] == 455  # 2e11 / 760³
    assert asked["KCRC-LCD", 50] > 1198  # more than there are


def test_names_of_tables_and_figures_lead_to_their_experiment() -> None:
    assert experiments.load("fig8").name == "table2"
    assert [experiments.load(name).name for name in experiments.names()] == list(experiments.names())
    with pytest.raises(UnknownName, match="Did you mean"):
        experiments.load("tabel1")
    with pytest.raises(ParameterError):
        experiments.load("fig99")


@pytest.mark.parametrize("name", experiments.names())
def test_protocols_are_plain_data(name: str) -> None:
    experiment = experiments.load(name)
    for scale in ({}, experiment.quick, experiment.full):
        protocol = {**experiment.protocol, **scale}
        cells = experiment.cells(protocol)
        assert cells == dataclasses.replace(experiment).cells(protocol)
        keys = [key_of(cell) for cell in cells]
        assert len(set(keys)) == len(keys) > 0, f"{name} measures a cell twice"


def test_a_machine_is_busy_by_what_others_do_not_by_the_measurement_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    # clock, seconds all cores worked, seconds of them for this process
    said = iter([(0.0, 100.0, 7.0), (10.0, 119.0, 26.0), (20.0, 129.0, 30.0), None])
    monkeypatch.setattr(provenance, "_busy_seconds", lambda: next(said))
    monkeypatch.setattr(provenance, "worker_count", lambda jobs: 2)
    monkeypatch.setattr(provenance._Watch, "last", None)
    assert provenance.others_at_work() == 0.0  # all 19 seconds were ours
    assert provenance.others_at_work() == pytest.approx(0.3)  # 6 of 20 were not
    assert provenance.others_at_work() is None


def test_a_commit_is_dirty_where_its_code_was_changed_and_not_where_results_were(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True)

    assert provenance.commit_of(tmp_path).startswith("version ")
    git("init")
    for name in ("src/code.py", "docs/runs.csv"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("1")
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-m", "first")
    clean = provenance.commit_of(tmp_path)
    assert re.fullmatch("[0-9a-f]{7}", clean)
    (tmp_path / "docs/runs.csv").write_text("2")
    assert provenance.commit_of(tmp_path) == clean
    (tmp_path / "src/code.py").write_text("2")
    assert provenance.commit_of(tmp_path) == f"{clean}-dirty"
