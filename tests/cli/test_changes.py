"""One command, one step back, and forth again; what would be removed is said without removing it."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import pytest
from photos import folder

from kcrc.cli import main
from kcrc.gallery import Gallery


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("changes")
    folder(where / "photos", 5)
    with contextlib.chdir(where):
        assert main(["build", "photos", "-o", "birds.kcrc", "-f", "pixels"]) == 0
    return where


@pytest.fixture
def birds(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    return "birds.kcrc"


def counts() -> dict[str, int]:
    with Gallery.open("birds.kcrc", readonly=True) as gallery:
        return gallery.counts


def test_undo_and_redo(birds: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = counts()
    assert main(["remove", birds, "--label", "wren"]) == 0
    assert main(["undo", birds]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[-1] == "undid: removed 5 examples of wren"
    assert "'kcrc redo birds.kcrc' does it again." in said.err
    assert counts() == before
    assert main(["redo", birds]) == 0
    assert capsys.readouterr().out == "did again: removed 5 examples of wren\n"
    assert "wren" not in counts()
    assert main(["redo", birds]) == 1
    assert "nothing to" in capsys.readouterr().err.lower()


def test_history_has_the_numbers_that_undo_takes(birds: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = counts()
    main(["history", birds])
    first = int(capsys.readouterr().out.splitlines()[0].split()[0])
    for example in ("1", "2", "3"):
        assert main(["remove", birds, example]) == 0
    assert main(["undo", birds, "--to", str(first)]) == 0
    assert "and all that came after it" in capsys.readouterr().out
    assert counts() == before
    assert main(["history", birds]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.endswith("(undone)") for line in lines) == 3


def test_a_dry_run_changes_nothing(birds: str, capsys: pytest.CaptureFixture[str]) -> None:
    content = Path(birds).read_bytes()
    assert main(["remove", birds, "--label", "wren", "--dry-run"]) == 0
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 5
    assert all(line.split("\t")[1] == "wren" for line in said.out.splitlines())
    assert said.err == "Removing 5 was only tried: nothing was changed.\n"
    assert main(["remove", birds, "1", "--erase", "--dry-run"]) == 0
    assert "Erasing 1" in capsys.readouterr().err
    assert main(["remove", birds, "999", "--dry-run"]) == 1
    assert "There is no example 999" in capsys.readouterr().err
    assert main(["compact", birds, "--dry-run"]) == 0
    assert capsys.readouterr().out == "would drop 0 removed examples; nothing was changed\n"
    assert Path(birds).read_bytes() == content
    assert main(["remove", birds, "1"]) == 0
    capsys.readouterr()
    assert main(["compact", birds, "--dry-run"]) == 0
    assert capsys.readouterr().out == "would drop 1 removed example; nothing was changed\n"
    assert main(["undo", birds]) == 0


def test_a_new_class_is_announced(birds: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder(Path("more"), 7)
    pictures = [f"more/wren/{number}.jpg" for number in (5, 6)]
    assert main(["add", birds, "--label", "Wern", pictures[0]]) == 0
    said = capsys.readouterr().err
    assert "'Wern' is a new class. Did you mean 'wren'? 'kcrc undo birds.kcrc' takes it back." in said
    assert main(["add", birds, "--label", "zebra finch", pictures[1]]) == 0
    assert "'zebra finch' is a new class.\n" in capsys.readouterr().err
    folder(Path("again"), 8)
    assert main(["add", birds, "--label", "wren", "again/wren/7.jpg"]) == 0
    assert "new class" not in capsys.readouterr().err
