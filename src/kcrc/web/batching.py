"""Queries that arrive together are answered together: one thread takes all that wait and asks once for them.

While it answers, the next ones gather; nobody waits for others to come."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

import numpy as np

from kcrc._base.arrays import Array
from kcrc.confidence.answers import Answers
from kcrc.web.current import Current
from kcrc.web.failures import Refusal

TOGETHER = 256  # vectors, at most
WAITING = 4096  # questions, at most

Asked = tuple[Current, Answers]


@dataclass(eq=False)
class _Question:
    vectors: Array
    explain: bool
    answer: Future[Asked] = field(default_factory=Future)


class Batcher:
    """``answer(vectors, explain)`` is called from one thread, never twice at a time."""

    def __init__(self, answer: Callable[[Array, bool], Asked]) -> None:
        self._answer = answer
        self._waiting: queue.Queue[_Question | None] = queue.Queue(WAITING)
        self._thread = threading.Thread(target=self._run, name="kcrc-answer", daemon=True)
        self._thread.start()
        self.batches = self.vectors = 0

    def ask(self, vectors: Array, *, explain: bool) -> Future[Asked]:
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
            # Whoever went away meanwhile is not answered: a cancelled future takes no result.
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
            question.answer.set_result((current, answers if len(some) == 1 else part(answers, slice(start, end))))
            start = end


def part(answers: Answers, which: slice) -> Answers:
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
