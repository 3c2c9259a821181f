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

from kcrc.cli.output import shown
from kcrc.errors import DataError, KCRCError, ParameterError

if TYPE_CHECKING:
    from kcrc.gallery import Gallery

F = TypeVar("F", bound=Callable[..., Any])


class GalleryAddress(click.Path):
    """The file of a gallery, or the address of one that is kept otherwise (``scheme://…``), which is left as it is."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if isinstance(value, str) and "://" in value else super().convert(value, param, ctx)


def gallery_argument(function: F) -> F:
    """The first argument of most commands: where the gallery is."""
    return click.argument("gallery", type=GalleryAddress(path_type=Path))(function)


def images_argument(function: F) -> F:
    """Images: files, folders, patterns, or '-' for a list of them on stdin."""
    return click.argument("images", nargs=-1, required=True)(function)


def model_option(function: F) -> F:
    """The network file, for commands that look at images."""
    text = "The network file of a gallery made with the feature onnx, where it is not in the cache [or $KCRC_MODEL]."
    return click.option("--model", type=click.Path(path_type=Path), metavar="FILE", help=text)(function)


def open_gallery(path: Path | str, *, write: bool = False, model: Path | None = None) -> Gallery:
    """A gallery to read, and then nothing is written to it, or to change.

    What a killed writer left half done is taken back first, and an older file brought up to date, where we may."""
    from kcrc.gallery import Gallery

    return Gallery.open(path, readonly=not write, recover=True, model=model)


def open_to_ask(path: Path | str, *, model: Path | None = None) -> Gallery:
    """A gallery to ask: to read. Parameters that had yet to be chosen are, and are stored if it may be written."""
    opened = open_gallery(path, model=model)
    try:
        opened.answering.answerer()
        if opened.answering.unstored and (isinstance(path, str) or os.access(path, os.W_OK)):
            with contextlib.suppress(KCRCError), open_gallery(path, write=True) as writer:
                opened.answering.keep(writer)
    except BaseException:
        opened.close()
        raise
    return opened


def expand(images: Sequence[str]) -> list[str]:
    """The files that arguments stand for, in order: '-' reads names from stdin, a folder stands for its images."""
    from kcrc.datasets.folders import image_files

    found: list[str] = []
    for given in images:
        if given == "-":
            found += expand([name for name in _names_on_stdin() if name != "-"])
        elif os.path.isdir(given):
            inside = [str(path) for path in image_files(Path(given))]
            if not inside:
                raise DataError(f"The folder '{shown(given)}' has no image files.")
            found += inside
        elif not os.path.exists(given) and any(mark in given for mark in "*?["):
            matching = sorted(glob.glob(given, recursive=True))
            if not matching:
                raise DataError(f"No file matches '{shown(given)}'.")
            found += expand(matching)
        else:
            found.append(given)
    return found


def _names_on_stdin() -> list[str]:
    """One name a line, or NUL between names (find -print0)."""
    data = sys.stdin.buffer.read()
    parts = data.split(b"\0") if b"\0" in data else data.splitlines()
    return [os.fsdecode(part) for part in parts if part.strip()]


def option_value(text: str) -> tuple[str, Any]:
    """NAME=VALUE; the value as JSON where it is (3, 0.5, true, [32, 32]), else as text."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ParameterError(f"An option is NAME=VALUE; got '{shown(text)}'.")
    try:
        plain = json.loads(value)
    except (ValueError, RecursionError):
        plain = value
    return name.replace("-", "_"), tuple(plain) if isinstance(plain, list) else plain


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
