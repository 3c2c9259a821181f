"""A gallery file that is made under another name, and put in its place whole.

A kill, an error or Ctrl-C while it is made leaves nothing under its own name, and an older file of that name as it was.
The file being made is locked, so a second making of the same file says so, and one that a killed program left is
cleared.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from kcrc.errors import FileError, StateError
from kcrc.gallery.stores.sqlite import file
from kcrc.gallery.stores.sqlite.file import Connection
from kcrc.gallery.stores.sqlite.schema import APPLICATION_ID
from kcrc.gallery.stores.sqlite.side_files import ENDINGS

_MAGIC = b"SQLite format 3\0"
PASSING = ("building", "copying")
"""How the names of unfinished files end: of galleries that are built, and of copies."""
_OLD = 60.0  # seconds since an unfinished file was written to: one that was just created is not locked yet


@contextlib.contextmanager
def placing(goal: Path, ending: str, *, overwrite: bool, mode: int = 0o644) -> Iterator[tuple[Path, Connection]]:
    """(the passing file, an empty database in it), to be filled in the block; at its end it is there under ``goal``.

    ``ending`` tells the passing files of different makers apart. ``mode`` are the file's rights, as far as the
    process's mask lets them be."""
    check_free(goal, overwrite)
    clear_left_over(goal.parent)
    passing = goal.with_name(f".{goal.name}.{ending}")
    with _translate_os_errors(goal):
        db = _fresh(passing, goal, mode)
    try:
        yield passing, db
        with _translate_os_errors(goal):
            _publish(db, passing, goal, overwrite)
    except BaseException:
        if not db.is_inherited:  # a forked child that ends in the block has made nothing here
            with contextlib.suppress(OSError):
                passing.unlink()
        raise
    finally:
        db.close()


def check_free(goal: Path, overwrite: bool) -> None:
    """An error where no file can be put under that name, or there is one that must not be overwritten."""
    if not goal.parent.is_dir():
        raise FileError(f"There is no folder '{goal.parent}' to put the gallery in.")
    if goal.is_dir() or (goal.exists() and not goal.is_file()):
        raise FileError(f"'{goal}' is not a file; choose another name for the gallery.")
    if goal.exists() and not overwrite:
        raise FileError(f"'{goal}' exists already. Choose another name, or say that it may be overwritten.")


@contextlib.contextmanager
def _translate_os_errors(goal: Path) -> Iterator[None]:
    """What the system says, in the library's own words."""
    try:
        yield
    except OSError as problem:
        raise FileError(f"The gallery '{goal}' cannot be made there ({problem.strerror or problem}).") from None


def _fresh(passing: Path, goal: Path, mode: int) -> Connection:
    """An empty locked file under the passing name; what a killed program left there is cleared."""
    # An unfinished file has its journal in memory: side files are foreign, and SQLite must not see them.
    for end in ENDINGS:
        Path(f"{passing}{end}").unlink(missing_ok=True)
    try:
        plain = stat.S_ISREG(os.lstat(passing).st_mode)
    except FileNotFoundError:
        pass
    else:
        if plain:
            _check_deserted(passing, goal)
        passing.unlink(missing_ok=True)
    descriptor = os.open(passing, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)  # nothing planted there is written through
    made = os.fstat(descriptor)
    os.close(descriptor)
    db = file.connect(passing, "rw", inode=(made.st_dev, made.st_ino))
    try:
        with file.translate_errors(passing):
            for pragma in ("trusted_schema = OFF", "mmap_size = 0", "locking_mode = EXCLUSIVE"):
                db.execute(f"PRAGMA {pragma}")
            # The file is ours alone until it is published, so nothing need reach the disk yet.
            db.execute("PRAGMA journal_mode = MEMORY")
            db.execute("PRAGMA synchronous = OFF")
            db.execute("BEGIN EXCLUSIVE")
            db.execute("COMMIT")  # the lock stays
            db.alone = True
    except BaseException:
        db.close()
        raise
    return db


