"""``kcrc predict``: one line an image; as text, JSON lines or CSV."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcrc.cli.arguments import expand, gallery_argument, images_argument, model_option, open_to_ask
from kcrc.cli.batch import Batch, warn
from kcrc.cli.output import complain, csv_writer, progress, say, say_json, shown

if TYPE_CHECKING:
    from kcrc.answering import Answers

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
        float(text)
    except ValueError:
        return False
    return True


class Share(click.FloatRange):
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
@model_option
def predict(
    gallery: Path,
    images: tuple[str, ...],
    form: str | None,
    reject: float | None,
    mark: str | None,
    coverage: float | None,
    model: Path | None,
) -> int:
    """Say what is on IMAGES: files, folders, patterns, or - for names on stdin.

    Prints the image, its label and how probable that is, with tabs between them. Images that cannot be read are named
    on stderr, and the exit code is then 1. Where 20 images or more are not like the examples, a line on stderr says by
    how much what is promised may be off.
    """
    if mark is not None and reject is None:
        raise click.UsageError("--mark names what --reject finds; give --reject too.")
    files = expand(images)
    write = _writer(form, reject is not None, coverage is not None)
    failed, read = 0, list[str]()
    with open_to_ask(gallery, model=model) as opened, progress(len(files), "images") as bar:
        batch = Batch(opened.answering.answerer())
        answer = batch.watched(opened.answering.asked(reject=reject, unknown=mark, coverage=coverage))
        for chunk in opened.answering.stream(files, answer, on_error="skip"):
            read += chunk.names
            if chunk.answers is not None:
                for i, name in enumerate(chunk.names):
                    write(_row(name, chunk.answers, i))
            complain(chunk.problems)
            failed += len(chunk.problems)
            bar.update(len(chunk.names) + len(chunk.problems))
        warn(batch.likeness(), read)
    return 1 if failed else 0


def _row(name: str, found: Answers, i: int) -> dict[str, Any]:
    """All that is said of one image, in the order of the columns."""
    said: Any = found.evidence[i].to_dict()
    row = {"image": name, "label": str(found.labels[i]), "probability": float(found.probability[i])}
    if found.unknown is not None:
        row |= {"unknown": bool(found.unknown[i]), "best": said["label"]}
    if found.members is not None:
        row["set"] = list(found.set_of(i))
    row |= {key: said[key] for key in ("margin", "runner_up", "how")}
    return {**row, "probabilities": found.likely(i)}


def _writer(form: str | None, reject: bool, sets: bool) -> Callable[[dict[str, Any]], None]:
    if form == "json":
        return lambda row: say_json(row)
    if form == "csv":
        columns = [
            "image",
            "label",
            "probability",
            *(["unknown", "best"] if reject else []),
            *(["set"] if sets else []),
        ]
        return csv_writer([*columns, "margin", "runner_up", "how"])
    return lambda row: say(_line(row))


def _line(row: dict[str, Any]) -> str:
    sure = "-" if row.get("unknown") else f"{row['probability']:.1%}"
    parts = [shown(row["image"]), shown(row["label"]), sure]
    if "set" in row:
        parts.append(", ".join(shown(name) for name in row["set"]) or "-")
    return "\t".join(parts)
