"""Pages as commands write them, of made-up pictures, and the Chromium that shows them."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from photos import folder, photo

from browser.serving import STILL, Watched, copied, gallery_of_fruit, served
from kcrc.cli import main

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"),  # a camera made up by the browser
)
HOSTILE = '"><img src=x onerror=alert(1)> ' + "very-long-and-without-a-break" * 4
PAGES = ("why", "whys", "hostile", "evaluation", "left-out", "audit", "advice", "list")


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every kind of page: PAGES, with the ending .html."""
    where = tmp_path_factory.mktemp("pages")
    folder(where / "photos", 9)
    for number in range(9):
        photo(where / "photos" / "owl" / f"{number}.jpg", "owl", number)
    folder(where / "test", 7, first=50)
    for number in range(3):
        photo(where / "test" / "heron" / f"wrong{number}.jpg", "wren", 70 + number)
        photo(where / "test" / "owl" / f"{number}.jpg", "owl", 70 + number)
    photo(where / "test" / "robin" / "wrong.jpg", "wren", 90)
    with contextlib.chdir(where):
        for arguments in (
            ["build", "photos", "-o", "birds.kcrc", "-f", "pixels"],
            ["relabel", "birds.kcrc", "photos/wren/3.jpg", "photos/owl/2.jpg", "--label", "robin"],
            ["explain", "birds.kcrc", "test/wren/50.jpg", "--html", "why.html"],
            ["explain", "birds.kcrc", "test/heron", "--html", "whys.html"],
            ["evaluate", "birds.kcrc", "test", "--html", "evaluation.html"],
            ["evaluate", "birds.kcrc", "--html", "left-out.html"],
            ["audit", "birds.kcrc", "--html", "audit.html"],
            ["advise", "birds.kcrc", "test", "--html", "advice.html"],
            ["list", "birds.kcrc", "--html", "list.html"],
            ["rename", "birds.kcrc", "wren", HOSTILE],
            ["explain", "birds.kcrc", "test/wren/50.jpg", "test/wren/51.jpg", "--html", "hostile.html"],
        ):
            assert main(arguments) == 0, arguments
    return where


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser of the system; where there is none the tests fail, they do not pass by."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    assert program is not None, "There is no Chromium here. 'make test-web' installs it, as root on Debian."
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def look(chromium: Any, pages: Path) -> Iterator[Any]:
    """Open a page and watch it: what it says on the console and what it asks for end up in ``seen``."""
    contexts = []

    def opened(name: str, **more: Any) -> Any:
        context = chromium.new_context(viewport={"width": 1280, "height": 800}, **more)
        contexts.append(context)
        tab = context.new_page()
        tab.set_default_timeout(10_000)
        tab.seen = []
        tab.on("console", lambda message: tab.seen.append(message.text))
        tab.on("pageerror", lambda error: tab.seen.append(str(error)))
        tab.on("dialog", lambda dialog: tab.seen.append(dialog.message))
        own = (pages / f"{name}.html").as_uri()
        tab.on("request", lambda request: _noted(tab.seen, request.url, own))
        tab.goto(own)
        return tab

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def fruit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the gallery of drawn fruit."""
    where = tmp_path_factory.mktemp("fruit")
    gallery_of_fruit(where)
    return where


@pytest.fixture(scope="session")
def standing(fruit: Path) -> Iterator[str]:
    """The address of a server for tests that store nothing."""
    with served(fruit / "fruit.kcrc") as address:
        yield address


@pytest.fixture
def changing(fruit: Path, tmp_path: Path) -> Iterator[str]:
    """The address of a server whose gallery the test may change."""
    with served(copied(fruit / "fruit.kcrc", tmp_path)) as address:
        yield address


@pytest.fixture
def watch(chromium: Any) -> Iterator[Callable[..., Watched]]:
    """Open the page of a server, and see that nothing was amiss once the test is over."""
    opened: list[Watched] = []

    def open_page(address: str, **more: Any) -> Watched:
        opened.append(Watched(chromium, address, **more))
        return opened[-1]

    yield open_page
    seen = [what for one in opened for what in one.seen]
    for one in opened:
        one.close()
    assert seen == []


@pytest.fixture(scope="module", params=PAGES)
def tab(request: pytest.FixtureRequest, look: Any) -> Any:
    """Each of the pages, opened once for all tests; ``tab.named`` is which."""
    opened = look(request.param)
    opened.named = request.param
    return opened


def _noted(seen: list[str], address: str, own: str) -> None:
    if address.partition("#")[0] != own and not address.startswith("data:image/"):
        seen.append(address)


def keep(tab: Any, name: str, *, whole: bool = True) -> None:
    """A picture of the page, where somebody wants to look at it."""
    if where := os.environ.get("KCRC_SCREENSHOTS"):
        tab.wait_for_function(STILL)
        Path(where).mkdir(parents=True, exist_ok=True)
        tab.screenshot(path=str(Path(where) / f"{name}.png"), full_page=whole)
