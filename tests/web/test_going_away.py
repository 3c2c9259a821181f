"""Whoever goes away before the answer takes nothing from the others."""

from __future__ import annotations

import threading

import numpy as np

from kcrc.web.background import WorkThread
from kcrc.web.current import Batcher

SOON = 10.0


def test_a_question_that_was_taken_back_is_passed_over():
    busy, go = threading.Event(), threading.Event()
    asked: list[float] = []

    def answer(vectors, explain):
        busy.set()
        go.wait(SOON)
        asked.extend(vectors[:, 0])
        return "now", vectors

    batcher = Batcher(answer)
    first = batcher.ask(np.zeros((1, 1)), explain=False)
    assert busy.wait(SOON)
    gone = batcher.ask(np.ones((1, 1)), explain=False)
    assert gone.cancel()
    go.set()
    assert first.result(SOON)[0] == "now"
    assert batcher.ask(np.full((1, 1), 2.0), explain=False).result(SOON)[0] == "now"
    batcher.close()
    assert asked == [0.0, 2.0]


def test_a_change_that_was_taken_back_is_not_made():
    busy, go = threading.Event(), threading.Event()
    made: list[int] = []

    def slow():
        busy.set()
        go.wait(SOON)
        made.append(0)

    writer = WorkThread("test")
    first = writer.submit(slow)
    assert busy.wait(SOON)
    assert writer.submit(lambda: made.append(1)).cancel()
    go.set()
    first.result(SOON)
    writer.submit(lambda: made.append(2)).result(SOON)
    writer.close()
    assert made == [0, 2]


def test_what_nobody_waits_for_any_more_ends_no_thread():
    behind, busy, go = WorkThread("test"), threading.Event(), threading.Event()

    def work() -> int:
        busy.set()
        go.wait(SOON)
        return 1

    first, second = behind.submit(work), behind.submit(lambda: 2)
    assert busy.wait(SOON)
    assert second.cancel()
    assert not first.cancel()  # it has begun
    go.set()
    assert first.result(SOON) == 1
    assert behind.submit(lambda: 3).result(SOON) == 3
    behind.drop()
