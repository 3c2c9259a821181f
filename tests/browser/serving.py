"""A gallery of drawn fruit, served by a process of its own, and a tab that watches what the page does."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from browser.drawings import COLOURS, put
from kcrc.cli import main
from kcrc.gallery import Gallery

SRC = Path(__file__).parents[2] / "src"
EACH = 14
ASKED = {"apple": range(100, 106)}  # of the others three each
CONCENTRATED = {"n_neighbors": 15, "scaling": "unit", "kernel": "linear", "mu": 0.3, "decision": "residual"}
WRONG = {"apple-3": "tomato", "apple-6": "tomato", "tomato-12": "apple"}  # planted labels, by name of the file
STILL = """() => document.getAnimations().every((one) => one.playState !== 'running'
  || one.effect.getComputedTiming().endTime === Infinity)"""
SIZES = {"light": (1280, 800), "dark": (1280, 800), "phone": (390, 844)}


def gallery_of_fruit(where: Path) -> Path:
    """Six classes in fruit.kcrc, three labels wrong; further pictures of each in the folder asked."""
    for label in COLOURS:
        put(where / "fruit", label, range(EACH))
        put(where / "asked", label, ASKED.get(label, range(100, 103)))
    made = where / "fruit.kcrc"
    with contextlib.chdir(where):
        assert main(["build", "fruit", "-o", made.name, "-f", "hog", "--no-tune"]) == 0
    with Gallery.open(made) as gallery:
        gallery.set_parameters(CONCENTRATED)
        for row in gallery.contents.rows:
            if (label := WRONG.get(Path(row.source).stem)) is not None:
                gallery.relabel([row.id], label)
        gallery.classifier()  # what is asked first would wait for it
    return made


@contextlib.contextmanager
def served(gallery: Path, *more: str) -> Iterator[str]:
    """The address of a server of its own for the gallery."""
    command = [sys.executable, "-c", "import sys; from kcrc.cli import main; sys.exit(main(sys.argv[1:]))"]
    process = subprocess.Popen(
        [*command, "serve", str(gallery), *more, "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SRC), "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.search(r"http://\S+", said)
        assert found, f"kcrc serve said {said!r}"
        yield found[0]
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


class Watched:
    """A browser tab on the page: ``seen`` has what it complained of and what it asked of other hosts."""

    def __init__(self, chromium: Any, address: str, *, look: str = "light", **more: Any) -> None:
        width, height = SIZES[look]
        scheme = "dark" if look == "dark" else "light"
        touch = {"has_touch": True, "is_mobile": True} if look == "phone" else {}
        self.context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, accept_downloads=True, **touch, **more
        )
        self.seen: list[str] = []
        self.address = address
        self.tab = self.context.new_page()
        self.tab.set_default_timeout(30_000)
        self.tab.on("console", lambda message: self.seen.append(message.text))
        self.tab.on("pageerror", lambda error: self.seen.append(str(error)))
        self.tab.on("dialog", lambda dialog: self.seen.append(dialog.message))
        self.tab.on("request", self._note)
        self.waits = 0  # requests that are not answered yet
        for event in ("requestfinished", "requestfailed"):
            self.tab.on(event, lambda request: self._count(request, -1))
        self.tab.goto(address)
        self.tab.wait_for_selector("main > *")

    def _count(self, request: Any, step: int) -> None:
        self.waits += step * (not request.url.startswith(("data:", "blob:", f"{self.address}api/events")))

    def _note(self, request: Any) -> None:
        self._count(request, 1)
        if not request.url.startswith((self.address, "data:", f"blob:{self.address}")):
            self.seen.append(f"asked for {request.url}")

    def go(self, view: str) -> None:
        self.tab.locator(f"#nav a.{view}").click()
        self.tab.wait_for_selector(f"body.view-{view} main > *")

    def ask(self, picture: Path) -> None:
        """Choose a picture and wait until its answer is settled."""
        self.tab.set_input_files("#files", picture)
        self.tab.wait_for_selector(".seam .tile")
        self.settled()

    def settled(self) -> None:
        """Everything asked is answered, and every tile is in its place."""
        self.idle()
        self.tab.wait_for_function(STILL)

    def idle(self) -> None:
        """Nothing is asked of the server any more, and what it said is drawn."""
        quiet = 0
        for _ in range(400):
            self.tab.wait_for_timeout(15)
            quiet = 0 if self.waits else quiet + 1
            if quiet == 3:
                return
        raise AssertionError(f"{self.waits} requests are not answered")

    def text(self, selector: str) -> str:
        return str(self.tab.locator(selector).first.text_content())

    def close(self) -> None:
        self.context.close()


def copied(gallery: Path, where: Path) -> Path:
    """A copy that a test may change."""
    where.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(gallery, where / gallery.name))
