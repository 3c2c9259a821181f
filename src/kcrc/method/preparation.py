"""What a distance or kernel keeps of a set of samples, and the growing store of it for the examples.

A distance looks at each sample once (``prepare``) and from then on only at what it kept: vectors and their
norms, tangents, histograms. ``Prepared`` is a read-only table of arrays that share their first axis, the samples.
``PreparedExamples`` is the same for the stored examples: adding one costs what one costs, not what they all cost.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from kcrc._base.arrays import Array, widen
from kcrc._base.mapped import allocate, apply_parts_by_blocks, is_mapped

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
        return Prepared({name: widen(part[rows]) for name, part in self.parts.items()})


class _Buffer:
    """Arrays with room to grow; ``used`` rows of them are owned by some PreparedExamples."""

    __slots__ = ("_lock", "arrays", "process", "used")

    def __init__(self, arrays: dict[str, Array], used: int) -> None:
        self.arrays = arrays
        self.used = used
        self.process = os.getpid()
        self._lock = threading.Lock()

    def claim(self, start: int, stop: int) -> bool:
        """Whether rows from ``start`` to ``stop`` are now the caller's to write: no other owner has them, in any
        thread, and a process that was forked shares no mapped file with its parent."""
        if self.process != os.getpid() and any(is_mapped(array) for array in self.arrays.values()):
            return False
        with self._lock:
            if self.used != start or stop > min(len(array) for array in self.arrays.values()):
                return False
            self.used = stop
            return True


class PreparedExamples:
    """The prepared examples: a value, like a tuple, whose ``append`` shares memory where it can.

    The first append moves the examples to a buffer with an eighth to spare (and so leaves the caller's array
    alone); those after it write only the new rows until the spare is used up. What is mapped moves to another mapped
    file.
    """

    __slots__ = ("_buffer", "_length")

    def __init__(self, prepared: Prepared) -> None:
        self._buffer = _Buffer(dict(prepared.parts), len(prepared))
        self._length = len(prepared)

    @classmethod
    def _over(cls, buffer: _Buffer, length: int) -> PreparedExamples:
        store = cls.__new__(cls)
        store._buffer, store._length = buffer, length
        return store

    def __len__(self) -> int:
        return self._length

    @property
    def content(self) -> Prepared:
        """The examples as they are now (views, no copy)."""
        return Prepared({name: array[: self._length] for name, array in self._buffer.arrays.items()})

    def __reduce__(self) -> tuple[Any, ...]:
        """Its own rows: those behind them in the buffer are somebody else's."""
        return PreparedExamples, (self.content,)

    def append(self, new: Prepared) -> PreparedExamples:
        """A store with ``new`` behind these; this one stays what it was."""
        if not len(new):
            return self  # the caller's array may be one that cannot be written to
        start, stop = self._length, self._length + len(new)
        buffer = self._buffer
        if not buffer.claim(start, stop):
            buffer = _Buffer(self._move(stop + stop // 8 + 64), stop)
        for name, array in buffer.arrays.items():
            array[start:stop] = new[name]
        return self._over(buffer, stop)

    def _move(self, capacity: int) -> dict[str, Array]:
        moved = {}
        for name, array in self._buffer.arrays.items():
            moved[name] = allocate((capacity, *array.shape[1:]), array.dtype, mapped=is_mapped(array))
            moved[name][: self._length] = array[: self._length]
        return moved

    def keep(self, keep: Array) -> PreparedExamples:
        """A store with only the rows where ``keep`` is true, in their order."""
        rows, left = np.flatnonzero(keep), {}
        for name, part in self.content.parts.items():
            left[name] = allocate((len(rows), *part.shape[1:]), part.dtype, mapped=is_mapped(part))
            np.take(part, rows, axis=0, out=left[name], mode="clip")  # the other modes make a copy on the way
        return PreparedExamples(Prepared(left))


class Preparer(Protocol):
    """A distance or a kernel, as far as preparing goes."""

    @property
    def preparation(self) -> Hashable: ...

    def prepare(self, X: Array) -> Prepared: ...


class Samples:
    """A batch of samples and, for each distance or kernel that asks, what it keeps of them: prepared once.

    ``columns`` (n,), of stored examples: where each stands among the columns of a matrix that was computed by the
    caller. Nothing else looks at it, and queries have none. What is kept of stored examples in a mapped file is mapped.
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
            if self._columns is None:
                made = part.prepare(self.X)
            else:
                made = Prepared(apply_parts_by_blocks(lambda some: part.prepare(some).parts, self.X))
                if POSITION in made.parts:
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
