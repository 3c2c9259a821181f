"""Where the library keeps what it can make again."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

from kcrc.errors import FileError


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
