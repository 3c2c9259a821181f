"""A file of labels that is one JSON document."""

from __future__ import annotations

from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

from kcrc.errors import FileError
from kcrc.files.plain_files import read_json, read_plain
from kcrc.gallery.exchange.contract import BYTES


def json_of(file: Path) -> Any:
    """What is in it; a FileError where it is no JSON."""
    content = read_plain(file, limit=BYTES, what="file of labels")
    try:
        return read_json(content.removeprefix(BOM_UTF8))
    except ValueError as problem:
        raise FileError(f"'{file}' is not JSON: {str(problem)[:200]}.") from None
