"""The remark under the table of the family: whether a method since the paper brings something beyond chance."""

from __future__ import annotations

from pathlib import Path

from lab.experiments import family
from lab.experiments.base import Run


def runs(name: str, *accuracies: float) -> list[Run]:
    return [
        Run({"series": name, "dataset": "digits", "title": "digits", "seed": seed}, {"accuracy": accuracy}, {}, "")
        for seed, accuracy in enumerate(accuracies)
    ]


def note(tmp_path: Path, measured: list[Run]) -> str:
    (told,) = family.report(measured, family.PROTOCOL, tmp_path).notes
    return told


def test_what_leads_on_every_split_is_a_gain(tmp_path: Path) -> None:
    told = note(tmp_path, runs("KCRC-LCD", 90.0, 80.0, 85.0) + runs("NRC-LCD", 91.0, 81.1, 85.9))
    assert "best of the paper's KCRC-LCD (85.00), best since NRC-LCD (86.00); difference +1.00" in told
    assert told.endswith("something is gained.")


def test_what_leads_on_some_splits_is_chance(tmp_path: Path) -> None:
    told = note(tmp_path, runs("KCRC-LCD", 90.0, 80.0, 85.0) + runs("NRC-LCD", 93.0, 79.0, 85.5))
    assert told.endswith("nothing is gained beyond chance.")


def test_one_split_decides_nothing(tmp_path: Path) -> None:
    told = note(tmp_path, runs("KCRC-LCD", 90.0) + runs("NRC-LCD", 93.0))
    assert told.endswith("difference +3.00, both picked in hindsight: nothing is gained beyond chance.")
    assert "not enough was measured" in note(tmp_path, runs("KCRC-LCD", 90.0))
