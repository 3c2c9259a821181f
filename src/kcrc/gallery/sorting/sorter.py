"""Files into folders: each copied, moved or linked to a free name, and written down before.

The rule: an image goes into the folder of its class, unless it resembles no class or its answer is less probable than
``below``; then it goes aside, into the folder ``_doubtful``. Nothing is overwritten. A copy that is there already, the
same bytes under the same name, is not made again, so that a sorting that was interrupted can be run again.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kcrc.errors import FileError, KCRCError, ParameterError
from kcrc.files.aside import NameTaken, aside, move_aside, unlink_or_else
from kcrc.files.growing import GrowingLog
from kcrc.files.inside import inside
from kcrc.gallery.sorting.folder_names import folder_names
from kcrc.gallery.sorting.sort_log import HOWS, NAME, new_log
from kcrc.images.decoding.images import fetch

DOUBTFUL = "_doubtful"
_TRIES = 100_000  # names tried for one file


@dataclass(frozen=True)
class SortAnswer:
    """What was answered to an image: the best class, how probable it is (None: nothing is known of that), whether it is
    called unknown."""

    label: str
    probability: float | None
    unknown: bool = False


@dataclass(frozen=True)
class Outcome:
    """Where an image is now; ``done`` is False where the same copy was there already."""

    path: Path
    doubtful: bool
    done: bool


class Sorter:
    """``labels`` are the classes; ``facts`` go into the head of the log, which is made with the first file."""

    def __init__(
        self,
        out: str | os.PathLike[str],
        labels: Iterable[str],
        *,
        how: str = "copy",
        below: float = 0.9,
        facts: dict[str, Any] | None = None,
    ) -> None:
        if how not in HOWS or not 0 <= below <= 1:
            raise ParameterError(f"Sorting is by {', '.join(HOWS)}, `below` from 0 to 1; given {how!r}, {below!r}.")
        self.out, self.how, self.below = Path(os.path.abspath(out)), how, below
        self.folders = folder_names(labels, taken=[DOUBTFUL, NAME])
        self._facts = {**(facts or {}), "how": how, "below": below}
        self._log: GrowingLog | None = None
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def is_doubtful(self, answer: SortAnswer) -> bool:
        """The rule."""
        return answer.unknown or answer.probability is None or answer.probability < self.below

    def folder_of(self, answer: SortAnswer) -> str:
        """The name of the folder an image goes to."""
        if answer.label not in self.folders:  # a class that came since
            self.folders |= folder_names([answer.label], taken=[DOUBTFUL, NAME, *self.folders.values()])
        return DOUBTFUL if self.is_doubtful(answer) else self.folders[answer.label]

    def take(self, image: str | os.PathLike[str], answer: SortAnswer) -> Outcome:
        """Put one image in its place; what cannot be is a ``FileError``, and the image stays as it is."""
        source = Path(os.path.abspath(image))
        if self.how == "move" and source.is_symlink():
            raise FileError(f"'{image}' is a link and was not moved.")
        content, doubtful = fetch(source), self.is_doubtful(answer)
        digest = hashlib.sha256(content).hexdigest()
        folder = self._made(self.folder_of(answer))
        for goal in _names(folder, source.name):
            if _same(goal, source, content, self.how):
                return Outcome(goal, doubtful, done=False)
            if os.path.lexists(goal):
                continue
            to = goal.relative_to(self.out).as_posix()
            facts = {"how": self.how, "from": str(source), "to": to, "sha256": digest}
            self._noted({**facts, "label": answer.label, "probability": answer.probability})
            try:
                put(source, goal, content, self.how)
            except NameTaken:  # by somebody else, at this moment
                continue
            except OSError as problem:
                raise FileError(f"'{image}' cannot be put in its place: {problem.strerror or problem}.") from None
            return Outcome(goal, doubtful, done=True)
        raise FileError(f"'{image}' finds no free name in '{folder}'.")

    def _made(self, name: str) -> Path:
        folder = inside(self.out, name)
        if not folder.is_dir():
            self._noted({"folder": name})
            try:
                folder.mkdir(exist_ok=True)
            except OSError as problem:
                raise FileError(f"'{folder}' cannot be made: {problem.strerror or problem}.") from None
        return folder

    def _noted(self, facts: dict[str, Any]) -> None:
        if self._log is None:
            try:
                self.out.mkdir(parents=True, exist_ok=True)
            except OSError as problem:
                raise FileError(f"'{self.out}' cannot be made: {problem.strerror or problem}.") from None
            self._log = self._open.enter_context(new_log(self.out, self._facts))
        self._log.add(facts)


def put(source: Path, goal: Path, content: bytes, how: str) -> None:
    """Copy, move or link a file, whose content was read, to a name that nothing has (else ``NameTaken``)."""
    if how == "link":
        try:
            goal.symlink_to(source)
        except FileExistsError:
            raise NameTaken(f"'{goal}' is there already.") from None
        return
    if how == "move":
        try:
            return move_aside(source, goal)
        except NameTaken:
            raise
        except OSError:  # another disk, or one without links: copied, and only then taken away
            pass
    status = source.stat()
    with aside(goal, overwrite=False) as file:
        file.write(content)
        file.flush()
        if os.utime in os.supports_fd:  # not on every system
            os.utime(file.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))
    if how == "move":
        if fetch(source) != content:
            raise FileError(f"'{source}' changed while it was moved: it stays, and the copy in '{goal}' too.")
        unlink_or_else(source, goal)


def _names(folder: Path, name: str) -> Iterator[Path]:
    """The name, then the name with a number."""
    yield folder / name
    stem, suffix = os.path.splitext(name)
    for number in itertools.islice(itertools.count(2), _TRIES):
        yield folder / f"{stem}-{number}{suffix}"


def two_names(one: Path, other: Path) -> bool:
    """Whether a file has these two names, so that it is still there without one of them."""
    try:
        same = os.path.samefile(one, other) and one.lstat().st_nlink > 1
    except OSError:
        return False
    return same and not other.is_symlink() and os.path.realpath(one) != os.path.realpath(other)


def _same(goal: Path, source: Path, content: bytes, how: str) -> bool:
    """Whether an interrupted sorting did this already; a move that it only half did is completed."""
    try:
        if how == "link":
            return goal.is_symlink() and os.readlink(goal) == str(source)
        if goal.is_symlink() or not goal.is_file():
            return False
        if how == "move":
            if two_names(goal, source):
                source.unlink()
                return True
            return os.path.samefile(goal, source)  # it is in its place
        return goal.stat().st_size == len(content) and fetch(goal) == content
    except (KCRCError, OSError):
        return False
