"""``kcrc predict --sort doubt --top N --below P``: what to look at first."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from photos import photo

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def owl(home: Path) -> str:
    """A picture of no class of the gallery."""
    return str(photo(home / "owl.jpg", "owl", 1).name)


def rows(out: str) -> list[dict]:
    return [json.loads(line) for line in out.splitlines()]


def test_the_most_doubtful_come_first(kcrc: Run, owl: str) -> None:
    _, plain, _ = kcrc("predict", "birds.kcrc", "test", owl, "--json")
    code, out, _ = kcrc("predict", "birds.kcrc", "test", owl, "--json", "--sort", "doubt")
    assert code == 0
    found = [row["probability"] for row in rows(out)]
    assert found == sorted(found)
    assert sorted(rows(out), key=str) == sorted(rows(plain), key=str)


def test_what_is_unknown_is_more_doubtful_than_any_probability(kcrc: Run, owl: str) -> None:
    _, out, _ = kcrc("predict", "birds.kcrc", "test", owl, "--json", "--sort", "doubt", "--reject", "0.2")
    unknown = [row["unknown"] for row in rows(out)]
    assert unknown[0]
    assert unknown == sorted(unknown, reverse=True)


def test_below_leaves_out_what_is_sure_and_keeps_what_is_unknown(kcrc: Run, owl: str) -> None:
    _, every, _ = kcrc("predict", "birds.kcrc", "test", owl, "--json", "--reject", "0.2")
    limit = sorted(row["probability"] for row in rows(every))[3]
    code, out, err = kcrc("predict", "birds.kcrc", "test", owl, "--json", "--reject", "0.2", "--below", str(limit))
    assert code == 0
    expected = [row for row in rows(every) if row["unknown"] or row["probability"] < limit]
    assert rows(out) == expected
    assert 0 < len(expected) < 7
    assert f"{len(expected)} of 7 images: their answer is less probable than" in err


def test_top_names_the_likeliest_classes_in_every_form(kcrc: Run) -> None:
    image = "test/wren/50.jpg"
    _, out, _ = kcrc("predict", "birds.kcrc", image, "--top", "2", "--json")
    (row,) = rows(out)
    first, second = row["top"]
    assert first == {"label": "wren", "probability": row["probability"]}
    assert second["probability"] <= first["probability"]
    _, out, _ = kcrc("predict", "birds.kcrc", image, "--top", "2")
    assert out.rstrip("\n").split("\t")[3] == ", ".join(f"{t['label']} {t['probability']:.1%}" for t in row["top"])
    _, out, _ = kcrc("predict", "birds.kcrc", image, "--top", "5", "--csv")
    (line,) = csv.DictReader(io.StringIO(out))
    assert (line["top_1"], line["top_2"]) == ("wren", second["label"])
    assert float(line["top_1_probability"]) == pytest.approx(row["probability"], rel=1e-5)
    assert line["top_5"] == ""  # there are three classes


@pytest.mark.parametrize("wrong", [["--sort", "name"], ["--top", "0"], ["--below", "1.5"]])
def test_what_makes_no_sense_is_refused(kcrc: Run, wrong: list[str]) -> None:
    code, out, err = kcrc("predict", "birds.kcrc", "test/wren/50.jpg", *wrong)
    assert (code, out) == (2, "")
    assert wrong[0] in err
