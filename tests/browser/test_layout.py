"""The layout holds at every width, light and dark, with short names and with very long ones: nothing overlaps, nothing
is cut, no word is broken, no text is too small."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from browser.conftest import keep
from browser.serving import Watched, copied, served
from kcrc.gallery import Gallery

pytestmark = pytest.mark.browser
Watch = Callable[..., Watched]
WIDTHS = (360, 390, 480, 600, 740, 768, 800, 850, 1000, 1050, 1110, 1440)
READY = {
    "ask": ".mind .card", "teach": "main h1", "browse": ".class-row .bar", "audit": ".between", "enough": ".curve",
    "history": ".entries li",
}  # fmt: skip
LONG = {
    "apple": "Malus domestica Borkh., the common apple of orchards and of supermarkets, red or green",
    "orange": "citrus" * 11,
    "tomato": "Solanum lycopersicum, which is a berry",
}
ASKED = Path("asked") / "apple" / "apple-104.jpg"

CHECK = """() => {
  const found = [];
  const short = (one) => `${one.tagName}.${one.className} ${JSON.stringify(one.textContent.slice(0, 40))}`;
  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) found.push(`wider than the window: ${page.scrollWidth}`);
  const scrolls = (one) => /auto|scroll/.test(getComputedStyle(one).overflowX + getComputedStyle(one).overflowY);
  const inScroller = (one) => { for (; one; one = one.parentElement) if (scrolls(one)) return true; return false; };
  const floats = (one) => { for (; one; one = one.parentElement) {
    if (/fixed|sticky/.test(getComputedStyle(one).position)) return one; } return null; };
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const one = node.parentElement;
    if (node.data.trim() === '' || !one.checkVisibility({ checkOpacity: true })) continue;
    if (one.closest('.unseen, .skip, script, noscript, option, svg') !== null) continue;
    const style = getComputedStyle(one);
    if (parseFloat(style.fontSize) < 11) found.push(`text of ${style.fontSize}: ${short(one)}`);
    const range = document.createRange();
    for (const word of node.data.matchAll(/\\S+/g)) {
      if (word[0].length > 12) continue;
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
      if (lines.size > 1) found.push(`the word ${word[0]} is broken: ${short(one)}`);
    }
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.width > 1) texts.push({ one, box, floats: floats(one), free: !inScroller(one) });
    }
    for (let around = one; around !== document.body; around = around.parentElement) {
      const hides = getComputedStyle(around);
      if (!/hidden|clip/.test(hides.overflowX + hides.overflowY)) continue;
      const frame = around.getBoundingClientRect();
      const box = range.getBoundingClientRect();
      const out = box.right > frame.right + 1 || box.left < frame.left - 1 || box.bottom > frame.bottom + 2;
      if (out && !inScroller(one)) found.push(`cut by ${short(around)}: ${short(one)}`);
    }
  }
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > Math.max(3, 0.25 * Math.min(a.height, b.height));
  texts.forEach((a, at) => texts.slice(at + 1).forEach((b) => {
    if (a.one === b.one || a.floats !== b.floats || !a.free || !b.free || !meet(a.box, b.box)) return;
    if (!a.one.contains(b.one) && !b.one.contains(a.one)) found.push(`${short(a.one)} on ${short(b.one)}`);
  }));
  for (const tile of document.querySelectorAll('.tile')) {
    const frame = tile.getBoundingClientRect();
    for (const { one, box } of texts) {
      if (!tile.contains(one) && floats(one) === null && meet(frame, box)) found.push(`${short(one)} on a tile`);
    }
    const place = (name) => tile.querySelector(name)?.getBoundingClientRect();
    const [box, pill] = [place('input'), place('.pill:not([hidden])')];
    if (box && pill && meet(box, pill)) found.push('a tile has its mark on its box');
    const larger = box && (box.right > frame.right + 1 || box.bottom > frame.bottom + 1);
    if (larger) found.push('a box is larger than its tile');
    const shot = place('.shot');
    if (shot && (shot.right > frame.right + 1 || shot.bottom > frame.bottom + 1)) {
      found.push('a picture is larger than its tile');
    }
  }
  for (const row of document.querySelectorAll('.known, .class-cards')) {
    const lines = Map.groupBy([...row.children], (one) => Math.round(one.getBoundingClientRect().top));
    for (const cards of lines.values()) {
      if (new Set(cards.map((one) => Math.round(one.getBoundingClientRect().height))).size > 1) {
        found.push(`cards of one row differ in height: ${short(row)}`);
      }
    }
  }
  const mark = document.querySelector('.mark').getBoundingClientRect();
  if (mark.height > 60) found.push(`the mark is ${mark.height} high`);
  return [...new Set(found)];
}"""


@pytest.fixture(scope="module")
def long_names(fruit: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server whose gallery has long names, and a long name itself."""
    where = copied(fruit / "fruit.kcrc", tmp_path_factory.mktemp("long"))
    where = where.rename(where.with_name("the-fruit-of-the-orchards-and-gardens-of-the-whole-valley-in-spring.kcrc"))
    with Gallery.open(where) as gallery:
        for old, new in LONG.items():
            gallery.rename_class(old, new)
        gallery.classifier()
    with served(where) as address:
        yield address


