"""Copy a gallery from one store to another: examples with their ids, history, chosen parameters, all counters.

The copy is filled under a temporary name, read back and compared with the original before it gets its own name. After
an error there is no copy.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from kcrc.errors import FileError
from kcrc.gallery.contract import (
    ActRecord,
    Check,
    ExampleRecord,
    LabelRecord,
    Report,
    Snapshot,
    Store,
    Transaction,
    TunedRecord,
)
from kcrc.gallery.stores import kind_of

_BYTES_AT_ONCE = 32 * 1024 * 1024  # of vectors that are held
_MOST_AT_ONCE = 2000  # examples, whose pictures are held
_COPYING = 0.6  # the share of the time that comparing does not take


def copy_gallery(
    source: Store,
    goal: str | os.PathLike[str],
    *,
    check: Check,
    overwrite: bool = False,
    report: Report | None = None,
) -> int:
    """Copy one state of ``source`` to another address and return the number of examples, removed ones included. If
    ``check`` finds the state damaged, it is not copied."""

    def run(reading: Snapshot) -> int:
        kind = kind_of(goal)
        with kind.making(goal, reading.settings(), reading.feature_state(), overwrite=overwrite) as copy:
            return _Copy(source, reading, copy, check, report or _report_nothing).run()

    return source.read(run)


def _report_nothing(share: float) -> None:
    """Ignore the progress."""


class _Copy:
    """The copying of one state of ``source`` to ``copy``."""

    def __init__(self, source: Store, reading: Snapshot, copy: Store, check: Check, report: Report) -> None:
        self.source, self.reading, self.copy, self.check, self.report = source, reading, copy, check, report
        settings = reading.settings()
        self.at_once = max(1, min(_MOST_AT_ONCE, _BYTES_AT_ONCE // (8 * settings.dim)))
        self.examples = reading.all(ExampleRecord)

    def run(self) -> int:
        for start in range(0, len(self.examples), self.at_once):
            self._fill(self.examples[start : start + self.at_once])
            self.report(_COPYING * (start + self.at_once) / max(len(self.examples), self.at_once))
        self.copy.write(self._fill_rest)
        self.copy.read(self._compare)
        self.report(1.0)
        return len(self.examples)

    def _fill(self, some: Sequence[ExampleRecord]) -> None:
        vectors = self.reading.vectors(some)
        pictures = [self.reading.thumbnail(record) for record in some]
        self.copy.write(lambda writing: writing.insert_examples(some, vectors, pictures))

    def _fill_rest(self, writing: Transaction) -> None:
        writing.insert(self.reading.all(ActRecord))
        writing.insert(self.reading.all(LabelRecord))
        writing.insert(self.reading.all(TunedRecord))

    def _compare(self, copy: Snapshot) -> None:
        """An error unless the copy is sound and says the same: each vector and picture is compared with the crc32 in
        its record as it is read, and the records with those of the original."""
        problems = self.check(copy)
        if problems:
            raise FileError(f"'{self.source.address}' is damaged and was not copied. {problems[0]}")
        same = (
            copy.settings() == self.reading.settings()
            and copy.all(ExampleRecord) == self.examples
            and all(copy.all(kind) == self.reading.all(kind) for kind in (ActRecord, LabelRecord, TunedRecord))  # type: ignore[type-var]
            and _as_bytes(copy) == _as_bytes(self.reading)
        )
        if not same:
            raise FileError(f"The copy of '{self.source.address}' is not what it was copied from. Nothing was kept.")


def _as_bytes(reading: Snapshot) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    return {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in reading.feature_state().items()}
