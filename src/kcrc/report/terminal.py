"""All output of commands goes through here: control characters in names of files and in errors are escaped, so that no
text can control the terminal.

A class, a file or a gallery may be called anything, escape codes and line breaks included, and errors quote them. So
every line passes ``visible`` here, and names pass ``shown``, which keeps them on one line. Nothing else in
``kcrc.cli`` writes to stdout or stderr; a test walks the sources to see to it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TextIO
from unicodedata import combining, east_asian_width

import click

from kcrc._base.progress import count_bar
from kcrc._base.redaction import without_secrets
from kcrc._base.words import one_line, visible
from kcrc.errors import FileError
from kcrc.files.plain_files import csv_line, to_line

shown = one_line
# Words in scripts that run from right to left. A terminal gets each between marks that isolate it (FSI, PDI): without
# them it would draw the numbers and slashes beside a name on the wrong side of it. Pipes and files get names alone.
_LETTER = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
_RIGHT_TO_LEFT = re.compile(f"{_LETTER}+(?: +{_LETTER}+)*")


def say(text: object = "", *, end: str = "\n") -> None:
    """Write a line of the answer, on stdout. If the reader goes away, the command ends quietly."""
    try:
        _write(sys.stdout, f"{text}{end}")
    except BrokenPipeError:
        _silence()
        raise click.exceptions.Exit(0) from None  # it has read enough: kcrc list … | head -1
    except OSError as problem:
        _silence()
        raise FileError(f"The output cannot be written: {problem.strerror or problem}.") from None


def output_now() -> TextIO | None:
    """Where answers go now: ``sys.stdout`` may have been replaced."""
    return sys.stdout


def can_show(text: str) -> bool:
    """Whether the encoding of the output has all characters of a text."""
    try:
        text.encode(getattr(output_now(), "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def note(text: object) -> None:
    """Write a line for the person and not for the next program, on stderr. If it cannot be written, it is left out."""
    with contextlib.suppress(OSError):
        _write(sys.stderr, f"{text}\n")


def is_confirmed(question: str) -> bool | None:
    """What the person at the terminal answers to a question; None if there is no terminal to answer at."""
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        return None
    note(f"{question} [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _write(stream: TextIO | None, text: str) -> None:
    """Write and flush; characters that the stream's encoding lacks are written as escapes."""
    if stream is None:  # closed by the parent process
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    text = without_secrets(visible(text))
    if encoding.lower().startswith("utf") and stream.isatty():
        text = _RIGHT_TO_LEFT.sub("\u2068\\g<0>\u2069", text)
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def _silence() -> None:
    """Point a stdout that cannot be written to the null device: Python flushes it once more when it ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # it may be closed, or no file at all
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def quote_command(*words: object) -> str:
    """A kcrc command to copy, between quotation marks; names are quoted for the shell where they need it."""
    line = " ".join(["kcrc", *(word if word == "…" else shlex.quote(shown(word)) for word in words)])
    return f'"{line}"' if "'" in line else f"'{line}'"


def column(name: object, width: int) -> str:
    """A name in so many places of a terminal's line: cut with an ellipsis, or filled up with blanks."""
    text = shown(name)
    while _places(text) > width:
        text = text[:-2] + "…"
    return text + " " * (width - _places(text))


def _places(text: str) -> int:
    """How many places of a line a terminal gives to a text: none to a combining mark, two to a wide character."""
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def complain(problems: Iterable[object]) -> None:
    """One line for each thing that could not be used, on stderr."""
    for problem in problems:
        note(f"kcrc: {shown(problem)}")


def say_json(value: Any) -> None:
    """One line of JSON in plain ASCII; what JSON has no number for (NaN, infinity) is null."""
    say(to_line(value))


def csv_writer(columns: Sequence[str]) -> Callable[[dict[str, Any]], None]:
    """Write a header line to stdout now, then rows by column name, a line each; names no column has are left out."""

    def write(row: dict[str, Any]) -> None:
        say(csv_line([row.get(name, "") for name in columns]), end="")

    write({name: name for name in columns})
    return write


def progress(total: int, what: str) -> Any:
    """A bar on a terminal's stderr, for work of more than two seconds."""
    return count_bar(what, total, unit=" images")


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        note(f"kcrc: {shown(record.getMessage())}")


@contextlib.contextmanager
def own_words() -> Iterator[None]:
    """Inside the block, Python's warnings and the logs of libraries are notes of this command too."""
    before, logged = warnings.showwarning, logging.lastResort

    def showwarning(message: Warning | str, *_: Any, **__: Any) -> None:
        note(f"kcrc: {shown(message)}")

    warnings.showwarning, logging.lastResort = showwarning, _Notes(logging.WARNING)
    try:
        yield
    finally:
        warnings.showwarning, logging.lastResort = before, logged
