"""Commands that only read open the gallery for reading; what has to be put in order first is, where it may be."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import CALLS
from journals import interrupted
from older_galleries import version_1
from photos import folder

from kcrc.cli import main
from kcrc.gallery import Gallery, verify
from kcrc.gallery.stores.sqlite import file
from kcrc.gallery.stores.sqlite.file import Connection

IMAGE = "photos/wren/3.jpg"
READING = {name: [name, *arguments] for name, (kind, arguments) in CALLS.items() if kind == "reads"}
ASKING = ["predict", "show", "explain", "evaluate", "audit"]
CHILD = Path(__file__).with_name("unwritable_child.py")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("reading")
    folder(where / "photos", 4)
    folder(where / "test", 2, first=50)
    with contextlib.chdir(where):
        assert main(["build", "photos", "-o", "birds.kcrc", "-f", "pixels"]) == 0
    shutil.rmtree(where / ".kcrc-cache", ignore_errors=True)
    return where


@pytest.fixture
def birds(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "birds.kcrc"


@pytest.fixture
def modes(birds: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How the gallery was opened, each time."""
    seen: list[str] = []
    connect = file.connect

    def noted(path: Path, mode: str, **more: tuple[int, int]) -> Connection:
        if path.name == "birds.kcrc":
            seen.append(mode)
        return connect(path, mode, **more)

    monkeypatch.setattr(file, "connect", noted)
    return seen


def untuned(path: Path) -> None:
    with Gallery.open(path) as gallery:
        gallery.erase([1])  # and with it what was chosen with it
        assert gallery.settings.tuned == 0


@pytest.mark.parametrize("command", READING)
def test_it_opens_for_reading_and_changes_nothing(birds: Path, modes: list[str], command: str) -> None:
    before, moment = birds.read_bytes(), birds.stat().st_mtime_ns
    assert main(READING[command]) == 0
    assert set(modes) == {"ro"}
    assert (birds.read_bytes(), birds.stat().st_mtime_ns) == (before, moment)


@pytest.mark.parametrize("command", ASKING)
def test_the_first_question_stores_the_parameters_and_the_next_only_reads(
    birds: Path, modes: list[str], command: str
) -> None:
    untuned(birds)
    assert main(READING[command]) == 0
    assert "rw" in modes
    with Gallery.open(birds, readonly=True) as gallery:
        assert gallery.settings.tuned > 0
    modes.clear()
    assert main(READING[command]) == 0
    assert set(modes) == {"ro"}


