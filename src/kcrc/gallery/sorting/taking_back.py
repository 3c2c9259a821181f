"""A sorting taken back: copies and links deleted, moved files put where they were; what changed since stays."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kcrc.errors import FileError, KCRCError, StateError
from kcrc.files.aside import NameTaken, leftovers
from kcrc.files.inside import inside
from kcrc.gallery.sorting.sort_log import Placed, logs, read_log
from kcrc.gallery.sorting.sorter import put, two_names
from kcrc.images.decoding.images import fetch


@dataclass
class TakenBack:
    """``done`` files are where they were before; ``refused`` are those that changed since, and why."""

    log: Path
    done: list[Placed] = field(default_factory=list)
    refused: list[tuple[Placed, str]] = field(default_factory=list)


def take_back(out: str | os.PathLike[str], *, dry_run: bool = False) -> TakenBack:
    """Take back the latest sorting into a folder, the last file first.

    Its log goes when all of it was taken back; until then this can be called again, also after a kill."""
    root = Path(os.path.abspath(out))
    found = logs(root)
    if not found:
        raise StateError(f"There is no log of kcrc sort in '{out}', so there is nothing to take back.")
    told = TakenBack(found[max(found)])
    files, folders = read_log(told.log)
    for one in reversed(files):
        try:
            undo = _way_back(root, one)
            if not dry_run:
                undo()
                for left in leftovers(root / one.to):
                    left.unlink()
        except (KCRCError, OSError) as problem:
            told.refused.append((one, getattr(problem, "strerror", None) or str(problem)))
        else:
            told.done.append(one)
    if not dry_run:
        for name in reversed(folders):
            _let_go(root, name)
        if not told.refused:
            told.log.unlink()
    return told


def _way_back(root: Path, one: Placed) -> Callable[[], None]:
    """What takes one file back; an error where it is not as it was."""
    source, goal = Path(one.source), inside(root, one.to) if one.how != "link" else _link_inside(root, one.to)
    if not os.path.lexists(goal):
        if one.how == "move" and not os.path.lexists(source):
            raise FileError("It is gone from both places.")
        return lambda: None  # a kill came first, or it was taken back already
    if one.how == "link":
        if not goal.is_symlink() or os.readlink(goal) != one.source:
            raise FileError("It is no longer the link that was made.")
        return goal.unlink
    content = None if goal.is_symlink() else fetch(goal)
    if content is None or hashlib.sha256(content).hexdigest() != one.sha256:
        raise FileError("It was changed since.")
    if _digest(source) == one.sha256:  # the original of a copy, or a move that was only half done
        if os.path.samefile(source, goal) and not two_names(goal, source):
            raise FileError("It is the original itself.")
        return goal.unlink
    if one.how == "copy":
        raise FileError("Its original is no longer there as it was; the copy stays.")
    if os.path.lexists(source):
        raise FileError(f"Something else is in its old place, '{source}'.")
    if not source.parent.is_dir():
        raise FileError(f"Its old folder '{source.parent}' is no longer there.")
    return lambda: _put_back(goal, source, content)


def _put_back(goal: Path, source: Path, content: bytes) -> None:
    try:
        put(goal, source, content, "move")
    except NameTaken:
        raise FileError(f"Something else is in its old place, '{source}'.") from None


def _link_inside(root: Path, name: str) -> Path:
    """The path of a link below the root, which itself leads wherever it leads."""
    return inside(root, os.path.dirname(name)) / os.path.basename(name)


def _digest(path: Path) -> str | None:
    """The hash of a file; None where it cannot be read."""
    try:
        return hashlib.sha256(fetch(path)).hexdigest()
    except KCRCError:
        return None


def _let_go(root: Path, name: str) -> None:
    """Delete a folder that the sorting made, if it is empty."""
    try:
        folder = inside(root, name)
        if not folder.is_symlink():
            folder.rmdir()
    except (KCRCError, OSError):
        return
