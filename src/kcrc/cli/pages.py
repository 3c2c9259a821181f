"""Pages that commands write: ``--html FILE`` says where, ``--open`` shows them in the browser."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from kcrc.report.terminal import note, shown

F = TypeVar("F", bound=Callable[..., Any])


def page_options(function: F) -> F:
    """``html`` and ``open_page`` of a command that has a page."""
    where = "Write a page: one file, with all pictures in it."
    show = "Show the page in the browser; without --html it is written to a folder for temporary files."
    opened = click.option("--open", "open_page", is_flag=True, help=show)(function)
    return click.option("--html", type=click.Path(path_type=Path), help=where)(opened)


def publish(page: str, *, name: str, html: Path | None, open_page: bool) -> None:
    """Write the page, say where it is, and open it where that is asked for. ``name`` is for one nobody named."""
    import tempfile
    import webbrowser

    from kcrc.report.html import write_page

    path = html if html is not None else Path(tempfile.mkdtemp(prefix="kcrc-")) / f"{name}.html"  # a folder of our own
    write_page(path, page)
    note(f"wrote {shown(path)}")
    if open_page and not webbrowser.open(Path(os.path.abspath(path)).as_uri()):
        note(f"kcrc: No browser could be started here. The page is {shown(path)}.")