def clear_left_over(folder: Path, *, also_new: bool = False) -> tuple[Path, ...]:
    """Delete the copies and galleries that killed programs left unfinished in a folder; return those with anything in
    them, which may be examples that were erased since.

    Only plain files under a passing name are touched that no program has locked and that are of kcrc, not those with a
    journal beside them, since an unfinished file has its journal in memory. A file written to in the last minute is
    kept, unless ``also_new``."""
    cleared: list[Path] = []
    for ending in PASSING:
        for left in folder.glob(f".*.{ending}"):
            with contextlib.suppress(OSError, sqlite3.Error):
                status = os.lstat(left)
                old = time.time() - status.st_mtime > _OLD or (also_new and status.st_size > 0)
                journal = any(os.path.lexists(f"{left}{end}") for end in ENDINGS)
                if stat.S_ISREG(status.st_mode) and old and not journal and _is_deserted(left, status.st_size):
                    left.unlink()
                    cleared += [left] if status.st_size else []
    return tuple(cleared)


def _is_deserted(left: Path, size: int) -> bool:
    """Return whether no program is making an unfinished gallery, by SQLite's own locks, and it is of kcrc."""
    with contextlib.closing(sqlite3.connect(left, timeout=0, isolation_level=None)) as held:
        held.execute("PRAGMA trusted_schema = OFF")
        try:
            held.execute("BEGIN EXCLUSIVE")
            (application,) = held.execute("PRAGMA application_id").fetchone()
            (tables,) = held.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:  # it is locked
            return False
        # Until all pages are copied the first one is that of a database without tables.
        with left.open("rb") as file:
            torn = file.read(len(_MAGIC)) == _MAGIC and application == tables == 0
        return application == APPLICATION_ID or torn or not size


def _check_deserted(passing: Path, goal: Path) -> None:
    held = sqlite3.connect(passing, timeout=0, isolation_level=None)
    try:
        held.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as problem:
        if "locked" in str(problem):
            raise StateError(f"Another program is building '{goal}' at this moment.") from None
    except sqlite3.DatabaseError:
        pass
    finally:
        held.close()


def _publish(db: Connection, passing: Path, goal: Path, overwrite: bool) -> None:
    """Put the finished file in its place, so that it is there whole even after a power cut.

    ``db`` keeps the passing file locked until it has its name, so that no second maker clears it."""
    descriptor = os.open(passing, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        with _nobody_writing(goal) if overwrite else contextlib.nullcontext():
            for end in ENDINGS:  # a journal that is left would be played back into the new file
                Path(f"{goal}{end}").unlink(missing_ok=True)
            if overwrite:
                os.replace(passing, goal)
            else:
                _put_where_nothing_is(passing, goal)
        _sync_folder(goal.parent)
    finally:
        db.close()
        os.close(descriptor)  # after the connection: closing a descriptor drops the locks of the file


@contextlib.contextmanager
def _nobody_writing(goal: Path) -> Iterator[None]:
    """Keep others from writing to the gallery that is about to be replaced; what a killed writer began is taken back.

    They look whether the gallery is still in its place once they have the lock (``SQLiteStore.write``)."""
    try:
        db = file.open_audited(goal, readonly=False)[0] if os.access(goal, os.W_OK) else None
    except FileError:  # it is no gallery, or none that can be used
        db = None
    if db is None:
        yield
        return
    with contextlib.closing(db):
        with file.translate_errors(goal):
            db.execute("BEGIN EXCLUSIVE")
        yield


def _put_where_nothing_is(passing: Path, goal: Path) -> None:
    taken = FileError(f"'{goal}' was made by another program meanwhile; it is left as it is.")
    try:
        os.link(passing, goal)  # unlike a rename, this cannot run over a file made meanwhile
        passing.unlink()
    except FileExistsError:
        raise taken from None
    except OSError:  # a file system without second names
        if os.path.lexists(goal):
            raise taken from None
        os.rename(passing, goal)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
