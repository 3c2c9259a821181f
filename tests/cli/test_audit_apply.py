"""``kcrc audit --apply``: what a person decided of the findings, done as one change."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kcrc.gallery import Gallery

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def wrong(kcrc: Run) -> list[int]:
    """Four wrong labels; none is alone in its class, which could not be asked."""
    kcrc("relabel", "birds.kcrc", "2", "3", "--label", "wren")
    kcrc("relabel", "birds.kcrc", "8", "14", "--label", "=x")
    return [2, 3, 8, 14]


def state() -> dict[int, str]:
    with Gallery.open("birds.kcrc", readonly=True) as gallery:
        return {row.id: row.label for row in gallery.contents.rows}


def edited_csv(kcrc: Run, decisions: dict[int, tuple[str, str]], *, comma: str = ",", mark: str = "") -> Path:
    rows = list(csv.DictReader(io.StringIO(kcrc("audit", "birds.kcrc", "--csv")[1])))
    for row in rows:
        if int(row["example"]) in decisions and row["finding"] in ("mislabelled", "doubtful"):
            row["decision"], row["new_label"] = decisions[int(row["example"])]
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0].keys(), delimiter=comma)
    writer.writeheader()
    writer.writerows(rows)
    path = Path("audit.csv")
    path.write_text(mark + out.getvalue(), newline="")
    return path


@pytest.mark.parametrize(("comma", "mark"), [(",", ""), (";", "\ufeff"), ("\t", "")])
def test_decisions_are_done_and_one_undo_takes_them_back(kcrc: Run, wrong: list[int], comma: str, mark: str) -> None:
    before = state()
    decisions = {2: ("relabel", ""), 3: ("Remove ", ""), 8: ("relabel", "auk")}
    path = edited_csv(kcrc, decisions, comma=comma, mark=mark)
    code, out, err = kcrc("audit", "birds.kcrc", "--apply", str(path), "--dry-run")
    assert (code, state()) == (0, before)
    assert out.splitlines() == ["relabel #2 wren as heron", "relabel #8 =x as auk", "remove #3 wren"]
    assert "nothing was changed" in err
    code, out, err = kcrc("audit", "birds.kcrc", "--apply", str(path))
    assert code == 0, err
    assert out.startswith("relabelled 2, removed 1, left ")
    after = {**before, 2: "heron", 8: "auk"}
    del after[3]
    assert state() == after
    assert "corrected 3 examples: 2 relabelled, 1 removed" in kcrc("history", "birds.kcrc")[1]
    assert kcrc("undo", "birds.kcrc")[1] == "undid: corrected 3 examples: 2 relabelled, 1 removed\n"
    assert state() == before
    assert kcrc("redo", "birds.kcrc")[0] == 0
    assert state() == after
    assert kcrc("undo", "birds.kcrc")[0] == 0
    assert state() == before
    assert kcrc("verify", "birds.kcrc")[0] == 0


def test_json_is_taken_too(kcrc: Run, wrong: list[int]) -> None:
    found = json.loads(kcrc("audit", "birds.kcrc", "--json")[1])
    for row in found["findings"]:
        if row["example"] == 2:
            row["decision"] = "relabel"
            row["new_label"] = "robin"
    Path("audit.json").write_text(json.dumps(found))
    assert kcrc("audit", "birds.kcrc", "--apply", "audit.json")[0] == 0
    assert state()[2] == "robin"


@pytest.mark.parametrize("change", ["relabel", "remove"])
def test_what_was_changed_since_is_refused_and_nothing_is_done(kcrc: Run, wrong: list[int], change: str) -> None:
    path = edited_csv(kcrc, {2: ("relabel", ""), 3: ("remove", "")})
    kcrc(*{"relabel": ["relabel", "birds.kcrc", "3", "-l", "auk"], "remove": ["remove", "birds.kcrc", "3"]}[change])
    before = state()
    for more in ([], ["--dry-run"]):
        code, out, err = kcrc("audit", "birds.kcrc", "--apply", str(path), *more)
        assert (code, out) == (1, "")
        said = {"relabel": "3 (was 'wren', is 'auk')", "remove": "Example 3 is no longer in the gallery"}[change]
        assert said in err
        assert "Nothing was changed" in err
        assert state() == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("example,label,decision\n2,wren,perhaps\n", "line 2: A decision must be keep, relabel, remove or nothing"),
        ("example,label,decision\ntwo,wren,remove\n", "An example must be named by its id"),
        ("example,label,decision\n2,wren,relabel\n", "there is no new_label"),
        ("example,label,decision\n2,wren,remove\n2,wren,relabel,\n", "no new_label"),
        ("example,label,decision,new_label\n2,wren,remove,\n2,wren,relabel,auk\n", "contradict each other"),
        ("example,label\n2,wren\n", "has no column 'decision'"),
        ('{"findings": 3}', "is not what kcrc audit --json writes"),
        ('{"findings": [{"example": 1e400, "decision": "remove"}]}', "finding 1: An example must be named by its id"),
        ('{"findings": [NaN]}', "is not what kcrc audit --json writes"),
        ("a\n\x00\xff", "has no column"),
        ('a\n"', "is not CSV in UTF-8"),
    ],
)
def test_a_file_that_cannot_be_understood_is_one_sentence(kcrc: Run, wrong: list[int], text: str, said: str) -> None:
    before = state()
    Path("audit.csv").write_text(text)
    code, out, err = kcrc("audit", "birds.kcrc", "--apply", "audit.csv")
    assert (code, out, state()) == (1, "", before)
    assert said in err
    assert err.count("\n") == 1


def test_options_that_do_not_go_together_are_refused(kcrc: Run) -> None:
    assert kcrc("audit", "birds.kcrc", "--apply", "x", "--json")[0] == 2
    assert kcrc("audit", "birds.kcrc", "--dry-run")[0] == 2
