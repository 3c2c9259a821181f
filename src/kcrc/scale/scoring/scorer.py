"""The work on one piece: a worker opens the gallery once, and answers all its pieces with it."""

from __future__ import annotations

import io
import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from kcrc._base.arrays import Array
from kcrc.confidence.answerer import Answerer
from kcrc.confidence.answers import Answers, columns, in_columns, rows_of
from kcrc.errors import ParameterError
from kcrc.files.plain_files import csv_line, to_line
from kcrc.gallery import Gallery
from kcrc.images.decoding.limits import Content, ImageError
from kcrc.images.stream import Answered
from kcrc.scale.scoring.inputs import Piece, fetch_remote, is_remote
from kcrc.scale.sharded import ShardedAnswerer, check_same

# Rows of answers as bytes, by the kind of file, and how parts of such a file are joined.


class Form(ABC):
    """A kind of file; ``columns`` are those of a table of these answers."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = columns

    @abstractmethod
    def encode_rows(self, rows: Sequence[dict[str, Any]]) -> bytes:
        """A part of the file."""

    @abstractmethod
    def join(self, parts: Iterable[bytes], out: BinaryIO) -> None:
        """Write the whole file, part after part."""


class Csv(Form):
    def encode_rows(self, rows: Sequence[dict[str, Any]]) -> bytes:
        flat = map(in_columns, rows)
        text = "".join(csv_line([row.get(name, "") for name in self.columns]) for row in flat)
        return text.encode("utf-8", "backslashreplace")

    def join(self, parts: Iterable[bytes], out: BinaryIO) -> None:
        out.write(csv_line(self.columns).encode())
        for part in parts:
            out.write(part)


class JsonLines(Form):
    def encode_rows(self, rows: Sequence[dict[str, Any]]) -> bytes:
        return "".join(f"{to_line(row)}\n" for row in rows).encode()

    def join(self, parts: Iterable[bytes], out: BinaryIO) -> None:
        for part in parts:
            out.write(part)


class Parquet(Form):
    """The columns of the CSV with types: numbers, truths, and lists of texts for sets."""

    def __init__(self, columns: Sequence[str]) -> None:
        super().__init__(columns)
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise ParameterError("Writing Parquet needs pyarrow. Install it: pip install 'kcrc[tables]'.") from None
        self._arrow = pyarrow
        self._schema = pyarrow.schema([(name, self._type_of(name)) for name in columns])

    def _type_of(self, name: str) -> Any:
        if name == "margin" or name.endswith("probability"):
            return self._arrow.float64()
        if name == "unknown":
            return self._arrow.bool_()
        return self._arrow.list_(self._arrow.string()) if name == "set" else self._arrow.string()

    def encode_rows(self, rows: Sequence[dict[str, Any]]) -> bytes:
        sound = [{name: _sound(value) for name, value in in_columns(row).items()} for row in rows]
        table = self._arrow.Table.from_pylist(sound, schema=self._schema)
        out = io.BytesIO()
        self._arrow.parquet.write_table(table, out)
        return out.getvalue()

    def join(self, parts: Iterable[bytes], out: BinaryIO) -> None:
        with self._arrow.parquet.ParquetWriter(out, self._schema) as writer:
            for part in parts:
                writer.write_table(self._arrow.parquet.read_table(io.BytesIO(part)))


def _sound(value: Any) -> Any:
    """Return text that UTF-8 can encode: a file name may hold any bytes."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


FORMS: dict[str, type[Form]] = {".csv": Csv, ".jsonl": JsonLines, ".parquet": Parquet}


def form_for(name: str, *, sets: bool, top: int) -> Form:
    """How answers are written to a file of this name."""
    kind = FORMS.get(Path(name).suffix.lower())
    if kind is None:
        raise ParameterError(f"Answers are written to {', '.join(FORMS)}; got '{name}'.")
    return kind(columns(sets=sets, top=top))


FETCHED = 16  # pictures from elsewhere that are in memory at once


@dataclass(frozen=True)
class Question:
    """The options of every answer, and how it is written: ``out`` is the name of the file."""

    out: str
    reject: float | None = None
    mark: str | None = None
    coverage: float | None = None
    top: int = 0


