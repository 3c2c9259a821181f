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
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kcrc.errors import FileError, KCRCError, ParameterError, StateError
from kcrc.files.atomic import AppendLog, NameTaken, atomic_write, leftovers, move_file, unlink_or_undo
from kcrc.files.plain_files import read_json_lines
from kcrc.files.safe_paths import safe_path
from kcrc.images.datasets import EXTENSIONS
from kcrc.images.decoding.reading import fetch

# A folder for each class: class names are text that may hold anything, folder names are not.
#
# A name that some system could not have, would hide, or would take for a path is changed, and marked with a few digits
# that depend on the class alone, so that no two classes share a folder. So are names that differ only in case or in
# the way their accents are written, all but the first: many disks take them for one.

LONGEST = 100  # characters; a name of 255 bytes is the most that common file systems have
_FORBIDDEN = re.compile(r'[\\/:*?"<>|\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?\Z", re.IGNORECASE)


def folder_names(labels: Iterable[str], *, taken: Iterable[str] = ()) -> dict[str, str]:
    """A folder name for each class; ``taken`` are names that none may have."""
    used = {_fold_case(name) for name in taken}
    names: dict[str, str] = {}
    for label in sorted(set(labels)):
        name = _safe(label)
        if name != label or _fold_case(name) in used:
            name = f"{name[: LONGEST - 9]}-{hashlib.sha256(label.encode('utf-8', 'backslashreplace')).hexdigest()[:8]}"
        while _fold_case(name) in used:  # another class is called so
            name += "_"
        used.add(_fold_case(name))
        names[label] = name
    return names


def _safe(label: str) -> str:
    """The nearest name that every system can have: never a path, never hidden, never an option of a command."""
    name = unicodedata.normalize("NFC", _FORBIDDEN.sub("_", label.encode("utf-8", "replace").decode()))
    name = name[:LONGEST].strip().rstrip(". ")
    while len(name.encode()) > 2 * LONGEST:
        name = name[:-1]
    if not name or name[0] in ".-" or _RESERVED.match(name):
        name = f"_{name}"
    return name


def _fold_case(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


# The log of a sorting: a line for each file, on the disk before the file is touched, and what is read back from it.
#
# The first line says what made it, a line with ``folder`` that the folder was about to be made, every other that a
# file was about to be copied, moved or linked: ``how``, ``from`` (the whole path), ``to`` (below the folder of the
# log), ``sha256``, and what was answered. So whatever a kill leaves is in the log, and taking back looks at what is
# there.

NAME = "kcrc-sort.jsonl"
VERSION = 1
HOWS = ("copy", "move", "link")
_NAMES = re.compile(r"kcrc-sort(?:-([1-9][0-9]{0,8}))?\.jsonl")
_LARGEST = 1 << 30  # bytes: three million files
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Placed:
    """A file that was, or was about to be, put in its place; ``to`` is a name below the folder of the log."""

    how: str
    source: str
    to: str
    sha256: str


def new_log(out: Path, facts: dict[str, Any]) -> AppendLog:
    """A log beside those of earlier sortings, which stay as they are."""
    number = max(logs(out), default=0) + 1
    while True:
        name = NAME if number == 1 else f"kcrc-sort-{number}.jsonl"
        try:
            log = AppendLog(out / name)
        except NameTaken:  # another sorting began at this moment
            number += 1
        else:
            log.add({"kcrc sort": VERSION, **facts})
            return log


def logs(out: Path) -> dict[int, Path]:
    """The logs in a folder, by number: the highest is the latest."""
    found = ((_NAMES.fullmatch(path.name), path) for path in out.iterdir()) if out.is_dir() else ()
    return {int(match[1] or 1): path for match, path in found if match is not None and path.is_file()}


def read_log(path: Path) -> tuple[list[Placed], list[str]]:
    """The files and the folders of a log, in their order; what no sorting wrote is a ``FileError``.

    A log says where files are moved back to, and may be somebody else's: only names of images are taken."""
    files: list[Placed] = []
    folders: list[str] = []
    for number, facts in read_json_lines(path, limit=_LARGEST, what="log", torn=True):
        if number == 1 and facts.get("kcrc sort") == VERSION:
            continue
        folder = facts.get("folder")
        if isinstance(folder, str) and len(facts) == 1:
            folders.append(folder)
            continue
        one = Placed(*(str(facts.get(name, "")) for name in ("how", "from", "to", "sha256")))
        images = all(Path(name).suffix.lower() in EXTENSIONS for name in (one.source, one.to))
        known = one.how in HOWS and _SHA256.fullmatch(one.sha256) and Path(one.source).is_absolute()
        if number == 1 or not images or not known:
            raise FileError(f"Line {number} of '{path}' is not one that kcrc sort writes; nothing was changed.")
        files.append(one)
    return files, folders


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
        self._log: AppendLog | None = None
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
        folder = self._make_folder(self.folder_of(answer))
        for goal in _names(folder, source.name):
            if _same(goal, source, content, self.how):
                return Outcome(goal, doubtful, done=False)
            if os.path.lexists(goal):
                continue
            to = goal.relative_to(self.out).as_posix()
            facts = {"how": self.how, "from": str(source), "to": to, "sha256": digest}
            self._write_log({**facts, "label": answer.label, "probability": answer.probability})
            try:
                place_file(source, goal, content, self.how)
            except NameTaken:  # by somebody else, at this moment
                continue
            except OSError as problem:
                raise FileError(f"'{image}' cannot be put in its place: {problem.strerror or problem}.") from None
            return Outcome(goal, doubtful, done=True)
        raise FileError(f"'{image}' finds no free name in '{folder}'.")

    def _make_folder(self, name: str) -> Path:
        folder = safe_path(self.out, name)
        if not folder.is_dir():
            self._write_log({"folder": name})
            try:
                folder.mkdir(exist_ok=True)
            except OSError as problem:
                raise FileError(f"'{folder}' cannot be made: {problem.strerror or problem}.") from None
        return folder

    def _write_log(self, facts: dict[str, Any]) -> None:
        if self._log is None:
            try:
                self.out.mkdir(parents=True, exist_ok=True)
            except OSError as problem:
                raise FileError(f"'{self.out}' cannot be made: {problem.strerror or problem}.") from None
            self._log = self._open.enter_context(new_log(self.out, self._facts))
        self._log.add(facts)


def place_file(source: Path, goal: Path, content: bytes, how: str) -> None:
    """Copy, move or link a file, whose content was read, to a name that nothing has (else ``NameTaken``)."""
    if how == "link":
        try:
            goal.symlink_to(source)
        except FileExistsError:
            raise NameTaken(f"'{goal}' is there already.") from None
        return
    if how == "move":
        try:
            return move_file(source, goal)
        except NameTaken:
            raise
        except OSError:  # another disk, or one without links: copied, and only then taken away
            pass
    status = source.stat()
    with atomic_write(goal, overwrite=False) as file:
        file.write(content)
        file.flush()
        if os.utime in os.supports_fd:  # not on every system
            os.utime(file.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))
    if how == "move":
        if fetch(source) != content:
            raise FileError(f"'{source}' changed while it was moved: it stays, and the copy in '{goal}' too.")
        unlink_or_undo(source, goal)


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


# A sorting taken back: copies and links deleted, moved files put where they were; what changed since stays.


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
            _remove_empty_folder(root, name)
        if not told.refused:
            told.log.unlink()
    return told


def _way_back(root: Path, one: Placed) -> Callable[[], None]:
    """What takes one file back; an error where it is not as it was."""
    source, goal = Path(one.source), safe_path(root, one.to) if one.how != "link" else _link_inside(root, one.to)
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
        place_file(goal, source, content, "move")
    except NameTaken:
        raise FileError(f"Something else is in its old place, '{source}'.") from None


def _link_inside(root: Path, name: str) -> Path:
    """The path of a link below the root, which itself leads wherever it leads."""
    return safe_path(root, os.path.dirname(name)) / os.path.basename(name)


def _digest(path: Path) -> str | None:
    """The hash of a file; None where it cannot be read."""
    try:
        return hashlib.sha256(fetch(path)).hexdigest()
    except KCRCError:
        return None


def _remove_empty_folder(root: Path, name: str) -> None:
    """Delete a folder that the sorting made, if it is empty."""
    try:
        folder = safe_path(root, name)
        if not folder.is_symlink():
            folder.rmdir()
    except (KCRCError, OSError):
        return
