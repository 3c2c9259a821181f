"""The pictures of the page are of this version, and every one is shown somewhere."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from docs.pages import DOCS, everything


def maker():
    place = DOCS / "pictures" / "page.py"
    found = importlib.util.spec_from_file_location("page_pictures", place)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_pictures_are_of_the_page_as_it_is():
    page = maker()
    stamp = Path(page.STAMP).read_text("utf-8").strip()
    assert stamp == page.digest(), "KCRC_SCREENSHOTS=shots make test-web && python docs/pictures/page.py shots"


def test_every_picture_is_shown():
    pictures = [path.relative_to(DOCS).as_posix() for path in (DOCS / "pictures").rglob("*.png")]
    assert pictures
    assert [name for name in pictures if name not in everything()] == []
