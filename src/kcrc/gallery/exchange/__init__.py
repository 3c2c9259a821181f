"""Labels to and from other programs: one file a format, one line a format here.

A format says how it writes labelled images and how it reads them (``contract``); what they mean to a gallery is
written once (``gallery.labels``). A new one is a module with two functions and a line in ``HOMES``, where the
tests that go over all formats find it.
"""

from __future__ import annotations

import importlib
import os
from codecs import BOM_UTF8
from pathlib import Path
from typing import cast

from kcrc.errors import UnknownName
from kcrc.files.plain_files import read_start
from kcrc.gallery.exchange.contract import ExchangeFormat

HOMES = {
    "csv": "plain_csv",
    "jsonl": "json_lines",
    "parquet": "parquet",
    "label-studio": "label_studio",
    "coco": "coco",
    "fiftyone": "fiftyone",
    "folders": "class_folders",
    "imagefolder": "imagefolder",
    "yolo": "yolo",
    "datumaro": "datumaro",
}
_SUFFIXES = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".json": "label-studio"}
_METADATA = ("csv", "jsonl", "parquet")
_HEAD = 256  # bytes that tell a JSON object from a list


def names() -> tuple[str, ...]:
    return tuple(HOMES)


def format_of(name: str) -> ExchangeFormat:
    """The format of that name."""
    if name not in HOMES:
        raise UnknownName("format", name, HOMES)
    return cast(ExchangeFormat, importlib.import_module(f"kcrc.gallery.exchange.{HOMES[name]}"))


def name_for(path: str | os.PathLike[str]) -> str | None:
    """The format of what is there, else that of the name; None where it is none of these."""
    where = Path(path)
    if where.is_dir():
        if (where / "labels.json").is_file():
            return "fiftyone"
        annotations = sorted(where.glob("annotations/*.json"))
        if any(b"dm_format_version" in (read_start(file, _HEAD) or b"") for file in annotations):
            return "datumaro"
        if any((place / f"metadata.{kind}").is_file() for place in (where, where / "train") for kind in _METADATA):
            return "imagefolder"
        has_boxes = any((one / "labels").is_dir() and (one / "images").is_dir() for one in (where, *where.glob("*/")))
        return "yolo" if has_boxes else "folders"
    if (
        where.suffix.lower() == ".json"
        and (read_start(where, _HEAD) or b"").removeprefix(BOM_UTF8).lstrip()[:1] == b"{"
    ):
        return "coco"  # Label Studio's is a list
    return name_by_suffix(where)


def name_by_suffix(path: Path) -> str | None:
    """The format that a name stands for."""
    unpacked = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return _SUFFIXES.get(unpacked.suffix.lower())
