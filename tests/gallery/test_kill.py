"""kill −9 at random moments: what was acknowledged is there, what was acknowledged as removed is not."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kcrc.gallery import Gallery, verify

CHILD = Path(__file__).with_name("kill_child.py")
State = dict[int, tuple[int, str]]  # id -> (tag, label)


def vector_of() -> Any:
    spec = importlib.util.spec_from_file_location("kill_child", CHILD)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.vector


class Model:
    """What the gallery has to hold, kept by hearing the acknowledgements alone."""

    def __init__(self) -> None:
        self.state: State = {}
        self.before: list[State] = []  # what each undo goes back to
        self.next_id = 1
        self.acts = 0

    def apply(self, act: dict[str, Any]) -> None:
        kind = act["trying"]
        self.acts += 1
        old = dict(self.state)
        if kind == "undo":
            self.state = self.before.pop()
            return
        if kind == "compact":
            self.before.clear()
            return
        self.before.append(old)
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


def seen(gallery: Gallery, vector: Any) -> State:
    ids, vectors, labels = gallery.vectors()
    found: State = {}
    for i, v, label in zip(ids.tolist(), vectors, labels.tolist(), strict=True):
        tag = int(gallery.example(i).source)
        np.testing.assert_array_equal(v, vector(tag))
        found[i] = (tag, label)
    return found


def killed_round(path: Path, seed: int, tag: int, delay: float) -> list[dict[str, Any]]:
    """What the child said until it was killed, ``delay`` seconds after it began to work."""
    child = subprocess.Popen(
        [sys.executable, str(CHILD), str(path), str(seed), str(tag)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert child.stdout is not None
    first = child.stdout.readline()
    heard: list[bytes] = []
    listener = threading.Thread(target=lambda: heard.extend(child.stdout))  # type: ignore[arg-type]
    listener.start()
    time.sleep(delay)
    alive = child.poll() is None
    child.kill()
    listener.join()
    errors = child.stderr.read() if child.stderr is not None else b""
    child.communicate()
    assert alive, errors.decode()
    assert json.loads(first) == {"ready": True}
    whole = [line for line in heard if line.endswith(b"\n")]
    return [json.loads(line) for line in whole]


def kill_often(folder: Path, rounds: int, seed: int) -> int:
    """Acts acknowledged over all rounds; every round ends in a kill and a full check."""
    rng = random.Random(seed)
    vector = vector_of()
    path = folder / "kill.kcrc"
    Gallery.create(path, dim=64).close()
    model = Model()
    tag = acknowledged = 0
    for number in range(rounds):
        said = killed_round(path, seed * 1000 + number, tag, rng.uniform(0.0, 0.3))
        pending: dict[str, Any] | None = None
        built: dict[str, list[int]] = {}
        for line in said:
            if "trying" in line:
                pending = line
                tag = max([tag, *(t + 1 for t in line.get("tags", []))])
                continue
            assert pending is not None
            assert line["done"] == pending["trying"]
            acknowledged += 1
            if pending["trying"] == "build":
                built[pending["name"]] = pending["tags"]
            else:
                model.apply(pending)
            pending = None

        verdict = verify(path)
        assert verdict.problems == (), (number, verdict.problems)
        with Gallery.open(path) as gallery:
            acts = gallery.settings.revision
            if pending is not None and pending["trying"] != "build" and acts == model.acts + 1:
                model.apply(pending)  # it reached the disk before its acknowledgement reached us
            assert acts == model.acts
            assert seen(gallery, vector) == model.state

        for name, tags in built.items():
            assert verify(folder / name).problems == ()
            with Gallery.open(folder / name) as gallery:
                assert [t for t, _ in seen(gallery, vector).values()] == tags
        for there in folder.glob("built-*.kcrc"):  # also the one that was being built: whole, or not there
            assert verify(there).problems == ()
            there.unlink()
    return acknowledged


def test_a_few_kills_lose_nothing(tmp_path: Path) -> None:
    assert kill_often(tmp_path, rounds=8, seed=1) > 20


@pytest.mark.slow
def test_two_hundred_kills_lose_nothing(tmp_path: Path) -> None:
    acknowledged = kill_often(tmp_path, rounds=200, seed=2)
    print(f"200 kills, {acknowledged} acts acknowledged, none lost")
    assert acknowledged > 200
