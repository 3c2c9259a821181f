"""``--html`` and ``--open``: pages that commands write, and the browser that is asked to show them."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import tempfile
import webbrowser
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from photos import folder, photo

from kcrc.cli import explain, main


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("with pages")
    folder(where / "photos", 6)
    folder(where / "test", 3, first=50)
    with contextlib.chdir(where):
        assert main(["build", "photos", "-o", "birds.kcrc", "-f", "pixels"]) == 0
    return where


@pytest.fixture
def birds(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that a browser was asked to open."""
    asked: list[Path] = []

    def open_it(address: str) -> bool:
        asked.append(Path(unquote(urlparse(address).path)))
        return True

    monkeypatch.setattr(webbrowser, "open", open_it)
    return asked


PAGES = {
    "explain": (["test/wren/50.jpg"], "Why “wren”?"),
    "evaluate": (["test"], "of 9 pictures right"),
    "audit": ([], "Audit of birds.kcrc"),
    "advise": (["test"], "Enough examples in birds.kcrc?"),
}


@pytest.mark.parametrize("command", sorted(PAGES))
def test_every_page_can_be_opened(command: str, birds: Path, shown: list[Path], capsys) -> None:
    arguments, words = PAGES[command]
    assert main([command, "birds.kcrc", *arguments, "--html", "a page.html", "--open"]) == 0
    assert shown == [birds / "a page.html"]
    assert words in (birds / "a page.html").read_text()
    assert main([command, "birds.kcrc", *arguments, "--open"]) == 0
    assert words in shown[1].read_text()
    assert shown[1].parent.parent == birds
    assert f"wrote {shown[1]}" in capsys.readouterr().err
    assert main([command, "birds.kcrc", *arguments, "--html", "again.html"]) == 0
    assert len(shown) == 2


def test_where_there_is_no_browser_it_says_where_the_page_is(birds: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    assert main(["audit", "birds.kcrc", "--html", "audit.html", "--open"]) == 0
    assert "No browser could be started here. The page is audit.html." in capsys.readouterr().err


def test_several_pictures_share_a_page(birds: Path, capsys) -> None:
    names = ["test/wren/50.jpg", "test/robin/50.jpg", "test/heron/50.jpg"]
    assert main(["explain", "birds.kcrc", *names, "--html", "why.html"]) == 0
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if re.match(r"test/\w+/50\.jpg: ", line)] == [
        "test/wren/50.jpg: wren",
        "test/robin/50.jpg: robin",
        "test/heron/50.jpg: heron",
    ]
    page = (birds / "why.html").read_text()
    assert page.count("<article") == 3
    assert all(f'href="#p{at}"' in page and f'id="p{at}"' in page for at in (1, 2, 3))
    assert main(["explain", "birds.kcrc", "test", "--json"]) == 0
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["image"].split("/")[1] for one in said] == [one["label"] for one in said]
    assert len(said) == 9


def test_a_page_has_room_for_so_many_and_says_so(birds: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(explain, "MOST", 2)
    assert main(["explain", "birds.kcrc", "test", "--html", "why.html"]) == 0
    assert capsys.readouterr().out.count("The examples that decided") == 9
    page = (birds / "why.html").read_text()
    assert page.count("<article") == 2
    assert "7 more pictures are not shown here: a page holds 2." in page


def test_of_several_those_that_cannot_be_read_are_named(birds: Path, capsys) -> None:
    (birds / "bad.jpg").write_bytes(b"no picture")
    assert main(["explain", "birds.kcrc", "bad.jpg", "test/wren/50.jpg", "--html", "why.html"]) == 1
    said = capsys.readouterr()
    assert "bad.jpg" in said.err
    assert said.out.startswith("test/wren/50.jpg: wren")
    assert (birds / "why.html").read_text().count("<article") == 1
    assert main(["explain", "birds.kcrc", "bad.jpg", "bad.jpg", "--html", "none.html"]) == 1
    assert "None of these 2 images can be read." in capsys.readouterr().err
    assert not (birds / "none.html").exists()


def test_a_drawing_is_of_one_picture(birds: Path, capsys) -> None:
    assert main(["explain", "birds.kcrc", "test", "--png", "why.png"]) == 2
    assert "--png draws one image; got 9. --html shows several." in capsys.readouterr().err


def test_the_page_says_what_chances_rest_on_and_folds_the_method_away(birds: Path) -> None:
    assert main(["explain", "birds.kcrc", "test/wren/50.jpg", "--html", "why.html"]) == 0
    page = (birds / "why.html").read_text()
    body = page[page.index("<main>") :]
    assert "Chances rest on the gallery&#x27;s own examples: 18 were classified, each with itself left out" in body
    unfolded = re.sub(r"<details.*?</details>", "", body, flags=re.DOTALL)
    for word in ("residual", "kernel", "neighbour", "coefficient", "calibrated", "distance"):
        assert word not in unfolded
    assert "residual" in body


def test_pictures_unlike_the_examples_are_shown_on_the_page(birds: Path, capsys) -> None:
    for number in range(24):
        photo(birds / "strange" / "wren" / f"{number}.jpg", "owl", number)
    assert main(["evaluate", "birds.kcrc", "strange", "--html", "e.html"]) == 0
    assert main(["advise", "birds.kcrc", "strange", "--html", "a.html"]) == 0
    assert capsys.readouterr().err.count("These 24 pictures differ from your examples") == 2
    for name in ("e.html", "a.html"):
        page = (birds / name).read_text()
        assert "These 24 pictures are not like the examples." in page
        assert "It shows the difference: " in page
