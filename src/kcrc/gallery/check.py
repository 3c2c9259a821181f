"""``verify``: read everything in a gallery and compare it with its checksums.

Opening a gallery audits its schema and settings, and reading an example compares it with its checksum. This reads
everything else too: the structure of the store, thumbnails, history, the fitted feature.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kcrc.errors import FileError, KCRCError
from kcrc.gallery import history, stored_choice
from kcrc.gallery.contract import ActRecord, ExampleRecord, LabelRecord, Snapshot, TunedRecord
from kcrc.gallery.examples import read_contents

_AT_ONCE = 500


@dataclass(frozen=True)
class Verdict:
    """The result of ``verify``: sound, or the problems.

    Attributes
    ----------
    examples : int
        How many examples are in the gallery.
    removed : int
        How many were removed and can come back by undo.
    acts : int
        How many commands its history has.
    problems : tuple of str
        What is wrong, one sentence each.
    sound : bool
        Whether nothing is.
    """

    examples: int
    removed: int
    acts: int
    problems: tuple[str, ...]

    @property
    def sound(self) -> bool:
        return not self.problems


def look(reading: Snapshot) -> Verdict:
    """Return the verdict on one state of a gallery."""
    damage = reading.damage()
    if damage:  # records of a broken structure are not read
        return Verdict(0, 0, 0, tuple(damage))
    contents = read_contents(reading)
    examples, acts = reading.all(ExampleRecord), reading.all(ActRecord)
    problems = [*_counters(reading, examples, acts), *_payloads(reading, examples), *_rest(reading)]
    return Verdict(len(contents), len(examples) - len(contents), len(acts), tuple(problems))


def problems(reading: Snapshot) -> tuple[str, ...]:
    """Return what is wrong with one state of a gallery, for a store that copies it."""
    return look(reading).problems


def _counters(reading: Snapshot, examples: list[ExampleRecord], acts: list[ActRecord]) -> Iterable[str]:
    had = reading.settings()
    if examples and examples[-1].id >= had.next_id:
        yield f"Example {examples[-1].id} is beyond the counter {had.next_id}."
    if len(acts) != had.revision or any(act.id != number for number, act in enumerate(acts, start=1)):
        yield f"The history has {len(acts)} acts, the counter says {had.revision}."
    ids = {example.id for example in examples}
    lost = [label.example for label in reading.all(LabelRecord) if label.example not in ids]
    if lost:
        yield f"The history speaks of example {lost[0]}, which is not there."
    for example in examples:
        if not 0 < example.added_by <= had.revision or not 0 < (example.removed_by or 1) <= had.revision:
            yield f"Example {example.id} was added or removed by an act that is not in the history."
            return


def _payloads(reading: Snapshot, examples: list[ExampleRecord]) -> Iterable[str]:
    for start in range(0, len(examples), _AT_ONCE):
        some = examples[start : start + _AT_ONCE]
        try:
            vectors = reading.vectors(some)
        except FileError as problem:
            yield str(problem)
        else:
            if not np.isfinite(vectors).all():
                yield f"A vector of the examples {some[0].id} to {some[-1].id} holds NaN or infinity."
    for example in examples:
        try:
            reading.thumbnail(example)
        except FileError as problem:
            yield str(problem)


def _rest(reading: Snapshot) -> Iterable[str]:
    try:
        reading.feature_state()
        reading.all(TunedRecord)
        had = reading.settings()
        if had.tuned:
            stored_choice.read_facts(reading, had.tuned)
            stored_choice.read_state(reading, had.tuned)
        history.entries(reading)
    except KCRCError as problem:
        yield str(problem)
