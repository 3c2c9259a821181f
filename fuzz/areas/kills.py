"""kill −9 at a random moment of a random act: what was acknowledged is there, the rest is not there by halves."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

from fuzz.area import Area, Wrong, register
from fuzz.borrowed import from_tests
from fuzz.place import Place
from kcrc.gallery import Gallery, verify


@register("kills", about="kill -9 while galleries are changed", share=500)
class Kills(Area):
    starts_processes = True

    def prepare(self) -> None:
        Gallery.create(self.samples / "empty.kcrc", dim=64).close()

    def load(self) -> None:
        self.empty = (self.samples / "empty.kcrc").read_bytes()
        self.child = from_tests("gallery/kill_child.py")
        self.model = from_tests("gallery/test_kill.py")

    def plant(self, place: Place, rng: random.Random) -> dict[str, Any]:
        place.name("kill.kcrc").write_bytes(self.empty)
        place.name("built-*")
        return {"rounds": rng.choice([1, 1, 2, 3]), "rng": rng}

    def use(self, place: Place, planted: dict[str, Any]) -> None:
        """Kill the writer, look, and go on from there with another."""
        rng, path, model, tag = planted["rng"], place.folder / "kill.kcrc", self.model.Model(), 0
        for _ in range(planted["rounds"]):
            said = self._killed(path, rng.getrandbits(30), tag, rng.choice([0.001, 0.01, 0.05, 0.15]) * rng.random())
            tag = max([tag, *(t + 1 for line in said for t in line.get("tags", []))])
            self._compare(path, model, said)

    def _killed(self, path: Path, seed: int, tag: int, delay: float) -> list[dict[str, Any]]:
        """What a writer said before it was killed, ``delay`` seconds after it had opened the gallery."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(writing, 1)
            try:
                self.child.main(path, seed, tag)
            finally:
                os._exit(9)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            first = pipe.readline()
            time.sleep(delay)
            os.kill(child, signal.SIGKILL)
            lines = pipe.read().split(b"\n")[:-1]
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status) or json.loads(first) != {"ready": True}:
            raise Wrong(f"the writer ended by itself, with status {status}, after {first!r}")
        return [json.loads(line) for line in lines]

    def _compare(self, path: Path, model: Any, said: list[dict[str, Any]]) -> None:
        pending: dict[str, Any] | None = None
        built: dict[str, list[int]] = {}
        for line in said:
            if "trying" in line:
                pending = line
            elif pending is not None and pending["trying"] == "build":
                built[pending["name"]], pending = pending["tags"], None
            elif pending is not None:
                model.apply(pending)
                pending = None
        problems = verify(path).problems
        with Gallery.open(path) as gallery:
            if pending is not None and pending["trying"] != "build" and gallery.settings.revision == model.acts + 1:
                model.apply(pending)  # it reached the disk before its acknowledgement reached us
            if problems or gallery.settings.revision != model.acts or self._seen(gallery) != model.state:
                raise Wrong(f"after a kill during {pending}: {problems or 'other examples than were acknowledged'}")
        for there in path.parent.glob("built-*.kcrc"):  # also the one that was being built: whole, or not there
            if not verify(there).sound or (there.name in built and not self._holds(there, built[there.name])):
                raise Wrong(f"{there.name} is there and is not whole")
            built.pop(there.name, None)
            there.unlink()
        if built:
            raise Wrong(f"{sorted(built)} were acknowledged and are not there")

    def _seen(self, gallery: Gallery) -> Any:
        return self.model.seen(gallery, self.child.vector)

    def _holds(self, path: Path, tags: list[int]) -> bool:
        with Gallery.open(path) as gallery:
            return [tag for tag, _ in self._seen(gallery).values()] == tags