@dataclass(frozen=True)
class AnswerPart:
    """The answers to a piece as a part of the file, how many they are, (name, reason) of images without one, and the
    searches by which examples were found."""

    content: bytes
    answers: int
    problems: tuple[tuple[str, str], ...]
    searches: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Scorer:
    """Answers pieces by the gallery at ``address`` with this ``fingerprint``, or by its shards."""

    address: str
    fingerprint: str
    question: Question
    folder: str
    """The folder in which names on this machine are given."""
    threads: int | None = None
    model: Path | None = None
    shards: ShardedAnswerer | None = None
    run: str = field(default_factory=lambda: secrets.token_hex(8))
    """A name that no other run has: every piece brings its scorer along."""

    def __call__(self, piece: Piece) -> AnswerPart:
        opened = _open_for(self)
        question = self.question
        rows: list[dict[str, Any]] = []
        problems: list[tuple[str, str]] = []
        searches: set[str] = set()
        if piece.rows is not None:
            given = piece.rows.read(self.folder)
            found = opened.answer(given.vectors)
            searches.add(found.evidence.search)
            rows += rows_of(given.names, found, top=question.top)
        for chunk in self._chunks(opened, piece.images, problems) if piece.images else ():
            if chunk.answers is not None:
                searches.add(chunk.answers.evidence.search)
                rows += rows_of([self._given_name(name) for name in chunk.names], chunk.answers, top=question.top)
            problems += [(self._given_name(problem.source), problem.why) for problem in chunk.problems]
        form = form_for(question.out, sets=question.coverage is not None, top=question.top)
        return AnswerPart(form.encode_rows(rows), len(rows), tuple(problems), tuple(sorted(searches)))

    def _chunks(
        self, opened: _Opened, images: Sequence[str], problems: list[tuple[str, str]]
    ) -> Iterator[Answered[Answers]]:
        """Images answered in their order; those from elsewhere are fetched a few at a time."""
        classify = opened.gallery.answering.classify
        if not any(map(is_remote, images)):
            yield from classify([self._place(name) for name in images], opened.answer, on_error="skip")
            return
        for start in range(0, len(images), FETCHED):
            group: list[str | Content] = []
            for name in images[start : start + FETCHED]:
                found = fetch_remote(name) if is_remote(name) else self._place(name)
                if isinstance(found, ImageError):
                    problems.append((name, found.why))
                else:
                    group.append(found)
            yield from classify(group, opened.answer, on_error="skip")

    def _place(self, name: str) -> str:
        """Where a file is, for a worker that is in another folder."""
        return name if os.path.isabs(name) else os.path.join(self._below, name)

    def _given_name(self, place: str) -> str:
        """The name by which a file was given."""
        return place.removeprefix(self._below)

    @property
    def _below(self) -> str:
        """What stands before names that were given without a folder's, and before no other."""
        return os.path.join(self.folder, ".", "")


@dataclass(frozen=True, eq=False)
class _Opened:
    gallery: Gallery
    answer: Callable[[Array], Answers]


_open: dict[str, _Opened] = {}  # the gallery that this process answers with, by the run it answers for


def _open_for(scorer: Scorer) -> _Opened:
    if scorer.run in _open:
        return _open[scorer.run]
    close_gallery()
    gallery = Gallery.open(scorer.address, readonly=True, model=scorer.model)
    try:
        check_same(gallery, scorer.fingerprint)
        question = scorer.question
        answerer = scorer.shards or _on_threads(gallery.answering.answerer(), scorer.threads)
        answer = gallery.answering.answer_function(
            reject=question.reject, unknown=question.mark, coverage=question.coverage, answerer=answerer
        )
    except BaseException:
        gallery.close()
        raise
    _open[scorer.run] = _Opened(gallery, answer)
    return _open[scorer.run]


def close_gallery() -> None:
    """Close the gallery that this process has open."""
    while _open:
        _open.popitem()[1].gallery.close()


def _on_threads(answerer: Answerer, threads: int | None) -> Answerer:
    if threads is None:
        return answerer
    model = answerer.model
    return replace(answerer, model=replace(model, method=replace(model.method, n_jobs=threads)))
