"""What commands take: galleries, options, images from the line, folders or stdin."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kcrc._base.redaction import ServerAddress
from kcrc.cli.endings import Stopped
from kcrc.errors import DataError, FileError, KCRCError, ParameterError, StateError
from kcrc.report.terminal import note, quote_command, shown

if TYPE_CHECKING:
    from kcrc.gallery import Gallery

F = TypeVar("F", bound=Callable[..., Any])


class GalleryAddress(click.Path):
    """The file of a gallery, or the address of one that is kept otherwise (``scheme://…``), which is left as it is."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and "://" in value:
            return ServerAddress(value)
        return super().convert(value, param, ctx)


class Decimal(click.FloatRange):
    """A number in a range, with a point or with the comma that many write instead: 0.05 or 0,05."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number: Any = with_point(value) if isinstance(value, str) else value
        return super().convert(number, param, ctx)


def with_point(number: str) -> str:
    """A number as Python reads it, whatever the mark before its decimals; other texts as they are."""
    return number.replace(",", ".") if number.count(",") == 1 and "." not in number else number


def gallery_argument(function: F) -> F:
    """The first argument of most commands: where the gallery is."""
    return click.argument("gallery", type=GalleryAddress(path_type=Path))(function)


def images_argument(function: F) -> F:
    """Images: files, folders, patterns, or '-' for a list of them on stdin."""
    return click.argument("images", nargs=-1, required=True)(function)


def model_option(function: F) -> F:
    """The network file, for commands that look at images."""
    text = "The network file of a gallery made with the feature onnx, if it is not in the cache [or $KCRC_MODEL]."
    return click.option("--model", type=click.Path(path_type=Path), metavar="FILE", help=text)(function)


def method_option(function: F) -> F:
    """-v: say how it was done too, in the words of the method."""
    text = "Say also how: looks, parameters, distances, checksums."
    return click.option("-v", "--method", is_flag=True, help=text)(function)


def open_gallery(path: Path | str, *, write: bool = False, model: Path | None = None) -> Gallery:
    """A gallery to read, and then nothing is written to it, or to change.

    What a killed writer left half done is taken back first, and an older file brought up to date, where we may."""
    from kcrc.cli.exchange import check_is_gallery
    from kcrc.gallery import Gallery

    try:
        return Gallery.open(path, readonly=not write, recover=True, model=model)
    except FileError:
        check_is_gallery(path)  # says more where it is none at all
        raise


def open_to_ask(path: Path | str, *, model: Path | None = None) -> Gallery:
    """A gallery to ask: to read. Parameters that had yet to be chosen are, and are stored if it may be written."""
    opened = open_gallery(path, model=model)
    try:
        if not len(opened):
            raise StateError(f"The gallery '{shown(path)}' is empty: it has no examples to answer by. Add some first.")
        due = opened.answering.why_choose
        storable = isinstance(path, str) or os.access(path, os.W_OK)
        if due is not None:
            how_long = "once" if storable else "for this command alone: the gallery may not be written"
            note(f"{due}; they are chosen now, {how_long}. That takes a minute at most.")
        try:
            opened.answering.answerer()
        except KeyboardInterrupt:
            raise Stopped(
                f"the settings were not chosen. {quote_command('tune', '--seconds', 10, path)} takes less time for it."
            ) from None
        if opened.answering.is_unstored and storable:
            with contextlib.suppress(KCRCError), open_gallery(path, write=True) as writer:
                opened.answering.keep(writer.store)
    except BaseException:
        opened.close()
        raise
    return opened


def expand(images: Sequence[str]) -> list[str]:
    """The files that arguments stand for, in order: '-' reads names from stdin, a folder stands for its images."""
    from kcrc.images.datasets import image_files

    files: list[str] = []
    for word in images:
        if word == "-":
            files += expand([name for name in _names_on_stdin() if name != "-"])
        elif os.path.isdir(word):
            members = [str(path) for path in image_files(Path(word))]
            if not members:
                raise DataError(f"The folder '{shown(word)}' has no image files.")
            files += members
        elif not os.path.exists(word) and any(mark in word for mark in "*?["):
            matching = sorted(glob.glob(word, recursive=True))
            if not matching:
                raise DataError(f"No file matches '{shown(word)}'.")
            files += expand(matching)
        else:
            files.append(word)
    return files


def expand_or_content(images: Sequence[str]) -> list[str | os.PathLike[str]]:
    """The same for commands that also take a picture itself on stdin, where '-' is all that is given."""
    if list(images) != ["-"]:
        return list(expand(images))
    from kcrc.images.decoding.limits import Content

    data = _stdin()
    return [Content("-", data)] if _is_picture(data) else list(expand(_names(data)))


def _names_on_stdin() -> list[str]:
    data = _stdin()
    if _is_picture(data):
        raise DataError(
            "There is a picture on stdin where names are expected. 'kcrc predict GALLERY -' takes a picture itself."
        )
    return _names(data)


def _stdin() -> bytes:
    """All of stdin, and no more than a picture may have."""
    from kcrc.images.decoding.limits import Limits

    most = Limits.usual().max_bytes
    data = sys.stdin.buffer.read(most + 1)
    if len(data) > most:
        raise DataError(f"There are more than {most} bytes on stdin. KCRC_IMAGE_BYTES sets another limit.")
    return data


def _is_picture(data: bytes) -> bool:
    from kcrc.images.decoding.limits import format_of

    return format_of(data) is not None


def _names(data: bytes) -> list[str]:
    """One name a line, or NUL between names (find -print0)."""
    parts = data.split(b"\0") if b"\0" in data else data.splitlines()
    return [os.fsdecode(part) for part in parts if part.strip()]


def option_value(text: str) -> tuple[str, Any]:
    """NAME=VALUE; the value as JSON where it is (3, 0.5, true, [32, 32] or (32, 32)), else as text."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ParameterError(f"An option is NAME=VALUE; got '{shown(text)}'.")
    try:
        pair = value.startswith("(") and value.endswith(")")
        plain = json.loads(f"[{value[1:-1]}]" if pair else value)
    except (ValueError, RecursionError):
        plain = value
    return name.replace("-", "_"), tuple(plain) if isinstance(plain, list) else plain


def in_percent(share: float) -> str:
    """A share that a user gave, as per cent: 90%, 99.5%."""
    return f"{100 * share:g}%"


def ids_text(ids: Sequence[int]) -> str:
    """Ids in a few characters: 3, 5–9."""
    parts: list[str] = []
    start = 0
    for place in range(1, len(ids) + 1):
        if place == len(ids) or ids[place] != ids[place - 1] + 1:
            first, last = ids[start], ids[place - 1]
            parts.append(str(first) if first == last else f"{first}–{last}" if last > first + 1 else f"{first}, {last}")
            start = place
    return ", ".join(parts[:8]) + (" …" if len(parts) > 8 else "")


# Pages that commands write: ``--html FILE`` says where, ``--open`` shows them in the browser.


def page_options(function: F) -> F:
    """``html`` and ``open_page`` of a command that has a page."""
    where = "Write a page: one file, with all pictures in it."
    show = "Show the page in the browser; without --html it is written to a folder for temporary files."
    opened = click.option("--open", "open_page", is_flag=True, help=show)(function)
    return click.option("--html", type=click.Path(path_type=Path), help=where)(opened)


def publish(page: str, *, name: str, html: Path | None, open_page: bool) -> None:
    """Write the page, say where it is, and open it where that is asked for. ``name`` is used if no file was named."""
    import tempfile
    import webbrowser

    from kcrc.report.html import write_page

    path = html if html is not None else Path(tempfile.mkdtemp(prefix="kcrc-")) / f"{name}.html"  # a folder of our own
    write_page(path, page)
    note(f"wrote {shown(path)}")
    if open_page and not webbrowser.open(Path(os.path.abspath(path)).as_uri()):
        note(f"kcrc: No browser could be started here. The page is {shown(path)}.")
