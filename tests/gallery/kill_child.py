"""Do everything that writes to a gallery without end, noting before each act what is tried and after it what was done.

The process that is started here stays; for each line on stdin (a JSON object with the arguments of ``Worker``) it forks
a worker, says ``{"worker": PID}``, and ``{"status": CODE}`` when that has ended. The worker says ``{"ready": true}``
after its first act, and is then to be killed. A fork is quick, where a new process imports for a second.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from kcrc import KCRCClassifier
from kcrc.gallery import Gallery, building
from kcrc.gallery.undoing import UNDOABLE
from kcrc.images.decoding.decoder import as_jpeg

ACTS = ("add", "remove", "relabel", "rename", "tune", "undo", "compact", "erase", "build", "backup", "migrate")
DIM = 64
TEMPLATE = "template.v1"  # a gallery of version 1; each migration is of a copy of it
BACKUP = "backup.kcrc"
PICTURE = as_jpeg(np.random.default_rng(0).integers(0, 256, (48, 48, 3), np.uint8))  # about 3 kB
_MOST = 150  # examples; more are taken out again
_FIXED = {
    "scaling": "plain",
    "kernel": "rbf",
    "gamma": "scale",
    "mu": 0.01,
    "form": "rkhs",
    "decision": "ratio",
    "locality": "atoms",
}


def vector(tag: int) -> np.ndarray:
    """The vector of the example with this tag: anyone who knows the tag can check it."""
    return np.random.default_rng(tag).standard_normal(DIM).astype(np.float32)


class Worker:
    """``note`` says before each act what is tried; whoever reads it knows what the gallery must hold."""

    def __init__(self, path: str, log: str, seed: int, tag: int, focus: str) -> None:
        self.path, self.tag, self.focus = Path(path), tag, focus
        self.rng = random.Random(seed)
        self.log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        self.gallery = Gallery.open(self.path)
        if seed % 2:  # so little memory that pages are written in the midst of an act, and a kill leaves half of it
            self.gallery.read(lambda reading: reading.driver.db.execute("PRAGMA cache_size = 4").fetchall())

    def note(self, **what: Any) -> None:
        os.write(self.log, json.dumps(what).encode() + b"\n")  # in the system's hands, and not lost by a kill

    def work(self) -> None:
        first = True
        while True:
            act = self.focus if self.rng.random() < 0.6 else self.rng.choice(ACTS)
            if len(self.gallery) > _MOST:
                act = self.rng.choice(["remove", "erase"])
            if getattr(self, act)():
                self.note(done=act)
                if first:
                    say(ready=True)
                first = False

    def some(self, ids: tuple[int, ...] | list[int], most: int = 4) -> list[int]:
        most = max(most, len(ids) - _MOST // 2)
        return self.rng.sample(list(ids), min(len(ids), self.rng.randint(1, most)))

    def tags(self, most: int) -> list[int]:
        new = list(range(self.tag, self.tag + self.rng.randint(1, most)))
        self.tag = new[-1] + 1
        return new

    def add(self) -> bool:
        tags, label = self.tags(self.rng.choice([6, 30])), self.rng.choice("abcde")
        self.note(trying="add", tags=tags, label=label)
        vectors, names = np.array([vector(t) for t in tags]), [str(t) for t in tags]
        self.gallery.add(label, vectors, sources=names, thumbnails=[PICTURE] * len(tags))
        return True

    def remove(self) -> bool:
        some = self.some(self.gallery.contents.ids.tolist()) if len(self.gallery) else []
        if some:
            self.note(trying="remove", ids=some)
            self.gallery.remove(some)
        return bool(some)

    def erase(self) -> bool:
        there = self.gallery.find(removed=True)
        if there:
            some = self.some(there)
            self.note(trying="erase", ids=some)
            self.gallery.erase(some)
        return bool(there)

    def relabel(self) -> bool:
        some = self.some(self.gallery.contents.ids.tolist()) if len(self.gallery) else []
        if some:
            label = f"new-{self.tag}-{self.rng.random()}"
            self.note(trying="relabel", ids=some, label=label)
            self.gallery.relabel(some, label)
        return bool(some)

    def rename(self) -> bool:
        if not len(self.gallery):
            return False
        old, label = self.rng.choice(self.gallery.classes), f"named-{self.tag}-{self.rng.random()}"
        self.note(trying="rename", old=old, label=label)
        self.gallery.rename_class(old, label)
        return True

    def tune(self) -> bool:
        if len(self.gallery) < 4 or len(self.gallery.classes) < 2:
            return False
        parameters = {**_FIXED, "n_neighbors": self.rng.randint(2, 9)}
        self.note(trying="tune", parameters=parameters)
        self.gallery.tune(parameters=parameters)
        return True

    def undo(self) -> bool:
        for entry in self.gallery.history():
            if entry.action == "compact":
                return False
            if entry.undone_by is None and entry.action in UNDOABLE:
                self.note(trying="undo")
                self.gallery.undo(past_erase=True)
                return True
        return False

    def compact(self) -> bool:
        if self.rng.random() < 0.7:
            return False
        self.note(trying="compact")
        self.gallery.compact()
        return True

    def build(self) -> bool:
        name, tags = f"built-{self.rng.randrange(10**9)}.kcrc", self.tags(40)
        self.note(trying="build", name=name, tags=tags)
        with building(self.path.with_name(name), dim=DIM) as made:
            for start in range(0, len(tags), 10):
                some = tags[start : start + 10]
                made.add("a", np.array([vector(t) for t in some]), sources=[str(t) for t in some])
        return True

    def backup(self) -> bool:
        self.note(trying="backup")
        self.gallery.backup(self.path.with_name(BACKUP), overwrite=True)
        return True

    def migrate(self) -> bool:
        old = self.path.with_name(f"old-{self.rng.randrange(10**9)}.kcrc")
        shutil.copy(self.path.with_name(TEMPLATE), old)
        self.note(trying="migrate", name=old.name)
        Gallery.open(old).close()
        return True


def say(**what: Any) -> None:
    os.write(1, json.dumps(what).encode() + b"\n")


def born(given: dict[str, Any], speech: int) -> int:
    """Fork a worker that says on the descriptor ``speech`` when it is ready; its process id."""
    worker = os.fork()
    if worker == 0:
        try:
            os.dup2(speech, 1)
            Worker(**given).work()
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    return worker


def main() -> None:
    KCRCClassifier(**_FIXED, n_neighbors=2).fit(np.eye(8), list("aabbccdd"))  # imports what tuning needs
    for line in sys.stdin:
        worker = born(json.loads(line), 1)
        say(worker=worker)
        say(status=os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]))


if __name__ == "__main__":
    main()
