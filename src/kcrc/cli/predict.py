"""``kcrc predict``: one line an image; as text, JSON lines or CSV."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcrc.cli.arguments import (
    Decimal,
    expand_or_content,
    gallery_argument,
    images_argument,
    model_option,
    open_to_ask,
    with_point,
)
from kcrc.cli.batch import Batch, warn
from kcrc.cli.output import complain, csv_writer, note, progress, say, say_json, shown

if TYPE_CHECKING:
    from kcrc.answering import Answers

MOST = 1000  # classes that --top names
OPTIONAL = {"--reject": "0.05", "--set": "0.95"}  # the value where none is given


class OptionalValues(click.Command):
    """A command whose options in OPTIONAL may stand without a value, also right before an image."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given: list[str] = []
        for at, word in enumerate(args):
            given.append(word)
            if word == "--":
                given += args[at + 1 :]
                break
            if word in OPTIONAL and not (at + 1 < len(args) and _is_number(args[at + 1])):
                given.append(OPTIONAL[word])
        return super().parse_args(ctx, given)


def _is_number(text: str) -> bool:
    try:
        float(with_point(text))
    except ValueError:
        return False
    return True


class Share(Decimal):
    """A number between 0 and 1."""

    name = "share"

    def __init__(self) -> None:
        super().__init__(0, 1, min_open=True, max_open=True)


@click.command(cls=OptionalValues, short_help="Say what is on images.")
@gallery_argument
@images_argument
@click.option("--json", "form", flag_value="json", help="A JSON object a line.")
@click.option("--csv", "form", flag_value="csv", help="CSV with a header line.")
@click.option(
    "--reject",
    type=Share(),
    metavar="[RATE]",
    help="Call an image unknown that resembles no class; RATE of images of these classes may be called so by "
    "mistake [0.05 if not given].",
)
@click.option("--mark", metavar="NAME", help="What to call the unknown [default: unknown].")
@click.option(
    "--set",
    "coverage",
    type=Share(),
    metavar="[COVERAGE]",
    help="Add the classes it may be of: the true one is among them for COVERAGE of images like the examples "
    "[0.95 if not given].",
)
@click.option(
    "--sort",
    type=click.Choice(["doubt"]),
    help="The most doubtful first: what is unknown, then what is least probable. Nothing is printed before the end.",
)
@click.option("--top", type=click.IntRange(1, MOST), metavar="N", help="Add the N likeliest classes and how likely.")
@click.option(
    "--below", type=Share(), metavar="P", help="Only images whose answer is less probable than P, or unknown."
)
@model_option
def predict(
    gallery: Path,
    images: tuple[str, ...],
    form: str | None,
    reject: float | None,
    mark: str | None,
    coverage: float | None,
    sort: str | None,
    top: int | None,
    below: float | None,
    model: Path | None,
) -> int:
    """Say what is on IMAGES: files, folders, patterns, or - for names on stdin, or for a picture itself.

    Prints the image, its label and how probable that is, with tabs between them; where it is unknown, also why.
    Without --reject that is so where nothing can be said: of images of one colour or of noise, and with only one class.
    What to look at first: --sort doubt --below 0.9 --top 3. Images that cannot be read are named on stderr, and the
    exit code is then 1. Where 20 images or more are not like the examples, a line on stderr says by how much what is
    promised may be off.
    """
    if mark is not None and reject is None:
        raise click.UsageError("--mark names what --reject finds; give --reject too.")
    files = expand_or_content(images)
    write = _writer(form, coverage is not None, top or 0)
    failed, told, read, waiting = 0, 0, list[str](), list[dict[str, Any]]()
    with open_to_ask(gallery, model=model) as opened, progress(len(files), "images") as bar:
        batch = Batch(opened.answering.answerer())
        answer = batch.watched(opened.answering.asked(reject=reject, unknown=mark, coverage=coverage))
        for chunk in opened.answering.stream(files, answer, on_error="skip"):
            read += chunk.names
            if chunk.answers is not None:
                found = opened.answering.told(chunk.answers, chunk.empty)
                rows = (row_of(name, found, i, top=top or 0) for i, name in enumerate(chunk.names))
                waiting += (row for row in rows if below is None or _is_doubtful(row, below))
                if sort is None:
                    told += _write_all(write, waiting)
            complain(chunk.problems)
            failed += len(chunk.problems)
            bar.update(len(chunk.names) + len(chunk.problems))
        waiting.sort(key=_doubt)
        told += _write_all(write, waiting)
        warn(batch.likeness(), read)
    if below is not None:
        note(f"{told} of {len(read)} images: their answer is less probable than {below:g}, or unknown.")
    return 1 if failed else 0


def _write_all(write: Callable[[dict[str, Any]], None], rows: list[dict[str, Any]]) -> int:
    """Write the rows and let them go; how many."""
    for row in rows:
        write(row)
    count = len(rows)
    rows.clear()
    return count


def _doubt(row: dict[str, Any]) -> tuple[bool, float]:
    """What sorts the most doubtful first."""
    return not row["unknown"], row["probability"] or 0.0


def _is_doubtful(row: dict[str, Any], below: float) -> bool:
    """Whether an answer is less probable than ``below``, unknown, or has no probability."""
    return row["unknown"] or row["probability"] is None or row["probability"] < below


def row_of(name: str, found: Answers, i: int, *, top: int = 0) -> dict[str, Any]:
    """All that is said of one image, in the order of the columns."""
    said: Any = found.evidence[i].to_dict()
    sure = float(found.probability[i])
    row: dict[str, Any] = {
        "image": name,
        "label": str(found.labels[i]),
        "probability": None if isnan(sure) else sure,
        "unknown": bool(found.unknown[i]),
        "best": said["label"],
    }
    if found.members is not None:
        row["set"] = list(found.set_of(i))
    if top:
        likeliest = itertools.islice(found.likely(i, least=0.0).items(), top)
        row["top"] = [{"label": label, "probability": share} for label, share in likeliest]
    row |= {key: said[key] for key in ("margin", "runner_up", "how")}
    return {**row, "why": found.why[i], "probabilities": found.likely(i)}


def _writer(form: str | None, sets: bool, top: int) -> Callable[[dict[str, Any]], None]:
    if form == "json":
        return lambda row: say_json(row)
    if form == "csv":
        columns = ["image", "label", "probability", "unknown", "best", *(["set"] if sets else [])]
        columns += [name for place in range(1, top + 1) for name in (f"top_{place}", f"top_{place}_probability")]
        put = csv_writer([*columns, "margin", "runner_up", "how", "why"])
        return lambda row: put({**row, **_ranked(row)})
    return lambda row: say(line_of(row))


def _ranked(row: dict[str, Any]) -> dict[str, Any]:
    """The likeliest classes in columns of their own."""
    found: dict[str, Any] = {}
    for place, one in enumerate(row.get("top", []), 1):
        found |= {f"top_{place}": one["label"], f"top_{place}_probability": one["probability"]}
    return found


def line_of(row: dict[str, Any]) -> str:
    sure = "-" if row["unknown"] or row["probability"] is None else f"{row['probability']:.1%}"
    parts = [shown(row["image"]), shown(row["label"]), sure]
    if "set" in row:
        parts.append(", ".join(shown(name) for name in row["set"]) or "-")
    if "top" in row:
        parts.append(", ".join(f"{shown(one['label'])} {one['probability']:.1%}" for one in row["top"]))
    if row["unknown"]:
        parts.append(shown(row["why"]))
    return "\t".join(parts)
