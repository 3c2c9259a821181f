"""A connection belongs to the process that opened it: what a forked child inherits, it neither uses nor closes.

SQLite's locks are the process's own, so a child that went on through its parent's connection would write without any;
and closing the connection there, or its deletion when the child ends, would roll back what the parent is in the middle
of and delete its journal.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
import weakref
from typing import Any

from kcrc.errors import StateError

_open: weakref.WeakSet[Connection] = weakref.WeakSet()
_inherited_busy: set[tuple[int, int]] = set()


class Connection(sqlite3.Connection):
    """``path`` and ``inode`` are the file's; ``alone`` is set while it keeps its lock between transactions."""

    def __init__(self, *given: Any, **options: Any) -> None:
        self.process = os.getpid()
        self.path: object = ""
        self.inode = (-1, -1)
        self.alone = False
        super().__init__(*given, **options)
        _open.add(self)

    @property
    def inherited(self) -> bool:
        """Whether another process opened it, and this one is a fork of that."""
        return os.getpid() != self.process

    def check_process(self) -> None:
        """An error in a process that has only inherited it."""
        if self.inherited:
            raise StateError(
                f"The gallery '{self.path}' was opened by the process that this one was forked from. Open it again "
                "here with Gallery.open."
            )

    def execute(self, *given: Any) -> sqlite3.Cursor:
        self.check_process()
        return super().execute(*given)

    def executemany(self, *given: Any) -> sqlite3.Cursor:
        self.check_process()
        return super().executemany(*given)

    def close(self) -> None:
        """Let go of the file; in a forked child this does nothing, for it is not the child's."""
        if not self.inherited:
            super().close()


def refuse_inherited_lock(inode: tuple[int, int], path: object) -> None:
    """An error where this process was forked from one that held a lock on the file at that moment.

    SQLite takes the lock it remembers for its own, and would read and write here without one."""
    if inode in _inherited_busy:
        raise StateError(
            f"'{path}' was in use by the process that this one was forked from, at that very moment, so that it cannot "
            "be opened here. Fork between two uses of it, or start the process anew."
        )


def _leave_to_the_parent() -> None:
    """In a forked child: inherited connections get one reference too many, and so are never closed here."""
    _inherited_busy.clear()
    for db in list(_open):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))
        if db.in_transaction or db.alone:
            _inherited_busy.add(db.inode)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_the_parent)
