"""``kcrc predict --out``: answers for many images or vectors into one file, in parts that outlast a crash."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kcrc._base.redaction import ServerAddress
from kcrc._base.words import counted
from kcrc.cli.arguments import expand, open_to_ask
from kcrc.cli.batch import tell_searches
from kcrc.cli.endings import Stopped
from kcrc.errors import StateError
from kcrc.report.terminal import complain, note, progress, shown
from kcrc.scale import engines
from kcrc.scale.engines import Engine
from kcrc.scale.identity import fingerprint, reachable
from kcrc.scale.scoring.inputs import read_input
from kcrc.scale.scoring.job import Job
from kcrc.scale.scoring.scorer import Question, Scorer, let_go
from kcrc.scale.sharded import ShardedAnswerer, shards_of_gallery, why_not


def predict_many(
    gallery: Path | ServerAddress,
    given: Sequence[str],
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
    asked = read_input(given, expand)
    with open_to_ask(gallery, model=model) as opened:
        if opened.answering.unstored:
            raise StateError("The parameters of this gallery are not stored, so that workers could not agree on them. "
                             "Where it may be written, 'kcrc tune' stores them.")  # fmt: skip
        known = fingerprint(opened)
        asked = replace(asked, width=opened.dim)
        reason = why_not(opened.answering.answerer().model.method) if shards else None
        opened.answering.let_go()
    if reason is not None:
        note(f"kcrc: every worker holds the whole gallery, not a shard of it: {reason}.")
    with engines.make(engine, address=address, workers=workers) as running:
        split = None if reason is not None else _split(running, gallery, shards)
        network = None if model is None else model.absolute()
        scorer = Scorer(reachable(gallery), known, question, os.getcwd(), running.threads, network, split)
        job = Job(Path(question.out), asked, scorer)
        job.begin(resume=resume)
        return _run(job, running, len(asked.images))


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
        let_go()
    complain(f"{name}: {why}" for name, why in job.problems())
    job.clear()
    tell_searches(outcome.searches)
    again = f", {counted(outcome.found_done, 'part')} of them from before" if outcome.found_done else ""
    note(f"{counted(outcome.answers, 'answer')} in {shown(job.out)}{again}.")
    return 1 if outcome.problems else 0
