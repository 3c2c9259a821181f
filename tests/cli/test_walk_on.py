"""A walk on from a gallery of real photographs: what to do with answers, examples and labels, message by message."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import DATA
from kcrc.cli import main

KINDS = ("bonsai", "ketch", "laptop", "Motorbikes")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    photographs = DATA / "caltech101-20"
    if not photographs.is_dir():
        pytest.skip("caltech101-20 is not here; set KCRC_DATA to the folder that has it")
    where = tmp_path_factory.mktemp("walk-on")
    for kind in KINDS:
        files = sorted((photographs / kind).iterdir())
        for folder, some in ((where / "photos" / kind, files[:8]), (where / "new", files[30:33])):
            folder.mkdir(parents=True, exist_ok=True)
            for file in some:
                shutil.copy(file, folder / f"{kind}-{file.name}")
    assert main(["build", str(where / "photos"), "-o", str(where / "g.kcrc"), "-f", "hog"]) == 0
    return where


@pytest.fixture
def walk(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()

    def call(*words: str) -> tuple[int, str, str]:
        code = main(list(words))
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_wrong_labels_are_found_decided_on_and_put_right(walk: Run) -> None:
    walk("relabel", "g.kcrc", "1", "--label", "ketch")
    code, out, _ = walk("show", "g.kcrc", "1")
    assert code == 0
    assert out.startswith("example 1: ketch\nsource    ")
    assert "before    Motorbikes, until step " in out
    assert "answer    Motorbikes " in out
    Path("audit.csv").write_text(walk("audit", "g.kcrc", "--csv")[1])
    with Path("audit.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    (wrong,) = [row for row in rows if row["example"] == "1" and row["finding"] in ("mislabelled", "doubtful")]
    wrong["decision"] = "relabel"
    with Path("audit.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    assert walk("audit", "g.kcrc", "--apply", "audit.csv", "--dry-run")[1] == "relabel #1 ketch as Motorbikes\n"
    code, out, err = walk("audit", "g.kcrc", "--apply", "audit.csv")
    assert re.fullmatch(r"relabelled 1, removed 0, left \d+ as they were\n", out)
    assert err == "'kcrc undo g.kcrc' takes it back.\n"
    code, _, err = walk("audit", "g.kcrc", "--apply", "audit.csv")
    assert code == 1
    assert "changed since that was decided: 1 (was 'ketch', is 'Motorbikes'). Nothing was changed." in err


def test_new_photographs_are_ranked_sorted_and_taken_back(walk: Run) -> None:
    _, out, err = walk("predict", "g.kcrc", "new", "--sort", "doubt", "--below", "0.999", "--top", "2")
    first = out.splitlines()[0].split("\t")
    assert re.fullmatch(r"\w+ \d+\.\d%, \w+ \d+\.\d%", first[3])
    assert re.search(r"\d+ of 12 images: their answer is less probable than 99\.9%, or unknown\.", err)
    before = sorted(path.name for path in Path("new").iterdir())
    code, out, err = walk("sort", "g.kcrc", "new", "sorted", "--move", "--below", "0.7")
    assert code == 0
    assert len(out.splitlines()) == 12
    assert re.search(r"moved 12; \d+ (is|are) in sorted/_doubtful: less probable than 70%, or unknown\.\n", err)
    assert list(Path("new").iterdir()) == []
    right = sum(Path(line.split("\t")[3]).parts[1] == Path(line).name.split("-")[0] for line in out.splitlines())
    assert right >= 4
    assert walk("sort", "--undo", "sorted")[1] == "took back 12\n"
    assert sorted(path.name for path in Path("new").iterdir()) == before
    code, out, err = walk("watch", "g.kcrc", "new", "--once", "--seconds", "0.05")
    assert (code, len(out.splitlines())) == (0, 12)


def test_labels_go_out_come_back_corrected_and_a_whole_gallery_travels(walk: Run) -> None:
    assert walk("export", "g.kcrc", "set", "--format", "fiftyone")[1] == "set: 32 examples as fiftyone\n"
    walk("relabel", "g.kcrc", "3", "4", "--label", "ketch")
    code, out, err = walk("import", "g.kcrc", "set", "--relabel")
    assert (code, out) == (0, "added 0, relabelled 2, 30 were there already\n")
    assert err == "set: 0 to add, 2 to relabel, 30 in already with their label.\n"
    walk("export", "g.kcrc", "g.npz")
    assert walk("import", "again.kcrc", "g.npz")[1] == "made again.kcrc with 32 examples\n"
    assert walk("predict", "again.kcrc", "new") == walk("predict", "g.kcrc", "new")
    code, out, _ = walk("list", "g.kcrc", "--label", "laptop")
    assert (code, len(out.splitlines())) == (0, 8)
