"""kill −9 at random moments of everything that writes: what was acknowledged is there, what was removed is not.

``run_kills(count, seed)`` ends in an AssertionError at the first thing that is lost, and says otherwise what was done.
On demand: ``python tests/gallery/kills.py 500 --seed 3``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))

from older_galleries import version_1

from gallery.kill_child import ACTS, BACKUP, DIM, TEMPLATE, born, vector
from kcrc.gallery import Gallery, verify
from kcrc.gallery.stores.sqlite import schema

CHILD = Path(__file__).with_name("kill_child.py")
TEMPLATE_TAGS = range(10**9, 10**9 + 60)
JOURNAL = bytes.fromhex("d9d505f920a163d7")  # written when the pages in it are on the disk, before those of the gallery
State = dict[int, tuple[int, str]]  # id -> (tag, label)


@dataclass
class Kills:
    """Acts that were acknowledged, and kills that fell within an act, each by the act; ``half_written``: kills that
    left the gallery changed and a journal to take it back."""

    kills: int = 0
    half_written: int = 0
    acknowledged: Counter[str] = field(default_factory=Counter)
    within: Counter[str] = field(default_factory=Counter)


class Model:
    """What the gallery has to hold, known from the acknowledgements alone."""

    def __init__(self) -> None:
        self.state: State = {}
        self.parameters: dict[str, Any] = {}
        self.before: list[tuple[State, dict[str, Any]]] = []  # what each undo goes back to
        self.next_id = 1
        self.acts = 0

    def apply(self, act: dict[str, Any]) -> None:
        kind = act["trying"]
        self.acts += 1
        if kind == "undo":
            self.state, self.parameters = self.before.pop()
        elif kind == "compact":
            self.before.clear()
        elif kind == "erase":
            gone = set(act["ids"])
            self.state = {i: kept for i, kept in self.state.items() if i not in gone}
            self.before = [({i: k for i, k in state.items() if i not in gone}, fixed) for state, fixed in self.before]
        else:
            self.before.append((dict(self.state), self.parameters))
            self._change(kind, act)

    def _change(self, kind: str, act: dict[str, Any]) -> None:
        if kind == "add":
            for tag in act["tags"]:
                self.state[self.next_id] = (tag, act["label"])
                self.next_id += 1
        elif kind == "remove":
            for i in act["ids"]:
                del self.state[i]
        elif kind == "relabel":
            for i in act["ids"]:
                self.state[i] = (self.state[i][0], act["label"])
        elif kind == "rename":
            self.state = {i: (t, act["label"] if c == act["old"] else c) for i, (t, c) in self.state.items()}
        elif kind == "tune":
            self.parameters = act["parameters"]


class Starter(Protocol):
    """Whoever lets a worker work for ``delay`` seconds, and kills it."""

    def killed(self, delay: float, **given: Any) -> None: ...


class Forks:
    """Workers are forked from this process, which has to have no thread and no gallery open."""

    def killed(self, delay: float, **given: Any) -> None:
        reading, writing = os.pipe()
        worker = born(given, writing)
        os.close(writing)
        with os.fdopen(reading, "rb") as speech:
            said = speech.readline()
            time.sleep(delay)
            os.kill(worker, signal.SIGKILL)
        _check_killed(said, os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]))


class Nursery:
    """Workers are forked from a process that is started for it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "KCRC_GALLERY_CACHE": ""},
            text=True,
        )

    def killed(self, delay: float, **given: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(given) + "\n")
        self._process.stdin.flush()
        said = {**self._heard(), **self._heard()}  # in either order
        assert said.keys() == {"worker", "ready"}, said
        time.sleep(delay)
        os.kill(said["worker"], signal.SIGKILL)
        _check_killed(b"ready", self._heard()["status"])

    def _heard(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        return dict(json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        self._process.communicate()  # the end of its input is its end


def _check_killed(said: bytes, status: int) -> None:
    assert b"ready" in said, "the worker failed before its first act was done"
    assert status == -signal.SIGKILL, f"the worker failed, with status {status}"


def run_kills(count: int, seed: int, folder: Path | None = None) -> Kills:
    """Kill a writer ``count`` times, at moments and in acts that ``seed`` chooses, and check everything after each."""
    with contextlib.ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        nursery = stack.enter_context(contextlib.closing(Nursery()))
        return Run(folder, nursery, seed).kills(count)


class Run:
    """A gallery ``kill.kcrc`` in an empty folder, and all that is known of it."""

    def __init__(self, folder: Path, starter: Starter, seed: int) -> None:
        self.folder, self.path, self.log = folder, folder / "kill.kcrc", folder / "log"
        self.starter, self.seed, self.rng = starter, seed, random.Random(seed)
        Gallery.create(self.path, dim=DIM).close()
        version_1(folder / TEMPLATE, [("a", str(tag), vector(tag).tolist()) for tag in TEMPLATE_TAGS])
        self.model, self.done = Model(), Kills()
        self.tag = 0
        self.backup: State | None = None  # what the acknowledged copy holds

    def kills(self, count: int) -> Kills:
        """Kill a worker ``count`` times, each at work on another act."""
        for number in range(count):
            focus = ACTS[(self.seed + number) % len(ACTS)]
            self.starter.killed(
                self.rng.choice([self.rng.uniform(0, 0.02), self.rng.uniform(0, 0.5)]),
                path=str(self.path),
                log=str(self.log),
                seed=self.seed * 100_000 + number,
                tag=self.tag,
                focus=focus,
            )
            self.done.kills += 1
            with contextlib.suppress(FileNotFoundError):
                self.done.half_written += Path(f"{self.path}-journal").read_bytes()[:8] == JOURNAL
            self._check(number)
        return self.done

    def _check(self, number: int) -> None:
        beside: list[tuple[dict[str, Any], bool]] = []  # builds and migrations: what was tried, whether it was done
        pending: dict[str, Any] | None = None
        for line in self._noted():
            if "trying" in line:
                pending = line
                self.tag = max([self.tag, *(t + 1 for t in line.get("tags", []))])
                continue
            assert pending is not None
            assert line["done"] == pending["trying"]
            self.done.acknowledged[line["done"]] += 1
            if line["done"] == "backup":
                self.backup = dict(self.model.state)
            elif line["done"] in ("build", "migrate"):
                beside.append((pending, True))
            else:
                self.model.apply(pending)
            pending = None
        if pending is not None:
            self.done.within[pending["trying"]] += 1
            if pending["trying"] in ("build", "migrate"):
                beside.append((pending, False))
        self._check_gallery(number, pending)
        self._check_backup(number, pending)
        for tried, done in beside:
            check = self._check_built if tried["trying"] == "build" else self._check_migrated
            check(self.folder / tried["name"], tried, done)
        for left in (*self.folder.glob("*built-*"), *self.folder.glob("*old-*")):
            left.unlink()

    def _noted(self) -> Iterator[dict[str, Any]]:
        for line in self.log.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):
                yield json.loads(line)

    def _check_gallery(self, number: int, pending: dict[str, Any] | None) -> None:
        assert verify(self.path).problems == (), number
        with Gallery.open(self.path) as gallery:
            acts = gallery.settings.revision
            if pending is not None and acts == self.model.acts + 1:
                self.model.apply(pending)  # it reached the disk, and the kill came before the note
            assert acts == self.model.acts, (number, pending)
            assert seen(gallery) == self.model.state, (number, pending)
            assert gallery.parameters == self.model.parameters, (number, pending)

    def _check_backup(self, number: int, pending: dict[str, Any] | None) -> None:
        copy = self.folder / BACKUP
        if self.backup is None and not copy.exists():
            return
        assert verify(copy).problems == (), number
        with Gallery.open(copy, readonly=True) as gallery:
            found = seen(gallery)
        if pending is not None and pending["trying"] == "backup" and found == self.model.state:
            self.backup = found
        assert found == self.backup, (number, pending)

    def _check_built(self, path: Path, tried: dict[str, Any], done: bool) -> None:
        assert path.exists() or not done  # whole, or not there
        if path.exists():
            assert verify(path).problems == ()
            with Gallery.open(path, readonly=True) as gallery:
                assert [tag for tag, _ in seen(gallery).values()] == tried["tags"]

    def _check_migrated(self, path: Path, _: dict[str, Any], done: bool) -> None:
        copies = list(self.folder.glob(f"{path.name}.v1*"))
        version = _raw(path, "PRAGMA user_version")  # which rolls back what was interrupted
        assert version == schema.VERSION if done else version in (1, schema.VERSION)
        assert copies or version == 1  # never changed without a copy
        for copy in copies:
            assert _raw(copy, "PRAGMA integrity_check") == "ok"
            assert _raw(copy, "PRAGMA user_version") == 1
            assert _raw(copy, "SELECT count(*) FROM examples JOIN vectors USING (id)") == len(TEMPLATE_TAGS)
        assert verify(path).problems == ()
        with Gallery.open(path) as gallery:
            assert [tag for tag, _ in seen(gallery).values()] == list(TEMPLATE_TAGS)


def _raw(path: Path, question: str) -> Any:
    with contextlib.closing(sqlite3.connect(path)) as db:
        return db.execute(question).fetchone()[0]


def seen(gallery: Gallery) -> State:
    """What is in a gallery, each vector compared with the one its tag stands for."""
    ids, vectors, labels = gallery.vectors()
    sources = {row.id: int(row.source) for row in gallery.contents.rows}
    for i, found in zip(ids.tolist(), vectors, strict=True):
        np.testing.assert_array_equal(found, vector(sources[i]))
    return {i: (sources[i], label) for i, label in zip(ids.tolist(), labels.tolist(), strict=True)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(run_kills(given.count, given.seed))
