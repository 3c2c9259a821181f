"""Scenes with a forked child, each in a process of its own: ``python fork_child.py SCENE GALLERY``."""

from __future__ import annotations

import gc
import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kcrc.errors import StateError
from kcrc.gallery import Gallery, building
from kcrc.gallery.stores.records import RecordTransaction


def in_child(work: Callable[[], None]) -> None:
    """Run ``work`` in a forked child that ends as programs end, with everything deleted; an error if it failed."""
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a lock that nobody will open
        work()
        sys.exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def refused(use: Callable[[], object]) -> None:
    with pytest.raises(StateError, match=r"forked.*Open it again"):
        use()


def every_use(path: Path) -> None:
    gallery = Gallery.open(path)
    gallery.vectors()

    def child() -> None:
        uses: list[Callable[[], object]] = [
            lambda: len(gallery),
            lambda: gallery.settings,
            lambda: gallery.add("owl", np.ones(4)),
            lambda: gallery.remove([1]),
            lambda: gallery.erase([1]),
            lambda: gallery.undo(),
            lambda: gallery.compact(),
            lambda: gallery.history(),
            lambda: gallery.vectors(),
            lambda: gallery.tune(),
            lambda: gallery.backup(path.with_name("copy.kcrc")),
            lambda: gallery.export(path.with_name("export.npz")),
        ]
        for use in uses:
            refused(use)
        gallery.close()
        gallery.close()
        gc.collect()

    in_child(child)
    gallery.add("owl", np.ones(4))
    assert gallery.counts["owl"] == 1
    assert gallery.verify().problems == ()


def in_the_middle(path: Path) -> None:
    """The parent has written half of an act to the file when it forks."""
    gallery = Gallery.open(path)
    journal = Path(f"{path}-journal")

    def change(writing: RecordTransaction) -> None:
        db: sqlite3.Connection | None = writing.driver.db  # type: ignore[attr-defined]
        db.execute("PRAGMA cache_size = 1")
        db.execute("PRAGMA cache_spill = ON")
        db.execute("CREATE TABLE much (x)")
        db.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
                   "INSERT INTO much SELECT hex(randomblob(500)) FROM n")  # fmt: skip
        db.execute("UPDATE history SET action = action")
        before = path.read_bytes(), journal.read_bytes()

        def child() -> None:
            nonlocal db
            refused(lambda: len(gallery))
            gallery.close()
            del db
            gc.collect()

        in_child(child)
        assert (path.read_bytes(), journal.read_bytes()) == before
        db.execute("DROP TABLE much")

    gallery.store.write(change)
    gallery.add("owl", np.ones(4))
    assert gallery.verify().problems == ()


def in_a_build(path: Path) -> None:
    goal = path.with_name("new.kcrc")
    with building(goal, dim=4) as made:
        made.add("owl", np.eye(4)[:2])
        child = os.fork()
        if child == 0:
            sys.exit(7)  # through the block, and out
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        made.add("owl", np.eye(4)[2:])
    with Gallery.open(goal) as gallery:
        assert len(gallery) == 4
        assert gallery.verify().problems == ()


def opened_again(path: Path) -> None:
    gallery = Gallery.open(path)

    def child() -> None:
        with Gallery.open(path) as own:
            own.add("owl", np.ones(4))

    in_child(child)
    assert gallery.counts["owl"] == 1


def opened_again_in_the_middle(path: Path) -> None:
    """SQLite would take the parent's lock for the child's, and read while others write."""
    gallery = Gallery.open(path)

    def child() -> None:
        for readonly in (False, True):
            with pytest.raises(StateError, match="in use by the process"):
                Gallery.open(path, readonly=readonly)

    gallery.read(lambda reading: (reading.settings(), in_child(child)))
    opened_again(path)


def while_a_thread_has_it(path: Path) -> None:
    gallery = Gallery.open(path)
    inside, done = threading.Event(), threading.Event()

    def read() -> None:
        gallery.read(lambda _: (inside.set(), done.wait(60)))

    thread = threading.Thread(target=read)
    thread.start()
    inside.wait(60)

    def child() -> None:
        refused(lambda: len(gallery))
        gallery.close()

    in_child(child)
    done.set()
    thread.join()
    assert len(gallery) == 6


if __name__ == "__main__":
    globals()[sys.argv[1]](Path(sys.argv[2]))