def at_every_width(page: Watched) -> dict[str, list[str]]:
    found = {}
    for width in WIDTHS:
        page.tab.set_viewport_size({"width": width, "height": 800})
        for scheme in ("light", "dark"):
            page.tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.tab.wait_for_timeout(60)
            if wrong := page.tab.evaluate(CHECK):
                found[f"{width} {scheme}"] = wrong
    return found


def looked_through(page: Watched, fruit: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = {"empty": at_every_width(page)}
    page.ask(fruit / ASKED)
    for view, ready in READY.items():
        page.go(view)
        page.tab.wait_for_selector(ready, timeout=20_000)
        page.idle()
        found[view] = at_every_width(page)
        if view == "ask":
            page.tab.set_viewport_size({"width": 390, "height": 844})
            keep(page.tab, f"layout-{name}")
            page.tab.keyboard.press("w")
            page.tab.wait_for_selector(".was")
            page.idle()
            found["what if"] = at_every_width(page)
        page.tab.set_viewport_size({"width": 1280, "height": 800})
    return {view: wrong for view, wrong in found.items() if wrong}


def test_short_names_fit_everywhere(standing: str, fruit: Path, watch: Watch) -> None:
    assert looked_through(watch(standing), fruit, "short") == {}


def test_long_names_fit_everywhere(long_names: str, fruit: Path, watch: Watch) -> None:
    assert looked_through(watch(long_names), fruit, "long") == {}


def test_bars_leave_room_at_twice_the_size(standing: str, fruit: Path, watch: Watch) -> None:
    page = watch(standing)
    page.ask(fruit / ASKED)
    page.tab.set_viewport_size({"width": 720, "height": 450})
    page.idle()
    covered = page.tab.evaluate("""() => [...document.querySelectorAll('.top, #nav, #bar')].filter((one) =>
      /fixed|sticky/.test(getComputedStyle(one).position)).reduce((sum, one) => sum + one.offsetHeight, 0)""")
    assert covered <= 0.3 * 450


def test_pointing_moves_nothing(standing: str, fruit: Path, watch: Watch) -> None:
    page = watch(standing)
    page.ask(fruit / ASKED)
    page.idle()
    places = """() => [...document.querySelectorAll('.others, .mind, .all')].map(
      (one) => one.getBoundingClientRect().top)"""
    before = page.tab.evaluate(places)
    tiles = page.tab.locator("label.tile").all()
    assert len(tiles) > 1
    for tile in tiles:
        tile.hover()
        page.idle()
        assert page.tab.evaluate(places) == before
