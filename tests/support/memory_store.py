"""A second store, in memory: the contract of ``kcrc.gallery.contract`` and nothing more.

It shows that a store needs no change anywhere else, and what one has to do. A state is copied before it is written, so
that whoever reads has one that stays as it is. Galleries are there, by
name, until ``PLACES`` is cleared.
"""

from __future__ import annotations

import contextlib
import copy
import os
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import FileError, StateError
from kcrc.gallery.contract import (
    KEYS,
    ActRecord,
    Check,
    ExampleRecord,
    LabelRecord,
    R,
    Report,
    Snapshot,
    Transaction,
    TunedRecord,
)
from kcrc.gallery.examples import Contents
from kcrc.gallery.settings import Settings
from kcrc.gallery.stores import sqlite

T = TypeVar("T")


@dataclass
class State:
    """Everything a gallery keeps."""

    settings: Settings
    feature: dict[str, Array]
    records: dict[type, dict[tuple[Any, ...], Any]] = field(default_factory=lambda: {kind: {} for kind in KEYS})
    vectors: dict[int, bytes] = field(default_factory=dict)
    thumbnails: dict[int, bytes] = field(default_factory=dict)


class Place:
    """Where a gallery is kept: its latest state, and who may write."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.turn = threading.Lock()


PLACES: dict[str, Place] = {}


class StateSnapshot:
    def __init__(self, state: State) -> None:
        self._state = state

    def settings(self) -> Settings:
        return self._state.settings

    def all(self, kind: type[R]) -> list[R]:
        return [record for _, record in sorted(self._state.records[kind].items())]

    def find(self, kind: type[R], **where: Any) -> Iterator[R]:
        sets = {name: value if isinstance(value, list) else [value] for name, value in where.items()}
        return (record for record in self.all(kind) if all(getattr(record, name) in sets[name] for name in sets))

    def keys(self, kind: type[R]) -> Iterator[tuple[Any, ...]]:
        return iter(list(self._state.records[kind]))

    def acts(self) -> Iterator[ActRecord]:
        return reversed(self.all(ActRecord))

    def vectors(self, examples: Sequence[ExampleRecord]) -> Array:
        had = self.settings()
        dtype = np.dtype(had.dtype).newbyteorder("<")
        data = [self._checked(self._state.vectors, example.id, example.vector_crc) for example in examples]
        return np.frombuffer(b"".join(data), dtype).reshape(len(examples), had.dim)

    def thumbnail(self, example: ExampleRecord) -> bytes | None:
        crc = example.thumbnail_crc
        return None if crc is None else self._checked(self._state.thumbnails, example.id, crc)

    def feature_state(self) -> dict[str, Array]:
        return dict(self._state.feature)

    def feature_learned(self) -> bool:
        return bool(self._state.feature)

    def damage(self) -> list[str]:
        examples = {example.id for example in self.all(ExampleRecord)}
        return [f"There is a vector of no example, {example}." for example in self._state.vectors.keys() - examples]

    def _checked(self, data: Mapping[int, bytes], example: int, crc: int) -> bytes:
        found = data.get(example)
        if found is None or zlib.crc32(found) != crc:
            raise FileError(f"What is kept of example {example} is damaged.")
        return found


class StateTransaction(StateSnapshot):
    def set_settings(self, new: Settings) -> None:
        self._state.settings = new

    def insert(self, records: Sequence[R]) -> None:
        for record in records:
            assert _key(record) not in self._state.records[type(record)]
            self._state.records[type(record)][_key(record)] = record

    def insert_examples(
        self, examples: Sequence[ExampleRecord], vectors: Array, thumbnails: Sequence[bytes | None]
    ) -> None:
        self.insert(examples)
        for example, vector, thumbnail in zip(examples, vectors, thumbnails, strict=True):
            self._state.vectors[example.id] = vector.tobytes()
            if thumbnail is not None:
                self._state.thumbnails[example.id] = thumbnail

    def replace(self, old: Sequence[R], new: Sequence[R]) -> None:
        for before, after in zip(old, new, strict=True):
            assert self._state.records[type(before)][_key(after)] == before
            self._state.records[type(before)][_key(after)] = after

    def delete(self, records: Sequence[R]) -> None:
        for record in records:
            del self._state.records[type(record)][_key(record)]
            if isinstance(record, ExampleRecord):
                del self._state.vectors[record.id]
                self._state.thumbnails.pop(record.id, None)


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
            return look(StateSnapshot(within))
        self._reading.state = place.state
        try:
            return look(StateSnapshot(place.state))
        finally:
            self._reading.state = None

    def write(self, change: Callable[[Transaction], T]) -> T:
        place = self._open_place()
        if self.readonly:
            raise StateError(f"'{self.address}' was opened for reading only.")
        with place.turn:
            state = copy.deepcopy(place.state)
            done = change(StateTransaction(state))
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
        return sum(map(len, [*state.vectors.values(), *state.thumbnails.values()]))

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
    place = Place(State(settings, dict(feature_state)))
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


def _key(record: Any) -> tuple[Any, ...]:
    return tuple(getattr(record, name) for name in KEYS[type(record)])
