"""Where the library keeps what it can make again, and how a file is written there: aside, then renamed."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
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


def write_aside(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path`` so that a reader sees the old file or the whole new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


def sha256(content: bytes | memoryview) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()
