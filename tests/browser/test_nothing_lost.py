"""Each act ends in done, undone or a reason: with keys, with the server away, with files that are no pictures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from browser.serving import Watched
from browser.test_one_story import READ, contradictions

pytestmark = pytest.mark.browser
Watch = Callable[..., Watched]
TIPPED = Path("asked") / "apple" / "apple-104.jpg"


def away(page: Watched) -> None:
    page.context.set_offline(True)


def back(page: Watched) -> None:
    page.context.set_offline(False)
    page.tab.wait_for_selector("#notice", state="hidden")
    page.seen[:] = [what for what in page.seen if "ERR_INTERNET_DISCONNECTED" not in what]


def test_enter_stores_while_a_tile_has_the_focus_and_then_no_key_stores(
    changing: str, fruit: Path, watch: Watch
) -> None:
    page = watch(changing)
    page.ask(fruit / TIPPED)
    page.idle()
    page.tab.locator(".tile input").first.focus()
    page.tab.keyboard.press("Enter")
    page.tab.wait_for_selector(".done:has-text('Added 1 example as tomato')")
    page.idle()
    before = page.text("#bar")
    for key in ("Enter", "2", "n", "/"):
        page.tab.keyboard.press(key)
    page.idle()
    assert page.text("#bar") == before
    assert page.tab.locator("dialog").count() == 0
    assert contradictions(page.tab.evaluate(READ)) == []
    page.tab.keyboard.press("z")
    page.tab.wait_for_selector("#bar .option")
    page.idle()
    assert contradictions(page.tab.evaluate(READ)) == []


def test_after_storing_the_answer_can_be_argued_with(changing: str, fruit: Path, watch: Watch) -> None:
    page = watch(changing)
    page.ask(fruit / TIPPED)
    page.idle()
    page.tab.keyboard.press("Enter")
    page.tab.wait_for_selector(".done")
    page.idle()
    page.tab.locator(".tile input").first.evaluate("(one) => one.click()")
    page.tab.wait_for_selector(".was")
    page.idle()
    assert contradictions(page.tab.evaluate(READ)) == []


def test_what_is_set_aside_stays_while_another_view_is_looked_at(standing: str, fruit: Path, watch: Watch) -> None:
    page = watch(standing)
    page.ask(fruit / TIPPED)
    page.idle()
    page.tab.keyboard.press("w")
    page.tab.wait_for_selector(".was")
    argued = page.text("h1")
    page.go("history")
    page.tab.wait_for_selector(".entries")
    page.go("ask")
    page.tab.wait_for_selector(".was")
    assert page.text("h1") == argued


@pytest.mark.parametrize(
    ("view", "ready"),
    [("teach", "main h1"), ("browse", ".class-row .bar"), ("audit", ".between"), ("enough", ".curve"),
     ("history", ".entries li")],
)  # fmt: skip
def test_a_view_opened_without_the_server_says_so_and_loads_once_it_is_back(
    standing: str, watch: Watch, view: str, ready: str
) -> None:
    page = watch(standing)
    away(page)
    page.go(view)
    page.tab.wait_for_selector("#notice:has-text('The server does not answer.')")
    assert page.text("main").strip()
    assert "/api" not in page.text("main")
    assert page.tab.locator("#notice").is_visible()
    back(page)
    page.tab.wait_for_selector(ready, timeout=20_000)


def test_storing_without_the_server_says_that_nothing_was_stored(standing: str, fruit: Path, watch: Watch) -> None:
    page = watch(standing)
    page.ask(fruit / TIPPED)
    away(page)
    page.go("history")
    page.tab.wait_for_selector("#notice:has-text('The server does not answer.')")
    page.go("ask")
    page.tab.locator("#notice").get_by_role("button", name="Close").click()
    page.tab.keyboard.press("Enter")
    page.tab.wait_for_selector("#notice:has-text('Nothing was stored.')")
    assert page.tab.locator(".done").count() == 0
    back(page)


def test_files_that_are_no_pictures_get_a_reason(standing: str, watch: Watch, tmp_path: Path) -> None:
    page = watch(standing)
    (tmp_path / "empty.jpg").touch()
    page.tab.set_input_files("#files", tmp_path / "empty.jpg")
    page.tab.wait_for_selector("#notice:has-text('empty.jpg is empty.')")
    page.tab.evaluate("""() => {
      const data = new DataTransfer();
      data.items.add(new File([new Uint8Array(33_000_000)], 'large.tif', { type: 'image/tiff' }));
      dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
    }""")
    page.tab.wait_for_selector("#notice:has-text('large.tif has 33 MB; a picture may have 32 MB.')")
    for name in ("notes.txt", "list.txt"):
        (tmp_path / name).write_text("no picture")
    page.tab.set_input_files("#files", [tmp_path / "notes.txt", tmp_path / "list.txt"])
    page.tab.wait_for_selector("#notice:has-text('2 pictures were not taken.')")
    assert page.text("#notice").count("notes.txt") == 1, "a name is said once"
    page.seen[:] = [what for what in page.seen if "Failed to load resource" not in what]


def test_a_doubted_example_is_marked_and_a_key_opens_it(standing: str, fruit: Path, watch: Watch) -> None:
    page = watch(standing)

    def doubts(route: object) -> None:
        found = route.fetch()  # type: ignore[attr-defined]
        given = found.json()
        for one in given.get("suspects", []):
            one["finding"] = "mislabelled" if one["id"] == 8 else "doubtful"
        route.fulfill(response=found, json=given)  # type: ignore[attr-defined]

    page.tab.route("**/api/audit", doubts)
    page.ask(fruit / TIPPED)
    page.tab.wait_for_selector(".tile.doubted", timeout=20_000)
    assert page.tab.locator(".tile.doubted").count() == 1
    assert "Its label is in doubt" in str(page.tab.locator(".tile.doubted input").get_attribute("aria-label"))
    page.tab.keyboard.press("d")
    page.tab.wait_for_selector(".doubted figcaption:has-text('Example 8')")