@pytest.mark.filterwarnings("always::kcrc.errors.UnreadableTuning")
def test_a_choice_that_cannot_be_read_is_made_anew_and_stored(birds: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.closing(sqlite3.connect(birds)) as db:
        db.execute("UPDATE tuned SET data = x'00', checksum = 0 WHERE name = 'classifier'")
        db.commit()
    assert main(READING["predict"]) == 0
    assert "cannot be read" in capsys.readouterr().err
    assert main(READING["predict"]) == 0
    assert capsys.readouterr().err == ""


def test_an_outgrown_choice_is_made_anew_and_stored(birds: Path, modes: list[str]) -> None:
    with Gallery.open(birds) as gallery:
        chosen = gallery.settings.tuned
        more = folder(birds.parent / "more", 9, first=100)
        for label in gallery.classes:
            gallery.add_images(label, sorted((more / label).iterdir()))
    modes.clear()
    assert main(READING["predict"]) == 0
    assert "rw" in modes
    with Gallery.open(birds, readonly=True) as gallery:
        assert gallery.settings.tuned > chosen


@pytest.mark.parametrize("command", READING)
def test_an_interrupted_write_is_taken_back_first(birds: Path, command: str) -> None:
    left = interrupted(birds, birds.with_name("halfway.kcrc"))
    os.replace(left, birds)
    os.replace(f"{left}-journal", f"{birds}-journal")
    assert main(READING[command]) == 0
    assert not Path(f"{birds}-journal").exists()
    assert verify(birds).problems == ()


@pytest.mark.parametrize("command", ["info", "history", "verify", "export"])
def test_an_older_gallery_is_brought_up_first(birds: Path, command: str) -> None:
    birds.unlink()
    version_1(birds, [("wren", "1.jpg", (1, 2)), ("owl", "2.jpg", (3, 4))])
    assert main(READING[command]) == 0
    assert birds.with_name("birds.kcrc.v1").exists()
    with Gallery.open(birds, readonly=True) as gallery:
        assert len(gallery) == 2


def test_a_backup_leaves_an_older_gallery_as_it_is(birds: Path) -> None:
    birds.unlink()
    version_1(birds, [("wren", "1.jpg", (1, 2))])
    before = birds.read_bytes()
    assert main(READING["backup"]) == 0
    assert birds.read_bytes() == before
    assert not birds.with_name("birds.kcrc.v1").exists()


# Where nothing can be written


@pytest.fixture
def shut(birds: Path) -> Iterator[Path]:
    """The gallery in a folder that anyone may look into (tmp_path's parents are the user's alone)."""
    where = Path(tempfile.mkdtemp())
    where.chmod(0o755)
    shutil.copy(birds, where)
    for folder_of_pictures in ("photos", "test"):
        shutil.copytree(birds.parent / folder_of_pictures, where / folder_of_pictures)
    yield where
    for path in (where, *where.rglob("*")):
        path.chmod(0o755)
    shutil.rmtree(where)


def results(shut: Path, commands: list[list[str]], *, files: int = 0o444) -> list[tuple[int, str, str]]:
    if os.geteuid() == 0 and any(not parent.stat().st_mode & 0o001 for parent in shut.parents):
        pytest.skip(f"'{shut.parent}' is not open to others, so nobody else can be tried there")
    done = subprocess.run(
        [sys.executable, str(CHILD), str(shut), oct(files), json.dumps(commands)],
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return [tuple(result) for result in json.loads(done.stdout)]


TO_STDOUT = [READING[name] for name in READING if name not in ("export", "backup", "copy", "sort")]


def test_reading_needs_no_right_to_write(shut: Path) -> None:
    before = (shut / "birds.kcrc").read_bytes()
    for command, (code, _, err) in zip(TO_STDOUT, results(shut, TO_STDOUT), strict=True):
        assert (code, err) == (0, ""), command
    assert sorted(p.name for p in shut.iterdir()) == ["birds.kcrc", "photos", "test"]
    assert (shut / "birds.kcrc").read_bytes() == before


def test_without_a_choice_it_is_made_and_not_stored(shut: Path) -> None:
    untuned(shut / "birds.kcrc")
    before = (shut / "birds.kcrc").read_bytes()
    (result,) = results(shut, [READING["predict"]])
    told = "The settings have yet to be chosen from the examples; they are chosen now, for this command alone: "
    assert (result[0], result[2]) == (0, f"{told}the gallery may not be written. That takes a minute at most.\n")
    assert result[1].split("\t")[1] == "wren"
    assert (shut / "birds.kcrc").read_bytes() == before


def test_an_interrupted_write_is_one_sentence_there(shut: Path) -> None:
    gallery = shut / "birds.kcrc"
    left = interrupted(gallery, shut / "halfway.kcrc")
    os.replace(left, gallery)
    os.replace(f"{left}-journal", f"{gallery}-journal")
    writing = [["remove", "birds.kcrc", "1"], ["undo", "birds.kcrc"]]
    reading = [*TO_STDOUT, ["backup", "birds.kcrc", "copy.kcrc"]]
    before = gallery.read_bytes(), Path(f"{gallery}-journal").read_bytes()
    found = results(shut, reading + writing)
    for command, (code, out, err) in zip(reading, found, strict=False):
        assert code == 1, command
        assert "was interrupted, and has to be taken back before it can be read" in err
        assert err.count("\n") == 1
        assert out == ""  # nor does verify call it damaged
    for code, _, err in found[len(reading) :]:
        assert code == 1
        assert err.count("\n") == 1
        assert "Traceback" not in err
    assert (gallery.read_bytes(), Path(f"{gallery}-journal").read_bytes()) == before


def test_in_a_folder_that_may_not_be_written_too(shut: Path) -> None:
    left = interrupted(shut / "birds.kcrc", shut / "halfway.kcrc")
    commands = [["remove", "halfway.kcrc", "1"], ["info", "halfway.kcrc"], ["remove", "birds.kcrc", "1"]]
    found = results(shut, commands, files=0o666)
    for code, _, err in found[:2]:
        assert code == 1
        assert "was interrupted" in err
    assert "its folder is not writable" in found[2][2]
    assert Path(f"{left}-journal").exists()


def test_an_older_gallery_is_one_sentence_there(shut: Path) -> None:
    (shut / "birds.kcrc").unlink()
    version_1(shut / "birds.kcrc", [("wren", "1.jpg", (1, 2))])
    ((code, _, err),) = results(shut, [READING["info"]])
    assert code == 1
    assert "is of an older version (1); open it once for writing" in err


def test_what_changes_a_gallery_on_read_only_media_says_so(shut: Path) -> None:
    before = (shut / "birds.kcrc").read_bytes()
    commands = [
        ["remove", "birds.kcrc", "1"],
        ["rename", "birds.kcrc", "wren", "owl"],
        ["build", "photos", "-o", "new.kcrc"],
    ]
    for command, (code, out, err) in zip(commands, results(shut, commands), strict=True):
        assert (code, out) == (1, ""), command
        assert len(err.splitlines()) == 1
        assert re.search("not writable|cannot be made there|reading only", err), err
    assert (shut / "birds.kcrc").read_bytes() == before
    assert not (shut / "new.kcrc").exists()
