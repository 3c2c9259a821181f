"""``kcrc sort``: into class folders, and back."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from photos import photo
from PIL import Image

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def new(home: Path) -> Path:
    """Pictures of the three classes, one of none, one that is no picture."""
    for label in ("wren", "robin", "heron"):
        shutil.copytree(home / "test" / label, home / "new" / label)
    photo(home / "new" / "owl.jpg", "owl", 1)
    (home / "new" / "broken.jpg").write_bytes(b"not a picture")
    return home / "new"


def files(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("how", ["--copy", "--move", "--link"])
def test_images_go_into_class_folders_and_back(kcrc: Run, home: Path, new: Path, how: str) -> None:
    before = files(new)
    told = [line.split("\t") for line in kcrc("predict", "birds.kcrc", "new")[1].splitlines()]
    (least, image), (next_least, _) = sorted((float(chance.rstrip("%")), image) for image, _, chance in told)[:2]
    assert image == "new/owl.jpg"
    limit = f"{(least + next_least) / 200:.4f}"
    code, out, err = kcrc("sort", "birds.kcrc", "new", "sorted", how, "--below", limit)
    assert code == 1  # for the one that is no picture
    assert "new/broken.jpg" in err
    lines = [line.split("\t") for line in out.splitlines()]
    assert len(lines) == 7
    for image, label, _, where in lines:
        folder = "_doubtful" if image == "new/owl.jpg" else label
        assert Path(where).parent.as_posix() == f"sorted/{folder}"
    assert f"1 is in sorted/_doubtful: less probable than {100 * float(limit):g}%, or unknown" in err
    assert "'kcrc sort --undo sorted' takes it back" in err
    assert files(home / "sorted") == {
        *(f"{label}/{name}" for label in ("wren", "robin", "heron") for name in ("50.jpg", "51.jpg")),
        "_doubtful/owl.jpg",
        "kcrc-sort.jsonl",
    }
    assert files(new) == ({"broken.jpg"} if how == "--move" else before)
    code, out, err = kcrc("sort", "--undo", "sorted")
    assert (code, out, err) == (0, "took back 7\n", "")
    assert (files(new), files(home / "sorted")) == (before, set())


def test_pictures_with_nothing_on_them_go_aside(kcrc: Run, home: Path) -> None:
    (home / "odd").mkdir()
    Image.fromarray(np.full((48, 64, 3), 90, np.uint8)).save(home / "odd" / "grey.png")
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)).save(home / "odd" / "noise.png")
    kcrc("sort", "birds.kcrc", "odd", "sorted", "--below", "0", "--reject", "0.01")
    assert files(home / "sorted") == {"_doubtful/grey.png", "_doubtful/noise.png", "kcrc-sort.jsonl"}


def test_what_resembles_no_class_goes_aside_however_probable(kcrc: Run, home: Path, new: Path) -> None:
    _, out, _ = kcrc("sort", "birds.kcrc", "new", "sorted", "--below", "0", "--reject", "0.2")
    aside = {tuple(line.split("\t")[1:3]) for line in out.splitlines() if "/_doubtful/" in line}
    assert aside == {("unknown", "-")}
    assert "_doubtful/owl.jpg" in files(home / "sorted")


def test_a_dry_run_says_where_they_would_go(kcrc: Run, home: Path) -> None:
    code, out, err = kcrc("sort", "birds.kcrc", "test", "sorted", "--dry-run", "--json", "--below", "0,5")
    assert code == 0
    rows = [json.loads(line) for line in out.splitlines()]
    assert {row["to"] for row in rows} <= {"sorted/wren", "sorted/robin", "sorted/heron", "sorted/_doubtful"}
    assert "Nothing was changed." in err
    assert not (home / "sorted").exists()


def test_a_folder_inside_the_other_is_not_sorted_again(kcrc: Run, home: Path) -> None:
    assert kcrc("sort", "birds.kcrc", "test", "test/sorted", "--move")[0] == 0
    code, _, err = kcrc("sort", "birds.kcrc", "test", "test/sorted", "--move")
    assert code == 1
    assert "all of them are in 'test/sorted' already" in err


def test_a_second_run_copies_only_what_is_new(kcrc: Run, home: Path) -> None:
    kcrc("sort", "birds.kcrc", "test", "sorted")
    photo(home / "test" / "wren" / "60.jpg", "wren", 60)
    _, _, err = kcrc("sort", "birds.kcrc", "test", "sorted")
    assert "copied 1 (6 more were there already)" in err


def test_class_names_are_no_paths(kcrc: Run, home: Path) -> None:
    kcrc("rename", "birds.kcrc", "wren", "../../wren")
    code, out, err = kcrc("sort", "birds.kcrc", "test/wren", "sorted", "--below", "0")
    assert code == 0
    assert "The class '../../wren' has the folder '_.._.._wren-" in err
    inside = [Path(os.path.realpath(line.split("\t")[3])) for line in out.splitlines()]
    assert len(inside) == 2
    for path in inside:
        assert path.parent.parent == home / "sorted"


def test_what_changed_since_is_named(kcrc: Run, home: Path) -> None:
    kcrc("sort", "birds.kcrc", "test", "sorted", "--move", "--below", "0", "--reject", "0.0001")
    (home / "sorted" / "wren" / "50.jpg").write_bytes(b"edited")
    code, out, err = kcrc("sort", "--undo", "sorted")
    assert code == 1
    assert out == "took back 5; 1 were left as they are, and so was the log\n"
    assert err == "kcrc: sorted/wren/50.jpg: It was changed since. It was left as it is.\n"


@pytest.mark.parametrize("words", [[], ["birds.kcrc", "test"], ["--undo", "sorted", "birds.kcrc"]])
def test_half_a_command_is_refused(kcrc: Run, words: list[str]) -> None:
    code, _, err = kcrc("sort", *words)
    assert code == 2
    assert "kcrc sort" in err


def test_a_gallery_too_small_to_tell_the_unknown_says_so(kcrc: Run, home: Path) -> None:
    assert kcrc("build", "test", "-o", "small.kcrc", "-f", "pixels")[0] == 0
    code, _, err = kcrc("sort", "small.kcrc", "test", "sorted")
    assert code == 0
    assert "too few examples to tell what is unknown" in err
