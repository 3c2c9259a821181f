"""Read regular files safely: never a device, a pipe or a folder, never more than a limit, never waiting."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import math
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from kcrc._base.words import one_line
from kcrc.errors import FileError

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def read_start(path: str | os.PathLike[str], length: int) -> bytes | None:
    """Return the first bytes of a regular file; None for anything else, or if it cannot be read."""
    try:
        descriptor = os.open(path, _FLAGS)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(length) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except (OSError, ValueError):
        return None


@contextlib.contextmanager
def open_plain(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a regular file for reading; a ``FileError`` for anything else, an ``OSError`` if the system refuses."""
    descriptor = os.open(path, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FileError(f"{Path(path)} cannot be read: it is not a regular file.")
        file = os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise
    with file:
        yield file


def read_plain(path: str | os.PathLike[str], *, limit: int, what: str = "file", follow: bool = True) -> bytes:
    """Return the whole content of a regular file of at most ``limit`` bytes; anything else is a ``FileError``.

    The checks look at the open file, not at its name, so the file cannot be exchanged in between. It is opened without
    blocking, because a pipe would wait for a writer. Without ``follow`` a link is refused.
    """
    try:
        descriptor = os.open(path, _FLAGS | (0 if follow else getattr(os, "O_NOFOLLOW", 0)))
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise FileError(f"The {what} {Path(path)} cannot be read: it is not a regular file.")
            if status.st_size > limit:
                raise FileError(
                    f"The {what} {Path(path)} cannot be read: it has {status.st_size} bytes, more than the limit of "
                    f"{limit}."
                )
            content = file.read(status.st_size + 1)
    except (OSError, ValueError) as problem:
        if isinstance(problem, FileError):
            raise
        reason = getattr(problem, "strerror", None) or problem
        raise FileError(f"The {what} {Path(path)} cannot be read: {reason}.") from problem
    if len(content) != status.st_size:
        raise FileError(f"The {what} {Path(path)} cannot be read: it changed meanwhile.")
    return content


# JSON of untrusted origin, and JSON that every program can read: nothing that Python accepts beyond the standard.


def read_json(data: bytes | str) -> Any:
    """Parse JSON; raise a ``ValueError`` for anything else, including NaN and endless nesting."""
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number in JSON")


def to_line(value: Any) -> str:
    """Write a value as one line of JSON in plain ASCII; NaN and infinity, which JSON does not have, become null."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


# JSON lines of untrusted origin: one object per line, lines and file of limited length.

LONGEST_LINE = 1_000_000  # bytes


def read_json_lines(
    path: str | os.PathLike[str], *, limit: int, what: str, torn: bool = False
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) for every line that is not empty; raise a ``FileError`` if a line is not an object.

    With ``torn``, half a line at the end is skipped: a log whose writer was killed can end so."""
    content = read_plain(path, limit=limit, what=what)
    for number, line in enumerate(io.BytesIO(content), 1):
        if torn and not line.endswith(b"\n"):
            return
        if not line.strip():
            continue
        try:
            value = read_json(line) if len(line) <= LONGEST_LINE else None
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise FileError(
                f"Line {number} of the {what} '{path}' is not a JSON object of at most {LONGEST_LINE} bytes."
            )
        yield number, value


# CSV of untrusted origin, as spreadsheets save it: with a byte order mark, or with semicolons or tabs for commas.


def read_table(
    path: str | os.PathLike[str],
    *,
    limit: int,
    what: str,
    has_header: Callable[[Sequence[str]], bool] = lambda first: True,
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (line number, cells by column) for every row of a CSV file in UTF-8, which may be compressed by gzip.

    ``has_header`` is called with the first line; without a header the columns are called 1, 2 and so on."""
    try:
        text = decompress(read_plain(path, limit=limit, what=what), path, limit=limit, what=what).decode("utf-8-sig")
        separator = max(",;\t", key=text.partition("\n")[0].count)
        reading: dict[str, Any] = {"delimiter": separator, "strict": True}
        first = next(csv.reader(io.StringIO(text, newline=""), **reading), [])
        names = None if has_header(first) else [str(number) for number in range(1, len(first) + 1)]
        for row in (table := csv.DictReader(io.StringIO(text, newline=""), names, **reading)):
            yield table.line_num, {name: cell or "" for name, cell in row.items() if isinstance(name, str)}
    except (UnicodeDecodeError, csv.Error) as problem:
        raise FileError(f"The {what} '{path}' is not CSV in UTF-8: {problem}.") from None


def decompress(content: bytes, path: str | os.PathLike[str], *, limit: int, what: str) -> bytes:
    """Decompress gzip, up to ``limit`` bytes; return other content unchanged."""
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            decompressed = file.read(limit + 1)
    except (OSError, EOFError, zlib.error) as problem:
        raise FileError(f"The {what} '{path}' cannot be unpacked: {problem}.") from None
    if len(decompressed) > limit:
        raise FileError(f"The {what} '{path}' unpacks to more than the limit of {limit} bytes.")
    return decompressed


# A spreadsheet runs a cell that begins like a formula when the file is opened.
#
# A quote before the text prevents that: spreadsheets then show it as text. Text that already begins with a quote and a
# formula gets one more, so that ``unescape_formula`` restores every text. A spreadsheet that splits cells at ';', tabs
# or '|' begins new cells in the middle of a text, so a quote is put there too.

_FORMULA = r"(?=['\s]*[=+\-@＝＋－＠])"
_OPEN = re.compile(rf"\A{_FORMULA}|(?<=[;\t|]){_FORMULA}")
_GUARD = re.compile(rf"\A'{_FORMULA}|(?<=[;\t|])'{_FORMULA}")


def escape_formula(text: str) -> str:
    return _OPEN.sub("'", text)


def unescape_formula(cell: str) -> str:
    return _GUARD.sub("", cell)


def cell(value: Any) -> Any:
    """Return a value as one spreadsheet cell: control characters as escapes, formulas escaped by a quote."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        value = " | ".join(map(str, value))
    if not isinstance(value, str):
        return value
    return escape_formula(one_line(value))


def csv_line(values: Sequence[Any]) -> str:
    """Return one line of CSV, with its line end."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow([cell(value) for value in values])
    return line.getvalue()
