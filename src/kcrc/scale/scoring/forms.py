"""Rows of answers as bytes, by the kind of file they go to, and parts of such a file joined."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from kcrc.confidence.answer_rows import columns, in_columns
from kcrc.errors import ParameterError
from kcrc.files.plain_json import to_line
from kcrc.files.spreadsheet import csv_line


class Form(ABC):
    """A kind of file; ``columns`` are those of a table of these answers."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = columns

    @abstractmethod
    def encoded(self, rows: Sequence[dict[str, Any]]) -> bytes:
        """A part of the file."""

    @abstractmethod
    def join(self, parts: Iterable[bytes], out: BinaryIO) -> None:
        """Write the whole file; parts are looked at one after the other."""


class Csv(Form):
    def encoded(self, rows: Sequence[dict[str, Any]]) -> bytes:
        flat = map(in_columns, rows)
        text = "".join(csv_line([row.get(name, "") for name in self.columns]) for row in flat)
        return text.encode("utf-8", "backslashreplace")

    def join(self, parts: Iterable[bytes], out: BinaryIO) -> None:
        out.write(csv_line(self.columns).encode())
        for part in parts:
            out.write(part)


class JsonLines(Form):
    def encoded(self, rows: Sequence[dict[str, Any]]) -> bytes:
        return "".join(f"{to_line(row)}\n" for row in rows).encode()

    def join(self, parts: Iterable[bytes], out: BinaryIO) -> None:
        for part in parts:
            out.write(part)


class Parquet(Form):
    """The columns of the CSV with types: numbers, truths, and lists of texts for sets."""

    def __init__(self, columns: Sequence[str]) -> None:
        super().__init__(columns)
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise ParameterError("Writing Parquet needs pyarrow. Install it: pip install 'kcrc[tables]'.") from None
        self._arrow = pyarrow
        self._schema = pyarrow.schema([(name, self._type_of(name)) for name in columns])

    def _type_of(self, name: str) -> Any:
        if name == "margin" or name.endswith("probability"):
            return self._arrow.float64()
        if name == "unknown":
            return self._arrow.bool_()
        return self._arrow.list_(self._arrow.string()) if name == "set" else self._arrow.string()

    def encoded(self, rows: Sequence[dict[str, Any]]) -> bytes:
        sound = [{name: _sound(value) for name, value in in_columns(row).items()} for row in rows]
        table = self._arrow.Table.from_pylist(sound, schema=self._schema)
        out = io.BytesIO()
        self._arrow.parquet.write_table(table, out)
        return out.getvalue()

    def join(self, parts: Iterable[bytes], out: BinaryIO) -> None:
        with self._arrow.parquet.ParquetWriter(out, self._schema) as writer:
            for part in parts:
                writer.write_table(self._arrow.parquet.read_table(io.BytesIO(part)))


def _sound(value: Any) -> Any:
    """Text as UTF-8 can say it: a file name may hold any bytes."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


FORMS: dict[str, type[Form]] = {".csv": Csv, ".jsonl": JsonLines, ".parquet": Parquet}


def form_for(name: str, *, sets: bool, top: int) -> Form:
    """How answers are written to a file of this name."""
    kind = FORMS.get(Path(name).suffix.lower())
    if kind is None:
        raise ParameterError(f"Answers are written to {', '.join(FORMS)}; got '{name}'.")
    return kind(columns(sets=sets, top=top))
