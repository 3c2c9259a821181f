"""The page tells one story: after any acts, in any order, nothing on Ask contradicts anything else on it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from browser.serving import Watched

pytestmark = pytest.mark.browser
Watch = Callable[..., Watched]
ACTS = ("tile", "tile", "tile", "key", "class", "why", "tip", "list", "back", "hover", "restore", "view")
LONG = 5  # acts of a sequence
ASKED = ("apple/apple-104", "apple/apple-101", "plum/plum-100", "pear/pear-101", "tomato/tomato-102", "lemon/lemon-100")

READ = """() => {
  const all = (selector, of = document) => [...of.querySelectorAll(selector)];
  const text = (selector, of = document) => of.querySelector(selector)?.textContent ?? null;
  const shown = (one) => one !== null && one.checkVisibility();
  const id = (tile) => Number(/example (\\d+)/.exec(tile.querySelector('input').ariaLabel)[1]);
  return {
    name: text('h1 .name'), chance: text('h1 .chance'), was: text('.was strong'),
    because: text('.because'), other: text('.because .strong'), lead: text('.verdict .lead'),
    bars: all('.bars li').map((one) => ({ label: text('bdi', one), value: text('.value', one),
      bar: one.querySelector('.bar') !== null, counts: one.querySelector('input').checked,
      why: one.querySelector('.why[aria-pressed=true]') !== null })),
    sides: all('.side-head').filter((one) => one.textContent).map((one) => ({ label: text('bdi', one),
      kind: one.className.includes('against') ? 'against' : 'for', count: Number(/\\d+/.exec(text('span', one))[0]) })),
    tiles: all('label.tile').map((one) => ({ id: id(one), label: one.querySelector('input').ariaLabel.split(',')[0],
      kind: one.classList.contains('against') ? 'against' : 'for', turns: one.classList.contains('turns') })),
    rest: all('button.tile').map((one) => ({ count: Number(text('strong', one).slice(1)),
      kind: one.classList.contains('against') ? 'against' : 'for', turns: one.classList.contains('turns') })),
    beam: shown(document.querySelector('.beam')) ? parseFloat(document.querySelector('.solid').style.width) : null,
    exact: !document.querySelector('.beam').classList.contains('inexact'),
    why: text('.why-not h2 bdi'), whySays: text('.why-not p'),
    cards: all('.mind .press').map((one) => text('bdi', one)), tray: all('.mind .back').length,
    listed: all('.all li').map((one) => ({ out: one.classList.contains('out'), text: one.textContent,
      id: Number(/example (\\d+)/.exec(one.textContent)[1]), label: text('bdi', one),
      ticked: one.querySelector('input').checked })),
    offered: all('#bar .option').map((one) => text('bdi', one)), yes: text('#bar .option.main bdi'),
    done: text('#bar .done'), question: text('#bar .question bdi'),
  };
}"""


def contradictions(said: dict[str, Any]) -> list[str]:
    """Statements of the screen that cannot be true together."""
    wrong: list[str] = []

    def agree(holds: bool, words: str) -> None:
        if not holds:
            wrong.append(words)

    unknown, arguing, name = said["name"] == "Unknown", said["was"] is not None, said["name"]
    sides = {side["kind"]: side for side in said["sides"]}
    out = {bar["label"] for bar in said["bars"] if not bar["counts"]}
    if not unknown:
        agree(sides["for"]["label"] == name, "the side for the answer is that of the headline")
        agree(sides.get("against", {}).get("label") != name, "the other side is another class")
        agree(said["done"] is not None or said["yes"] == said["question"] == name, "what is offered as right is it")
    agree(not unknown or said["yes"] is None, "unknown is not offered as right")
    agree((said["chance"] is None) or not (unknown or arguing), "only an answer from all examples has a chance")
    for bar in said["bars"]:
        sure = said["chance"] is not None
        agree(bar["bar"] == sure or bar["label"] in out, "there are bars where the headline has a chance")
        agree(not sure or bar["label"] != name or bar["value"] == said["chance"], "one number for one chance")
        agree("%" not in bar["value"] or sure, "no chances where there is none")
    agree(name not in out, "the answer is none of the classes left out")
    agree(arguing == (said["tray"] > 0), "what is set aside is shown where something is")
    agree(arguing or not out, "without a what-if all classes count")
    agree(arguing or not any(one["out"] for one in said["listed"]), "without a what-if all examples are ticked")
    agree(all(one["ticked"] != one["out"] for one in said["listed"]), "the list's boxes are what it says")
    agree(said["tray"] == min(12, sum(one["out"] for one in said["listed"])) + len(out), "tray, list and classes agree")
    listed = {one["id"]: one["label"] for one in said["listed"] if not one["out"]}
    for tile in said["tiles"]:
        agree(listed.get(tile["id"]) == tile["label"], f"tile {tile['id']} is in the list")
        agree(tile["label"] not in out, f"tile {tile['id']} is of a class that counts")
    for kind, side in sides.items():
        count = sum(one["kind"] == kind for one in said["tiles"])
        count += sum(one["count"] for one in said["rest"] if one["kind"] == kind)
        agree(count == side["count"], f"as many tiles {kind} as its heading says")
    if said["beam"] is not None and said["exact"]:
        left = said["beam"] if said["sides"][0]["kind"] == "for" else 100 - said["beam"]
        agree(left >= 49.9, "the balance leans to the answer")
    if said["why"] is not None:
        agree(said["why"] not in {name, *out}, "why not is asked of another class that counts")
        agree(not unknown, "an unknown has no why not")
        near = {one["label"] for one in [*said["tiles"], *said["listed"]]}
        agree(not said["whySays"].startswith("No ") or said["why"] not in near, "what is shown is among the nearest")
    agree(sum(bar["why"] for bar in said["bars"]) <= 1, "one class is asked about")
    turns = sum(one["turns"] for one in [*said["tiles"], *said["rest"]])
    agree(bool(turns) == bool(said["other"]) or unknown, "what the sentence says is outlined")
    if said["other"] is not None:
        agree(not arguing, "the sentence is about the answer from all examples")
        agree(said["other"] != name, "it would be another class")
        agree(said["cards"][:1] == [said["other"]], "the sentence and the card agree")
    agree(not said["cards"] or not (arguing or unknown), "cards are about an answer from all examples")
    agree(name not in said["cards"], "cards name other classes")
    return wrong


def whole(page: Watched) -> str:
    """All that is said, but for what a change would change of the last answers, which become more."""
    page.tab.wait_for_function("() => !document.querySelector('.case').textContent.includes('Trying…')")
    return str(
        page.tab.evaluate("""() => {
      const copy = document.querySelector('.case').cloneNode(true);
      copy.querySelectorAll('.ripple, .even-words').forEach((one) => one.remove());
      return copy.textContent;
    }""")
    )


def act(page: Watched, rng: Random) -> str:
    """One thing that somebody may do; its name."""
    tab = page.tab

    def one_of(selector: str) -> Any:
        found = tab.locator(selector)
        count = found.count()
        return found.nth(rng.randrange(count)) if count else None

    name = rng.choice(ACTS)
    if name in ("tile", "key") and (box := one_of("label.tile input")):
        if name == "tile":
            box.evaluate("(one) => one.click()")
        else:
            box.focus()
            tab.keyboard.press("Space")
    elif name == "class" and (box := one_of(".bars input")):
        box.evaluate("(one) => one.click()")
    elif name == "why" and (button := one_of(".bars .why")):
        button.evaluate("(one) => one.click()")
    elif name == "list" and (box := one_of(".all input")):
        box.evaluate("(one) => one.click()")
    elif name == "back" and (button := one_of(".mind .back")):
        button.evaluate("(one) => one.click()")
    elif name == "hover" and (tile := one_of("label.tile")):
        tile.dispatch_event("pointerenter")
    elif name in ("tip", "restore"):
        tab.keyboard.press("w" if name == "tip" else "Escape")
    elif name == "view":
        tab.evaluate("() => { location.hash = '#history'; }")
        tab.wait_for_selector(".entries")
        tab.evaluate("() => { location.hash = '#ask'; }")
        tab.wait_for_selector(".case")
    return name


def state(said: dict[str, Any]) -> str:
    """What the screen is a function of, besides the picture: what is set aside, and which class is asked about."""
    aside = sorted(one["id"] for one in said["listed"] if one["out"])
    out = sorted(bar["label"] for bar in said["bars"] if not bar["counts"])
    return json.dumps([aside, out, said["why"]])


def tell(page: Watched, fruit: Path, *, sequences: int, seed: int) -> None:
    rng = Random(seed)
    drawn: dict[str, str] = {}
    for number in range(sequences):
        asked = ASKED[number % len(ASKED)]
        page.tab.set_input_files("#files", fruit / "asked" / f"{asked}.jpg")
        page.tab.wait_for_selector(".seam .tile")
        page.idle()
        history = [asked]
        first = whole(page)
        for _ in range(LONG):
            history.append(act(page, rng))
            page.idle()
            said = page.tab.evaluate(READ)
            assert contradictions(said) == [], history
            text = whole(page)
            assert drawn.setdefault(asked + state(said), text) == text, history
        page.tab.keyboard.press("Escape")
        page.idle()
        said = page.tab.evaluate(READ)
        assert contradictions(said) == [], history
        if json.loads(state(said)) == [[], [], json.loads(state(said))[2]] and "why" not in history:
            assert whole(page) == first, (history, "taken back, the first answer is on the screen")
    assert len(drawn) > sequences


def test_no_two_statements_contradict(standing: str, fruit: Path, watch: Watch) -> None:
    tell(watch(standing), fruit, sequences=36, seed=0)


@pytest.mark.slow
def test_no_two_statements_contradict_in_500_sequences(standing: str, fruit: Path, watch: Watch) -> None:
    tell(watch(standing), fruit, sequences=500, seed=1)


def test_the_check_finds_contradictions(standing: str, fruit: Path, watch: Watch) -> None:
    page = watch(standing)
    page.ask(fruit / "asked" / f"{ASKED[0]}.jpg")
    page.idle()
    said = page.tab.evaluate(READ)
    assert contradictions(said) == []
    swapped = [{**side, "kind": other["kind"]} for side, other in zip(said["sides"], said["sides"][::-1], strict=True)]
    for change in (
        *({"why": said["name"]}, {"chance": "3 %"}, {"was": "plum 3 %"}, {"yes": "plum"}, {"other": said["name"]}),
        *({"sides": swapped}, {"tiles": said["tiles"][1:]}, {"cards": [said["name"]]}, {"beam": 100 - said["beam"]}),
    ):
        assert contradictions({**said, **change}) != [], change
