"""Browse, audit, enough and history: looking around, moving and merging, deciding on labels, stepping back."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from browser.conftest import keep
from browser.serving import Watched, copied, served

pytestmark = pytest.mark.browser
Watch = Callable[..., Watched]
LOOKS = ("light", "dark", "phone")


@pytest.fixture(scope="module")
def corrected(fruit: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server for the tests that change something, each of which looks at what it finds."""
    with served(copied(fruit / "fruit.kcrc", tmp_path_factory.mktemp("corrected"))) as address:
        yield address


COVERED = """() => {
  const boxes = [...document.querySelectorAll('.world img')].map((one) => one.getBoundingClientRect());
  return [...document.querySelectorAll('.class-name')].filter((name) => {
    const mine = name.getBoundingClientRect();
    return boxes.some((box) => Math.min(box.right, mine.right) - Math.max(box.left, mine.left) > 1
      && Math.min(box.bottom, mine.bottom) - Math.max(box.top, mine.top) > 1);
  }).map((name) => name.textContent);
}"""


def opened(watch: Watch, address: str, view: str, ready: str, look: str = "light") -> Watched:
    page = watch(address, look=look)
    page.go(view)
    page.tab.wait_for_selector(ready, timeout=20_000)
    page.settled()
    return page


def loop(page: Watched) -> None:
    """Draw a circle in the middle of the map."""
    page.tab.get_by_role("button", name="Select by a loop").click()
    box = page.tab.locator(".map").bounding_box()
    x, y, radius = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, 0.3 * min(box["width"], box["height"])
    page.tab.mouse.move(x + radius, y)
    page.tab.mouse.down()
    for step in range(1, 25):
        page.tab.mouse.move(x + radius * math.cos(step / 4), y + radius * math.sin(step / 4))
    page.tab.mouse.up()


@pytest.mark.parametrize("look", LOOKS)
def test_classes_weakest_first_and_examples_as_a_grid(standing: str, watch: Watch, look: str) -> None:
    page = opened(watch, standing, "browse", ".class-row .bar", look)
    right = [
        int(found[1]) / int(found[2])
        for text in page.tab.locator(".class-row .value").all_text_contents()
        if (found := re.match(r"(\d+) of (\d+) right", text))
    ]
    assert len(right) == 6
    assert right == sorted(right)
    assert page.tab.locator(".grid label").count() == 84
    keep(page.tab, f"page-browse-{look}", whole=False)


@pytest.mark.parametrize("look", LOOKS)
def test_a_loop_on_the_map_selects(standing: str, watch: Watch, look: str) -> None:
    page = opened(watch, standing, "browse", ".class-row .bar", look)
    page.tab.get_by_role("button", name="Map").click()
    page.tab.wait_for_selector(".map img")
    page.tab.locator(".map").scroll_into_view_if_needed()
    places = page.tab.locator(".map img").evaluate_all("(all) => all.map((one) => one.style.left + one.style.top)")
    assert len(set(places)) == len(places) > 50, "no picture lies on another"
    assert look == "phone" or len(places) == 84
    shown = page.text(".map .shown")
    assert shown == ("" if len(places) == 84 else f"{len(places)} of 84 are shown; zoom in for more.")
    assert page.tab.locator(".class-name").count() == 6
    assert page.tab.evaluate(COVERED) == [], "names do not cover pictures"
    loop(page)
    inside = page.tab.locator(".map .inside").count()
    assert 0 < inside < len(places)
    assert f"{inside} selected" in page.text(".selection h2")
    page.settled()
    keep(page.tab, f"page-map-{look}", whole=False)


