"""Parquet files are read in the box.

Arrow allocates memory for all that a footer lists before it checks any of it, and a few hundred bytes can expand to
gigabytes. So a worker opens the file, of which it fetches pieces through its pipe (``boxed``), and gives back rows.
This module is the side that asks (``ParquetReader``), what every job that reads Parquet needs (``open_parquet``,
``class_names``), and the job for rows of a table (``answer``).
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from importlib.util import find_spec
from typing import IO, Any

from kcrc.errors import DataError, ParameterError
from kcrc.files.box import Broken, Worker
from kcrc.files.boxed import Fetch, Head, Reply
from kcrc.files.plain_files import read_json

MEMORY = 1_000_000_000  # bytes that a worker may take
SECONDS = 30.0  # of processor time for opening a file, and for each batch of rows
_CLOCK = 4  # times the seconds of computing may pass on the clock
_LONGEST_REPLY = 1 << 30
# Where the system does not limit the memory of a worker: a footer of this size describes tens of thousands of chunks.
_FOOTER, _ENTRIES = 4_000_000, 100_000


class ParquetReader:
    """A Parquet file, open in a worker of the job ``job``. ``name`` is what errors call it."""

    def __init__(self, file: IO[bytes], name: str, *, job: str = "kcrc.files.parquet", **options: Any) -> None:
        if find_spec("pyarrow") is None:
            raise ParameterError(f"Reading {name} needs pyarrow. Install it: pip install 'kcrc[tables]'.")
        self._file, self._name = file, name
        self._worker = Worker(job, memory=MEMORY)
        size = file.seek(0, io.SEEK_END)
        self.head, _ = self._ask({"do": "open", "name": name, "size": size, **options})

    def batches(self, head: Head) -> Iterator[tuple[Any, memoryview]]:
        """What the job gives for a request, a batch at a time: a JSON value, and bytes."""
        request = {**head, "do": "begin"}
        while True:
            reply, content = self._ask(request)
            if reply.get("end"):
                return
            size = reply.get("bytes")
            if type(size) is not int or not 0 <= size <= len(content):
                raise DataError(f"{self._name} cannot be read: its worker gave no rows.")
            yield read_json(bytes(content[size:])), memoryview(content)[:size]
            request = {"do": "next"}

    def _ask(self, head: Head) -> tuple[Head, bytearray]:
        try:
            return self._worker.ask(
                head, clock=_CLOCK * SECONDS, seconds=SECONDS, limit=_LONGEST_REPLY, file=self._file
            )
        except Broken as problem:
            why = {
                "time": f"a part of it takes more than {SECONDS:g} seconds",
                "memory": f"a part of it takes more than {MEMORY // 10**6} MB of memory",
            }.get(problem.reason, f"Arrow broke down over it ({problem})")
        advice = "Get it again, or write it in smaller row groups."
        raise DataError(f"{self._name} cannot be read as Parquet: {why}. {advice}")


# What follows runs in a worker.

_fetch: Fetch
_batches: Iterator[tuple[Any, bytes]]


def prepare() -> None:
    """Import what cannot be imported once the process is confined."""
    import datetime
    import decimal  # noqa: F401  # of cells

    import pyarrow.compute
    import pyarrow.parquet

    pyarrow.set_cpu_count(1)
    pyarrow.set_io_thread_count(1)
    datetime.datetime.strptime("2000", "%Y")  # which imports as it goes


def attach(fetch: Fetch) -> None:
    global _fetch
    _fetch = fetch


class _Fetched(io.RawIOBase):
    """The file as Arrow wants it, read through the pipe."""

    def __init__(self, size: int) -> None:
        self._size, self._place = size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._place = max(0, offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence])
        return self._place

    def read(self, size: int | None = -1) -> bytes:
        rest = max(0, self._size - self._place)
        content = bytes(_fetch(self._place, rest if size is None or size < 0 else min(size, rest)))
        self._place += len(content)
        return content


def open_parquet(size: int, **options: Any) -> Any:
    """The ``ParquetFile`` of the file that is read through the pipe; errors are Arrow's."""
    import pyarrow.parquet

    limits = {"thrift_string_size_limit": _FOOTER, "thrift_container_size_limit": _ENTRIES}
    return pyarrow.parquet.ParquetFile(_Fetched(size), **limits, **options)


def as_reply(batches: Iterator[tuple[Any, bytes]]) -> Reply:
    """The next batch as ``ParquetReader.batches`` takes it."""
    batch = next(batches, None)
    if batch is None:
        return Reply({"end": True})
    text = json.dumps(batch[0], default=_as_text).encode()
    return Reply({"bytes": len(batch[1])}, len(batch[1]) + len(text), [batch[1], text])


def _as_text(value: Any) -> str:
    """A value that JSON has no kind for: a date, bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def class_names(schema: Any) -> dict[str, list[str]]:
    """The class names by column, as Hugging Face datasets writes them: in the footer, under one key.

    Whatever is not as datasets writes it is ignored.
    """
    by_column: dict[str, list[str]] = {}
    try:
        features = read_json((schema.metadata or {}).get(b"huggingface", b"null"))["info"]["features"].items()
    except (ValueError, TypeError, KeyError, AttributeError):
        return by_column
    for column, feature in features:
        names = feature.get("names") if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" else None
        is_whole = isinstance(names, list) and len(names) <= _ENTRIES and all(isinstance(name, str) for name in names)
        if names and is_whole and len(set(names)) == len(names):
            by_column[column] = names
    return by_column


def class_name(number: Any, names: list[str], place: str) -> str | None:
    """The name of a class number; None for -1, which means no class."""
    if number is None or number == -1:
        return None
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(names):
        raise DataError(
            f"{place} has the class number {str(number)[:60]}; it must be 0 to {len(names) - 1}, as the file "
            f"names {len(names)} classes."
        )
    return names[number]


# The job for rows of a table.

_file: Any


def answer(head: Head, content: bytearray) -> Reply:
    """Open a file, or give the next rows of the columns that were asked for."""
    import pyarrow

    global _file, _batches
    try:
        if head["do"] == "open":
            _file = open_parquet(head["size"])
            return Reply(_describe(_file))
        if head["do"] == "begin":
            _batches = map(_as_rows, _file.iter_batches(head["rows"], columns=head["columns"]))
        return as_reply(_batches)
    except MemoryError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, KeyError, OverflowError) as problem:
        raise DataError(f"It cannot be read as Parquet: {str(problem)[:200]}.") from None


def _describe(file: Any) -> Head:
    from pyarrow import types

    parts = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    columns = [
        [field.name, "picture" if _is_picture(field.type) else "nested" if types.is_nested(field.type) else "plain"]
        for field in file.schema_arrow
    ]
    names = class_names(file.schema_arrow)
    size = sum(part.total_byte_size for part in parts)
    return {"rows": file.metadata.num_rows, "bytes": size, "columns": columns, "class_names": names}


def _is_picture(kind: Any) -> bool:
    """Whether a column is an image as Hugging Face datasets writes it: a struct of its bytes and its path."""
    from pyarrow import types

    return bool(types.is_struct(kind)) and {field.name for field in kind} == {"bytes", "path"}


def _as_rows(batch: Any) -> tuple[Any, bytes]:
    """Rows as mappings; the bytes of a picture are a range of the bytes behind."""
    pictures = bytearray()
    rows = batch.to_pylist()
    for row in rows:
        for cell in row.values():
            if isinstance(cell, dict) and isinstance(held := cell.get("bytes"), bytes):
                cell["bytes"] = [len(pictures), len(held)]
                pictures += held
    return rows, bytes(pictures)
