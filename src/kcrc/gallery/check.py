"""``verify``: is every byte of a gallery that matters what was written? Read it all and compare.

Opening a gallery audits its schema and settings, and reading examples compares each with its checksum; this
goes through everything, also what is seldom read: SQLite's own structure, thumbnails, history, the fitted
feature.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kcrc.errors import FileError, KCRCError, WriteNeeded
from kcrc.gallery import examples, history, payloads, sealed, settings, tuned
from kcrc.gallery.gallery import Gallery
from kcrc.gallery.settings import Settings

_AT_ONCE = 500


@dataclass(frozen=True)
class Verdict:
    """What ``verify`` found: nothing wrong, or the problems, one sentence each."""

    examples: int
    removed: int
    acts: int
    problems: tuple[str, ...]

    @property
    def sound(self) -> bool:
        return not self.problems


def verify(gallery: Gallery | str | os.PathLike[str]) -> Verdict:
    """Read and compare everything in a gallery; a file too damaged to open is a verdict too."""
    if not isinstance(gallery, Gallery):
        try:
            with Gallery.open(gallery, readonly=True, recover=True) as opened:
                return verify(opened)
        except WriteNeeded:  # it may well be sound
            raise
        except FileError as problem:
            return Verdict(0, 0, 0, (str(problem),))
    try:
        return gallery.read(look)
    except FileError as problem:
        return Verdict(0, 0, 0, (str(problem),))


def look(db: sqlite3.Connection) -> Verdict:
    """The verdict on the file of a connection (inside the caller's transaction)."""
    problems = [f"SQLite: {text}" for (text,) in db.execute("PRAGMA integrity_check(20)") if text != "ok"]
    if problems:  # what is torn at this level is not read further
        return Verdict(0, 0, 0, tuple(problems))
    (pages,) = db.execute("PRAGMA page_count").fetchone()
    (page,) = db.execute("PRAGMA page_size").fetchone()
    size = int(pages) * int(page)
    had = settings.read(db, file_bytes=size)
    contents = examples.read_contents(db, had.revision, file_bytes=size)
    rows = sealed.select_all(db, "examples", file_bytes=size)
    acts = sealed.select_all(db, "history", file_bytes=size)
    changes = sealed.select_all(db, "changes", file_bytes=size)
    for check in (
        _counters(had, rows, acts, changes),
        _payloads(db, had, rows),
        _rest(db, size),
    ):
        problems.extend(check)
    return Verdict(len(contents), len(rows) - len(contents), len(acts), tuple(problems))


def _counters(
    had: Settings, rows: list[sealed.Row], acts: list[sealed.Row], changes: list[sealed.Row]
) -> Iterable[str]:
    if rows and rows[-1][0] >= had.next_id:
        yield f"Example {rows[-1][0]} is beyond the counter {had.next_id}."
    if len(acts) != had.revision or any(act[0] != number for number, act in enumerate(acts, start=1)):
        yield f"The history has {len(acts)} acts, the counter says {had.revision}."
    ids = {row[0] for row in rows}
    lost = [change[1] for change in changes if change[1] not in ids]
    if lost:
        yield f"The history speaks of example {lost[0]}, which is not there."
    beyond = [row[0] for row in rows if not 0 < row[5] <= had.revision or not 0 < (row[6] or 1) <= had.revision]
    if beyond:
        yield f"Example {beyond[0]} was added or removed by an act that is not in the history."


def _payloads(db: sqlite3.Connection, had: Settings, rows: list[sealed.Row]) -> Iterable[str]:
    crcs = {row[0]: row[7] for row in rows}
    for start in range(0, len(rows), _AT_ONCE):
        some = np.array([row[0] for row in rows[start : start + _AT_ONCE]], np.int64)
        out = np.empty((len(some), had.dim), np.dtype(had.dtype).newbyteorder("<"))
        try:
            payloads.read_vectors(db, some, crcs, out)
        except FileError as problem:
            yield str(problem)
        else:
            if not np.isfinite(out).all():
                yield f"A vector of the examples {some[0]} to {some[-1]} holds NaN or infinity."
    for row in rows:
        try:
            payloads.read_thumbnail(db, row)
        except FileError as problem:
            yield str(problem)
    for table, expected in (("vectors", set(crcs)), ("thumbnails", {r[0] for r in rows if r[8] is not None})):
        stray = next(payloads.stray_ids(db, table, expected), None)
        if stray is not None:
            yield f"The table '{table}' has a row {stray} that belongs to no example."


def _rest(db: sqlite3.Connection, size: int) -> Iterable[str]:
    try:
        had = settings.read(db, file_bytes=size)
        settings.read_state(db, file_bytes=size)
        sealed.select_all(db, "tuned", file_bytes=size)
        if had.tuned:
            tuned.read_facts(db, had.tuned)
            tuned.read_state(db, had.tuned, file_bytes=size)
        history.entries(db)
    except KCRCError as problem:
        yield str(problem)