def test_the_map_is_flown_over(standing: str, fruit: Path, watch: Watch) -> None:
    page = watch(standing)
    page.ask(fruit / "asked" / "apple" / "apple-104.jpg")
    page.go("browse")
    page.tab.get_by_role("button", name="Map").click()
    page.tab.wait_for_selector(".map .question-picture")
    decided = page.tab.locator(".map .decided").count()
    assert decided == page.tab.locator(".lines line").count() > 5, "lines to those that decided"
    wide = "() => document.querySelector('.world img').getBoundingClientRect().width"
    before, all_of_them = page.tab.evaluate(wide), page.tab.locator(".world img").count()
    frame = page.tab.locator(".map").bounding_box()
    page.tab.mouse.move(frame["x"] + 0.5 * frame["width"], frame["y"] + 0.5 * frame["height"])
    for _ in range(6):
        page.tab.mouse.wheel(0, -150)
        page.settled()
    assert page.tab.locator(".world img").count() < all_of_them, "only what is in view has an element"
    assert page.tab.evaluate(wide) > 2 * before, "pictures grow"
    place = "() => document.querySelector('.world').style.transform"
    zoomed = page.tab.evaluate(place)
    page.tab.mouse.down()
    page.tab.mouse.move(frame["x"] + 0.3 * frame["width"], frame["y"] + 0.4 * frame["height"], steps=5)
    page.tab.mouse.up()
    page.idle()
    assert page.tab.evaluate(place) != zoomed
    page.tab.locator(".map").focus()
    page.tab.keyboard.press("0")
    for _ in range(40):
        page.tab.keyboard.press("+")
        if page.tab.locator(".preview").is_visible():
            break
        page.tab.keyboard.press("ArrowRight")
    assert re.fullmatch(r"\w+Example \d+", page.text(".preview figcaption"))
    page.tab.keyboard.press("Enter")
    assert "1 selected" in page.text(".selection h2")
    page.tab.keyboard.press("0")
    page.idle()
    assert page.tab.locator(".world img").count() == all_of_them


def test_an_example_tells_about_itself(standing: str, watch: Watch) -> None:
    page = opened(watch, standing, "browse", ".grid .about")
    page.tab.locator(".grid li").first.hover()
    page.tab.locator(".grid .about").first.click()
    page.tab.wait_for_selector("dialog .portrait")
    assert "Asked without itself" in page.text("dialog")
    page.tab.keyboard.press("Escape")
    page.tab.wait_for_selector("dialog", state="detached")


def test_examples_are_moved_to_a_new_class_and_back(corrected: str, watch: Watch) -> None:
    page = opened(watch, corrected, "browse", ".grid .about")
    page.tab.locator(".class-row:has-text('pear')").click()
    page.tab.wait_for_selector(".middle h2:has-text('pear')")
    boxes = page.tab.locator(".grid input")
    boxes.nth(0).click()
    boxes.nth(2).click(modifiers=["Shift"])
    assert "3 selected" in page.text(".selection h2")
    page.tab.keyboard.press("m")
    page.tab.keyboard.type("quince")
    page.tab.keyboard.press("Enter")
    page.tab.wait_for_selector(".toast:has-text('Relabelled 3 examples as quince')")
    page.tab.wait_for_selector(".class-row:has-text('quince')")
    page.tab.keyboard.press("z")
    page.tab.wait_for_selector(".class-row:has-text('quince')", state="detached")
    assert "6 classes" in page.text("#facts")


def test_classes_are_renamed_merged_and_split_again(corrected: str, watch: Watch) -> None:
    page = opened(watch, corrected, "browse", ".grid .about")
    page.tab.locator(".class-row:has-text('lemon')").click()
    page.tab.get_by_role("button", name="Rename").click()
    page.tab.get_by_label("Name of the class").fill("citron")
    page.tab.keyboard.press("Enter")
    page.tab.wait_for_selector(".class-row:has-text('citron')")
    page.tab.get_by_role("button", name="Merge").click()
    page.tab.get_by_label("Name of the class").fill("pear")
    page.tab.keyboard.press("Enter")
    page.tab.wait_for_selector("dialog:has-text('Make citron and pear one class?')")
    page.tab.get_by_role("button", name="Merge").last.click()
    page.tab.wait_for_selector("#facts:has-text('5 classes')")
    page.tab.keyboard.press("z")
    page.tab.wait_for_selector("#facts:has-text('6 classes')")
    page.tab.keyboard.press("z")
    page.tab.wait_for_selector(".class-row:has-text('lemon')")
    page.tab.locator(".class-row:has-text('lemon')").click()
    page.tab.get_by_role("button", name="Split").click()
    page.tab.wait_for_selector(".map.looping img")
    assert "Draw a loop around those" in page.text(".selection")


