"""One file of answers, made of parts: a part is written once, whole, and a run that was cut short goes on from them.

Beside ``answers.csv`` lies ``answers.csv.parts/`` while it is being made: ``job.json`` says which input, gallery and
question the parts are of, and a part is the crc32 of what follows, a line of JSON (how many answers, what could not be
read, by which searches) and its share of the file. A part that is not whole is made again. At the end they are joined
in the order of the input, and the folder goes.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import kcrc
from kcrc.errors import FileError, StateError
from kcrc.files.atomic import atomic_write, leftovers, write_bytes
from kcrc.files.plain_files import read_json
from kcrc.scale.engines.base import Engine
from kcrc.scale.scoring import inputs
from kcrc.scale.scoring.inputs import Input, Piece
from kcrc.scale.scoring.scorer import AnswerPart, Scorer, form_for

FORMAT = "kcrc-answers-1"
_CHANGED = {
    "gallery": "the gallery was changed since it was begun",
    "input": "the input was changed since it was begun",
    "question": "it was begun with other options",
    "kcrc": "it was begun by another version of kcrc",
    "pieces": "it was begun by another version of kcrc",
}


@dataclass(frozen=True)
class JobOutcome:
    """The result of a run: answers in the file, images without one, the searches by which examples were found, and the
    pieces that an earlier run had answered."""

    answers: int
    problems: int
    searches: frozenset[str]
    reused: int


class Job:
    """The parts of one file of answers."""

    def __init__(self, out: Path, given: Input, scorer: Scorer) -> None:
        self.out, self.folder = out, out.with_name(f"{out.name}.parts")
        self._given, self._scorer = given, scorer
        question = scorer.question
        self._form = form_for(out.name, sets=question.coverage is not None, top=question.top)
        self._identity: str | None = None  # the identity of the input when this run began

    def begin(self, *, resume: bool) -> None:
        """Make the folder of parts, or find that there is one of the same job to go on with."""
        if os.path.lexists(self.out):
            raise FileError(f"'{self.out}' is there already; move it away, or name another file.")
        facts = self._facts()
        self._identity = facts["input"]
        known = self.folder / "job.json"
        if not self.folder.exists():
            write_bytes(known, (json.dumps(facts, indent=1) + "\n").encode())
            return
        if not resume:
            raise StateError(
                f"'{self.folder}' has parts of these answers, from a run that was cut short. Go on with --resume, or "
                "remove that folder to begin again."
            )
        earlier = self._read_facts(known)
        for name, reason in _CHANGED.items():
            if earlier.get(name) != facts[name]:
                raise StateError(
                    f"This run cannot go on: {reason}. Remove '{self.folder}' to begin again, or put things back."
                )

    def _facts(self) -> dict[str, Any]:
        question = {**asdict(self._scorer.question), "out": self.out.suffix.lower()}
        return {
            "format": FORMAT,
            "kcrc": kcrc.__version__,
            "gallery": self._scorer.fingerprint,
            "input": self._given.identity(),
            "question": question,
            "pieces": [inputs.IMAGES, inputs.ROWS, inputs.BYTES],
        }

    def _read_facts(self, known: Path) -> dict[str, Any]:
        try:
            facts = read_json(known.read_bytes())
            if not isinstance(facts, dict) or facts.get("format") != FORMAT:
                raise ValueError("it is of another format")
        except (OSError, ValueError) as problem:
            raise FileError(
                f"'{known}' does not say what the parts beside it are of ({problem}). Remove '{self.folder}' to begin "
                "again."
            ) from None
        return facts

    def run(self, engine: Engine, report: Callable[[int], None]) -> JobOutcome:
        """Answer what has no part yet and join the parts; ``report`` takes how many more images are done.

        If it ends before there is any part, nothing of it stays."""
        try:
            pieces, reused = self._answer(engine, report)
        except BaseException:
            if not any(self.folder.glob("*.part")):
                self.clear()
            raise
        if self._given.identity() != self._identity:
            self.clear()  # it is not known which parts are of which input
            raise StateError(
                "The input was changed while it was being answered, so that its answers would be mixed; none are "
                "written. Run the command again when nothing changes it."
            )
        return self._join(pieces, reused)

    def _answer(self, engine: Engine, report: Callable[[int], None]) -> tuple[int, int]:
        """Write the parts that are not there; how many there are, and how many of them were there."""
        pieces = reused = 0

        def missing() -> Iterator[Piece]:
            nonlocal pieces, reused
            for piece in self._given.pieces():
                pieces += 1
                part = _whole(self._part(piece.number))
                if part is not None and part.answers + len(part.problems) == len(piece):
                    reused += 1
                    report(len(piece))
                else:
                    yield piece

        for result in engine.map(self._scorer, missing(), key=lambda piece: piece.number):
            assert isinstance(result.key, int)
            _write(self._part(result.key), result.value)
            report(result.value.answers + len(result.value.problems))
        return pieces, reused

    def problems(self) -> Iterator[tuple[str, str]]:
        """(name, reason) of all that could not be answered; before the parts are removed."""
        for path in sorted(self.folder.glob("*.part")):
            yield from _read(path).problems

    def _part(self, number: int) -> Path:
        return self.folder / f"{number:09}.part"

    def _join(self, pieces: int, reused: int) -> JobOutcome:
        """Put the parts together in their order."""
        answers = problems = 0
        searches: set[str] = set()

        def contents() -> Iterator[bytes]:
            nonlocal answers, problems
            for number in range(pieces):
                part = _read(self._part(number))
                answers += part.answers
                problems += len(part.problems)
                searches.update(part.searches)
                yield part.content

        with atomic_write(self.out, overwrite=False) as out:
            self._form.join(contents(), out)
        for left in leftovers(self.out):
            left.unlink(missing_ok=True)
        return JobOutcome(answers, problems, frozenset(searches), reused)

    def clear(self) -> None:
        """Remove the parts: they are in the file by now, or will never be."""
        shutil.rmtree(self.folder)


def _write(path: Path, part: AnswerPart) -> None:
    facts = {"answers": part.answers, "problems": part.problems, "searches": part.searches}
    head = json.dumps(facts).encode() + b"\n"
    with atomic_write(path) as file:
        file.write(b"%08x\n" % zlib.crc32(part.content, zlib.crc32(head)))
        file.write(head)
        file.write(part.content)


def _whole(path: Path) -> AnswerPart | None:
    """The part in a file; None if there is none, or not all of it."""
    try:
        total, _, rest = path.read_bytes().partition(b"\n")
        if int(total, 16) != zlib.crc32(rest):
            return None
        head, _, content = rest.partition(b"\n")
        facts = read_json(head)
        problems = tuple((name, why) for name, why in facts["problems"])
        return AnswerPart(content, int(facts["answers"]), problems, tuple(facts["searches"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _read(path: Path) -> AnswerPart:
    part = _whole(path)
    if part is None:
        raise FileError(f"'{path}' is gone or damaged. The same command with --resume makes it again.")
    return part
