"""What a person types: swapped arguments, foreign files, forms that exclude each other, stdin, commas, odd names."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from photos import photo

from kcrc.gallery import Gallery, building
from kcrc.gallery.classifier import GalleryClassifier
from kcrc.report import terminal as output

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(untuned: Run) -> Run:
    return untuned


@pytest.mark.parametrize("command", ["predict", "explain", "evaluate", "add"])
def test_swapped_arguments_are_told_apart_from_damage(run, command: str) -> None:
    given, what = (
        ("photos", "a folder") if command in ("evaluate", "add") else ("photos/wren/1.jpg", "a picture (JPEG)")
    )
    code, out, err = run(command, given, "birds.kcrc", *(["--label", "x"] if command == "add" else []))
    assert (code, out) == (1, "")
    meant = f"kcrc {command} birds.kcrc {given}"
    assert err == f"kcrc: '{given}' is {what}, not a kcrc gallery. The gallery comes first: '{meant}'.\n"


def test_foreign_files_are_told_apart_from_damage(run) -> None:
    Path("notes.txt").write_text("two males")
    Path("void.kcrc").touch()
    assert run("export", "birds.kcrc", "birds.npz")[0] == 0
    for name, what in (
        ("notes.txt", "some other file"),
        ("void.kcrc", "an empty file"),
        ("birds.npz", "an export ('kcrc import NEW.kcrc FILE' makes a gallery of one)"),
    ):
        for command in ("verify", "info", "history"):
            assert run(command, name) == (1, "", f"kcrc: '{name}' is {what}, not a kcrc gallery.\n")
    data = bytearray(Path("birds.kcrc").read_bytes())
    data[:100] = b"\xaa" * 100
    Path("birds.kcrc").write_bytes(data)
    code, out, err = run("verify", "birds.kcrc")
    assert (code, out) == (1, "birds.kcrc is damaged: a problem was found.\n")
    assert "'kcrc backup COPY birds.kcrc --force' puts it in its place." in err


def test_verify_speaks_in_sentences(run) -> None:
    assert run("remove", "birds.kcrc", "1")[0] == 0
    assert run("verify", "birds.kcrc")[1] == (
        "birds.kcrc is sound: 11 examples and 3 changes were read, and agree with their checksums.\n"
        "It also holds 1 removed example, for kcrc undo to bring back.\n"
    )


def test_an_empty_gallery_is_called_empty(run) -> None:
    for label in ("wren", "robin", "heron"):
        assert run("remove", "birds.kcrc", "--label", label)[0] == 0
    for command in (["predict", "birds.kcrc", "photos"], ["evaluate", "birds.kcrc"], ["audit", "birds.kcrc"]):
        code, _, err = run(*command)
        assert code == 1
        assert err == "kcrc: The gallery 'birds.kcrc' is empty: it has no examples to answer by. Add some first.\n"
    assert "examples    none: the gallery is empty" in run("info", "birds.kcrc")[1]
    assert run("verify", "birds.kcrc")[1].endswith("It is empty: no example is in use.\n")


def test_two_forms_at_once_are_an_error(run) -> None:
    for command in ("predict", "audit"):
        code, out, err = run(command, "birds.kcrc", "--json", "photos", "--csv")
        assert (code, out) == (2, "")
        assert "--json and --csv are two forms of the same answers; give one of them." in err


def test_help_in_words(run) -> None:
    assert run("help")[1] == run("--help")[1]
    assert run("help", "predict")[1] == run("predict", "--help")[1]
    code, _, err = run("help", "pedict")
    assert code == 2
    assert "Did you mean 'predict'?" in err


def test_a_name_that_is_taken_needs_force(run) -> None:
    code, _, err = run("build", "photos", "-o", "birds.kcrc", "-f", "pixels")
    assert code == 1
    assert "Choose another name with -o, or say --force to overwrite it." in err


def test_a_picture_comes_on_stdin(run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stdin(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    content = Path("photos/wren/1.jpg").read_bytes()
    stdin(content)
    code, out, err = run("predict", "birds.kcrc", "-")
    assert (code, err) == (0, "")
    assert out.startswith("-\twren\t")
    stdin(content[:400])
    code, out, err = run("predict", "birds.kcrc", "-")
    assert (code, out) == (1, "")
    assert err.startswith("kcrc: -: ")
    stdin(content)
    code, _, err = run("add", "birds.kcrc", "-", "--label", "wren")
    assert code == 1
    assert "There is a picture on stdin where names are expected." in err
    monkeypatch.setenv("KCRC_IMAGE_BYTES", "1K")
    stdin(content)
    assert "There are more than 1000 bytes on stdin." in run("predict", "birds.kcrc", "-")[2]


def test_a_comma_before_decimals_is_understood(run) -> None:
    point = run("predict", "birds.kcrc", "--reject", "0.2", "photos/wren/1.jpg", "--set=0.9", "--json")
    comma = run("predict", "birds.kcrc", "--reject", "0,2", "photos/wren/1.jpg", "--set=0,9", "--json")
    assert point == comma
    assert point[0] == 0
    assert run("predict", "birds.kcrc", "--reject", "0,2,1", "photos/wren/1.jpg")[0] == 1  # an image of that name


def test_parameters_that_have_yet_to_be_chosen_are_no_surprise(run, monkeypatch: pytest.MonkeyPatch) -> None:
    with Gallery.open("birds.kcrc") as gallery:
        gallery.set_parameters({"scaling": "unit", "kernel": "linear", "mu": 0.1, "form": "rkhs", "locality": "atoms"})

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(GalleryClassifier, "_choose", interrupt)
        code, out, err = run("predict", "birds.kcrc", "photos/wren/1.jpg")
        assert (code, out) == (130, "")
        assert "interrupted; the settings were not chosen. 'kcrc tune --seconds 10 birds.kcrc' takes less" in err
        code, _, err = run("tune", "birds.kcrc")
        assert (code, err) == (130, "\nkcrc: interrupted; the settings are as they were.\n")
    code, _, err = run("predict", "birds.kcrc", "photos/wren/1.jpg")
    told = "The settings have yet to be chosen from the examples; they are chosen now, once."
    assert (code, err) == (0, f"{told} That takes a minute at most.\n")
    assert run("predict", "birds.kcrc", "photos/wren/1.jpg")[2] == ""


def test_right_to_left_names_are_isolated_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "photos/ציפור/תמונה 4.jpg: flamingo (75%) instead of ציפור גדולה"

    def said(*, terminal: bool, encoding: str = "utf-8") -> str:
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(stream, "isatty", lambda: terminal, raising=False)
        monkeypatch.setattr(sys, "stdout", stream)
        output.say(line, end="")
        return stream.buffer.getvalue().decode(encoding)

    assert said(terminal=False) == line
    shown = said(terminal=True)
    assert shown == (
        "photos/\u2068ציפור\u2069/\u2068תמונה\u2069 4.jpg: flamingo (75%) instead of \u2068ציפור גדולה\u2069"
    )
    assert "\\u2068" not in said(terminal=True, encoding="latin-1")


def test_columns_count_places_of_a_terminal() -> None:
    assert output.column("ミソ", 6) == "ミソ  "
    assert output.column("e\u0301", 3) == "e\u0301  "
    assert output.column("a long name", 6) == "a lon…"
    assert output.column("ミソサザイ", 4) == "ミ… "


@pytest.mark.parametrize("name", ["x" * 300, "é" * 200])
def test_names_that_are_too_long_are_one_line(run, name: str) -> None:
    for command in (
        ["build", "photos", "-f", "pixels", "-o", f"{name}.kcrc"],
        ["predict", "birds.kcrc", f"{name}.jpg"],
        ["info", f"{name}.kcrc"],
        ["rename", "birds.kcrc", "wren", name * 3],
    ):
        code, out, err = run(*command)
        assert (code, out) == (1, "")
        assert len(err.splitlines()) == 1
        assert "Traceback" not in err


def test_names_that_no_folder_can_have_everywhere_are_told(run) -> None:
    for name in ("CON", "wren?"):
        for number in range(3):
            photo(Path("photos") / name / f"{number}.jpg", "owl", number + len(name))
    code, _, err = run("build", "photos", "-o", "new.kcrc", "-f", "pixels", "--no-tune")
    assert code == 0
    for name in ("CON", r"wren\?"):
        assert re.search(
            rf"class '{name}': not every system can have a folder of that name; kcrc sort calls it \S+\n", err
        )


def test_another_locale_changes_no_number(run, tmp_path: Path) -> None:
    """Whatever the decimal mark of the locale; where none with a comma is installed, the C library falls back."""
    program = (
        "import locale, sys\n"
        "for name in ('de_DE.UTF-8', 'fr_FR.UTF-8', ''):\n"
        "    try: locale.setlocale(locale.LC_ALL, name); break\n"
        "    except locale.Error: pass\n"
        "from kcrc.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = ["predict", "birds.kcrc", "photos/wren/1.jpg", "--csv"]
    environment = os.environ | {"LC_ALL": "de_DE.UTF-8", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program, *command], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == run(*command)[1]


def test_what_killed_builds_left_is_cleared(tmp_path: Path) -> None:
    child = (
        "import os, signal, sys; from pathlib import Path; import numpy as np; from kcrc.gallery import building\n"
        "with building(Path(sys.argv[1]), dim=2) as made:\n"
        "    made.add('a', np.eye(2)); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", child, str(tmp_path / "first.kcrc")], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    left = tmp_path / ".first.kcrc.building"
    foreign = tmp_path / ".notes.kcrc.building"
    foreign.write_bytes(b"not of kcrc")
    assert left.exists()
    with building(tmp_path / "second.kcrc", dim=2):
        assert left.exists()  # it may have been made this moment
    for path in (left, foreign):
        os.utime(path, (time.time() - 120,) * 2)
    with building(tmp_path / "third.kcrc", dim=2):
        os.utime(tmp_path / ".third.kcrc.building", (time.time() - 120,) * 2)
        with building(tmp_path / "fourth.kcrc", dim=2):  # one that is being made stays
            assert (tmp_path / ".third.kcrc.building").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".notes.kcrc.building", "fourth.kcrc", "second.kcrc", "third.kcrc",
    ]  # fmt: skip


@pytest.mark.parametrize("option", ["size=32", "size=32x32", "size=(32,)", "colour=yes"])
def test_an_option_of_the_wrong_kind_is_the_typists_mistake(run: Run, option: str) -> None:
    code, out, err = run("build", "photos", "-f", "pixels", "--option", option, "-o", "new.kcrc")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"kcrc: {option.partition('=')[0]} of the feature 'pixels' is " in err
    assert not Path("new.kcrc").exists()
