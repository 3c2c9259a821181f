"""The one door: nothing that comes out of a command can command a terminal, whatever names and errors hold."""

from __future__ import annotations

import ast
import csv
import io
import json
import logging
import os
import re
import shlex
import sys
import unicodedata
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from photos import COLOURS, photo

from cli.conftest import Run
from kcrc.cli import main
from kcrc.gallery import Gallery
from kcrc.report import terminal

SOURCES = Path(__file__).parents[2] / "src" / "kcrc"
EVIL = "a\x1b]0;owned\x07\x9b31m\x7f\r\u202eb\u2066c\u2069\u2028d\u2029\x85\n\tkcrc: all is well"
HARMFUL = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def harmful(text: str) -> set[str]:
    return {c for c in text if c not in "\n\t" and unicodedata.category(c) in HARMFUL}


@given(st.text(st.characters(codec=None)))
def test_no_text_is_harmful(text: str) -> None:
    assert not harmful(terminal.visible(text))
    assert not harmful(terminal.shown(text))
    assert not set(terminal.shown(text)) & set("\n\t")
    terminal.shown(text).encode()


@pytest.mark.parametrize("text", ["zaunkönig", "ミソサザイ", "a b", "C:\\birds\\1.jpg", "🦉", ""])
def test_what_is_harmless_stays_as_it_is(text: str) -> None:
    assert terminal.shown(text) == text


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_a_terminal_that_lacks_a_character_shows_its_number(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    terminal.say("3–5 ミ \udcff")
    terminal.note("…")
    said = sys.stdout.buffer.getvalue().decode(encoding)
    assert ("ミ" in said) is (encoding == "utf-8")
    assert "\\udcff" in said


def test_closed_streams_are_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    terminal.say("x")
    terminal.note("x")
    assert main(["frobnicate"]) == 2


def test_cells_are_valid_csv_in_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    write = terminal.csv_writer(["name", "number", "list", "none"])
    rows = [EVIL, 'say "x", y', "=cmd()", " =cmd()", "+1", "-1", "@x", "＝x", "a=b", "\ta", ""]
    for row in rows:
        write({"name": row, "number": -0.5, "list": [row, "z"], "other": 1})
    out = capsys.readouterr().out
    assert not harmful(out)
    table = list(csv.reader(io.StringIO(out)))
    assert table[0] == ["name", "number", "list", "none"]
    assert len(table) == len(out.splitlines()) == 1 + len(rows)
    names = [line[0] for line in table[1:]]
    quoted = {"=cmd()", " =cmd()", "+1", "-1", "@x", "＝x"}
    assert names == [f"'{row}" if row in quoted else terminal.shown(row) for row in rows]
    assert {line[1] for line in table[1:]} == {"-0.5"}


def test_json_is_valid_json_in_ascii(capsys: pytest.CaptureFixture[str]) -> None:
    value = {EVIL: [EVIL, 1.5, float("nan"), {"x": float("-inf")}, None, True], "\udcff": "\udcff"}
    terminal.say_json(value)
    out = capsys.readouterr().out
    assert out.isascii()
    assert not harmful(out)
    assert out.count("\n") == 1
    assert "NaN" not in out
    assert json.loads(out)[EVIL] == [EVIL, 1.5, None, {"x": None}, None, True]


def test_warnings_and_logs_pass_the_door(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # without pytest's own
    before = warnings.showwarning, logging.lastResort
    with terminal.own_words(), warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn(f"about {EVIL}", stacklevel=1)
        logging.getLogger("some.library").warning("about %s", EVIL)
    assert (warnings.showwarning, logging.lastResort) == before
    err = capsys.readouterr().err
    assert err == 2 * f"kcrc: about {terminal.shown(EVIL)}\n"


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A gallery whose classes, files, folders and history hold all that could do harm."""
    monkeypatch.chdir(tmp_path)
    name = EVIL.replace("/", "")
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        pytest.skip("the encoding of names of files, which the locale says, has not all the characters of this one")
    for look, called in zip(COLOURS, (name, "=x", "robin"), strict=True):
        for number in range(6):
            made = photo(tmp_path / "made.jpg", look, number)
            goal = tmp_path / ("photos" if number < 5 else "test") / called / f"{number}{name}.jpg"
            goal.parent.mkdir(parents=True, exist_ok=True)
            made.rename(goal)
    (tmp_path / "photos" / name / f"bad{name}.jpg").write_bytes(b"not a picture")
    return name


def test_every_command_of_an_evil_gallery_is_harmless(evil: str, capsys: pytest.CaptureFixture[str]) -> None:
    gallery, query = f"{evil}.kcrc", f"test/{evil}/5{evil}.jpg"
    commands = [
        (["build", "photos", "-o", gallery, "-f", "pixels"], 0),
        (["build", "photos", "-o", gallery, "-f", "pixels"], 1),
        (["build", evil], 1),
        (["predict", gallery, query, evil], 1),
        (["predict", gallery, "test", "--csv", "--reject", "--set"], 0),
        (["predict", gallery, "test", "--json"], 0),
        (["predict", f"{evil}{evil}", "test"], 1),
        (["predict", gallery, f"{evil}*"], 1),
        (["predict", gallery, "test", f"--reject={evil}"], 2),
        (["explain", gallery, query, "--html", f"{evil}.html"], 0),
        (["explain", gallery, query, "--json"], 0),
        (["explain", gallery, query, "--html", f"{evil}/x.html"], 1),
        (["evaluate", gallery, "test"], 0),
        (["evaluate", gallery, evil], 1),
        (["add", gallery, query, "--label", evil], 0),
        (["add", gallery, query, "--label", "x"], 0),
        (["relabel", gallery, "1", "--label", evil], 0),
        (["relabel", gallery, evil, "--label", evil], 1),
        (["audit", gallery], 0),
        (["audit", gallery, "--csv"], 0),
        (["audit", gallery, "--html", f"{evil}.html"], 0),
        (["audit", gallery, "--apply", f"{evil}.html"], 1),
        (["list", gallery, "--html", f"{evil}.html"], 0),
        (["list", gallery, "--csv"], 0),
        (["list", gallery, "--since", evil], 2),
        (["list", gallery, "--label", f"{evil}3"], 1),
        (["show", gallery, "1", "--save", f"{evil}.jpg"], 0),
        (["show", gallery, "1", "--json"], 0),
        (["sort", gallery, "test", f"sorted{evil}"], 0),
        (["sort", gallery, "test", f"sorted{evil}"], 0),
        (["sort", "--undo", f"sorted{evil}"], 0),
        (["sort", "--undo", evil], 1),
        (["watch", gallery, "test", "--once", "--seconds", "0.05"], 0),
        (["watch", gallery, evil], 1),
        (["export", gallery, f"{evil}.csv"], 0),
        (["import", gallery, f"{evil}.csv"], 0),
        (["export", gallery, evil, "--format", "folders"], 0),
        (["import", gallery, evil, "--relabel"], 0),
        (["rename", gallery, evil, f"{evil}2"], 0),
        (["rename", gallery, evil, f"{evil}2"], 1),
        (["history", gallery], 0),
        (["info", gallery], 0),
        (["info", gallery, "--json"], 0),
        (["verify", gallery], 0),
        (["export", gallery, f"{evil}.npz"], 0),
        (["export", gallery, f"{evil}.npz"], 1),
        (["import", gallery, f"{evil}.npz"], 0),
        (["import", gallery, f"{evil}.html"], 1),
        (["undo", gallery], 0),
        (["remove", gallery, query, "--erase"], 0),
        (["tune", gallery, "--fix", evil], 2),
        (["tune", gallery, "--fix", f"{evil}=1"], 2),
        ([evil], 2),
        ([f"--{evil}"], 2),
        (["info", f"--{evil}"], 2),
        (["completion", evil], 2),
    ]
    for arguments, code in commands:
        found = main(arguments)
        said = capsys.readouterr()
        assert found == code, (arguments, said)
        assert not harmful(said.out + said.err), arguments
        assert "Traceback" not in said.err
        lines = (said.out + said.err).splitlines()
        assert not any(line.strip().startswith("kcrc: all is well") for line in lines), arguments


def test_an_error_of_a_forged_gallery_is_harmless(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import sqlite3

    path = tmp_path / "g.kcrc"
    with Gallery.create(path, dim=2) as gallery:
        gallery.add(["a", "b"], [[1, 2], [3, 4]])
    db = sqlite3.connect(path)
    db.execute(f'CREATE TABLE "{EVIL}" (x)')
    db.commit()
    db.close()
    assert main(["info", str(path)]) == 1
    err = capsys.readouterr().err
    assert not harmful(err)
    assert len(err.splitlines()) == 1


# Outside the door, what may print in another way, and why.
ELSEWHERE = {
    "report/terminal.py": "it is the door",
    "web/digits.py": "print where it is no command",
}


def speaks(node: ast.AST) -> str | None:
    """What in a source would print past the door, or None."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        dotted = f"{node.value.id}.{node.attr}"
        if dotted in ("sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__"):
            return dotted
        if node.attr in ("echo", "secho", "echo_via_pager", "confirm", "prompt", "print_exc"):
            return dotted
    if isinstance(node, ast.Name) and node.id in ("print", "pprint", "breakpoint"):
        return node.id
    if isinstance(node, ast.ImportFrom) and node.module in ("sys", "click", "tqdm", "pprint"):
        names = {alias.name for alias in node.names} & {"stdout", "stderr", "echo", "secho", "tqdm", "pprint"}
        return f"from {node.module} import {min(names)}" if names else None
    return None


def found_in(path: Path) -> list[str]:
    return [word for node in ast.walk(ast.parse(path.read_text("utf-8"))) if (word := speaks(node))]


def test_nothing_in_a_command_prints_past_the_door() -> None:
    files = sorted((SOURCES / "cli").rglob("*.py"))
    assert len(files) > 10
    assert not {path.name: words for path in files if (words := found_in(path))}


def test_nothing_else_in_the_library_prints() -> None:
    bars = ("tqdm", "sys.stderr")  # progress bars say what we called them
    wrong = {}
    for path in SOURCES.rglob("*.py"):
        name = path.relative_to(SOURCES).as_posix()
        if not name.startswith("cli/") and name not in ELSEWHERE:
            words = [word for word in found_in(path) if not word.endswith(bars)]
            wrong |= {name: words} if words else {}
    assert not wrong


def test_the_walk_over_the_sources_finds_what_it_looks_for(tmp_path: Path) -> None:
    source = "import sys, click\nprint(1)\nclick.echo(2)\nsys.stdout.write('3')\nfrom click import echo\n"
    (tmp_path / "x.py").write_text(source)
    assert sorted(found_in(tmp_path / "x.py")) == ["click.echo", "from click import echo", "print", "sys.stdout"]


def test_commands_to_copy_are_quoted_for_the_shell() -> None:
    assert terminal.quote_command("undo", "g.kcrc") == "'kcrc undo g.kcrc'"
    told = terminal.quote_command("remove", Path("my birds.kcrc"), 3, "…")
    assert told == "\"kcrc remove 'my birds.kcrc' 3 …\""
    assert shlex.split(told[1:-1]) == ["kcrc", "remove", "my birds.kcrc", "3", "…"]
    assert shlex.split(terminal.quote_command("rename", "it's", "$(a)")[1:-1]) == ["kcrc", "rename", "it's", "$(a)"]


def test_what_commands_print_can_be_typed_with_spaces_in_names(kcrc: Run, home: Path) -> None:
    (home / "birds.kcrc").rename(home / "my birds.kcrc")
    (home / "photos").rename(home / "my photos")
    spoken = [
        kcrc("remove", "my birds.kcrc", "2", "3"),
        kcrc("undo", "my birds.kcrc"),
        kcrc("add", "my birds.kcrc", "test/wren/50.jpg", "--label", "Wrens"),
        kcrc("sort", "my birds.kcrc", "test", "sorted birds"),
        kcrc("predict", "my photos", "my birds.kcrc"),
    ]
    lines = [line for _, _, err in spoken for line in re.findall(r"\"(kcrc [^\"]*)\"", err)]
    words = [shlex.split(line) for line in lines]
    assert ["kcrc", "remove", "--erase", "my birds.kcrc", "2", "3"] in words
    assert ["kcrc", "redo", "my birds.kcrc"] in words
    assert ["kcrc", "undo", "my birds.kcrc"] in words
    assert ["kcrc", "sort", "--undo", "sorted birds"] in words
    assert ["kcrc", "predict", "my birds.kcrc", "my photos"] in words
    assert not [line for _, _, err in spoken for line in re.findall(r"'kcrc [^']*'", err) if " birds" in line]
