"""Ask and argue: the answer, the examples that decided, what if some were not there, and storing what is right."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from browser.conftest import keep
from browser.serving import Watched

pytestmark = pytest.mark.browser
Watch = Callable[..., Watched]
TIPPED = Path("asked") / "apple" / "apple-104.jpg"  # an apple that a wrongly labelled one makes a tomato


def areas(page: Watched) -> list[tuple[float, float]]:
    """Area in pixels and share in per cent of each tile."""
    found = page.tab.locator(".tile:not(.rest)").evaluate_all(
        "(tiles) => tiles.map((one) => [one.offsetWidth * one.offsetHeight,"
        " one.querySelector('input').getAttribute('aria-label')])"
    )
    return [(area, float(re.search(r"share (\d+)", name)[1])) for area, name in found]


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_an_answer_and_what_decided_it(standing: str, fruit: Path, watch: Watch, look: str) -> None:
    page = watch(standing, look=look)
    assert "Drop a picture" in page.text(".empty")
    page.settled()
    keep(page.tab, f"page-empty-{look}")
    page.ask(fruit / TIPPED)
    assert re.fullmatch(r"tomato \d+ %", page.text("h1"))
    page.tab.wait_for_selector(".because .strong")
    assert page.text(".because") == "because of these; without the one outlined it would be orange."
    assert page.tab.locator(".tile.turns").count() == 1
    assert "%" not in page.text(".seam"), "the number on the screen is the chance"
    assert "answers like this are wrong" in page.text(".verdict .lead")
    shown = areas(page)
    together = 100 if look != "phone" else 85  # where there is little room, some are counted as "the others"
    assert together - 3 <= sum(share for _, share in shown) <= 103
    density = [area / share for area, share in shown if share >= 5]
    assert max(density) < 1.35 * min(density), "areas are shares"
    left, right = page.tab.locator(".side-head").all_inner_texts()
    assert "for" in left
    assert "against" in right
    assert page.tab.locator(".tile.tips").count() == 1
    assert page.tab.locator(".beam .even").is_visible()
    bars = [int(re.sub(r"\D", "", one)) for one in page.tab.locator(".bars .value").all_inner_texts()]
    assert bars == sorted(bars, reverse=True)
    assert "Why not" in page.text(".why-not h2")
    keep(page.tab, f"page-ask-{look}", whole=look == "phone")


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_without_the_example_that_tips_it(standing: str, fruit: Path, watch: Watch, look: str) -> None:
    page = watch(standing, look=look)
    page.ask(fruit / TIPPED)
    before, places = page.text("h1"), page.tab.locator(".side-head bdi").all_inner_texts()
    page.tab.locator(".tile.tips").click()
    page.tab.wait_for_selector(".was:visible")
    page.settled()
    assert not page.text("h1").startswith("tomato")
    assert "tomato" in page.text(".was")
    assert page.tab.locator(".side-head bdi").all_inner_texts() == places, "sides keep their places"
    assert page.tab.locator(".side-head").first.get_attribute("class") == "side-head against"
    assert page.tab.locator(".steps-in").count() >= 1
    assert "really tomato" in page.text(".strong-card")
    keep(page.tab, f"page-what-if-{look}", whole=look == "phone")
    page.tab.keyboard.press("Escape")
    page.tab.wait_for_selector(".was", state="hidden")
    page.settled()
    assert page.text("h1") == before


def test_what_a_look_at_an_example_tells(standing: str, fruit: Path, watch: Watch) -> None:
    page = watch(standing)
    page.ask(fruit / TIPPED)
    page.tab.locator(".tile.tips").hover()
    page.tab.wait_for_selector(".even-words.asking")
    page.tab.wait_for_selector(".even-words:has-text('Without it')")
    said = page.text(".even-words")
    assert re.fullmatch(r"Example \d+: \d+ % of the evidence, for tomato. Without it: \w+", said)
    page.tab.locator("h1").hover()
    page.tab.wait_for_selector(".even-words:not(.asking)")
    assert "past the middle mark" in page.text(".even-words")


def test_a_class_is_left_out_and_taken_in_again(standing: str, fruit: Path, watch: Watch) -> None:
    page = watch(standing)
    page.ask(fruit / TIPPED)
    page.tab.get_by_label("Count the examples of tomato").uncheck()
    page.tab.wait_for_selector(".was:visible")
    assert not page.text("h1").startswith("tomato")
    assert "tomato" not in page.text(".side-heads")
    assert "left out" in page.text(".bars .out")
    page.tab.get_by_label("Count the examples of tomato").check()
    page.tab.wait_for_selector(".was", state="hidden")
    assert page.text("h1").startswith("tomato")


def test_everything_by_keyboard(standing: str, fruit: Path, watch: Watch) -> None:
    page = watch(standing)
    page.ask(fruit / TIPPED)
    page.tab.keyboard.press("w")
    page.tab.wait_for_selector(".was:visible")
    page.tab.keyboard.press("Escape")
    page.tab.wait_for_selector(".was", state="hidden")
    first = page.tab.locator(".tile input").first
    name = first.get_attribute("aria-label")
    first.focus()
    page.tab.keyboard.press("Space")
    page.tab.wait_for_selector(".was:visible")
    page.settled()
    assert name not in [box.get_attribute("aria-label") for box in page.tab.locator(".tile input").all()]
    assert page.tab.evaluate("document.activeElement.closest('.tile') !== null"), "the focus is where it was"
    page.tab.keyboard.press("Escape")
    page.tab.wait_for_selector(".was", state="hidden")
    assert page.tab.evaluate("document.activeElement.closest('.tile') !== null")
    assert "tomato" in page.text("#live")
    page.tab.locator("main").focus()
    page.tab.keyboard.press("?")
    assert "What was" not in page.text("dialog")
    assert "Undo" in page.text("dialog")
    page.tab.keyboard.press("Escape")
    page.tab.wait_for_selector("dialog", state="detached")


def test_a_right_answer_is_stored_undone_and_done_again(changing: str, fruit: Path, watch: Watch) -> None:
    page = watch(changing)
    page.ask(fruit / TIPPED)
    examples = page.text("#facts")
    page.tab.get_by_role("button", name="apple", exact=True).click()
    page.tab.wait_for_selector(".done")
    assert "Added 1 example as apple" in page.text(".done")
    assert "85 examples" in page.text("#facts")
    page.tab.keyboard.press("z")
    page.tab.wait_for_selector("#bar .option")
    assert page.text("#facts") == examples
    page.tab.keyboard.press("Shift+Z")
    page.tab.wait_for_selector("#facts:has-text('85 examples')")


def test_the_doubtful_example_is_relabelled(changing: str, fruit: Path, watch: Watch) -> None:
    page = watch(changing)
    page.ask(fruit / TIPPED)
    page.tab.keyboard.press("w")
    page.tab.wait_for_selector(".was:visible")
    page.tab.wait_for_selector(".strong-card")
    page.tab.keyboard.press("r")
    page.tab.wait_for_selector(".toast")
    assert "Relabelled 1 example" in page.text(".toast")
    page.tab.wait_for_selector(".was", state="hidden")
    assert not page.text("h1").startswith("tomato")


def test_a_new_class_is_written_and_picked(changing: str, fruit: Path, watch: Watch) -> None:
    page = watch(changing)
    page.ask(fruit / TIPPED)
    page.tab.keyboard.press("n")
    page.tab.get_by_label("Name of the class").fill("תפוח")
    assert "New class" in page.text("dialog .first")
    page.tab.keyboard.press("Enter")
    page.tab.wait_for_selector(".done")
    assert "7 classes" in page.text("#facts")


def test_a_case_is_saved_as_one_page(standing: str, fruit: Path, watch: Watch, tmp_path: Path) -> None:
    page = watch(standing)
    page.ask(fruit / TIPPED)
    with page.tab.expect_download() as waiting:
        page.tab.get_by_role("button", name="Save this answer as one page").click()
    waiting.value.save_as(tmp_path / "case.html")
    text = (tmp_path / "case.html").read_text(encoding="utf-8")
    assert "data:image/" in text
    assert "tomato" in text
    assert waiting.value.suggested_filename == "tomato.html"


def test_a_server_that_stores_nothing(fruit: Path, watch: Watch) -> None:
    from browser.serving import served

    with served(fruit / "fruit.kcrc", "--readonly") as address:
        page = watch(address)
        page.ask(fruit / TIPPED)
        assert not page.tab.locator("#bar").is_visible()
        assert "only to be read" in page.text("#facts")
        page.tab.keyboard.press("w")
        page.tab.wait_for_selector(".was:visible")
        page.close()
