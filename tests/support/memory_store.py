"""A store in memory: the contract of ``kcrc.gallery.contract`` and nothing more.

It shows what a store has to bring: a driver of rows and blobs, and states for readers and writers. A state is copied
before it is written, so that a reader's state does not change. Galleries are there, by name, until ``PLACES`` is
cleared.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from kcrc._base.arrays import Array
from kcrc.errors import FileError, StateError
from kcrc.gallery.contract import (
    ActRecord,
    Check,
    ExampleRecord,
    LabelRecord,
    Report,
    Snapshot,
    Transaction,
    TunedRecord,
)
from kcrc.gallery.examples import Contents
from kcrc.gallery.settings import Settings
from kcrc.gallery.stores import sqlite
from kcrc.gallery.stores.records import COLUMNS, RecordSnapshot, RecordTransaction, Row, key_of

T = TypeVar("T")


class MemoryDriver:
    """The tables of a gallery as dictionaries of rows by key: the ``Driver`` of ``kcrc.gallery.stores.records``."""

    values_at_once = 1000

    def __init__(self, tables: Mapping[str, Mapping[Row, Row]] | None = None, seals: Mapping[str, Any] | None = None):
        names = [*COLUMNS, "vectors", "thumbnails"]
        self.tables: dict[str, dict[Row, Row]] = {name: dict(tables[name]) if tables else {} for name in names}
        self.seals: dict[str, tuple[int, int]] = dict(seals) if seals else dict.fromkeys(COLUMNS, (0, 0))

    def copy(self) -> MemoryDriver:
        return MemoryDriver(self.tables, self.seals)

    def select(
        self, table: str, where: Mapping[str, Any], among: tuple[str, Sequence[Any]] | None, *, descending: bool
    ) -> Iterator[Row]:
        column, values = (None, ()) if among is None else (among[0], set(among[1]))
        for key in sorted(self.tables[table], reverse=descending):
            row = self.tables[table][key]
            named = dict(zip(COLUMNS[table], row[:-1], strict=True))
            if all(named[name] == value for name, value in where.items()) and (
                column is None or named[column] in values
            ):
                yield row

    def keys(self, table: str) -> list[Row]:
        return list(self.tables[table])

    def insert(self, table: str, rows: Iterable[Row]) -> None:
        for row in rows:
            key = tuple(row[: len(key_of(table))])
            assert key not in self.tables[table]
            self.tables[table][key] = row

    def update(self, table: str, rows: Sequence[Row]) -> None:
        for row in rows:
            key = tuple(row[: len(key_of(table))])
            assert key in self.tables[table]
            self.tables[table][key] = row

    def delete(self, table: str, keys: Sequence[Row]) -> None:
        for key in keys:
            self.tables[table].pop(tuple(key), None)

    def blobs(self, table: str, ids: Sequence[int], longest: int) -> list[tuple[int, bytes | None]]:
        rows = [self.tables[table][number,] for number in sorted(ids) if (number,) in self.tables[table]]
        return [(number, data if len(data) <= longest else None) for number, data in rows]

    def seal(self, table: str) -> tuple[int, int] | None:
        return self.seals.get(table)

    def set_seal(self, table: str, rows: int, total: int) -> None:
        self.seals[table] = (rows, total)

    def room(self, table: str) -> int | None:
        return None

    def damage(self) -> list[str]:
        return []


class Place:
    """Where a gallery is kept: its latest state, and the lock of its writer."""

    def __init__(self, state: MemoryDriver) -> None:
        self.state = state
        self.turn = threading.Lock()


PLACES: dict[str, Place] = {}


class MemoryStore:
    def __init__(self, address: str, place: Place, *, readonly: bool = False) -> None:
        self.address = address
        self.name = address.partition("://")[2]
        self.readonly = readonly
        self._place: Place | None = place
        self._reading = threading.local()

    def _open_place(self) -> Place:
        if self._place is None:
            raise StateError(f"The gallery '{self.address}' is closed. Open it again with Gallery.open.")
        return self._place

    def read(self, look: Callable[[Snapshot], T]) -> T:
        place = self._open_place()
        within = getattr(self._reading, "state", None)
        if within is not None:
            return look(RecordSnapshot(within))
        self._reading.state = place.state
        try:
            return look(RecordSnapshot(place.state))
        finally:
            self._reading.state = None

    def write(self, change: Callable[[Transaction], T]) -> T:
        place = self._open_place()
        if self.readonly:
            raise StateError(f"'{self.address}' was opened for reading only.")
        with place.turn:
            state = place.state.copy()
            done = change(RecordTransaction(state))
            place.state = state
        return done

    def erase(self, change: Callable[[Transaction], T]) -> T:
        return self.write(change)  # the state before is gone with the last who reads it

    def elsewhere(self) -> tuple[Path, ...]:
        return ()

    def vectors(self, contents: Contents) -> Array:
        found = self.read(lambda reading: reading.vectors(contents.rows))
        found.flags.writeable = False
        return found

    def size(self) -> int:
        state = self._open_place().state
        return sum(len(data) for table in ("vectors", "thumbnails") for _, data in state.tables[table].values())

    def shrink(self) -> None:
        """Nothing: what was deleted takes no space."""

    def backup(self, goal: Path, *, check: Check, overwrite: bool = False) -> int:
        return backup(self.address, goal, check=check, overwrite=overwrite, report=None)

    def close(self) -> None:
        self._place = None


def exists(address: str | os.PathLike[str]) -> bool:
    return os.fspath(address) in PLACES


def open(address: str | os.PathLike[str], *, readonly: bool = False, recover: bool = False) -> MemoryStore:
    name = os.fspath(address)
    if name not in PLACES:
        raise FileError(f"There is no gallery '{name}'.")
    return MemoryStore(name, PLACES[name], readonly=readonly)


@contextlib.contextmanager
def making(
    address: str | os.PathLike[str], settings: Settings, feature_state: Mapping[str, Array], *, overwrite: bool = False
) -> Iterator[MemoryStore]:
    name = os.fspath(address)
    if name in PLACES and not overwrite:
        raise FileError(f"'{name}' exists already.")
    place = Place(MemoryDriver())
    RecordTransaction(place.state).begin(settings, feature_state)
    store = MemoryStore(name, place)
    yield store
    store.close()
    PLACES[name] = place


def backup(
    address: str | os.PathLike[str],
    goal: str | os.PathLike[str],
    *,
    check: Check,
    overwrite: bool,
    report: Report | None,
) -> int:
    def copied(reading: Snapshot) -> None:
        def fill(writing: Transaction) -> None:
            examples = reading.all(ExampleRecord)
            writing.insert_examples(examples, reading.vectors(examples), [reading.thumbnail(one) for one in examples])
            writing.insert(reading.all(ActRecord))
            writing.insert(reading.all(LabelRecord))
            writing.insert(reading.all(TunedRecord))

        with sqlite.making(goal, reading.settings(), reading.feature_state(), overwrite=overwrite) as made:
            made.write(fill)

    open(address).read(copied)
    return os.stat(goal).st_size
