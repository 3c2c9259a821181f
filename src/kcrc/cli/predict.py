"""``kcrc predict``: one line an image; as text, JSON lines or CSV."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcrc._base.redaction import ServerAddress
from kcrc._base.words import plural
from kcrc.cli.arguments import (
    Decimal,
    expand,
    expand_or_content,
    gallery_argument,
    images_argument,
    in_percent,
    model_option,
    open_gallery,
    open_to_ask,
    with_point,
)
from kcrc.cli.batch import Batch, note_searches, warn
from kcrc.cli.endings import Stopped
from kcrc.confidence.answers import columns, in_columns, rows_of
from kcrc.errors import StateError
from kcrc.images.decoding.reading import warm
from kcrc.report.terminal import complain, csv_writer, note, progress, say, say_json, shown
from kcrc.scale import engines
from kcrc.scale.engines import Engine
from kcrc.scale.scoring.inputs import read_input
from kcrc.scale.scoring.job import Job
from kcrc.scale.scoring.scorer import Question, Scorer, close_gallery
from kcrc.scale.sharded import ShardedAnswerer, fingerprint, reachable, shards_of_gallery, why_not

if TYPE_CHECKING:
    from kcrc.gallery import Gallery
    from kcrc.scale.on_server import ServerAnswerer

MOST = 1000  # classes that --top names
OPTIONAL = {"--reject": "0.05", "--set": "0.95"}  # the value where none is given


class OptionalValues(click.Command):
    """A command whose options in OPTIONAL may stand without a value, also right before an image."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words: list[str] = []
        for place, word in enumerate(args):
            words.append(word)
            if word == "--":
                words += args[place + 1 :]
                break
            if word in OPTIONAL and not (place + 1 < len(args) and _is_number(args[place + 1])):
                words.append(OPTIONAL[word])
        return super().parse_args(ctx, words)


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


@click.command(cls=OptionalValues)
@gallery_argument
@images_argument
@click.option("--json", "form", flag_value="json", help="Print one JSON object on each line.")
@click.option("--csv", "form", flag_value="csv", help="Print CSV with a header line.")
@click.option(
    "--reject",
    type=Share(),
    metavar="[RATE]",
    help="Answer unknown for an image that resembles no class. RATE is the share of images of these classes that may "
    "be called unknown by mistake [0.05 if not given].",
)
@click.option("--mark", metavar="NAME", help="The word for unknown images [default: unknown].")
@click.option(
    "--set",
    "coverage",
    type=Share(),
    metavar="[COVERAGE]",
    help="Add the set of classes that it could be. For images like the examples, a share of COVERAGE of these sets "
    "contain the true class [0.95 if not given].",
)
@click.option(
    "--sort",
    type=click.Choice(["doubt"]),
    help="Most doubtful first: the unknown, then the least probable. Nothing is printed before the end.",
)
@click.option(
    "--top", type=click.IntRange(1, MOST), metavar="N", help="Add the N likeliest classes with their probabilities."
)
@click.option(
    "--below", type=Share(), metavar="P", help="Show only images whose answer is less probable than P, or unknown."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the answers to FILE (.csv, .jsonl or .parquet), in parts that survive a crash. IMAGES may then also be "
    "tables of vectors (.npy, .csv, .parquet), lists of names (.txt) and addresses (s3://…).",
)
@click.option("--engine", metavar="NAME", help="With --out: who does the work, local or ray [default: local].")
@click.option("--address", help="With --engine: the cluster to use [default: one of its own on this machine].")
@click.option(
    "--workers", type=click.IntRange(1), metavar="N", help="With --engine: processes [default: one for each core]."
)
@click.option("--shards", type=click.IntRange(1), metavar="N", help="With --out: workers hold the gallery in N shards.")
@click.option(
    "--on-server", is_flag=True, help="Let the server find the neighbours, instead of fetching all examples first."
)
@click.option(
    "--hnsw",
    is_flag=True,
    help="With --on-server: search the server's HNSW graph, which is faster; a line says how much it finds.",
)
@click.option("--resume", is_flag=True, help="With --out: continue a run of the same command that was interrupted.")
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
    out: Path | None,
    engine: str | None,
    address: str | None,
    workers: int | None,
    shards: int | None,
    on_server: bool,
    hnsw: bool,
    resume: bool,
    model: Path | None,
) -> int:
    """Say which class each of IMAGES belongs to. IMAGES are files, folders or patterns; - reads names, or one picture,
    from stdin.

    Prints a line for each image: its name, its class and how probable that class is, separated by tabs. If the answer
    is unknown, the line says why. Without --reject that happens only where any answer would be meaningless: for images
    of a single colour or of noise that no example near them is like, for images that have nothing in common with their
    nearest example, and while the gallery has only one class.

    To see the doubtful answers first: --sort doubt --below 0.9 --top 3. Images that cannot be read are named on stderr,
    and the exit code is then 1. If 20 images or more are not like the examples, a line on stderr says how far the
    probabilities may be off.
    """
    if mark is not None and reject is None:
        raise click.UsageError("--mark names what --reject finds; give --reject too.")
    if out is None and (engine or address or workers or shards or resume):
        raise click.UsageError("--engine, --address, --workers, --shards and --resume are for --out; give --out too.")
    if hnsw and not on_server:
        raise click.UsageError("--hnsw is the server's graph; give --on-server too.")
    if out is not None and on_server:
        raise click.UsageError("--on-server is for a few images; with --out the workers hold the gallery.")
    if out is not None:
        if form or sort or below:
            raise click.UsageError("--out has its form by its name and holds every answer: leave out --json, --csv, "
                                   "--sort and --below.")  # fmt: skip
        from kcrc.scale.scoring.scorer import Question

        question = Question(str(out), reject, mark, coverage, top or 0)
        return predict_many(
            gallery, images, question, engine=engine or "local", address=address, workers=workers, shards=shards,
            resume=resume, model=model,
        )  # fmt: skip
    files = expand_or_content(images)
    warm()
    write = _writer(form, coverage is not None, top or 0)
    failed, printed, read, waiting, searches = 0, 0, list[str](), list[dict[str, Any]](), set[str]()
    opening = open_gallery(gallery, write=True, model=model) if on_server else open_to_ask(gallery, model=model)
    with opening as opened, progress(len(files), "images") as bar:
        server = _server_of(opened, hnsw) if on_server else None
        answer = opened.answering.answer_function(reject=reject, unknown=mark, coverage=coverage, answerer=server)
        batch = None if on_server else Batch(opened.answering.answerer())
        answer = answer if batch is None else batch.watch(answer)
        for chunk in opened.answering.classify(files, answer, on_error="skip"):
            read += chunk.names
            if chunk.answers is not None:
                answers = chunk.answers
                searches.add(answers.evidence.search)
                rows = rows_of(chunk.names, answers, top=top or 0)
                waiting += (row for row in rows if below is None or _is_doubtful(row, below))
                if sort is None:
                    printed += _write_all(write, waiting)
            complain(chunk.problems)
            failed += len(chunk.problems)
            bar.update(len(chunk.names) + len(chunk.problems))
        waiting.sort(key=_doubt)
        printed += _write_all(write, waiting)
        if batch is not None:
            warn(batch.likeness(), read)
        if server is not None and server.why is not None:
            note(f"kcrc: All examples were fetched and searched here: {shown(server.why)}.")
        note_searches(searches)
    if below is not None:
        note(f"{printed} of {len(read)} images: their answer is less probable than {in_percent(below)}, or unknown.")
    return 1 if failed else 0


