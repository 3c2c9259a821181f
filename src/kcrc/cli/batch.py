"""A batch of images as a whole: a line on stderr where it is not like the examples that answer for it, and where those
were not found by exact search."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from kcrc._base.arrays import Array
from kcrc.method.neighbours.base import EXACT
from kcrc.report.terminal import note, shown

if TYPE_CHECKING:
    from kcrc.confidence.answerer import Answerer
    from kcrc.confidence.answers import Answers
    from kcrc.confidence.likeness import Likeness, Seen

FEWEST = 20  # images: of fewer, --reject says which are strange
NAMED = 3  # images that show it
WORSE = 0.03  # of wrong answers beyond the usual share: with fewer there is nothing to be done


class Batch:
    """What was seen of the images so far."""

    def __init__(self, answerer: Answerer) -> None:
        self._answerer = answerer
        self._parts: list[Seen] = []

    def watch(self, answer: Callable[[Array], Answers]) -> Callable[[Array], Answers]:
        """``answer``, and what it answers is taken note of; of vectors no more are kept than are looked at."""
        from kcrc.confidence.likeness import VECTORS, Seen

        confidence = self._answerer.confidence
        if confidence.usual is None:  # too few examples, or an earlier version did not keep what to compare with
            return answer

        def answer_and_note(vectors: Array) -> Answers:
            answers = answer(vectors)
            room = max(0, VECTORS - sum(len(part.vectors) for part in self._parts))
            self._parts.append(Seen.of(confidence, answers.evidence, vectors[:room]))
            return answers

        return answer_and_note

    def likeness(self) -> Likeness | None:
        """How like the examples the images are; None where they are few, or there is nothing to compare with."""
        from kcrc.confidence.likeness import Seen, likeness

        if sum(map(len, self._parts)) < FEWEST:
            return None
        return likeness(self._answerer.model, self._answerer.confidence, Seen.join(self._parts))


def warn(likeness: Likeness | None, names: list[str]) -> None:
    """Say what to expect if the images, in the order of their names, differ from the examples so that more answers
    are wrong; nothing if no more are."""
    if likeness is None or not likeness.alarm or likeness.wrong.worst - likeness.wrong.promised < WORSE:
        return
    first = ", ".join(shown(names[row]) for row in likeness.rows[:NAMED])
    note(
        f"kcrc: These {likeness.queries} pictures differ from your examples: they are {likeness.different}. Expect "
        f"about {_one_in(likeness.wrong.worst)} to be wrong, not {_one_in(likeness.wrong.promised)}. Look at these "
        f"first: {first}."
    )


def _one_in(share: float) -> str:
    """A share as people say it: 1 answer in 5, 6 answers in 10."""
    if share < 0.01:
        return "1 answer in 100"
    return f"{round(10 * min(share, 1.0))} answers in 10" if share >= 0.4 else f"1 answer in {round(1 / share)}"


def note_searches(searches: Iterable[str]) -> None:
    """A line for each search by which examples were found, where that was not the exact one."""
    for search in sorted(set(searches) - {EXACT}):
        note(f"kcrc: Approximate search: {shown(search)}.")
