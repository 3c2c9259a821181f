"""Names from a file or a log, used as paths: they stay below the folder they belong to, links included."""

from __future__ import annotations

import os
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
