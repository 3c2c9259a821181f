"""Commands speak to people: no word of the method unless it is asked for, commands in groups, and JSON for programs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from commands import APART, CALLS
from photos import folder, photo

from kcrc.cli import COMMANDS, GROUPS
from kcrc.cli.arguments import in_percent
from kcrc.cli.batch import warn
from kcrc.confidence.likeness import Likeness, Promise

METHOD = re.compile(
    r"scaling|\batoms?\b|kernel|gamma|\bmu\b|rkhs|residual|regulari|\bcod(ed|ing)\b|embedding|vector|numbers each|"
    r"fingerprint|sha256|\blooks\b|\bhog\b|\blbp\b|parameter|leave-one-out|p = |neighbour|manifold|calibrat|conformal|"
    r"distance|[0-9a-f]{16}",
    re.IGNORECASE,
)


@pytest.fixture
def said(kcrc, home: Path) -> dict[str, tuple[int, str]]:
    """What every command prints on both streams, one after the other on the same gallery."""
    folder(Path("more"), 2, first=30)
    Path("out").mkdir()
    answers: dict[str, tuple[int, str]] = {}
    for command, (_, arguments) in CALLS.items():
        if command == "redo":
            kcrc("undo", "birds.kcrc")
        code, out, err = kcrc(command, *arguments)
        answers[command] = (code, out + err)
    return answers


def test_no_command_speaks_of_the_method_unless_asked(said: dict[str, tuple[int, str]]) -> None:
    assert set(CALLS) | APART == set(COMMANDS)
    for command, (code, text) in said.items():
        assert code == 0, (command, text)
        found = METHOD.search(text)
        assert found is None, (command, found, text)


def test_the_method_is_said_if_asked(kcrc) -> None:
    assert "kernel" in kcrc("info", "birds.kcrc", "-v")[1]
    assert "tuned: scaling" in kcrc("history", "birds.kcrc", "--method")[1]
    assert "sha256" in kcrc("show", "birds.kcrc", "3", "-v")[1]
    assert "Class residuals" in kcrc("explain", "birds.kcrc", "photos/wren/0.jpg", "-v")[1]
    out = kcrc("build", "photos", "-o", "v.kcrc", "-f", "pixels", "--no-tune", "-v")[1]
    assert "pixels (1024 numbers each)" in out


def test_the_figure_of_a_build_is_said_once_with_its_range(said: dict[str, tuple[int, str]]) -> None:
    text = said["build"][1]
    assert re.search(
        r"^\d+ of 18 examples are answered right when left out: \d+\.\d%; of new pictures like these, likely "
        r"\d+\.\d% to \d+\.\d%\.$",
        text,
        re.MULTILINE,
    )
    assert text.count("answered right") == 1


def test_help_is_in_groups_with_the_first_hour_on_top(kcrc) -> None:
    text = kcrc("--help")[1]
    places = [text.index(f"\n{title}:\n") for title in GROUPS]
    assert places == sorted(places)
    assert list(GROUPS["The first hour"]) == ["build", "predict", "explain", "add", "undo"]
    for command in COMMANDS:
        assert re.search(rf"^  {command} ", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        (["history", "birds.kcrc"], {"id", "at", "action", "summary", "undone_by"}),
        (["verify", "birds.kcrc"], {"gallery", "sound", "examples", "removed", "changes", "problems"}),
        (["tune", "birds.kcrc", "--seconds", "1"], {"accuracy", "examples", "parameters", "tried", "seconds"}),
        (["build", "photos", "-o", "j.kcrc", "-f", "pixels", "--no-tune"],
         {"gallery", "examples", "classes", "shape", "unread", "in_several", "splits", "accuracy", "asked"}),
        (["add", "birds.kcrc", "more"], {"added", "files", "duplicates", "unread", "new_classes"}),
        (["import", "birds.kcrc", "more", "--format", "folders"],
         {"added", "relabelled", "same", "other", "unlabelled", "problems"}),
        (["info", "birds.kcrc"], {"gallery", "examples", "classes"}),
    ],
)  # fmt: skip
def test_facts_as_json(kcrc, arguments: list[str], fields: set[str]) -> None:
    folder(Path("more"), 1, first=40)
    code, out, _ = kcrc(*arguments, "--json")
    assert code == 0
    for line in out.splitlines():
        assert fields <= json.loads(line).keys()


def test_a_history_that_reads(kcrc) -> None:
    for number in (1, 2, 3):
        kcrc("relabel", "birds.kcrc", str(number), "--label", f"owl{number}")
    entries = [json.loads(line) for line in kcrc("history", "birds.kcrc", "--json")[1].splitlines()]
    kcrc("undo", "birds.kcrc", "--to", str(entries[2]["id"]))
    lines = kcrc("history", "birds.kcrc")[1].splitlines()
    assert "undid the 2 latest changes" in lines[0]
    assert [line.endswith("(undone)") for line in lines[1:4]] == [True, True, False]
    kcrc("redo", "birds.kcrc")
    lines = kcrc("history", "birds.kcrc")[1].splitlines()
    assert "redid 2 changes" in lines[0]
    assert lines[1].endswith("undid the 2 latest changes  (done again)")
    assert not any(line.endswith("(undone)") for line in lines)
    assert [int(line.split()[0]) for line in lines] == sorted((int(line.split()[0]) for line in lines), reverse=True)


def likeness(wrong: Promise, p_value: float = 0.001) -> Likeness:
    covered = Promise(0.95, 0.9, 0.85)
    return Likeness(24, 60, p_value, 0.02, "farther away", covered, wrong, 0.1, (2, 0))


def test_a_warning_says_what_to_expect_and_is_silent_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    names = ["a.jpg", "b.jpg", "c.jpg"]
    warn(likeness(Promise(0.05, 0.1, 0.2)), names)
    assert capsys.readouterr().err == (
        "kcrc: These 24 pictures differ from your examples: they are farther away. Expect about 1 answer in 5 to be "
        "wrong, not 1 answer in 20. Look at these first: c.jpg, a.jpg.\n"
    )
    warn(likeness(Promise(0.0, 0.3, 0.52)), names)
    assert "about 5 answers in 10 to be wrong, not 1 answer in 100" in capsys.readouterr().err
    warn(likeness(Promise(0.0, 0.015, 0.015)), names)  # nothing is to be done
    warn(likeness(Promise(0.05, 0.1, 0.2), p_value=0.5), names)
    warn(None, names)
    assert capsys.readouterr().err == ""


def test_shares_are_said_in_per_cent(kcrc) -> None:
    assert [in_percent(share) for share in (0.9, 0.995, 1.0)] == ["90%", "99.5%", "100%"]
    photo(Path("in/owl.jpg"), "owl", 1)
    code, out, err = kcrc("sort", "birds.kcrc", "in", "out")
    assert code == 0
    assert "less probable than 90%, or unknown" in err
    assert not re.search(r"(wren|robin|heron)\tunknown", out)


def test_a_gallery_that_compares_pictures_otherwise_is_looked_at_again(kcrc, monkeypatch: pytest.MonkeyPatch) -> None:
    folder(Path("more"), 3, first=30)
    kcrc("build", "more", "-o", "hog.kcrc", "-f", "hog", "--no-tune")
    code, out, err = kcrc("import", "birds.kcrc", "hog.kcrc")
    assert (code, out, err) == (0, "added 9 examples\n", "")
    kcrc("undo", "birds.kcrc")
    kcrc("export", "hog.kcrc", "hog.npz")
    Path("more").rename("gone")
    assert kcrc("import", "birds.kcrc", "hog.npz")[1] == "added 9 examples\n"  # by the small pictures
    assert kcrc("predict", "birds.kcrc", "gone/wren/30.jpg")[1].split("\t")[1] == "wren"
    kcrc("undo", "birds.kcrc")
    monkeypatch.setattr("kcrc.gallery.transfer.strip_metadata", lambda content: None)
    code, out, err = kcrc("import", "birds.kcrc", "hog.npz")
    assert (code, out) == (1, "")
    assert "9 of 9 examples have no picture to look at again (number 1, 2, 3, 4, 5, 6, 7, 8 and 1 more)" in err


def test_a_gallery_built_like_another_can_be_merged(kcrc) -> None:
    folder(Path("more"), 3, first=30)
    assert kcrc("build", "more", "-o", "m.kcrc", "--like", "birds.kcrc", "--no-tune")[0] == 0
    first, second = (json.loads(kcrc("info", name, "--json")[1]) for name in ("birds.kcrc", "m.kcrc"))
    assert first["fingerprint"] == second["fingerprint"]
    assert kcrc("build", "more", "-o", "n.kcrc", "--like", "birds.kcrc", "-f", "hog")[0] == 2
