"""The log of a sorting: a line for each file, on the disk before the file is touched, and what is read back from it.

The first line says what made it, a line with ``folder`` that the folder was about to be made, every other that a file
was about to be copied, moved or linked: ``how``, ``from`` (the whole path), ``to`` (below the folder of the log),
``sha256``, and what was answered. So whatever a kill leaves is in the log, and taking back looks at what is there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kcrc.errors import FileError
from kcrc.files.aside import NameTaken
from kcrc.files.growing import GrowingLog
from kcrc.files.plain_lines import read_json_lines
from kcrc.images.datasets import EXTENSIONS

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


def new_log(out: Path, facts: dict[str, Any]) -> GrowingLog:
    """A log beside those of earlier sortings, which stay as they are."""
    number = max(logs(out), default=0) + 1
    while True:
        name = NAME if number == 1 else f"kcrc-sort-{number}.jsonl"
        try:
            log = GrowingLog(out / name)
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
