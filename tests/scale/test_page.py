"""The blocks of docs/engines.md run, on Ray workers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from docs.running import folders, given, run, stored


@pytest.mark.usefixtures("ray_alone")
def test_the_python_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    folders()
    known = given()
    stored("birds.kcrc", known)
    pieces = sorted(Path("new").iterdir())
    known |= {"work": os.path.getsize, "pieces": pieces, "vectors": known["X_new"]}
    assert run("engines.md", known) == 2
    told = {line.split()[0]: int(line.split()[1]) for line in capsys.readouterr().out.splitlines() if ".jpg " in line}
    assert told == {piece.name: piece.stat().st_size for piece in pieces}