def test_what_is_removed_is_said_first(corrected: str, watch: Watch) -> None:
    page = opened(watch, corrected, "browse", ".grid .about")
    page.tab.locator(".grid input").first.click()
    page.tab.keyboard.press("x")
    page.tab.wait_for_selector("dialog:has-text('Remove 1 example?')")
    page.tab.get_by_role("button", name="Cancel").click()
    assert "84 examples" in page.text("#facts")
    page.tab.keyboard.press("x")
    page.tab.locator("dialog").get_by_role("button", name="Remove").click()
    page.tab.wait_for_selector("#facts:has-text('83 examples')")
    page.tab.keyboard.press("z")
    page.tab.wait_for_selector("#facts:has-text('84 examples')")


@pytest.mark.parametrize("look", LOOKS)
def test_suspects_stand_between_two_classes(standing: str, watch: Watch, look: str) -> None:
    page = opened(watch, standing, "audit", ".between", look)
    assert re.fullmatch(r"Labelled \w+. Looks like \w+.", page.text("h1"))
    assert page.tab.locator(".beside.against li").count() > 0
    assert page.tab.locator(".beside.for li").count() > 0
    keep(page.tab, f"page-audit-{look}", whole=False)


def test_suspects_are_decided_by_arrow_keys(corrected: str, watch: Watch) -> None:
    page = opened(watch, corrected, "audit", ".between")
    first = page.text(".doubted figcaption")
    page.tab.keyboard.press("ArrowRight")
    page.tab.wait_for_selector(".past:has-text('was')")
    assert page.text(".doubted figcaption") != first
    page.tab.keyboard.press("ArrowLeft")
    page.tab.wait_for_selector(".past:has-text('kept')")
    second = page.text(".doubted figcaption")
    page.tab.keyboard.press("Space")
    page.settled()
    assert page.text(".doubted figcaption") != second
    page.tab.keyboard.press("z")
    page.tab.wait_for_selector(".past:has-text('was')", state="detached")
    assert page.tab.locator(".past:has-text('kept')").count() == 1


@pytest.mark.parametrize("look", LOOKS)
def test_enough_says_what_to_do_next(standing: str, watch: Watch, look: str) -> None:
    page = opened(watch, standing, "enough", ".curve", look)
    assert "Not quite" in page.text("h1")
    assert page.tab.locator(".curve .line").is_visible()
    assert page.tab.locator(".steps li").count() >= 2
    keep(page.tab, f"page-enough-{look}", whole=False)


def test_history_steps_back_and_tells_what_was_answered(corrected: str, fruit: Path, watch: Watch) -> None:
    page = watch(corrected)
    page.ask(fruit / "asked" / "apple" / "apple-104.jpg")
    for label in ("apple", "orange"):
        page.ask(fruit / "asked" / label / f"{label}-101.jpg")
        page.tab.locator("#bar").get_by_role("button", name=re.compile(label)).click()
        page.tab.wait_for_selector(".done")
    page.ask(fruit / "asked" / "apple" / "apple-104.jpg")
    page.go("history")
    page.tab.wait_for_selector(".entries li")
    assert "Chose again how to compare" in page.text(".entries")
    page.tab.get_by_role("button", name="What was the answer before?").first.click()
    page.tab.wait_for_selector(".before:has-text('Before this it was')")
    keep(page.tab, "page-history-light", whole=False)
    page.tab.get_by_role("button", name="Back to before this (2 steps)").click()
    page.tab.wait_for_selector("#facts:has-text('84 examples')")
    page.settled()
    assert "taken back" in page.text(".entries li")
