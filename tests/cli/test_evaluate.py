"""What ``kcrc evaluate`` counts, what it does not, and that it says so."""

from __future__ import annotations

import json
import re
import shutil
import unicodedata
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from photos import photo

from kcrc.cli import main
from kcrc.report.evaluation import evaluation, wilson

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(kcrc: Run) -> Run:
    return partial(kcrc, "evaluate", "birds.kcrc")


def test_the_interval_is_wilsons() -> None:
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)  # Agresti and Coull 1998, n = 10
    assert wilson(0, 0) == (0.0, 1.0)
    low, high = wilson(20, 20)
    assert 0.8 < low < 1.0
    assert high == 1.0
    assert wilson(0, 20) == pytest.approx((0.0, 1.0 - low))


def test_the_worst_class_comes_first_and_strange_classes_are_counted_alone() -> None:
    truth, answers = ["a", "a", "b", "b", "emu"], ["a", "a", "b", "a", "a"]
    found = evaluation(truth, answers, np.arange(5.0), known={"a", "b", "c"})
    assert (found.right, found.total, found.unknown) == (3, 4, {"emu": 1})
    assert found.mistakes == (3,)
    assert [row[0] for row in found.by_need()] == ["b", "a"]
    assert found.to_dict()["unknown_classes"] == {"emu": 1}
    assert evaluation(["emu"], ["a"], np.zeros(1), known={"a"}).to_dict()["accuracy"] is None


def test_images_that_are_in_the_gallery_are_named_and_not_counted(run) -> None:
    for number in range(4):
        shutil.copy(f"photos/wren/{number}.jpg", f"test/wren/known{number}.jpg")
    code, out, err = run("test")
    assert code == 0
    assert out.startswith("6 of 6 images are answered right: 100.0%\nOf new pictures like these, likely 61.0% to")
    named = "test/wren/known0.jpg, test/wren/known1.jpg, test/wren/known2.jpg and 1 more"
    assert err == f"Not counted, in the gallery already: 4 images ({named}). --known counts them.\n"
    _, out, err = run("test", "--known")
    assert out.startswith("10 of 10 images are answered right")
    assert "Counted though in the gallery, and easy for that: 4 images" in err
    assert len(json.loads(run("test", "--json")[1])["in_gallery"]) == 4


def test_its_own_photographs_say_nothing(run) -> None:
    code, out, err = run("photos")
    assert (code, out) == (1, "")
    assert "say nothing of how good it is on others" in err
    assert run("photos", "--known")[1].startswith("18 of 18 images are answered right")


def test_classes_that_the_gallery_does_not_know_are_named(run) -> None:
    for number in range(2):
        photo(Path(f"test/owl/{number}.jpg"), "owl", number)
    code, out, err = run("test")
    assert code == 0
    assert out.startswith("6 of 6 images are answered right")
    assert err == "Not counted, of classes the gallery does not know: 2 images: owl (2).\n"
    assert "nan" not in out
    shutil.rmtree("test/wren"), shutil.rmtree("test/robin"), shutil.rmtree("test/heron")
    code, out, err = run("test")
    assert (code, out) == (1, "")
    assert "The gallery knows no class of 'test': owl." in err


def test_a_class_that_is_never_said_has_no_number(run) -> None:
    shutil.rmtree("test/heron")
    photo(Path("test/heron/a.jpg"), "wren", 71)
    _, out, _ = run("test")
    assert re.search(r"^heron +1 +0\.0% +–$", out, re.MULTILINE)
    assert out.index("a.jpg: wren") < out.index("\nheron")  # mistakes first, the worst class next
    assert out.index("\nheron") < out.index("\nrobin")


def test_without_a_folder_each_example_is_asked_as_if_it_were_not_there(run) -> None:
    photo(Path("owl.jpg"), "owl", 3)
    photo(Path("wrong.jpg"), "wren", 77)
    assert main(["add", "birds.kcrc", "--label", "owl", "owl.jpg"]) == 0
    assert main(["add", "birds.kcrc", "--label", "heron", "wrong.jpg"]) == 0
    code, out, err = run("--html", "page.html")
    assert code == 0
    assert re.search(r"^1\d of 19 examples are answered right when left out: \d\d\.\d%$", out, re.MULTILINE)
    assert re.search(r"  #20 wrong\.jpg: wren \(\S+%\) instead of heron", out)
    assert "Not asked, the only example of their class: 1 example (owl)." in err
    assert Path("page.html").read_text().count("<img") >= 2
    assert run("--known")[0] == 2


def test_a_folder_whose_name_is_written_in_parts_is_the_same_class(run) -> None:
    assert main(["rename", "birds.kcrc", "heron", "héron"]) == 0
    Path("test/heron").rename(unicodedata.normalize("NFD", "test/héron"))
    code, out, err = run("test")
    assert (code, err) == (0, "")
    assert "6 of 6 images are answered right" in out
