"""The records of a gallery, and the interface that every store implements.

A store keeps records and finds them again: one unchanging state to read, one transaction to write. What the records
mean (what an act checks, how it is summarised, how it is undone) is written once, in ``acts.py``, ``undoing.py`` and
``erasing.py``, in terms of this interface. SQLite is one store (``stores/sqlite``); what every store has to
pass is ``tests/gallery/stores/test_contract.py``, which runs over a second one, in memory, of a few pages.

The revision of a gallery rises with every act: while it stays the same, there is nothing new to read. Examples are
known by ids, which are never given twice.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from kcrc._base.arrays import Array
from kcrc.gallery.settings import Settings

if TYPE_CHECKING:
    from kcrc.gallery.examples import Contents

T = TypeVar("T")
Report = Callable[[float], None]  # called with the share that is done, from 0 to 1


class ExampleRecord(NamedTuple):
    """One example, without its vector and picture. It is in the gallery unless ``removed_by`` names an act."""

    id: int
    label: str
    source: str
    content: bytes
    """The SHA-256 of the picture's file, or of the vector where there is none."""
    added_at: int
    """Microseconds since 1970."""
    added_by: int
    """The act that brought it."""
    removed_by: int | None
    """The act that took it out."""
    vector_crc: int
    """The crc32 of the vector's bytes, little-endian."""
    thumbnail_crc: int | None


class ActRecord(NamedTuple):
    """One act of the history, numbered from 1 without a gap; ``detail`` (JSON) is what undoing it needs to know."""

    id: int
    at: int
    action: str
    summary: str
    detail: str
    undone_by: int | None


class LabelRecord(NamedTuple):
    """The label that an example had before an act."""

    act: int
    example: int
    before: str


class TunedRecord(NamedTuple):
    """One piece of the classifier that an act chose."""

    act: int
    name: str
    data: bytes


R = TypeVar("R", ExampleRecord, ActRecord, LabelRecord, TunedRecord)
KEYS: Mapping[type, tuple[str, ...]] = {
    ExampleRecord: ("id",),
    ActRecord: ("id",),
    LabelRecord: ("act", "example"),
    TunedRecord: ("act", "name"),
}
"""What tells records of a kind apart, and orders them."""


class Snapshot(Protocol):
    """One unchanging state of a gallery. A value that was damaged is an error (``FileError``), never another value."""

    def settings(self) -> Settings: ...

    def all(self, kind: type[R]) -> list[R]:
        """Every record of a kind, by rising key."""

    def find(self, kind: type[R], **where: Any) -> Iterator[R]:
        """The records with these values, by rising key. One of them may be a list, which stands for any of its values:
        then they come in no order."""

    def keys(self, kind: type[R]) -> Iterator[tuple[Any, ...]]:
        """The keys of all records of a kind."""

    def acts(self) -> Iterator[ActRecord]:
        """The history, newest first."""

    def vectors(self, examples: Sequence[ExampleRecord]) -> Array:
        """(n, dim) of examples by rising id, each compared with its crc32."""

    def thumbnail(self, example: ExampleRecord) -> bytes | None:
        """The picture of an example, compared with its crc32; None where it has none."""

    def feature_state(self) -> dict[str, Array]:
        """The arrays of the fitted feature."""

    def feature_learned(self) -> bool:
        """Whether there are such arrays: the feature learned from examples."""

    def damage(self) -> list[str]:
        """What is wrong with how the records are kept, a sentence each. Records themselves are looked at by others."""


Check = Callable[[Snapshot], Sequence[str]]  # what is wrong with a state, a sentence each


class Transaction(Snapshot, Protocol):
    """One transaction: what is written in it is kept as a whole or not at all, and seen by what it reads."""

    def set_settings(self, new: Settings) -> None: ...

    def insert(self, records: Sequence[R]) -> None:
        """Keep new records, all of one kind; examples come by ``insert_examples``."""

    def insert_examples(
        self, examples: Sequence[ExampleRecord], vectors: Array, thumbnails: Sequence[bytes | None]
    ) -> None:
        """Keep new examples with their vectors (n, dim) and pictures."""

    def replace(self, old: Sequence[R], new: Sequence[R]) -> None:
        """Keep ``new`` in place of ``old``, pairs of the same key."""

    def delete(self, records: Sequence[R]) -> None:
        """Drop records; examples with their vectors and pictures."""


