"""The pictures are of this version, those of the page and those that are drawn, and every one is shown somewhere."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from docs.pages import DOCS, ROOT, everything


def maker(place: Path):
    found = importlib.util.spec_from_file_location(f"pictures_by_{place.stem}", place)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_pictures_are_of_the_page_as_it_is():
    page = maker(DOCS / "pictures" / "page.py")
    stamp = Path(page.STAMP).read_text("utf-8").strip()
    assert stamp == page.digest(), "KCRC_SCREENSHOTS=shots make test-web && python docs/pictures/page.py shots"


def test_the_pictures_of_the_examples_are_of_the_examples_as_they_are():
    show = maker(ROOT / "examples" / "show.py")
    now = {name: show.digest(name) for name in show.names()}
    stale = [name for name, digest in now.items() if show.stamps().get(name) != digest]
    assert stale == [], f"python examples/show.py {' '.join(stale)}"
    assert set(show.stamps()) == set(now)


def test_the_pictures_of_the_image_distances_are_drawn_by_the_script_as_it_is():
    pytest.importorskip("matplotlib")
    near = maker(DOCS / "pictures" / "near_images.py")
    assert Path(near.STAMP).read_text("utf-8").strip() == near.digest(), "python docs/pictures/near_images.py"
    drawn = {f"near-{name}.png" for name in near.NAMES} | {"near-looks.png"}  # that one by looks.py
    assert {path.name for path in (DOCS / "pictures").glob("near-*.png")} == drawn


def test_every_picture_is_shown():
    pictures = [path.relative_to(DOCS).as_posix() for path in (DOCS / "pictures").rglob("*.png")]
    assert pictures
    assert [name for name in pictures if name not in everything()] == []
