"""Somebody who has never seen the page teaches three classes from ten pictures each and corrects a mistake.

The steps are kept as a film, one picture each (docs/page.md)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from browser.conftest import keep
from browser.drawings import put
from browser.serving import CONCENTRATED, Watched, served
from kcrc.gallery import Gallery
from kcrc.images.features import make

pytestmark = pytest.mark.browser
KINDS = ("apple", "tomato", "orange")
TOO_LARGE = """() => [...document.querySelectorAll('.tile')].filter((tile) =>
  tile.querySelector('.shot')?.offsetHeight > tile.offsetHeight).length"""


def answered(page: Watched, path: Path) -> str:
    page.ask(path)
    return page.text("h1")


def test_three_classes_are_taught_and_a_mistake_is_corrected(tmp_path: Path, watch: Callable[..., Watched]) -> None:
    photographs = {kind: put(tmp_path, kind, range(10)) for kind in KINDS}
    questions = [(kind, path) for kind in KINDS for path in put(tmp_path / "new", kind, range(100, 104))]
    gallery = tmp_path / "fruit.kcrc"
    with Gallery.create(gallery, feature=make("hog")) as new:
        new.set_parameters(CONCENTRATED)  # choosing them takes a while
    with served(gallery) as address:
        page = watch(address)
        tab = page.tab
        assert "Drop some pictures of one kind" in page.text("h1")
        keep(tab, "film-1-nothing-yet", whole=False)
        for number, (kind, paths) in enumerate(photographs.items()):
            page.settled()
            tab.set_input_files("#files", paths)
            tab.wait_for_selector("h1:has-text('What are these 10 pictures?')")
            page.settled()
            if number == 0:  # there is no class yet: the name is written where the cursor is
                tab.keyboard.type(kind)
                keep(tab, "film-2-what-are-these", whole=False)
                tab.keyboard.press("Enter")
            else:
                tab.get_by_role("button", name="New class").click()
                tab.keyboard.type(kind)
                keep(tab, f"film-{number + 2}-new-class", whole=False)
                tab.keyboard.press("Enter")
            tab.wait_for_selector(f"#facts:has-text('{10 * (number + 1)} examples')")
        tab.locator("#nav a.ask").click()
        tab.wait_for_selector("h1:has-text('Drop a picture')")
        page.settled()
        keep(tab, "film-5-it-knows-three", whole=False)
        kind, path = next((kind, path) for kind, path in questions if not answered(page, path).startswith(kind))
        tab.wait_for_selector(".mind .card")
        page.settled()
        assert tab.locator(".tile.doubted").count() > 0
        assert tab.evaluate(TOO_LARGE) == 0
        keep(tab, "film-6-a-mistake", whole=False)
        right = tab.locator("#bar").get_by_role("button", name=re.compile(kind))
        right.hover()
        tab.wait_for_selector("#bar .ripple .says")
        keep(tab, "film-7-what-would-change", whole=False)
        right.click()
        tab.wait_for_selector(".done")
        page.settled()
        keep(tab, "film-8-corrected", whole=False)
        assert f"Added 1 example as {kind}" in page.text(".done")
        assert "31 examples" in page.text("#facts")
        page.ask(path)
        assert page.text("h1").startswith(kind), "what was corrected is known"
