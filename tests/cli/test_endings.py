"""How commands end: what nobody foresaw is one sentence, and a reader or a disk that goes away costs nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kcrc.cli import main
from kcrc.cli.endings import FAULT
from kcrc.errors import ParameterError, fault_reference
from kcrc.gallery import Gallery

PROGRAM = "import sys; from kcrc.cli import main; sys.exit(main(sys.argv[1:]))"


@pytest.fixture
def birds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KCRC_DEBUG", raising=False)
    with Gallery.create("g.kcrc", dim=2) as gallery:
        for number in range(30):
            gallery.add(f"class {number}", np.random.default_rng(number).standard_normal((1, 2)))
    return tmp_path


def broken(problem: BaseException):
    def raising(*_: object, **__: object) -> None:
        raise problem

    return raising


@pytest.mark.parametrize(
    "problem",
    [ZeroDivisionError("of \x1b[31m\nlines"), TypeError(), RecursionError("deep"), AssertionError("x" * 9000)],
)
def test_what_nobody_foresaw_is_one_sentence_and_how_to_report_it(
    birds: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], problem: Exception
) -> None:
    monkeypatch.setattr(Gallery, "history", broken(problem))
    assert main(["history", "g.kcrc"]) == FAULT == 70
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert len(said.err) < 1000
    assert "\x1b" not in said.err
    assert type(problem).__name__ in said.err
    assert re.search(r"Please report it as kcrc-[\w.]+-[0-9a-f]{8}, with what 'kcrc --debug …' prints\.", said.err)
    assert "Traceback" not in said.err


@pytest.mark.parametrize(("arguments", "value"), [(["--debug"], "0"), ([], "1")])
def test_debug_shows_where_it_was(
    birds: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    value: str,
) -> None:
    monkeypatch.setenv("KCRC_DEBUG", value)
    monkeypatch.setattr(Gallery, "history", broken(ZeroDivisionError("x\x1b[31m")))
    assert main([*arguments, "history", "g.kcrc"]) == FAULT
    err = capsys.readouterr().err
    assert err.startswith("Traceback")
    assert "edit.py" in err
    assert "\x1b" not in err
    assert main([*arguments, "history", "none.kcrc"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_one_fault_has_one_name_and_another_has_another() -> None:
    def fault(kind: type[Exception], text: str) -> str:
        from kcrc.files.archive import to_npy

        class Odd:
            def __array__(self, *_: object, **__: object) -> None:
                raise kind(text)

        with pytest.raises(kind) as told:
            to_npy(Odd())  # type: ignore[arg-type]
        return fault_reference(told.value)

    assert fault(KeyError, "a") == fault(KeyError, "b") != fault(IndexError, "a")


@pytest.mark.parametrize(
    ("problem", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "interrupted; what was reported as done is kept"),
        (MemoryError(), 1, "There is not enough memory"),
        (OSError(5, "Input/output error", "a\x1bb"), 1, r"'a\x1bb': Input/output error."),
        (OSError(28, "No space left on device"), 1, "kcrc: No space left on device."),
        (ParameterError("Parquet needs pyarrow. Install it: pip install 'kcrc[tables]'."), 1, "needs pyarrow"),
        (ParameterError("K is a whole number; got 'x'."), 2, "K is a whole number"),
        (ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib"), 1, "needs the package 'matplotlib'"),
    ],
)
def test_each_kind_of_end(
    birds: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    problem: BaseException,
    code: int,
    words: str,
) -> None:
    monkeypatch.setattr(Gallery, "history", broken(problem))
    assert main(["history", "g.kcrc"]) == code
    err = capsys.readouterr().err
    assert words in err
    assert len(err.strip().splitlines()) == 1


def run(folder: Path, *arguments: str, **where: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", PROGRAM, *arguments]
    return subprocess.run(command, cwd=folder, timeout=60, **{"stderr": subprocess.PIPE, **where})  # type: ignore[call-overload]


@pytest.mark.skipif(os.name != "posix", reason="a shell's pipe")
def test_a_reader_of_one_line_ends_it_quietly(birds: Path) -> None:
    for command in ("history g.kcrc -n 30", "info g.kcrc", "info g.kcrc --json", "--help", "history --help"):
        line = f"{sys.executable} -c '{PROGRAM}' {command} | head -c 1 > /dev/null"
        done = subprocess.run(line, shell=True, cwd=birds, capture_output=True, timeout=60)
        assert done.stderr == b""
        read, write = os.pipe()
        os.close(read)
        ended = run(birds, *command.split(), stdout=write)
        os.close(write)
        assert (ended.returncode, ended.stderr) == (0, b"")


def test_a_reader_of_the_notes_that_goes_away_changes_nothing(birds: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = run(birds, "history", "none.kcrc", stderr=write)
    assert done.returncode == 1
    done = run(birds, "remove", "g.kcrc", "1", stderr=write, stdout=subprocess.PIPE)
    os.close(write)
    assert (done.returncode, done.stdout) == (0, b"removed 1 (example 1)\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
def test_an_output_that_cannot_be_written_is_one_sentence(birds: Path) -> None:
    for command in (["history", "g.kcrc"], ["info", "g.kcrc", "--json"], ["--help"]):
        with open("/dev/full", "wb") as full:
            done = run(birds, *command, stdout=full)
        assert done.returncode == 1
        assert done.stderr.splitlines() in (
            [b"kcrc: The output cannot be written: No space left on device."],
            [b"kcrc: No space left on device."],
        )
