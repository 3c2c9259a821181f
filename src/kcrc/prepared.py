"""What a distance or kernel keeps of a set of samples, and the growing store of it for the examples.

A distance looks at each sample once (``prepare``) and from then on only at what it kept: vectors and their
norms, tangents, histograms. ``Prepared`` is a read-only table of arrays that share their first axis, the samples.
``PreparedExamples`` is the same for the stored examples: adding one costs what one costs, not what they all cost.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from kcrc.arrays import Array, widened
from kcrc.storage import MEMORY, Storage, blocks

POSITION = "position"  # of an example among the columns of a matrix that the caller computed


@dataclass(frozen=True, eq=False)
class Prepared:
    """What a distance or kernel needs of some samples: arrays by name, all with the samples as their first axis.

    Attributes
    ----------
    parts : dict of str to ndarray
        The arrays; ``prepared["vectors"]`` is one of them.
    nbytes : int
        Their size in memory.
    """

    parts: Mapping[str, Array]

    def __getitem__(self, name: str) -> Array:
        return self.parts[name]

    def __len__(self) -> int:
        return len(next(iter(self.parts.values())))

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self.parts.values())

    def take(self, rows: Any) -> Prepared:
        """The samples at ``rows`` (an index array of any shape, a slice or a mask), as something to compute with."""
        return Prepared({name: widened(part[rows]) for name, part in self.parts.items()})


class _Buffer:
    """Arrays with room to grow, in a ``storage``; ``used`` rows of them are owned by some PreparedExamples."""

    __slots__ = ("arrays", "process", "storage", "used")

    def __init__(self, arrays: dict[str, Array], used: int, storage: Storage = MEMORY) -> None:
        self.arrays = arrays
        self.used = used
        self.storage = storage
        self.process = os.getpid()


class PreparedExamples:
    """The prepared examples: a value, like a tuple, whose ``appended`` shares memory where it can.

    The first append moves the examples to a buffer with an eighth to spare (and so leaves the caller's array
    alone); those after it write only the new rows until the spare is used up. In mapped files the spare is there from
    the start.
    """

    __slots__ = ("_buffer", "_length")

    def __init__(self, prepared: Prepared) -> None:
        self._buffer = _Buffer(dict(prepared.parts), len(prepared))
        self._length = len(prepared)

    @classmethod
    def reserved(cls, like: Prepared, n: int, storage: Storage) -> PreparedExamples:
        """A store of nothing yet, with room in ``storage`` for what is kept of n samples like these."""
        capacity = storage.room(n)
        arrays = {name: storage.zeros((capacity, *part.shape[1:]), part.dtype) for name, part in like.parts.items()}
        return cls._over(_Buffer(arrays, 0, storage), 0)

    @classmethod
    def _over(cls, buffer: _Buffer, length: int) -> PreparedExamples:
        store = cls.__new__(cls)
        store._buffer, store._length = buffer, length
        return store

    def __len__(self) -> int:
        return self._length

    @property
    def prepared(self) -> Prepared:
        """The examples as they are now (views, no copy)."""
        return Prepared({name: array[: self._length] for name, array in self._buffer.arrays.items()})

    def __reduce__(self) -> tuple[Any, ...]:
        """Its own rows: those behind them in the buffer are somebody else's."""
        return _again, (self.prepared, self._buffer.storage)

    def appended(self, new: Prepared) -> PreparedExamples:
        """A store with ``new`` behind these; this one stays what it was."""
        start, stop = self._length, self._length + len(new)
        buffer = self._buffer
        room = min(len(array) for array in buffer.arrays.values())
        if buffer.used != start or stop > room or not buffer.storage.owned_by(buffer.process):
            buffer = _Buffer(self._moved(stop + stop // 8 + 64), start, buffer.storage)
        for name, array in buffer.arrays.items():
            array[start:stop] = new[name]
        buffer.used = stop
        return self._over(buffer, stop)

    def _moved(self, capacity: int) -> dict[str, Array]:
        moved = {}
        for name, array in self._buffer.arrays.items():
            moved[name] = self._buffer.storage.zeros((capacity, *array.shape[1:]), array.dtype)
            moved[name][: self._length] = array[: self._length]
        return moved

    def taken(self, rows: Array) -> PreparedExamples:
        """A store in memory with these rows."""
        return PreparedExamples(Prepared({name: part[rows] for name, part in self.prepared.parts.items()}))

    def kept(self, keep: Array) -> PreparedExamples:
        """A store with only the rows where ``keep`` is true, in their order."""
        parts, rows = self.prepared.parts, np.flatnonzero(keep)
        left = PreparedExamples.reserved(self.prepared, len(rows), self._buffer.storage)
        for block in blocks(len(rows), max(part[:1].size for part in parts.values())):
            left = left.appended(Prepared({name: part[rows[block]] for name, part in parts.items()}))
        return left


def _again(prepared: Prepared, storage: Storage) -> PreparedExamples:
    return PreparedExamples._over(_Buffer(dict(prepared.parts), len(prepared), storage), len(prepared))


class Preparer(Protocol):
    """A distance or a kernel, as far as preparing goes."""

    @property
    def preparation(self) -> Hashable: ...

    def prepare(self, X: Array) -> Prepared: ...


class Samples:
    """A batch of samples and, for each distance or kernel that asks, what it keeps of them: prepared once.

    ``columns`` (n,), of stored examples: where each stands among the columns of a matrix that was computed by the
    caller. Nothing else looks at it, and queries have none.
    """

    __slots__ = ("X", "_columns", "_made")

    def __init__(self, X: Array, made: dict[Hashable, Prepared] | None = None, *, columns: Array | None = None) -> None:
        self.X = X
        self._made: dict[Hashable, Prepared] = {} if made is None else made
        self._columns = columns

    def __len__(self) -> int:
        return len(self.X)

    def of(self, part: Preparer) -> Prepared:
        """What ``part`` keeps of these samples."""
        key = part.preparation
        if key not in self._made:
            made = part.prepare(self.X)
            if self._columns is not None and POSITION in made.parts:
                made = Prepared({**made.parts, POSITION: self._columns})
            self._made[key] = made
        return self._made[key]

    @property
    def prepared_by_key(self) -> Mapping[Hashable, Prepared]:
        """All that was prepared so far."""
        return self._made

    def take(self, which: Any) -> Samples:
        columns = None if self._columns is None else self._columns[which]
        return Samples(self.X[which], {key: made.take(which) for key, made in self._made.items()}, columns=columns)
