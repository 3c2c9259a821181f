"""Making a gallery file: built under another name, then put in its place at once.

A kill, an error or Ctrl-C while it is built leaves no gallery, and an older one of that name as it was. The
file being built is locked, so a second build of the same gallery says so, and one left by a killed build is
cleared.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from kcrc.errors import FileError, ParameterError, StateError
from kcrc.gallery import file, settings
from kcrc.gallery.gallery import Gallery
from kcrc.gallery.settings import Settings
from kcrc.prepared import Array

_SIDE_FILES = ("-journal", "-wal", "-shm")


class FittedFeature(Protocol):
    """What a gallery needs of the feature that makes its vectors (``kcrc.features.base.Feature`` has it)."""

    @property
    def kind(self) -> str: ...
    @property
    def dim(self) -> int: ...
    @property
    def fingerprint(self) -> str: ...
    def state(self) -> Mapping[str, Any]: ...


@contextlib.contextmanager
def building(
    path: str | os.PathLike[str],
    *,
    feature: FittedFeature | None = None,
    dim: int | None = None,
    fingerprint: str | None = None,
    dtype: str = "float32",
    overwrite: bool = False,
) -> Iterator[Gallery]:
    """A gallery to be filled in the block; at its end, and not before, it is there under ``path``."""
    goal = Path(path)
    made = new_settings(feature, dim, fingerprint, dtype)
    _check_free(goal, overwrite)
    passing = goal.with_name(f".{goal.name}.building")
    db = _fresh(passing, goal)
    gallery = None
    try:
        with file.transaction(db, passing):
            settings.write(db, made, old=None)
            settings.write_state(db, parted(feature)[1])
        gallery = Gallery(passing, db)
        yield gallery
        with file.translated(goal):
            db.execute("PRAGMA journal_mode = DELETE")
        gallery.close()
        _publish(passing, goal, overwrite)
    except BaseException:
        db.close()
        with contextlib.suppress(OSError):
            passing.unlink()
        raise


def new_settings(feature: FittedFeature | None, dim: int | None, fingerprint: str | None, dtype: str) -> Settings:
    """The settings of a new gallery."""
    if feature is None and dim is None:
        raise ParameterError("Give the feature that makes the vectors, or `dim` for ready vectors.")
    if feature is not None and (dim is not None or fingerprint is not None):
        raise ParameterError("`dim` and `fingerprint` come with the feature; give either them or it.")
    common: dict[str, Any] = {
        "identity": secrets.token_hex(16),
        "created_at": time.time_ns() // 1000,
        "dtype": dtype,
        "parameters": {},
    }
    if feature is None:
        mark = fingerprint or f"vectors-{dim}"
        return Settings(feature="vectors", values={}, fingerprint=mark, dim=dim, **common)  # type: ignore[arg-type]
    return Settings(
        feature=feature.kind,
        values=parted(feature)[0],
        fingerprint=feature.fingerprint,
        dim=int(feature.dim),
        **common,
    )


def parted(feature: FittedFeature | None) -> tuple[dict[str, Any], dict[str, Array]]:
    """The state of a feature: its plain values and its arrays."""
    state = {} if feature is None else feature.state()
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    return {name: value for name, value in state.items() if name not in arrays}, arrays


def _check_free(goal: Path, overwrite: bool) -> None:
    if not goal.parent.is_dir():
        raise FileError(f"There is no folder '{goal.parent}' to put the gallery in.")
    if goal.is_dir() or (goal.exists() and not goal.is_file()):
        raise FileError(f"'{goal}' is not a file; choose another name for the gallery.")
    if goal.exists() and not overwrite:
        raise FileError(f"'{goal}' exists already. Choose another name, or say that it may be overwritten.")


def _fresh(passing: Path, goal: Path) -> sqlite3.Connection:
    """An empty locked file under the passing name; what a killed build left there is cleared."""
    if passing.exists() and not passing.is_symlink():
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
    for name in (passing, *(Path(f"{passing}{end}") for end in _SIDE_FILES)):
        name.unlink(missing_ok=True)
    try:
        return file.new_file(passing)
    except FileError as problem:
        raise FileError(f"The gallery '{goal}' cannot be made there ({problem})") from None


def _publish(passing: Path, goal: Path, overwrite: bool) -> None:
    """Put the finished file in its place, so that it is there whole even after a power cut."""
    _sync(passing)
    if overwrite and goal.exists():
        # A journal that a killed writer of the old gallery left would be played back into the new one.
        with contextlib.suppress(FileError):
            file.open_file(goal, readonly=False).close()
    for end in _SIDE_FILES:
        Path(f"{goal}{end}").unlink(missing_ok=True)
    if overwrite:
        os.replace(passing, goal)
    else:
        try:
            os.link(passing, goal)  # unlike a rename, this cannot run over a file made meanwhile
            passing.unlink()
        except FileExistsError:
            raise FileError(f"'{goal}' was made by another program meanwhile; it is left as it is.") from None
        except OSError:
            os.rename(passing, goal)
    _sync(goal.parent)


def _sync(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
