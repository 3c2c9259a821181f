"""A folder for each class: class names are text that may hold anything, folder names are not.

A name that some system could not have, would hide, or would take for a path is changed, and marked with a few digits
that depend on the class alone, so that no two classes share a folder. So are names that differ only in case or in the
way their accents are written, all but the first: many disks take them for one.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

LONGEST = 100  # characters; a name of 255 bytes is the most that common file systems have
_FORBIDDEN = re.compile(r'[\\/:*?"<>|\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?\Z", re.IGNORECASE)


def folder_names(labels: Iterable[str], *, taken: Iterable[str] = ()) -> dict[str, str]:
    """A folder name for each class; ``taken`` are names that none may have."""
    used = {_folded(name) for name in taken}
    names: dict[str, str] = {}
    for label in sorted(set(labels)):
        name = _safe(label)
        if name != label or _folded(name) in used:
            name = f"{name[: LONGEST - 9]}-{hashlib.sha256(label.encode('utf-8', 'backslashreplace')).hexdigest()[:8]}"
        while _folded(name) in used:  # another class is called so
            name += "_"
        used.add(_folded(name))
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


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()
