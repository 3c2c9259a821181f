"""``kcrc export`` and ``kcrc import`` with the formats of other programs."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from photos import photo

from kcrc.cli import main
from kcrc.cli.exchange import ARRAYS, FORMATS
from kcrc.gallery import Gallery, exchange

Run = Callable[..., tuple[int, str, str]]


def labels() -> list[str]:
    with Gallery.open("birds.kcrc", readonly=True) as gallery:
        return [row.label for row in gallery.contents.rows]


def test_the_command_knows_every_format() -> None:
    assert set(FORMATS) == {ARRAYS, *exchange.names()}


@pytest.mark.parametrize("form", exchange.names())
def test_out_and_corrected_and_in_again(kcrc: Run, home: Path, form: str) -> None:
    output = {"csv": "x.csv", "jsonl": "x.jsonl", "parquet": "x.parquet", "label-studio": "x.json", "coco": "c.json"}
    output = output.get(form, "x")
    by_name = ["--format", form] if output in ("x", "c.json") else []
    code, out, err = kcrc("export", "birds.kcrc", output, *by_name)
    assert (code, out, err) == (0, f"{output}: 18 examples as {form}\n", "")
    before = labels()
    kcrc("relabel", "birds.kcrc", "1", "2", "--label", "owl")
    code, out, err = kcrc("import", "birds.kcrc", output)
    assert (code, out) == (0, "added 0, relabelled 0, 16 were there already\n")
    assert "Example 1 is 'owl', and 'heron' in the file; it stays as it is." in err
    assert "--relabel" in err
    code, out, err = kcrc("import", "birds.kcrc", output, "--relabel")
    assert (code, out) == (0, "added 0, relabelled 2, 16 were there already\n")
    assert err == f"{output}: 0 to add, 2 to relabel, 16 in already with their label.\n"
    assert labels() == before


def test_originals_are_found_beside_the_gallery_or_named_as_lost(
    kcrc: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    code, _, err = kcrc("export", "../birds.kcrc", "a", "--format", "folders", "--originals")
    assert (code, err) == (0, "18 photographs were copied; of 0 only the small picture was there.\n")
    (home / "photos").rename(home / "moved")
    code, _, err = kcrc("export", "../birds.kcrc", "b", "--format", "folders", "--originals")
    assert code == 1
    assert "18 photographs not found, or changed since: photos/heron/0.jpg, " in err
    (home / "archive").mkdir()
    (home / "moved").rename(home / "archive" / "photos")
    options = ["--format", "yolo", "--originals"]
    for images in ("../archive", "../archive/photos"):
        code, _, err = kcrc("export", "../birds.kcrc", images[-3:], *options, "--images", images)
        assert (code, err) == (0, "18 photographs were copied; of 0 only the small picture was there.\n")


def test_new_images_come_with_their_labels(kcrc: Run, home: Path) -> None:
    photo(home / "shots" / "1.jpg", "owl", 1)
    rows = [
        {"image": "1.jpg", "label": "owl"},
        {"image": "https://x/2.jpg", "label": "owl"},
        {"image": "3", "label": ""},
    ]
    Path("new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, err = kcrc("import", "birds.kcrc", "new.jsonl", "--images", "shots")
    assert (code, out) == (1, "added 1, relabelled 0, 0 were there already, 1 had no label\n")
    assert err.splitlines() == [
        "new.jsonl: 1 to add, 0 with another label, 0 in already with their label, 1 not to be found or read, "
        "1 without a label; new classes: owl.",
        "kcrc: 'https://x/2.jpg' is an address, and nothing is fetched.",
        "'owl' is a new class.",
    ]
    assert labels()[-1] == "owl"


def test_originals_are_copied_where_asked(kcrc: Run, home: Path) -> None:
    code, _, err = kcrc("export", "birds.kcrc", "out", "--format", "folders", "--originals")
    assert (code, err) == (0, "18 photographs were copied; of 0 only the small picture was there.\n")
    copied = {path.read_bytes() for path in (home / "out").rglob("*.jpg")}
    assert copied == {path.read_bytes() for path in (home / "photos").rglob("*.jpg")}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["export", "birds.kcrc", "x.csv", "--originals"], "for formats with pictures"),
        (["import", "none.kcrc", "photos"], "kcrc build"),
        (["import", "birds.kcrc", "x.npz", "--relabel"], "labels made elsewhere"),
        (["import", "birds.kcrc", "x.csv", "--duplicates", "keep"], "--relabel"),
        (["import", "birds.kcrc", "x.npz", "--yes"], "labels made elsewhere"),
        (["import", "birds.kcrc", "photos", "--label-column", "x"], "--label-column is for csv, jsonl and parquet"),
    ],
)
def test_what_does_not_go_together_is_refused(kcrc: Run, words: list[str], said: str) -> None:
    code, out, err = kcrc(*words)
    assert (code, out) == (2, "")
    assert said in err


def test_a_file_that_is_there_is_not_overwritten(kcrc: Run) -> None:
    code, out, err = kcrc("export", "birds.kcrc", "birds.kcrc", "--format", "csv")
    assert (code, out) == (1, "")
    assert "--force" in err


def test_a_folder_with_something_in_it_is_not_written_into(kcrc: Run) -> None:
    code, _, err = kcrc("export", "birds.kcrc", "photos", "--format", "folders")
    assert code == 1
    assert "give a new one" in err


def write_labels(path: str, label: Callable[[int, str], object], column: str = "label") -> None:
    """A CSV of all photographs, each labelled by its place and its class."""
    files = sorted(Path("photos").rglob("*.jpg"))
    lines = [f"{file.as_posix()},{label(at, file.parent.name)}" for at, file in enumerate(files)]
    Path(path).write_text("\n".join([f"image,{column}", *lines, ""]))


def test_most_are_relabelled_only_if_that_is_confirmed(kcrc: Run, home: Path) -> None:
    write_labels("x.csv", lambda at, label: "owl" if at < 10 else label)
    before = labels()
    code, out, err = kcrc("import", "birds.kcrc", "x.csv", "--relabel")
    assert (code, out, labels()) == (1, "", before)
    assert err.splitlines() == [
        "x.csv: 0 to add, 10 to relabel, 8 in already with their label; new classes: owl.",
        "kcrc: 10 of the 18 images that are in already would get another label, the first 'owl' for 'heron'. Nothing "
        "was changed; --yes does it.",
    ]
    code, out, err = kcrc("import", "birds.kcrc", "x.csv")
    assert (code, out, labels()) == (0, "added 0, relabelled 0, 8 were there already\n", before)
    code, out, err = kcrc("import", "birds.kcrc", "x.csv", "--relabel", "--yes")
    assert (code, out) == (0, "added 0, relabelled 10, 8 were there already\n")
    assert err.endswith("'owl' is a new class.\n")
    assert labels().count("owl") == 10


def test_half_of_them_are_relabelled_at_once(kcrc: Run, home: Path) -> None:
    write_labels("x.csv", lambda at, label: "heron" if at < 15 else label)
    code, out, _ = kcrc("import", "birds.kcrc", "x.csv", "--relabel")
    assert (code, out) == (0, "added 0, relabelled 9, 9 were there already\n")


def test_numbers_do_not_replace_names(kcrc: Run, home: Path) -> None:
    write_labels("x.csv", lambda at, label: f"{at % 3},{label}", "target,bird")
    photo(home / "new.jpg", "owl", 1)
    before = labels()
    for words in (["--relabel"], []):
        code, out, err = kcrc("import", "birds.kcrc", "x.csv", *words)
        assert (code, out, labels()) == (1, "", before)
        assert (
            "kcrc: The labels in 'x.csv' are numbers, and the classes of the gallery are names (heron, robin, wren); "
            "--label-column names the column that has the names. Nothing was changed; --yes does it.\n"
        ) in err
    code, out, err = kcrc("import", "birds.kcrc", "x.csv", "--relabel", "--label-column", "bird")
    assert (code, out, err) == (0, "added 0, relabelled 0, 18 were there already\n", "")
    code, out, _ = kcrc("import", "birds.kcrc", "x.csv", "--relabel", "--yes")
    assert (code, sorted(set(labels()))) == (0, ["0", "1", "2"])


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "code", "relabelled"), [("y\n", 0, 10), ("n\n", 1, 0), ("", 1, 0)])
def test_at_a_terminal_one_is_asked(
    home: Path, monkeypatch: pytest.MonkeyPatch, answer: str, code: int, relabelled: int
) -> None:
    write_labels("x.csv", lambda at, label: "owl" if at < 10 else label)
    shown = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr("sys.stderr", shown)
    assert main(["import", "birds.kcrc", "x.csv", "--relabel"]) == code
    assert labels().count("owl") == relabelled
    assert "would get another label, the first 'owl' for 'heron'. Do it? [y/N]\n" in shown.getvalue()
    assert ("Nothing was changed." in shown.getvalue()) == (code == 1)


def test_a_table_that_is_packed_goes_out_and_in(kcrc: Run, home: Path) -> None:
    assert kcrc("export", "birds.kcrc", "x.csv.gz") == (0, "x.csv.gz: 18 examples as csv\n", "")
    assert gzip.decompress(Path("x.csv.gz").read_bytes()).startswith(b"image,label,id")
    assert kcrc("import", "birds.kcrc", "x.csv.gz") == (0, "added 0, relabelled 0, 18 were there already\n", "")
