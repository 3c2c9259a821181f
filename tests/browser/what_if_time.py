"""How long a what-if takes in the browser, from the click to the new answer on the page, printed:

PYTHONPATH=src:tests python -m browser.what_if_time
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from browser.conftest import FLAGS
from browser.serving import Watched, gallery_of_fruit, served

TIMES = 25
CLICK = """() => new Promise((done) => {
  const start = performance.now();
  new MutationObserver((_, seen) => { seen.disconnect(); done(performance.now() - start); })
    .observe(document.querySelector('h1'), { childList: true });
  document.querySelector('.tile input').click();
})"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        gallery = gallery_of_fruit(Path(folder))
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
        with served(gallery) as address:
            page = Watched(browser, address)
            page.ask(Path(folder) / "asked" / "apple" / "apple-104.jpg")
            took = []
            for _ in range(TIMES):
                took.append(page.tab.evaluate(CLICK))
                page.settled()
                page.tab.keyboard.press("Escape")
                page.settled()
            page.close()
        browser.close()
    print(f"{TIMES} what-ifs: median {statistics.median(took):.0f} ms, longest {max(took):.0f} ms")


if __name__ == "__main__":
    main()
