"""What answers at this moment. The gallery is checked before every batch, so that a change counts for the next query,
whichever process made it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from kcrc._base.arrays import Array
from kcrc.confidence.answerer import Answerer
from kcrc.confidence.answers import Answers
from kcrc.gallery import Gallery
from kcrc.gallery.classifier import unknown_where_meaningless
from kcrc.gallery.contract import ExampleRecord, Snapshot
from kcrc.gallery.examples import Contents
from kcrc.gallery.stored_choice import learned_at
from kcrc.updates.what_if import Supposition
from kcrc.web.guard import Refusal

REJECT, COVERAGE = 0.05, 0.95  # of pictures of known classes, called unknown by mistake; of sets, that hold the class


@dataclass(frozen=True, eq=False)
class Current:
    """An answerer, and the examples it answers from."""

    answerer: Answerer
    contents: Contents

    @property
    def revision(self) -> int:
        return self.contents.revision

    @cached_property
    def records(self) -> dict[int, ExampleRecord]:
        return {row.id: row for row in self.contents.rows}

    @property
    def promises(self) -> dict[str, float]:
        """What can be asked beyond a label: nothing where the examples are too few to promise anything."""
        confidence = self.answerer.confidence
        known = confidence.open_set is not None and confidence.sets is not None
        return {"reject": REJECT, "coverage": COVERAGE} if known else {}

    def answer(self, vectors: Array, *, explain: bool) -> Answers:
        return unknown_where_meaningless(self.answerer.answer(vectors, explain=explain, **self.promises))

    def what_if(self, vector: Array, without: list[int]) -> Answers:
        return unknown_where_meaningless(self.answerer.what_if(vector, without, **self.promises))


class Now:
    """Holds what answers now, and replaces it when the file has changed: its revision, the act that chose the
    parameters, or the revision whose examples everything was learned from."""

    def __init__(self, gallery: Gallery) -> None:
        self._gallery = gallery
        self._lock = threading.Lock()
        self._seen: tuple[int, int, int | None] | None = None
        self._current: Current | None = None
        self._learned_here: tuple[int, int, int | None] | None = None

    def current(self) -> Current:
        """For one question or a batch; threads take turns."""
        with self._lock:
            seen = self._gallery.read(_state)
            if self._current is None or seen != self._seen:
                known = self._seen is not None and seen[:2] == self._seen[:2]
                if known and seen != self._learned_here:  # another process learned from the same examples
                    self._gallery.answering.reset()
                outgrown = self._current is not None and self._gallery.answering.why_choose is not None
                self._current = self._with_old_parameters() if outgrown else self._ready()
                # If it is of another revision, something happened in between: the next question checks again.
                self._seen = seen if self._current.revision == seen[0] else None
            return self._current

    def _ready(self) -> Current:
        ready = self._gallery.answering.ready(calibrated=False)
        return Current(ready.answerer, ready.contents)

    def _with_old_parameters(self) -> Current:
        """The examples of now with the parameters of before: new ones are being chosen, which takes a while."""
        assert self._current is not None
        old = self._current

        def look(_: Snapshot) -> tuple[Contents, Array]:
            return self._gallery.contents, self._gallery.vectors()[1]

        now, vectors = self._gallery.read(look)
        before = old.records
        new = [at for at, row in enumerate(now.rows) if row.id not in before]
        there = {row.id: row.label for row in now.rows}
        supposed = Supposition(
            labels={i: there[i] for i, row in before.items() if i in there and there[i] != row.label},
            gone=before.keys() - there.keys(),
            vectors=vectors[new],
            classes=tuple(now.rows[at].label for at in new),
            ids=tuple(now.rows[at].id for at in new),
        )
        return Current(replace(old.answerer, model=supposed.of(old.answerer.model)), now)

    def note_learning(self) -> None:
        """Note that this process has learned from the examples, so that what it holds is the latest."""
        with self._lock:
            self._learned_here = self._gallery.read(_state)


def _state(reading: Snapshot) -> tuple[int, int, int | None]:
    had = reading.settings()
    return had.revision, had.tuned, learned_at(reading, had.tuned) if had.tuned else None


# Queries that arrive together are answered together: one thread takes all that wait and answers them at once. While it
# does, the next ones gather; no query waits for others to come.

TOGETHER = 256  # vectors, at most
WAITING = 4096  # questions, at most

Answered = tuple[Current, Answers]  # what answered, and its answers


@dataclass(eq=False)
class _Question:
    vectors: Array
    explain: bool
    answer: Future[Answered] = field(default_factory=Future)


class Batcher:
    """``answer(vectors, explain)`` is called from one thread, never twice at a time."""

    def __init__(self, answer: Callable[[Array, bool], Answered]) -> None:
        self._answer = answer
        self._waiting: queue.Queue[_Question | None] = queue.Queue(WAITING)
        self._thread = threading.Thread(target=self._run, name="kcrc-answer", daemon=True)
        self._thread.start()
        self.batches = self.vectors = 0

    def ask(self, vectors: Array, *, explain: bool) -> Future[Answered]:
        """The answers to vectors (n, d), and what they were answered by."""
        question = _Question(vectors, explain)
        try:
            self._waiting.put_nowait(question)
        except queue.Full:
            raise Refusal(
                503, "Too many questions are waiting. Ask again in a moment.", headers={"Retry-After": "1"}
            ) from None
        return question.answer

    def close(self) -> None:
        """Answer what waits, then end."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (first := self._waiting.get()) is not None:
            together, count = [first], len(first.vectors)
            ended = False
            while count < TOGETHER and not self._waiting.empty():
                more = self._waiting.get()
                if more is None:
                    ended = True
                    break
                together.append(more)
                count += len(more.vectors)
            # A client that went away meanwhile is not answered: a cancelled future takes no result.
            together = [question for question in together if question.answer.set_running_or_notify_cancel()]
            for explain in (False, True):
                some = [question for question in together if question.explain is explain]
                if some:
                    self._ask(some, explain)
            if ended:
                return

    def _ask(self, some: list[_Question], explain: bool) -> None:
        vectors = some[0].vectors if len(some) == 1 else np.concatenate([question.vectors for question in some])
        self.batches += 1
        self.vectors += len(vectors)
        try:
            current, answers = self._answer(vectors, explain)
        except Exception as problem:
            if len(some) > 1:  # a question that cannot be answered is no reason not to answer the others
                for question in some:
                    self._ask([question], explain)
            else:
                some[0].answer.set_exception(problem)
            return
        start = 0
        for question in some:
            end = start + len(question.vectors)
            question.answer.set_result((current, answers if len(some) == 1 else select(answers, slice(start, end))))
            start = end


def select(answers: Answers, which: slice) -> Answers:
    """The answers to some of the queries."""
    return replace(
        answers,
        evidence=answers.evidence[which],
        labels=answers.labels[which],
        probabilities=answers.probabilities[which],
        unknown=answers.unknown[which],
        why=answers.why[which],
        members=None if answers.members is None else answers.members[which],
    )
