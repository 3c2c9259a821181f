"""The documentation as a reader has it: opened from the disk, without a network, on a desk and on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    where = tmp_path_factory.mktemp("site")
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(where), strict=True))
    return where


@pytest.fixture
def opened(chromium: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A tab of a width and a scheme; ``page.elsewhere`` are requests to other places, ``page.complaints`` errors."""
    width, scheme = request.param
    page = chromium.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.elsewhere, page.complaints = [], []
    page.on("request", lambda asked: page.elsewhere.append(asked.url) if not asked.url.startswith("file:") else None)
    page.on("pageerror", lambda problem: page.complaints.append(str(problem)))
    page.on("requestfailed", lambda asked: page.complaints.append(asked.url) if not _left(asked.failure) else None)
    yield page
    page.close()


def _left(failure: str | None) -> bool:
    """Whether it failed because the reader went on to the next page."""
    return failure is not None and "ERR_ABORTED" in failure


@pytest.mark.parametrize("opened", [(1280, "light"), (390, "dark")], indirect=True)
def test_every_page_fits_and_asks_nobody_else(site, opened):
    pages = sorted(path for path in site.glob("*.html") if path.name != "404.html")
    assert len(pages) > 20
    wide = []
    for path in pages:
        opened.goto(path.as_uri())
        if opened.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            wide.append(path.name)
    assert (wide, opened.elsewhere, opened.complaints) == ([], [], [])


@pytest.mark.parametrize("opened", [(1280, "light")], indirect=True)
def test_the_search_finds_from_the_disk(site, opened):
    opened.goto((site / "index.html").as_uri())
    opened.click(".md-search__input")
    opened.keyboard.type("runner-up", delay=20)
    opened.wait_for_selector(".md-search-result__item")
    assert opened.locator(".md-search-result__item").count() > 0
    assert (opened.elsewhere, opened.complaints) == ([], [])
