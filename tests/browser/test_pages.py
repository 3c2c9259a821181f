"""Every page in Chromium: it fetches nothing, complains of nothing, fits a phone, and follows the colour scheme."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest

from browser.conftest import keep
from kcrc.report.style import DARK, LIGHT

pytestmark = pytest.mark.browser

WIDER = """() => {
  const wide = document.documentElement.clientWidth;
  const inside = (node) => node.closest(".scroll, pre") !== null;
  return [...document.querySelectorAll("body *")]
    .filter((node) => !inside(node) && node.getBoundingClientRect().right > wide + 1)
    .map((node) => node.tagName + "." + node.className);
}"""
BACKGROUND = "() => getComputedStyle(document.body).backgroundColor"


def rgb(colour: str) -> str:
    return "rgb({}, {}, {})".format(*(int(colour[i : i + 2], 16) for i in (1, 3, 5)))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_fits_and_is_quiet(tab: Any, scheme: str) -> None:
    tab.emulate_media(media="screen", color_scheme=scheme)
    for place, width in (("phone", 360), ("screen", 1280)):
        tab.set_viewport_size({"width": width, "height": 800})
        assert tab.evaluate(WIDER) == []
        assert tab.evaluate("() => document.documentElement.scrollWidth") == width
        assert tab.evaluate(BACKGROUND) == rgb((DARK if scheme == "dark" else LIGHT)["bg"])
        keep(tab, f"{tab.named}-{place}-{scheme}")
    assert tab.seen == []


def test_on_paper_it_is_light(tab: Any) -> None:
    tab.emulate_media(media="print", color_scheme="dark")
    ink = tab.evaluate("() => getComputedStyle(document.body).color")
    assert (ink, tab.evaluate(BACKGROUND)) == (rgb(LIGHT["ink"]), "rgb(255, 255, 255)")
    keep(tab, f"{tab.named}-print")
    assert tab.pdf(format="A4").startswith(b"%PDF")
    tab.emulate_media(media="screen", color_scheme="light")


def test_headings_are_in_order_and_links_lead_somewhere(tab: Any) -> None:
    levels = tab.evaluate("() => [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map((h) => +h.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    targets = tab.evaluate("() => [...document.querySelectorAll('a')].map((a) => a.getAttribute('href'))")
    assert all(target.startswith("#") for target in targets)
    assert tab.evaluate("(ids) => ids.filter((id) => !document.querySelector(id))", targets) == []
    pictures = tab.evaluate("() => [...document.images].map((one) => [one.naturalWidth, one.alt])")
    assert pictures
    assert all(width and alt for width, alt in pictures)


def test_unfolded_it_fits_a_phone_too(tab: Any) -> None:
    tab.set_viewport_size({"width": 360, "height": 800})
    tab.evaluate("() => document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert tab.evaluate(WIDER) == []
    keep(tab, f"{tab.named}-unfolded")


def test_commands_follow_the_ticks(look: Any) -> None:
    tab = look("audit")
    lines = tab.locator(".commands").inner_text().strip().splitlines()
    assert "kcrc relabel birds.kcrc" in lines[0]
    ticked = tab.locator("input:checked")
    assert ticked.count() >= 2
    numbers = [box.get_attribute("id").removeprefix("trel") for box in ticked.all()]
    assert sorted(re.findall(r" (\d+)", " ".join(lines))) == sorted(numbers)
    ticked.first.uncheck()
    fewer = tab.locator(".commands").inner_text()
    assert f" {numbers[0]}" not in re.findall(r" \d+", fewer)
    for _ in numbers[1:]:
        ticked.first.uncheck()
    assert tab.locator(".commands").inner_text().strip() == ""
    tab.locator("input").last.check()
    last = tab.locator("input").last.get_attribute("id")
    assert re.search(rf"kcrc \w+ birds\.kcrc {last[4:]}\b", tab.locator(".commands").inner_text())


def test_cells_of_the_matrix_lead_to_the_pictures(look: Any) -> None:
    tab = look("evaluation")
    cell = tab.locator(".confusion a").first
    words = cell.get_attribute("title")
    cell.click()
    pair = tab.locator(":target")
    assert pair.locator("img").count() >= 1
    truth, answer = re.fullmatch(r"\d+ of class (\w+) taken for (\w+)", words).groups()
    assert pair.locator("h3").inner_text().startswith(f"{truth} taken for {answer}")
    assert pair.locator("img").first.is_visible()


def test_without_scripts_nothing_is_missing(look: Any) -> None:
    tab = look("audit", java_script_enabled=False)
    assert tab.locator(".commands").inner_text().startswith("kcrc relabel birds.kcrc")
