"""Opening a gallery file: audited, what was interrupted taken back, and an older version brought up to this one.

Before an older file is changed a copy of it is put beside it, under a name that says its version.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from kcrc.errors import FileError, KCRCError, WriteNeeded
from kcrc.gallery.stores.sqlite import copying, file, schema
from kcrc.gallery.stores.sqlite.file import Connection

_COPIES = 100  # of one version beside a gallery


def open_file(path: Path, *, readonly: bool, recover: bool = False) -> Connection:
    """A connection to an audited gallery of the present version.

    Opened for writing, an older file is brought up to it, and what an interrupted writer began is taken back. For
    reading neither is done; with ``recover`` both are done first, where we may, and then it is opened for reading."""
    if not readonly:
        return _current(path)
    try:
        return _to_read(path)
    except WriteNeeded:
        if not recover or not file.may_write(path):
            raise
    _current(path).close()
    return _to_read(path)


def _to_read(path: Path) -> Connection:
    db, version = file.open_audited(path, readonly=True)
    if version < schema.VERSION:
        db.close()
        raise WriteNeeded(
            f"'{path}' is of an older version ({version}); open it once for writing to bring it "
            f"up to version {schema.VERSION}."
        )
    return db


def _current(path: Path) -> Connection:
    db, version = file.open_audited(path, readonly=False)
    try:
        if version < schema.VERSION:
            _bring_up(db, path)
            with file.translate_errors(path):
                schema.audit(db, str(path))
    except BaseException:
        db.close()
        raise
    return db


def _bring_up(db: Connection, path: Path) -> None:
    """Copy the file, then migrate it; no other process writes to it between the two."""
    kept = None
    try:
        with file.transaction(db, path):
            version = schema.audit(db, str(path))
            if version < schema.VERSION:  # another program may have been faster
                kept = _keep_copy(path, version)
                schema.migrate(db, version)
    except BaseException:
        if kept is not None and not db.is_inherited:
            with contextlib.suppress(OSError):
                kept.unlink()  # the gallery is as it was
        raise


def _keep_copy(path: Path, version: int) -> Path:
    """The copy, beside the file: ``birds.kcrc.v2``, or with a number where that name is taken."""
    real = Path(os.path.realpath(path))
    names = (f"{real.name}.v{version}" + (f"-{number}" if number > 1 else "") for number in range(1, _COPIES + 1))
    goal = next((real.with_name(name) for name in names if not os.path.lexists(real.with_name(name))), None)
    try:
        if goal is None:
            raise FileError(f"there are {_COPIES} beside it already")
        # By a second connection: the first has begun to write, and SQLite does not copy from such a one.
        with contextlib.closing(file.open_audited(path, readonly=True)[0]) as reader:
            copying.copy(reader, path, goal)
    except KCRCError as problem:
        raise FileError(
            f"'{path}' is of an older version ({version}) and was left as it is: a copy of it has to be made beside it "
            f"before it is brought up to version {schema.VERSION}, and that failed ({str(problem).rstrip('.')})."
        ) from None
    return goal