class Store(Protocol):
    """An open gallery. Threads may share it; a process that was forked from the one that opened it may not."""

    @property
    def address(self) -> Path | str:
        """Where it is, as it was named, without a password."""

    @property
    def name(self) -> str:
        """The name of the gallery, without its folder or server."""

    @property
    def readonly(self) -> bool: ...

    def read(self, look: Callable[[Snapshot], T]) -> T:
        """What ``look`` finds in one state; a ``read`` within it, by the same thread, is of that state too. It may be
        run again if the connection was lost."""

    def write(self, change: Callable[[Transaction], T]) -> T:
        """Run ``change`` as one transaction. When this returns, the change is durable and every reader sees it; after
        an error nothing of it is kept. Writers take turns; ``change`` may be run again if the turn was lost."""

    def erase(self, change: Callable[[Transaction], T]) -> T:
        """As ``write``, and nothing of what ``change`` deletes or replaces is left where the store keeps things."""

    def elsewhere(self) -> tuple[Path, ...]:
        """Files that the store does not change and that, by their names, may hold what was erased."""

    def vectors(self, contents: Contents) -> Array:
        """(n, dim), read-only: the vectors of all examples of a state; for use within ``read``. A store may keep them
        at hand in one piece, as long as every vector is compared with its crc32."""

    def size(self) -> int:
        """How many bytes it takes."""

    def shrink(self) -> None:
        """Give back the space of what was deleted."""

    def backup(self, goal: Path, *, check: Check, overwrite: bool = False) -> int:
        """Copy this state to a file that is a gallery too; its size in bytes. What ``check`` finds damaged is not
        copied."""

    def close(self) -> None: ...


class Coordinates(Protocol):
    """Examples as a classifier prepares them, in one state, where the store can search among them."""

    def upto(self) -> int:
        """All examples with smaller ids have coordinates, those that were removed too, where they ``are_whole``."""

    def are_whole(self) -> bool:
        """Whether none of them was lost or added by other means: looks at all of them."""

    def has_graph(self) -> bool:
        """Whether there is an HNSW graph over them."""

    def nearest(self, query: Array, count: int, *, graph: bool = False) -> tuple[Array, Array]:
        """The ids of ``count`` examples (or all that have coordinates) nearest to a query (d,) by Euclidean distances
        in single precision, and how far each is, nearest first; by the ``graph``, most of them."""

    def longest(self, count: int) -> tuple[Array, float]:
        """The ids of the ``count`` longest coordinates, and how long the longest are."""

    def from_id(self, first: int) -> list[ExampleRecord]:
        """The examples from an id on, removed ones included."""

    def counts(self, before: int) -> tuple[int, int]:
        """How many examples are in, with ids below ``before`` and from there on."""

    def labels(self) -> set[str]:
        """The classes of the examples that are in."""


@runtime_checkable
class SearchingStore(Store, Protocol):
    """A store that can search: it keeps coordinates, which follow from the examples, beside them."""

    def coordinates(self, reading: Snapshot, mark: str) -> Coordinates:
        """Those under a ``mark``, which stands for how they are prepared."""

    def extend_coordinates(
        self, mark: str, width: int, prepare: Callable[[Array], Array], *, graph: bool = False
    ) -> None:
        """Give the examples that have none yet coordinates of ``width`` numbers: ``prepare`` of their vectors; and all
        of them a ``graph``, where there is none and the store makes one for so many numbers."""


class StoreKind(Protocol):
    """A way to keep galleries: what ``stores.KINDS`` holds. A module with these functions is one."""

    def exists(self, address: str | os.PathLike[str]) -> bool:
        """Whether there is anything at an address."""

    def open(self, address: str | os.PathLike[str], *, readonly: bool, recover: bool) -> Store:
        """The gallery there, after an audit. With ``recover``, what an interrupted writer or an older version left is
        put in order first, also for reading, where that may be done."""

    def making(
        self,
        address: str | os.PathLike[str],
        settings: Settings,
        feature_state: Mapping[str, Array],
        *,
        overwrite: bool,
    ) -> contextlib.AbstractContextManager[Store]:
        """A gallery to be filled in the block; it is there under its address at the end of it, and not before."""

    def backup(
        self,
        address: str | os.PathLike[str],
        goal: str | os.PathLike[str],
        *,
        check: Check,
        overwrite: bool,
        report: Report | None,
    ) -> int:
        """Copy a gallery, of this version or an older one, to a file; its size in bytes. What ``check`` finds damaged
        is not copied."""
