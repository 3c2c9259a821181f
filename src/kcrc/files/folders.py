"""Names from a file or a log, used as paths: they stay below the folder they belong to, links included."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

from kcrc.errors import FileError


def inside(root: str | os.PathLike[str], name: str) -> Path:
    """The path of ``name`` below ``root``; an absolute name, "..", or a link that leads out of it is a ``FileError``.

    A name that is absolute but lies below ``root`` is taken."""
    whole = Path(os.path.realpath(root))
    try:
        path = Path(root, name)
        real = Path(os.path.realpath(path))
    except (ValueError, OSError):
        raise FileError(f"{name[:200]!r} is no name of a file.") from None
    if ".." in Path(name).parts or not real.is_relative_to(whole) or real == whole:
        raise FileError(f"{name[:200]!r} lies outside of '{root}' and was not used.")
    return path


# Where the library keeps what it can make again.


def cache_dir() -> Path:
    """The user's cache for kcrc: ``$KCRC_CACHE``, or the platform's own place. It may not exist yet."""
    try:
        if chosen := os.environ.get("KCRC_CACHE"):
            return Path(chosen).expanduser()
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "kcrc" / "Cache"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "kcrc"
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kcrc"
    except RuntimeError as problem:  # a user without HOME whom the system does not know, as in some containers
        raise FileError("This user has no home folder for a cache: set KCRC_CACHE to a folder.") from problem


def sha256(content: bytes | memoryview) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()
