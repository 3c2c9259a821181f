"""Where the library keeps what it can make again."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path


def cache_dir() -> Path:
    """The user's cache for kcrc: ``$KCRC_CACHE``, or the platform's own place. It may not exist yet."""
    if chosen := os.environ.get("KCRC_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "kcrc" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "kcrc"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kcrc"


def sha256(content: bytes | memoryview) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()
