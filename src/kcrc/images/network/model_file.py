"""Network files: read where the user names them, kept under their SHA-256 for the next time.

A gallery says which network made its vectors by the SHA-256 of its file, and what the file was called, for people.
It never says where: a path out of a file is not opened, whoever wrote the file. What is opened is a file that the user
names (as an option of the feature, by ``--model``, ``model=`` or ``$KCRC_MODEL``), or the copy that was kept in the
user's cache, ``models/SHA-256.onnx``, when the user named it before.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from kcrc.errors import FileError
from kcrc.files.aside import write_aside
from kcrc.files.cache_folder import cache_dir, sha256
from kcrc.files.plain_file import read_plain

LARGEST = (1 << 31) - 1  # bytes: Protocol Buffers end there
_SHA256 = re.compile(r"[0-9a-f]{64}")


def read_model(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a network file that the user named."""
    return read_plain(path, limit=LARGEST, what="ONNX file")


def is_sha256(text: object) -> bool:
    """True for what may stand in a file as a SHA-256; anything else could lead out of the cache."""
    return isinstance(text, str) and _SHA256.fullmatch(text) is not None


def keep(content: bytes) -> None:
    """Put a copy into the cache. Where that cannot be, the user has to name the file again."""
    path = _kept_path(sha256(content))
    if kept(path.stem) is not None:
        return
    with contextlib.suppress(FileError):  # a cache that cannot be written costs a question, not the answer
        write_aside(path, content)


def kept(due: str) -> bytes | None:
    """The copy in the cache, if there is one and it is what its name says."""
    try:
        content = read_plain(_kept_path(due), limit=LARGEST, follow=False)
    except FileError:
        return None
    return content if sha256(content) == due else None


def _kept_path(due: str) -> Path:
    return cache_dir() / "models" / f"{due}.onnx"
