"""JSON lines read without trust: an object a line, of a bounded length, of a regular file of a bounded size."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import Any

from kcrc.errors import FileError
from kcrc.files.plain_file import read_plain
from kcrc.files.plain_json import read_json

LONGEST = 1_000_000  # bytes of a line


def read_json_lines(
    path: str | os.PathLike[str], *, limit: int, what: str, torn: bool = False
) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of every line that is not empty; anything else is a ``FileError``.

    ``torn`` allows for half a line at the end, as a log has it whose writer was killed: it is left out."""
    content = read_plain(path, limit=limit, what=what)
    for number, line in enumerate(io.BytesIO(content), 1):
        if torn and not line.endswith(b"\n"):
            return
        if not line.strip():
            continue
        try:
            found = read_json(line) if len(line) <= LONGEST else None
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise FileError(f"Line {number} of the {what} '{path}' is not a JSON object of at most {LONGEST} bytes.")
        yield number, found
