"""Calls of every compiled entry with arguments that are wrong in one way or two, from a seed.

``Case(seed)`` takes a row of the table of entries and spoils it; ``run()`` makes the call. It may answer, or refuse
with one of REFUSALS; anything else is a fault, a crash most of all: cases belong in a process of their own
(``seeded.py``).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from native.entry_table import ENTRIES, Array, name_of

REFUSALS = (ValueError, TypeError, IndexError, MemoryError)
"""IndexError where row numbers are read as NumPy reads them."""

EXTREMES = (0, 1, -1, 2, -2, 63, 64, 10**6, 2**30, 2**31 - 1, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63), 2**64)
STRANGE = (np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 1e308, -1e308, 1e-320, 1e40, 1e20)
TYPES = ("f2", "f4", "f8", "i1", "u1", "i2", "i4", "i8", "u8", "?", "c16", ">f8", ">i8", "O", "U3", "m8[s]")


def _other_type(rng: np.random.Generator, a: Array) -> Any:
    wanted = np.dtype(str(rng.choice(TYPES)))
    if wanted.kind in "mU":
        return np.zeros(a.shape, wanted)
    with np.errstate(invalid="ignore", over="ignore"):
        return a.astype(wanted)


def _other_axes(rng: np.random.Generator, a: Array) -> Any:
    first = a[0] if len(a) else a
    return [a[None], a[..., None], a.ravel(), first, np.array(a.flat[0] if a.size else 0)][rng.integers(5)]


def _empty(rng: np.random.Generator, a: Array) -> Any:
    axis = int(rng.integers(max(1, a.ndim)))
    shape = [0 if i == axis else extent for i, extent in enumerate(a.shape)]
    if rng.random() < 0.3:  # no memory at all, and yet an axis of any length
        shape[axis - 1] = int(rng.choice([2**20, 2**31, 2**40])) if a.ndim > 1 else 0
    return np.zeros(shape, a.dtype)


def _other_length(rng: np.random.Generator, a: Array) -> Any:
    axis = int(rng.integers(max(1, a.ndim)))
    index = rng.integers(0, max(1, a.shape[axis]), max(0, a.shape[axis] + int(rng.choice([-1, 1, -2, 7]))))
    return np.ascontiguousarray(a.take(index, axis=axis)) if a.shape[axis] else a


def _not_plain(rng: np.random.Generator, a: Array) -> Any:
    way = rng.integers(4)
    if way == 0:
        return np.asfortranarray(a)
    if way == 1:
        return np.repeat(a, 2, axis=-1)[..., ::2]
    if way == 2:
        return np.broadcast_to(a[..., :1], a.shape)
    return a[..., ::-1]


def _not_aligned(rng: np.random.Generator, a: Array) -> Any:
    room = np.zeros(a.nbytes + 1, np.uint8)
    moved = room[1:].view(a.dtype).reshape(a.shape)
    moved[...] = a
    return moved


def _read_only(rng: np.random.Generator, a: Array) -> Any:
    a = a.copy()
    a.flags.writeable = False
    return a


def _values(rng: np.random.Generator, a: Array) -> Any:
    """Numbers that point outside, or that nothing can be computed from: one, some or all."""
    a = a.copy()
    few = rng.random(a.shape) < rng.choice([0.02, 0.3, 1.0])
    if not few.any() and a.size:
        few.flat[rng.integers(a.size)] = True
    if a.dtype.kind in "iu":
        limits = np.iinfo(a.dtype)
        a[few] = min(max(EXTREMES[rng.integers(len(EXTREMES))], int(limits.min)), int(limits.max))
    else:
        with np.errstate(over="ignore"):
            a[few] = np.asarray(STRANGE[rng.integers(len(STRANGE))], np.float64).astype(a.dtype)
    return a


def _no_array(rng: np.random.Generator, a: Array) -> Any:
    few = a[:3] if a.ndim else a  # an earlier fault may have made it as large as memory, or of no numbers
    plain = few if few.dtype.kind in "iuf" and few.nbytes < 1_000_000 else np.zeros(3)
    return [None, 3, "text", [1.0, 2.0], plain.tolist(), object(), {}, memoryview(plain), a.flat, np.matrix([[1.0]])][
        rng.integers(10)
    ]


ARRAY_FAULTS = (
    _other_type, _other_axes, _empty, _other_length, _not_plain, _not_aligned, _read_only, _values, _values, _no_array,
)  # fmt: skip


def _number(rng: np.random.Generator, given: Any) -> Any:
    if isinstance(given, tuple):  # the options of shape contexts
        spoilt = list(given)
        at = int(rng.integers(len(spoilt)))
        spoilt[at] = _number(rng, spoilt[at])
        return tuple(spoilt[: int(rng.choice([len(spoilt), len(spoilt), 3]))])
    if isinstance(given, str):
        return ["", "nothing", 3, None, "chi2\0"][rng.integers(5)]
    odd = [None, "text", [], 2.5, np.nan, np.float32(3), np.int64(2), True, np.array(3), 10**30]
    chosen = [*EXTREMES, *STRANGE, *odd]
    return chosen[rng.integers(len(chosen))]


class Case:
    """Everything follows from the seed; ``row`` takes one row of the table instead of any."""

    def __init__(self, seed: int, row: str | None = None) -> None:
        rng = np.random.default_rng([30, seed])
        self.row = str(rng.choice(sorted(ENTRIES))) if row is None else row
        self.arguments = ENTRIES[self.row](rng, [np.float32, np.float64][rng.integers(2)])
        self.faults: list[str] = []
        names = sorted(self.arguments)
        for _ in range(int(rng.choice([0, 1, 1, 1, 1, 2, 3])) if names else 0):
            name = str(rng.choice(names))
            given = self.arguments[name]
            if isinstance(given, np.ndarray):
                numbers = given.ndim and given.dtype.kind in "iufcb"  # an earlier fault may have left none
                fault = ARRAY_FAULTS[rng.integers(len(ARRAY_FAULTS))] if numbers else _no_array
                self.arguments[name] = fault(rng, given)
            else:
                fault = _number
                self.arguments[name] = fault(rng, given)
            self.faults.append(f"{name}: {fault.__name__.strip('_')}")
        arrays = [name for name in names if isinstance(self.arguments[name], np.ndarray)]
        if len(arrays) > 1 and rng.random() < 0.06:
            self._share_memory(rng, arrays)

    def _share_memory(self, rng: np.random.Generator, arrays: list[str]) -> None:
        """One array becomes a view of another's memory, in its own type and shape, where it fits."""
        one, other = (str(name) for name in rng.choice(arrays, 2, replace=False))
        mine, room = self.arguments[one], self.arguments[other]
        if room.flags.c_contiguous and 0 < mine.nbytes <= room.nbytes and "O" not in (mine.dtype.char, room.dtype.char):
            view = room.reshape(-1).view(np.uint8)[: mine.nbytes].view(mine.dtype).reshape(mine.shape)
            self.arguments[one] = view
            self.faults.append(f"{one} lies in {other}")

    def __repr__(self) -> str:
        return f"{self.row}: {', '.join(self.faults) or 'as it should be'}"

    def run(self) -> str:
        from kcrc.native import native

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                getattr(native, name_of(self.row))(**self.arguments)
            except REFUSALS as why:
                if not self.faults:
                    raise
                return f"refused: {why}"
        return "answered"
