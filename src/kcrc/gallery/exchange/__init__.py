"""Labels to and from other programs: one file a format, one line a format here.

A format says how it writes labelled images and how it reads them (``contract``); what they mean to a gallery is
written once (``outgoing``, ``incoming``). A new one is a module with two functions and a line in ``HOMES``, where the
tests that go over all formats find it.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import cast

from kcrc.errors import UnknownName
from kcrc.gallery.exchange.contract import ExchangeFormat

HOMES = {
    "csv": "plain_csv",
    "jsonl": "json_lines",
    "parquet": "parquet",
    "label-studio": "label_studio",
    "fiftyone": "fiftyone",
    "folders": "class_folders",
}
_SUFFIXES = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".json": "label-studio"}


def names() -> tuple[str, ...]:
    return tuple(HOMES)


def format_of(name: str) -> ExchangeFormat:
    """The format of that name."""
    if name not in HOMES:
        raise UnknownName("format", name, HOMES)
    return cast(ExchangeFormat, importlib.import_module(f"kcrc.gallery.exchange.{HOMES[name]}"))


def name_for(path: str | os.PathLike[str]) -> str | None:
    """The format that a name, or what is there, stands for; None where it is none of these."""
    where = Path(path)
    if where.is_dir():
        return "fiftyone" if (where / "labels.json").is_file() else "folders"
    return _SUFFIXES.get(where.suffix.lower())
