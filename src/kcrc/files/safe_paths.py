"""Paths from names that a file or a log contains: they stay inside their folder, links included."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

from kcrc.errors import FileError


def safe_path(root: str | os.PathLike[str], name: str) -> Path:
    """Return the path of ``name`` below ``root``; raise a ``FileError`` for "..", or a name or link that leads out.

    An absolute name is accepted if it lies below ``root``."""
    whole = Path(os.path.realpath(root))
    try:
        path = Path(root, name)
        real = Path(os.path.realpath(path))
    except (ValueError, OSError):
        raise FileError(f"{name[:200]!r} is not a file name.") from None
    if ".." in Path(name).parts or not real.is_relative_to(whole) or real == whole:
        raise FileError(f"{name[:200]!r} lies outside '{root}' and was not used.")
    return path


def cache_dir() -> Path:
    """Return the user's cache folder for kcrc: ``$KCRC_CACHE``, or the platform's usual one. It may not exist yet.

    It holds only what the library can make again."""
    try:
        if chosen := os.environ.get("KCRC_CACHE"):
            return Path(chosen).expanduser()
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "kcrc" / "Cache"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "kcrc"
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kcrc"
    except RuntimeError as problem:  # a user without HOME whom the system does not know, as in some containers
        raise FileError("This user has no home folder for a cache. Set KCRC_CACHE to a folder.") from problem


def sha256(content: bytes | memoryview) -> str:
    """Return the SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()
