"""``kcrc list`` and ``kcrc show``."""

from __future__ import annotations

import csv
import datetime
import io
import json
from collections.abc import Callable
from pathlib import Path

from kcrc.gallery import Gallery
from kcrc.images.decoding.reading import decode

Run = Callable[..., tuple[int, str, str]]


def test_a_line_an_example_with_id_date_class_and_source(kcrc: Run) -> None:
    code, out, err = kcrc("list", "birds.kcrc")
    assert code == 0
    lines = out.splitlines()
    assert len(lines) == 18
    today = f"{datetime.datetime.now():%Y-%m-%d}"
    assert lines[0].split("\t")[1] == "photos/heron/0.jpg"
    assert lines[0].split()[:2] == ["1", today]
    assert err == ""
    assert kcrc("list", "birds.kcrc", "--source", "owl")[1:] == ("", "No example is like that.\n")


def test_it_is_narrowed_by_class_date_and_source_and_ordered(kcrc: Run) -> None:
    def ids(*options: str) -> list[int]:
        code, out, _ = kcrc("list", "birds.kcrc", "--json", *options)
        assert code == 0
        return [json.loads(line)["id"] for line in out.splitlines()]

    wrens = ids("--label", "wren")
    assert len(wrens) == 6
    assert ids("--label", "wren", "--source", "/3.") == [wrens[3]]
    assert ids("--since", "2000-01-01") == list(range(1, 19))
    assert ids("--since", "2999-01-01") == []
    kcrc("relabel", "birds.kcrc", str(wrens[0]), "--label", "auk")
    assert ids("--by", "label")[0] == wrens[0]
    assert ids("--by", "source") == ids("--by", "id")


def test_csv_has_every_column(kcrc: Run) -> None:
    _, out, _ = kcrc("list", "birds.kcrc", "--csv", "--label", "robin")
    rows = list(csv.DictReader(io.StringIO(out)))
    with Gallery.open("birds.kcrc", readonly=True) as gallery:
        example = gallery.example(int(rows[0]["id"]))
    assert (rows[0]["label"], rows[0]["source"]) == ("robin", example.source)
    assert rows[0]["sha256"] == example.content.hex()
    assert datetime.datetime.fromisoformat(rows[0]["added_at"]) == example.added_at


def test_the_page_has_a_picture_each_and_no_folders(kcrc: Run, home: Path) -> None:
    code, out, err = kcrc("list", "birds.kcrc", "--html", "all.html")
    assert (code, out, err) == (0, "", "wrote all.html\n")
    text = (home / "all.html").read_text()
    assert text.count("<img ") == 18
    assert text.count("<h2>") == 3
    assert "photos/" not in text


def test_wrong_words_are_one_sentence(kcrc: Run) -> None:
    code, _, err = kcrc("list", "birds.kcrc", "--since", "last week")
    assert (code, err.count("\n")) == (2, 1)
    assert "must be a day (2026-05-01)" in err
    code, _, err = kcrc("list", "birds.kcrc", "--label", "ren")
    assert (code, err) == (1, "kcrc: There is no class 'ren' in the gallery.\n")
    code, _, err = kcrc("show", "birds.kcrc", "99")
    assert (code, err) == (1, "kcrc: There is no example 99 in the gallery; kcrc list has their ids.\n")


def test_show_says_what_is_known(kcrc: Run, home: Path) -> None:
    kcrc("relabel", "birds.kcrc", "2", "--label", "wren")
    code, out, err = kcrc("show", "birds.kcrc", "2", "--save", "two.jpg")
    assert (code, err) == (0, "wrote two.jpg\n")
    assert out.startswith("example 2: wren\nsource    photos/heron/1.jpg\nadded     ")
    assert "step 1 of the history (built with 18 examples of heron, robin, wren)" in out
    assert "before    heron, until step" in out
    assert "answer    heron" in out
    assert "its label has" in out
    assert 1 <= out.count("nearest   #") <= 5  # those that answer
    assert decode((home / "two.jpg").read_bytes()).pixels.shape == (48, 64, 3)
    code, _, err = kcrc("show", "birds.kcrc", "2", "--save", "two.jpg")
    assert code == 1
    assert "--force" in err


def test_the_only_one_of_its_class_has_nearest_and_no_answer(kcrc: Run) -> None:
    """Left out, its class cannot be answered: whatever came would be called a contradiction."""
    kcrc("relabel", "birds.kcrc", "2", "--label", "auk")
    code, out, _ = kcrc("show", "birds.kcrc", "2")
    assert code == 0
    assert "answer    none: if it were not in the gallery, nothing of its class would be left to answer\n" in out
    assert "its label has" not in out
    assert 1 <= out.count("nearest   #") <= 5
    found = json.loads(kcrc("show", "birds.kcrc", "2", "--json")[1])
    assert found["own_answer"] is None
    assert [near["label"] for near in found["nearest"]].count("auk") == 0
    assert len(found["nearest"]) == out.count("nearest   #")
    other = json.loads(kcrc("show", "birds.kcrc", "3", "--json")[1])
    assert other["own_answer"]["nearest"] == other["nearest"]


def test_the_nearest_are_others_and_the_answer_is_that_of_the_audit(kcrc: Run) -> None:
    kcrc("relabel", "birds.kcrc", "2", "--label", "wren")
    found = json.loads(kcrc("show", "birds.kcrc", "2", "--json")[1])
    assert 2 not in [near["id"] for near in found["own_answer"]["nearest"]]
    distances = [near["distance"] for near in found["own_answer"]["nearest"]]
    assert distances == sorted(distances)
    audit = json.loads(kcrc("audit", "birds.kcrc", "--json")[1])
    (row,) = [row for row in audit["findings"] if row["example"] == 2 and "answer" in row]
    for name in ("answer", "probability", "of_label"):
        assert found["own_answer"][name] == row[name]


def test_a_removed_example_says_so(kcrc: Run) -> None:
    kcrc("remove", "birds.kcrc", "3")
    code, out, _ = kcrc("show", "birds.kcrc", "3")
    assert code == 0
    assert "example 3: heron (removed)" in out
    assert "removed 1 example of heron" in out
    assert "answer" not in out


def test_the_only_example_has_no_answer_of_its_own(kcrc: Run) -> None:
    with Gallery.create("one.kcrc", dim=2) as gallery:
        gallery.add("wren", [[1.0, 2.0]])
    code, out, _ = kcrc("show", "one.kcrc", "1")
    assert code == 0
    assert out.startswith("example 1: wren\nsource    -\n")
    assert "answer" not in out
