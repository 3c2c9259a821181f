"""What can go wrong, and answers of every kind: said in words, heard by a screen reader, and nothing is lost."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from browser.conftest import keep
from browser.serving import Watched

pytestmark = pytest.mark.browser
Watch = Callable[..., Watched]
TIPPED = Path("asked") / "apple" / "apple-104.jpg"
SERIOUS = ("serious", "critical")
READY = {  # what there is once a view is drawn
    "ask": ".mind .card",
    "teach": "main h1",
    "browse": ".grid .about",
    "audit": ".between",
    "enough": ".curve",
    "history": ".entries li",
}


def quiet(page: Watched) -> None:
    """The browser tells of answers that are refusals; they were asked for here."""
    page.seen[:] = [what for what in page.seen if "Failed to load resource" not in what]


def altered(page: Watched, **changes: Any) -> None:
    """Answers as the server gives them, but for some fields."""

    def answer(route: Any) -> None:
        found = route.fetch()
        route.fulfill(response=found, json={**found.json(), **changes})

    page.tab.route("**/api/classify", answer)


def test_unknown_is_said_gently(standing: str, fruit: Path, watch: Watch) -> None:
    page = watch(standing)
    altered(page, unknown=True, why="it resembles no class")
    page.ask(fruit / TIPPED)
    assert page.text("h1") == "Unknown"
    assert "It resembles no class. The nearest is tomato." in page.text(".verdict .lead")
    assert page.tab.locator("#bar .main").count() == 0, "nothing is offered as right"
    keep(page.tab, "page-unknown-light", whole=False)


def test_an_answer_nobody_speaks_against(standing: str, fruit: Path, watch: Watch) -> None:
    page = watch(standing)
    parts = [
        {"id": i, "label": "apple", "share": 1 / 7, "distance": 1.0, "source": "", "step_in": False}
        for i in range(1, 8)
    ]
    altered(page, label="apple", how="unanimous", runner_up=None, support=1.0, parts=parts, tips=None, others=[],
            probability=0.997, likely=[["apple", 0.997], ["plum", 0.003]], set=["apple"])  # fmt: skip
    same = "No small set of examples was found without which the answer would be another."
    page.tab.route("**/api/turning", lambda route: route.fulfill(json={"found": [], "exact": False, "sentence": same}))
    page.ask(fruit / TIPPED)
    assert "7 examples, and all agree" in page.text(".side-head")
    assert not page.tab.locator(".beam").is_visible()
    sizes = page.tab.locator(".tile").evaluate_all("(all) => all.map((one) => [one.offsetWidth, one.offsetHeight])")
    assert max(width for width, _ in sizes) - min(width for width, _ in sizes) <= 1
    assert "almost never wrong" in page.text(".verdict .lead")
    assert "ruled out" not in page.text(".verdict .lead"), "a set of one is not shown"
    keep(page.tab, "page-all-agree-light", whole=False)


def test_sets_of_several_and_of_none(standing: str, fruit: Path, watch: Watch) -> None:
    page = watch(standing)
    altered(page, set=[])
    page.ask(fruit / TIPPED)
    assert "No class fits as well as its own examples" in page.text(".verdict .lead")
    page.tab.unroute("**/api/classify")
    altered(page, likely=[["tomato", 0.5], ["apple", 0.48]], probability=0.5, set=["tomato", "apple"])
    page.ask(fruit / TIPPED)
    assert "Too close to call" in page.text(".verdict .lead")
    assert "Cannot be ruled out: tomato or apple." in page.text(".verdict .lead")


def test_looking_is_said_after_a_while(standing: str, fruit: Path, watch: Watch) -> None:
    page = watch(standing)
    held: list[Any] = []
    page.tab.route("**/api/classify", lambda route: held.append(route))
    page.tab.set_input_files("#files", fruit / TIPPED)
    page.tab.wait_for_selector(".looking")
    assert "Comparing with 84 examples" in page.text(".lead")
    keep(page.tab, "page-looking-light", whole=False)
    held[0].continue_()
    page.tab.wait_for_selector(".tile")


def test_what_is_no_picture_leaves_the_last_answer(standing: str, fruit: Path, watch: Watch, tmp_path: Path) -> None:
    page = watch(standing)
    page.ask(fruit / TIPPED)
    (tmp_path / "notes.pdf").write_bytes(b"%PDF-1.4 no picture")
    page.tab.set_input_files("#files", tmp_path / "notes.pdf")
    page.tab.wait_for_selector("#notice:visible")
    assert page.text("#notice span").strip()
    assert page.text("h1").startswith("tomato")
    keep(page.tab, "page-no-picture-light", whole=False)
    page.tab.locator("#notice").get_by_role("button", name="Close").click()
    assert not page.tab.locator("#notice").is_visible()
    quiet(page)


def test_without_the_server_it_says_so_and_comes_back(standing: str, fruit: Path, watch: Watch) -> None:
    page = watch(standing)
    page.ask(fruit / TIPPED)
    page.context.set_offline(True)
    page.tab.locator(".tile").first.click()
    page.tab.wait_for_selector("#notice:has-text('The server does not answer.')")
    assert page.text("h1").startswith("tomato")
    page.context.set_offline(False)
    page.tab.wait_for_selector("#notice", state="hidden")
    page.seen[:] = [what for what in page.seen if "ERR_INTERNET_DISCONNECTED" not in what]


def test_a_picture_the_server_let_go_is_sent_again(standing: str, fruit: Path, watch: Watch) -> None:
    page = watch(standing)
    page.ask(fruit / TIPPED)
    gone = {"error": "This picture is not here any more: send it again."}
    refusals = [gone]

    # The route stays after it has refused: where Playwright takes one away, it may lose the request that comes next.
    def refuse_once(route: Any) -> None:
        if refusals:
            route.fulfill(status=404, json=refusals.pop())
        else:
            route.continue_()

    page.tab.route("**/api/what-if", refuse_once)
    with page.tab.expect_request("**/api/pictures"):
        page.tab.locator(".tile.tips").click()
    page.tab.wait_for_selector(".was:visible")
    assert not page.text("h1").startswith("tomato")
    quiet(page)


def test_what_is_argued_stands_when_confidence_is_learned(standing: str, fruit: Path, watch: Watch) -> None:
    page = watch(standing)
    page.tab.goto(f"{standing}static/index.html")  # the page of separate modules, of which the test needs one
    page.tab.goto(f"{standing}static/index.html")  # of its sources, one of which is imported below
    page.tab.wait_for_selector(".empty")
    altered(page, confidence="learning", probability=None)
    page.ask(fruit / TIPPED)
    held: list[Any] = []
    page.tab.route("**/api/classify", lambda route: held.append(route))  # the newest route is asked first
    with page.tab.expect_request("**/api/classify"):
        page.tab.evaluate("import('/static/session.js').then(({ session }) => session.tell('confidence'))")
    page.tab.locator(".tile.tips").click()
    page.tab.wait_for_selector(".was:visible")
    argued = page.text("h1")
    with page.tab.expect_response("**/api/classify"):
        held[0].continue_()
    page.settled()
    assert page.text("h1") == argued
    assert page.tab.locator(".was").is_visible()
    page.tab.keyboard.press("Escape")
    page.tab.wait_for_selector(".was", state="hidden")
    assert page.text("h1").startswith("tomato")
    assert "%" in page.text("h1"), "taken back, it is the answer that knows how sure it is"


def test_somebody_else_changed_it(changing: str, fruit: Path, watch: Watch) -> None:
    page = watch(changing)
    page.ask(fruit / TIPPED)
    body = json.dumps({"examples": [1], "erase": False}).encode()
    headers = {"Content-Type": "application/json", "X-Kcrc-Person": "another"}
    urllib.request.urlopen(urllib.request.Request(f"{changing}api/remove", body, headers)).close()
    page.tab.wait_for_selector(".toast:has-text('Somebody else changed the examples.')")
    assert "83 examples" in page.text("#facts")
    conflict = {"error": "Example 8 is labelled plum by now. Nothing was changed; look at it again.", "conflict": {}}
    page.tab.route("**/api/relabel", lambda route: route.fulfill(status=409, json=conflict))
    page.tab.wait_for_selector(".strong-card")
    page.tab.keyboard.press("r")
    page.tab.wait_for_selector("#notice:has-text('Somebody else changed this meanwhile.')")
    assert "labelled plum by now" in page.text("#notice")
    page.tab.locator("#notice").get_by_role("button", name="Look again").click()
    page.tab.wait_for_selector("#notice", state="hidden")
    quiet(page)


def test_pictures_are_dropped_pasted_and_taken(standing: str, fruit: Path, watch: Watch) -> None:
    page = watch(standing)
    script = """(event) => fetch('/api/thumbnails/1').then((found) => found.blob()).then((blob) => {
      const data = new DataTransfer();
      data.items.add(new File([blob], 'one.jpg', { type: 'image/jpeg' }));
      const [kind, name] = event === 'drop' ? [DragEvent, 'dataTransfer'] : [ClipboardEvent, 'clipboardData'];
      dispatchEvent(new kind(event, { [name]: data, bubbles: true, cancelable: true }));
    })"""
    for way in ("drop", "paste"):
        page.tab.evaluate(script, way)
        page.tab.wait_for_selector(".tile")
        page.tab.reload()
        page.tab.wait_for_selector(".empty")
    page.tab.keyboard.press("c")
    page.tab.get_by_role("button", name="Take the picture").click()
    page.tab.wait_for_selector(".headline:not(.bone)")
    assert page.tab.locator(".asked img").evaluate("(one) => one.naturalWidth") > 0


@pytest.mark.parametrize("look", ["light", "dark"])
def test_axe_finds_nothing_serious(standing: str, fruit: Path, watch: Watch, look: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = watch(standing, look=look)
    found = {}
    axe = Axe()

    def serious() -> list[tuple[str, str]]:
        violations = axe.run(page.tab).response["violations"]
        return [(one["id"], one["nodes"][0]["html"]) for one in violations if one["impact"] in SERIOUS]

    page.ask(fruit / TIPPED)
    for view, selector in READY.items():
        page.go(view)
        page.tab.wait_for_selector(selector, timeout=20_000)
        page.settled()
        found[view] = serious()
    page.go("ask")
    page.tab.keyboard.press("/")
    page.tab.wait_for_selector("dialog")
    found["dialog"] = serious()
    assert found == {view: [] for view in found}


def test_it_fits_a_phone(standing: str, fruit: Path, watch: Watch) -> None:
    page = watch(standing, look="phone")
    page.ask(fruit / TIPPED)
    page.tab.set_viewport_size({"width": 360, "height": 740})
    widths = {}
    for view, selector in READY.items():
        page.go(view)
        page.tab.wait_for_selector(selector, timeout=20_000)
        widths[view] = page.tab.evaluate("() => document.documentElement.scrollWidth")
    assert widths == dict.fromkeys(READY, 360)


def test_without_motion_nothing_moves(standing: str, fruit: Path, watch: Watch) -> None:
    page = watch(standing, reduced_motion="reduce")
    page.ask(fruit / TIPPED)
    moving = page.tab.locator(".tile, .knob, .solid").evaluate_all(
        "(all) => all.map((one) => getComputedStyle(one).transitionDuration)"
    )
    assert set(moving) == {"0s"}
