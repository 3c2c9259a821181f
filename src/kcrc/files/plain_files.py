"""The bytes of a regular file: never of a device, a pipe or a folder, never more than a limit, never by waiting."""

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


def read_start(path: str | os.PathLike[str], length: int) -> bytes | None:
    """The first bytes of a regular file; None of anything else, or where it cannot be read."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(path, flags)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(length) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except (OSError, ValueError):
        return None


@contextlib.contextmanager
def open_plain(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A regular file to read from; anything else is a ``FileError``, and what the system refuses an ``OSError``."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(path, flags)
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
    """The whole content of a regular file of at most ``limit`` bytes; anything else is a ``FileError``.

    The file is judged by what was opened, not by its name, so it cannot be exchanged in between; opened plainly, a
    pipe would wait for somebody to write. Without ``follow`` a link is refused.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(path, flags | (0 if follow else getattr(os, "O_NOFOLLOW", 0)))
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


# JSON read without trust, and written so that all can read it: without what Python takes beyond the standard.


def read_json(data: bytes | str) -> Any:
    """The value in JSON; a ``ValueError`` for anything else, NaN and endless nesting among it."""
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def to_line(value: Any) -> str:
    """One line of JSON in plain ASCII; what JSON has no number for (NaN, infinity) is null."""
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


# JSON lines read without trust: an object a line, of a bounded length, of a regular file of a bounded size.

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


# CSV read without trust, as people's spreadsheets save it: with a mark before it, or semicolons or tabs for commas.


def read_table(
    path: str | os.PathLike[str],
    *,
    limit: int,
    what: str,
    has_header: Callable[[Sequence[str]], bool] = lambda first: True,
) -> Iterator[tuple[int, dict[str, str]]]:
    """(line number, cells by column) of every row of a CSV file in UTF-8, also packed by gzip; cells as they are.

    ``has_header`` judges the first line; without a header the columns are called 1, 2 and so on."""
    try:
        text = unpacked(read_plain(path, limit=limit, what=what), path, limit=limit, what=what).decode("utf-8-sig")
        separator = max(",;\t", key=text.partition("\n")[0].count)
        reading: dict[str, Any] = {"delimiter": separator, "strict": True}
        first = next(csv.reader(io.StringIO(text, newline=""), **reading), [])
        names = None if has_header(first) else [str(number) for number in range(1, len(first) + 1)]
        for row in (table := csv.DictReader(io.StringIO(text, newline=""), names, **reading)):
            yield table.line_num, {name: cell or "" for name, cell in row.items() if isinstance(name, str)}
    except (UnicodeDecodeError, csv.Error) as problem:
        raise FileError(f"The {what} '{path}' is not CSV in UTF-8: {problem}.") from None


def unpacked(content: bytes, path: str | os.PathLike[str], *, limit: int, what: str) -> bytes:
    """What gzip packed, at most ``limit`` bytes of it; other content as it is."""
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            found = file.read(limit + 1)
    except (OSError, EOFError, zlib.error) as problem:
        raise FileError(f"The {what} '{path}' cannot be unpacked: {problem}.") from None
    if len(found) > limit:
        raise FileError(f"The {what} '{path}' unpacks to more than the limit of {limit} bytes.")
    return found


# Text in the cell of a spreadsheet: one that begins like a formula is run when the file is opened, unless guarded.
#
# A quote is put before it, which spreadsheets show as text; before what looks guarded already too, so that
# ``unguarded`` gives every text back. A spreadsheet that takes ';', tabs or '|' for the ends of cells begins others in
# the middle of a text, so a quote is put there too.

_FORMULA = r"(?=['\s]*[=+\-@＝＋－＠])"
_OPEN = re.compile(rf"\A{_FORMULA}|(?<=[;\t|]){_FORMULA}")
_GUARD = re.compile(rf"\A'{_FORMULA}|(?<=[;\t|])'{_FORMULA}")


def guarded(text: str) -> str:
    return _OPEN.sub("'", text)


def unguarded(cell: str) -> str:
    return _GUARD.sub("", cell)


def cell(value: Any) -> Any:
    """A text in one line, control characters as escapes; one that a spreadsheet would run gets a quote before it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        value = " | ".join(map(str, value))
    if not isinstance(value, str):
        return value
    return guarded(one_line(value))


def csv_line(values: Sequence[Any]) -> str:
    """One line of a CSV, with its end."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow([cell(value) for value in values])
    return line.getvalue()
