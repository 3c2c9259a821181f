"""What answers at this moment: the gallery is looked at before every batch, so that a change counts for the next
query, whichever process made it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from functools import cached_property

from kcrc._base.arrays import Array
from kcrc.confidence.answerer import Answerer
from kcrc.confidence.answers import Answers
from kcrc.gallery import Gallery
from kcrc.gallery.contract import ExampleRecord, Snapshot
from kcrc.gallery.examples import Contents
from kcrc.gallery.tuned import learned_at
from kcrc.updates.supposing import Supposition

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
        found = self.answerer.answer(vectors, explain=explain, **self.promises)
        return found.but_unknown(found.why)

    def what_if(self, vector: Array, without: list[int]) -> Answers:
        found = self.answerer.what_if(vector, without, **self.promises)
        return found.but_unknown(found.why)


class Now:
    """What answers now, made anew where the file says something else than it did: by its revision, by the act that
    chose the parameters, and by the revision whose examples everything was learned from."""

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
                    self._gallery.answering.let_go()
                outgrown = self._current is not None and self._gallery.answering.choice_due is not None
                self._current = self._carried_on() if outgrown else self._ready()
                # Where it is of another revision, something happened in between: it is looked at again the next time.
                self._seen = seen if self._current.revision == seen[0] else None
            return self._current

    def _ready(self) -> Current:
        ready = self._gallery.answering.ready()
        return Current(ready.answerer, ready.contents)

    def _carried_on(self) -> Current:
        """The examples of now by the parameters of before: those are being chosen anew, which takes a while."""
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

    def learned(self) -> None:
        """This process has learned from the examples: what it holds is the latest."""
        with self._lock:
            self._learned_here = self._gallery.read(_state)


def _state(reading: Snapshot) -> tuple[int, int, int | None]:
    had = reading.settings()
    return had.revision, had.tuned, learned_at(reading, had.tuned) if had.tuned else None
