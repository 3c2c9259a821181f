"""Teach: a queue that is named by a key, many at once, with what an answer would change; undo brings pictures back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from browser.conftest import keep
from browser.serving import Watched, copied, served

pytestmark = pytest.mark.browser
Watch = Callable[..., Watched]


@pytest.fixture(scope="module")
def teaching(fruit: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server whose queue is the folder of pictures without a name."""
    where = copied(fruit / "fruit.kcrc", tmp_path_factory.mktemp("teaching"))
    with served(where, str(fruit / "asked")) as address:
        yield address


def waiting(page: Watched) -> int:
    return page.tab.locator(".waiting li").count()


def opened(watch: Watch, address: str, look: str = "light") -> Watched:
    page = watch(address, look=look)
    page.go("teach")
    page.tab.wait_for_selector(".option-row .bar span")
    page.tab.wait_for_selector(".effect:has-text('changes')")
    page.tab.wait_for_selector(".reached li")
    page.settled()
    return page


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_the_most_doubtful_comes_first(teaching: str, watch: Watch, look: str) -> None:
    page = opened(watch, teaching, look)
    widths = page.tab.locator(".doubt span").evaluate_all("(bars) => bars.map((one) => one.offsetWidth)")
    assert widths == sorted(widths, reverse=True)
    assert page.tab.locator(".option-row").count() == 4
    assert page.tab.locator(".reached li").count() == 6
    keep(page.tab, f"page-teach-{look}")


def test_a_key_names_the_picture_and_undo_brings_it_back(teaching: str, watch: Watch) -> None:
    page = opened(watch, teaching)
    before, first = waiting(page), page.text(".option-row bdi")
    page.tab.keyboard.press("1")
    page.tab.wait_for_selector(f".toast:has-text('as {first}')")
    page.tab.wait_for_selector(f".waiting li:nth-child({before})", state="detached")
    page.tab.keyboard.press("z")
    page.tab.wait_for_selector(f".waiting li:nth-child({before})")
    page.tab.keyboard.press("Shift+Z")
    page.tab.wait_for_selector(f".waiting li:nth-child({before})", state="detached")
    assert waiting(page) == before - 1


def test_holding_a_key_shows_what_it_would_change_and_esc_does_neither(teaching: str, watch: Watch) -> None:
    page = opened(watch, teaching)
    before, second = page.text("#facts"), page.text(".option-row:nth-child(2) bdi")
    page.tab.keyboard.down("2")
    page.tab.wait_for_selector(f".wall .says:has-text('Saying {second} changes')")
    page.tab.keyboard.press("Escape")
    page.tab.keyboard.up("2")
    page.settled()
    assert page.text("#facts") == before


def test_many_are_named_at_once(teaching: str, watch: Watch) -> None:
    page = opened(watch, teaching)
    before = waiting(page)
    boxes = page.tab.locator(".waiting input")
    boxes.nth(0).click()
    boxes.nth(3).click(modifiers=["Shift"])
    assert "What are these 4 pictures?" in page.text("h1")
    keep(page.tab, "page-teach-many", whole=False)
    page.tab.keyboard.press("n")
    page.tab.keyboard.type("fruit salad")
    page.tab.keyboard.press("Enter")
    page.tab.wait_for_selector(".toast:has-text('Added 4 examples as fruit salad')")
    page.tab.wait_for_selector(f".waiting li:nth-child({before - 3})", state="detached")
    assert "7 classes" in page.text("#facts")


def test_a_skipped_picture_is_asked_about_no_more(teaching: str, watch: Watch) -> None:
    page = opened(watch, teaching)
    before = waiting(page)
    page.tab.keyboard.press("Space")
    page.tab.wait_for_selector(f".waiting li:nth-child({before})", state="detached")
    assert waiting(page) == before - 1


def test_the_order_can_be_what_teaches_most(teaching: str, watch: Watch) -> None:
    page = opened(watch, teaching)
    page.tab.get_by_role("button", name="what teaches most first").click()
    page.tab.wait_for_selector(".queue [aria-pressed=true]:has-text('what teaches most first')")
    assert waiting(page) > 0


def test_what_is_no_picture_is_named_and_the_others_are_taken(teaching: str, watch: Watch, tmp_path: Path) -> None:
    from browser.drawings import put

    page = opened(watch, teaching)
    (tmp_path / "notes.txt").write_text("no picture")
    page.tab.set_input_files("#files", [tmp_path / "notes.txt", *put(tmp_path, "pear", range(200, 202))])
    page.tab.wait_for_selector("h1:has-text('What are these 2 pictures?')")
    assert "1 picture was not taken" in page.text("#notice")
    assert "notes.txt" in page.text("#notice")
    page.seen[:] = [what for what in page.seen if "Failed to load resource" not in what]
