"""``kcrc list`` and ``kcrc show``: the examples of a gallery, and all that is known of one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kcrc.cli.arguments import gallery_argument, method_option, open_gallery, open_to_ask, page_options, publish
from kcrc.errors import DataError, FileError
from kcrc.report.terminal import csv_writer, note, say, say_json, shown

if TYPE_CHECKING:
    from kcrc.gallery.history import Entry
    from kcrc.gallery.listing import ExampleDetails

COLUMNS = ("id", "label", "source", "added_at", "sha256")


@click.command("list")
@gallery_argument
@click.option("-l", "--label", help="Only examples of this class.")
@click.option("--since", metavar="DATE", help="Only those added on this day (2026-05-01) or later.")
@click.option("--source", metavar="TEXT", help="Only those whose source has TEXT in it.")
@click.option(
    "--by",
    type=click.Choice(["id", "label", "date", "source"]),
    default="id",
    show_default=True,
    help="The order of the examples.",
)
@click.option("--json", "form", flag_value="json", help="Print one JSON object on each line.")
@click.option("--csv", "form", flag_value="csv", help="Print CSV with a header line.")
@page_options
def list_(
    gallery: Path,
    label: str | None,
    since: str | None,
    source: str | None,
    by: str,
    form: str | None,
    html: Path | None,
    open_page: bool,
) -> int:
    """List the examples of GALLERY: id, when added, class, source."""
    from kcrc.gallery.history import format_moment
    from kcrc.gallery.listing import facts_of, list_examples, parse_moment

    earliest = None if since is None else parse_moment(since)
    with open_gallery(gallery) as opened:
        if label is not None and not opened.find(label=label):
            raise DataError(f"There is no class '{shown(label)}' in the gallery.")
        examples = list_examples(opened, label=label, since=earliest, source=source, by=by)
        if html is not None or open_page:
            from kcrc.report.list_page import list_page

            publish(list_page(opened, examples), name="examples", html=html, open_page=open_page)
    if form == "json":
        for example in examples:
            say_json(facts_of(example))
    elif form == "csv":
        write = csv_writer(COLUMNS)
        for example in examples:
            write(facts_of(example))
    elif html is None and not open_page:
        for example in examples:
            say(f"{example.id:>5}  {format_moment(example.added_at)}  {shown(example.label)}\t{shown(example.source)}")
    if not examples:
        note("No example is like that." if label or since or source else "The gallery is empty.")
    return 0


@click.command()
@gallery_argument
@click.argument("example", metavar="ID", type=click.IntRange(1))
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.option("--save", type=click.Path(path_type=Path), metavar="FILE", help="Write its small picture to FILE.")
@click.option("--force", is_flag=True, help="Overwrite an existing FILE.")
@method_option
def show(gallery: Path, example: int, as_json: bool, save: Path | None, force: bool, method: bool) -> int:
    """Show everything that is known about the example with the number ID (kcrc list has the numbers): its class, where
    it came from and by which change, its nearest examples, and what they would answer if it were not there.
    """
    from kcrc.gallery.listing import example_details

    if save is not None and save.exists() and not force:
        raise FileError(f"'{shown(save)}' exists already; say --force to overwrite it.")
    with open_to_ask(gallery) as opened:
        details = example_details(opened, example)
    if save is not None:
        from kcrc.files.atomic import write_bytes

        if details.picture is None:
            raise DataError(f"Example {example} has no picture in the gallery.")
        write_bytes(save, details.picture)
        note(f"wrote {shown(save)}")
    if as_json:
        say_json(details.to_dict())
    else:
        _print(details, method)
    return 0


def _print(details: ExampleDetails, method: bool) -> None:
    from kcrc._base.words import percent
    from kcrc.gallery.history import format_moment
    from kcrc.images.nearness import list_looks

    record, own, size = details.example, details.own, details.picture_size
    say(f"example {record.id}: {shown(record.label)}{' (removed)' if details.removed_by is not None else ''}")
    say(f"source    {shown(record.source) or '-'}")
    added_by = "" if details.added_by is None else f", {_step(details.added_by)}"
    say(f"added     {format_moment(record.added_at)}{added_by}")
    for before, entry in details.labels:
        say(f"before    {shown(before)}, until {_step(entry)}")
    if details.removed_by is not None:
        say(f"removed   {format_moment(details.removed_by.at)}, {_step(details.removed_by)}")
    if details.picture is not None and size is not None:
        say(f"picture   {size[0]} × {size[1]} pixels, {len(details.picture) / 1000:.1f} kB are kept (--save)")
    if method:
        say(f"sha256    {record.content.hex()}")
    if own is not None:
        agrees = "as labelled" if own.answer == record.label else f"its label has {percent(own.of_label)}"
        say(f"answer    {shown(own.answer)} {percent(own.probability)}, as if it were not in the gallery: {agrees}")
    elif details.nearest:
        say("answer    none: if it were not in the gallery, nothing of its class would be left to answer")
    for near in details.nearest:
        look = f", near by {shown(list_looks(near.near_by))}" if method and near.near_by else ""
        distance = f", distance {near.distance:.4g}" if method else ""
        say(f"nearest   #{near.id} {shown(near.label)}{distance}  {shown(near.source)}{look}")


def _step(entry: Entry) -> str:
    return f"step {entry.id} of the history ({shown(entry.summary)})"