def _server_of(opened: Gallery, hnsw: bool) -> ServerAnswerer:
    from kcrc.scale.on_server import ServerAnswerer

    return ServerAnswerer(opened, search="hnsw" if hnsw else "exact")


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


def _writer(form: str | None, sets: bool, top: int) -> Callable[[dict[str, Any]], None]:
    if form == "json":
        return lambda row: say_json(row)
    if form == "csv":
        put = csv_writer(columns(sets=sets, top=top))
        return lambda row: put(in_columns(row))
    return lambda row: say(line_of(row))


def line_of(row: dict[str, Any]) -> str:
    sure = "-" if row["unknown"] or row["probability"] is None else f"{row['probability']:.1%}"
    parts = [shown(row["image"]), shown(row["label"]), sure]
    if "set" in row:
        parts.append(", ".join(shown(name) for name in row["set"]) or "-")
    if "top" in row:
        parts.append(", ".join(f"{shown(c['label'])} {c['probability']:.1%}" for c in row["top"]))
    if row["unknown"]:
        parts.append(shown(row["why"]))
    return "\t".join(parts)


# ``kcrc predict --out``: answers for many images or vectors into one file, in parts that outlast a crash.


def predict_many(
    gallery: Path | ServerAddress,
    images: Sequence[str],
    question: Question,
    *,
    engine: str,
    address: str | None,
    workers: int | None,
    shards: int | None,
    resume: bool,
    model: Path | None,
) -> int:
    """Answer all that is given into the file ``question.out``; the exit code."""
    queries = read_input(images, expand)
    with open_to_ask(gallery, model=model) as opened:
        if opened.answering.is_choice_unstored:
            raise StateError("The parameters of this gallery are not stored, so that workers could not agree on them. "
                             "Where it may be written, 'kcrc tune' stores them.")  # fmt: skip
        known = fingerprint(opened)
        queries = replace(queries, width=opened.dim)
        reason = why_not(opened.answering.answerer().model.method) if shards else None
        opened.answering.reset()
    if reason is not None:
        note(f"kcrc: every worker holds the whole gallery, not a shard of it: {reason}.")
    with engines.make(engine, address=address, workers=workers) as running:
        split = None if reason is not None else _split(running, gallery, shards)
        network = None if model is None else model.absolute()
        scorer = Scorer(reachable(gallery), known, question, os.getcwd(), running.threads, network, split)
        job = Job(Path(question.out), queries, scorer)
        job.begin(resume=resume)
        return _run(job, running, len(queries.images))


def _split(engine: Engine, gallery: Path | ServerAddress, shards: int | None) -> ShardedAnswerer | None:
    return None if shards is None else shards_of_gallery(engine, gallery, shards)


def _run(job: Job, engine: Engine, images: int) -> int:
    try:
        with progress(images, "answers") as bar:
            outcome = job.run(engine, bar.update)
    except KeyboardInterrupt:
        kept = f"what is answered is kept in '{shown(job.folder)}'; the same command with --resume goes on."
        raise Stopped(kept if job.folder.exists() else "nothing was answered yet, and nothing is left.") from None
    finally:
        close_gallery()
    complain(f"{name}: {why}" for name, why in job.problems())
    job.clear()
    note_searches(outcome.searches)
    again = f", {plural(outcome.reused, 'part')} of them from before" if outcome.reused else ""
    note(f"{plural(outcome.answers, 'answer')} in {shown(job.out)}{again}.")
    return 1 if outcome.problems else 0
