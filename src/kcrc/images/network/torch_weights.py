"""A PyTorch state dict read without PyTorch, and without letting its pickle run anything.

Both layouts are read: the zip archive, and the older stream of pickles followed by raw numbers. The machine that reads
the pickles (``weights_pickle``) knows three kinds of names: OrderedDict, the storage types, and the function that puts
a tensor together; it meets any other with an error. What it builds is a description; the numbers are cut out of the
file afterwards, and are never more than twice the file.
"""

from __future__ import annotations

import io
import math
import pickletools
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError

# A small machine for the pickles that tables of weights are written as.
#
# ``pickle`` is not safe with what others wrote, whatever names it is kept from: an index of its memory can ask for
# terabytes, the hash of a tuple of tuples can take years. Here are the few instructions that ``torch.save`` uses, each
# in a line or two; any other is an error. Nothing is called but the ``Maker``s it is given.

_MOST_INSTRUCTIONS = 500_000  # a tensor takes some forty
_PLAIN = frozenset(("BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE"))
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}


class Refused(Exception):
    """Not a table of weights; the text says why."""


@dataclass(frozen=True, slots=True)
class Maker:
    """A global that a pickle may call."""

    make: Callable[..., Any]


class Machine:
    """Runs one pickle: instructions that put plain values together, and nothing else.

    ``names`` are the globals it may ask for, "module name"; ``kept`` turns a persistent id into a value.
    """

    def __init__(self, names: Mapping[str, Any], kept: Callable[[Any], Any]) -> None:
        self._names, self._kept = names, kept
        self.stack: list[Any] = []
        self.outer: list[list[Any]] = []  # what lay on the stack when a list of values began
        self.memo: dict[int, Any] = {}

    def load(self, stream: IO[bytes]) -> Any:
        """The value that the pickle at the stream's place describes; the stream is then behind it."""
        for count, (opcode, argument, _) in enumerate(pickletools.genops(stream)):
            if count > _MOST_INSTRUCTIONS:
                raise Refused(f"it has more than {_MOST_INSTRUCTIONS} instructions")
            if opcode.name == "STOP":
                break
            if opcode.name in _CONSTANTS:
                self.stack.append(_CONSTANTS[opcode.name])
            elif opcode.name in _PLAIN:
                self.stack.append(argument)
            else:
                step = getattr(self, f"_{opcode.name.lower()}", None)
                if step is None:
                    raise Refused(f"it has the instruction {opcode.name}, which is not part of a table of weights")
                step(argument)
        return self._take_top()

    def _take_top(self) -> Any:
        if not self.stack:
            raise Refused("it takes away what is not there")
        return self.stack.pop()

    def _since_mark(self) -> list[Any]:
        if not self.outer:
            raise Refused("it takes away what is not there")
        values, self.stack = self.stack, self.outer.pop()
        return values

    def _proto(self, _: Any) -> None: ...

    def _mark(self, _: Any) -> None:
        self.outer.append(self.stack)
        self.stack = []

    def _empty_dict(self, _: Any) -> None:
        self.stack.append({})

    def _empty_list(self, _: Any) -> None:
        self.stack.append([])

    def _binput(self, place: int) -> None:
        self.stack.append(self._take_top())
        self.memo[place] = self.stack[-1]

    _long_binput = _binput

    def _binget(self, place: int) -> None:
        if place not in self.memo:
            raise Refused("it asks for what it never kept")
        self.stack.append(self.memo[place])

    _long_binget = _binget

    def _tuple(self, _: Any) -> None:
        values = tuple(self._since_mark())
        self.stack.append(values)

    def _tuple1(self, _: Any) -> None:
        self.stack.append((self._take_top(),))

    def _tuple2(self, _: Any) -> None:
        second, first = self._take_top(), self._take_top()
        self.stack.append((first, second))

    def _tuple3(self, _: Any) -> None:
        third, second, first = self._take_top(), self._take_top(), self._take_top()
        self.stack.append((first, second, third))

    def _append(self, _: Any) -> None:
        self._extend([self._take_top()])

    def _appends(self, _: Any) -> None:
        self._extend(self._since_mark())

    def _extend(self, values: list[Any]) -> None:
        if not self.stack or type(self.stack[-1]) is not list:
            raise Refused("it appends to what is no list")
        self.stack[-1].extend(values)

    def _setitem(self, _: Any) -> None:
        value, key = self._take_top(), self._take_top()
        self._set([key, value])

    def _setitems(self, _: Any) -> None:
        self._set(self._since_mark())

    def _set(self, values: list[Any]) -> None:
        # Only text may be a name: to hash a tuple of tuples of tuples … can take longer than anybody waits.
        if not self.stack or type(self.stack[-1]) is not dict or len(values) % 2:
            raise Refused("it sets entries of what is no table")
        if not all(type(key) is str for key in values[::2]):
            raise Refused("it has entries whose name is no text")
        self.stack[-1].update(zip(values[::2], values[1::2], strict=True))

    def _build(self, _: Any) -> None:
        self._take_top()  # attributes of a table: which version of a layer wrote it
        if not self.stack or type(self.stack[-1]) is not dict:
            raise Refused("it alters a part after it was made")

    def _global(self, name: str) -> None:
        if name not in self._names:
            raise Refused(f"it asks for {name[:60].replace(' ', '.')}, which is not part of a table of weights")
        self.stack.append(self._names[name])

    def _reduce(self, _: Any) -> None:
        given, maker = self._take_top(), self._take_top()
        if type(given) is not tuple or not isinstance(maker, Maker):
            raise Refused("it calls what is not part of a table of weights")
        self.stack.append(maker.make(*given))

    def _binpersid(self, _: Any) -> None:
        self.stack.append(self._kept(self._take_top()))


_MAGIC, _PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
_MOST_AXES = 16
_STORAGES = {
    "FloatStorage": "<f4", "DoubleStorage": "<f8", "HalfStorage": "<f2", "LongStorage": "<i8",
    "IntStorage": "<i4", "ShortStorage": "<i2", "CharStorage": "<i1", "ByteStorage": "<u1", "BoolStorage": "?",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Kind:
    """A storage type: what kind of numbers."""

    dtype: str


@dataclass(frozen=True, slots=True)
class _Storage:
    key: str
    dtype: str
    count: int


@dataclass(frozen=True, slots=True)
class _Tensor:
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


def _storage(given: Any) -> _Storage:
    if type(given) is not tuple or len(given) not in (5, 6) or given[0] != "storage" or type(given[1]) is not _Kind:
        raise Refused("numbers kept in a way that is not known")
    if len(given) == 6 and given[5] is not None:
        raise Refused("numbers kept as views of others")
    if type(given[2]) is not str or type(given[4]) is not int or given[4] < 0:
        raise Refused("numbers without a name or a count")
    return _Storage(given[2], given[1].dtype, given[4])


def _tensor(storage: Any, offset: Any, shape: Any, stride: Any, *_: Any) -> _Tensor:
    whole = type(shape) is type(stride) is tuple and all(type(n) is int and n >= 0 for n in (offset, *shape, *stride))
    if type(storage) is not _Storage or not whole or len(shape) != len(stride) or len(shape) > _MOST_AXES:
        raise Refused("a tensor that is not one")
    last = offset + sum((n - 1) * step for n, step in zip(shape, stride, strict=True))
    # The second bound keeps a step of 0 from turning one number into a terabyte.
    if math.prod(shape) and (last >= storage.count or math.prod(shape) > storage.count):
        raise Refused("a tensor larger than its numbers")
    return _Tensor(storage, offset, shape, stride)


def _empty_table() -> dict[str, Any]:
    return {}  # entries come one by one, with their names looked at


_NAMES = {
    "collections OrderedDict": Maker(_empty_table),
    "torch._utils _rebuild_tensor_v2": Maker(_tensor),
    **{f"torch {name}": _Kind(dtype) for name, dtype in _STORAGES.items()},
}


def _load(stream: IO[bytes]) -> Any:
    return Machine(_NAMES, _storage).load(stream)


def read_state_dict(content: bytes, *, source: str = "weights") -> dict[str, Array]:
    """Arrays by name from the bytes of a ``.pth`` file; else an error that names it. Nothing in it is run."""
    try:
        if zipfile.is_zipfile(io.BytesIO(content)):
            return _from_zip(content)
        return _from_stream(content)
    except Exception as problem:  # a damaged file fails in as many ways as there are bytes
        raise DataError(f"{source} is not a table of weights that can be read: {str(problem)[:300]}.") from problem


def _from_zip(content: bytes) -> dict[str, Array]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        index = next((n for n in archive.namelist() if n.endswith("/data.pkl") or n == "data.pkl"), None)
        if index is None:
            raise Refused("it has no data.pkl")
        root = index.removesuffix("data.pkl")
        table = _table(_load(io.BytesIO(_member(archive, index))), len(content))
        raw = {key: _member(archive, f"{root}data/{key}") for key in _storages(table)}
    return {name: _cut_tensor(raw[tensor.storage.key], tensor) for name, tensor in table.items()}


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    # Stored as it is, a member cannot be larger than the file that holds it.
    if archive.getinfo(name).compress_type != zipfile.ZIP_STORED:
        raise Refused(f"'{name}' is compressed, which numbers of weights are not")
    return archive.read(name)


def _from_stream(content: bytes) -> dict[str, Array]:
    stream = io.BytesIO(content)
    if _load(stream) != _MAGIC or _load(stream) != _PROTOCOL:
        raise Refused("it does not begin like one")
    system = _load(stream)
    if not isinstance(system, dict) or system.get("little_endian") is not True:
        raise Refused("its numbers are not little endian")
    table = _table(_load(stream), len(content))
    keys = _load(stream)
    storages = _storages(table)
    if not isinstance(keys, list) or not all(type(key) is str for key in keys) or sorted(keys) != sorted(storages):
        raise Refused("its list of numbers does not match its tensors")
    raw: dict[str, bytes] = {}
    for key in keys:
        count = int.from_bytes(stream.read(8), "little")
        if count != storages[key].count:
            raise Refused(f"'{key}' holds {count} numbers; {storages[key].count} were due")
        raw[key] = stream.read(count * np.dtype(storages[key].dtype).itemsize)
    return {name: _cut_tensor(raw[tensor.storage.key], tensor) for name, tensor in table.items()}


def _table(loaded: Any, file_bytes: int) -> dict[str, _Tensor]:
    if not isinstance(loaded, dict) or not all(isinstance(value, _Tensor) for value in loaded.values()):
        raise Refused("it is not a table of tensors by name")
    # Tensors may share their numbers; each is a copy here, so a thousand of them must not share a large one.
    claimed = sum(math.prod(t.shape) * np.dtype(t.storage.dtype).itemsize for t in loaded.values())
    if claimed > 2 * file_bytes:
        raise Refused(f"its tensors claim {claimed} bytes, and it has {file_bytes}")
    return loaded


def _storages(table: dict[str, _Tensor]) -> dict[str, _Storage]:
    """The numbers that tensors are cut from, by key; those of one key have to agree."""
    found: dict[str, _Storage] = {}
    for tensor in table.values():
        if found.setdefault(tensor.storage.key, tensor.storage) != tensor.storage:
            raise Refused(f"the numbers '{tensor.storage.key}' are of two kinds")
    return found


def _cut_tensor(raw: bytes, tensor: _Tensor) -> Array:
    dtype = np.dtype(tensor.storage.dtype)
    due = tensor.storage.count * dtype.itemsize
    if len(raw) != due:
        fault = "is larger than it should be" if len(raw) > due else "is incomplete"
        raise Refused(f"'{tensor.storage.key}' {fault}")
    if not math.prod(tensor.shape):
        return np.empty(tensor.shape, dtype)
    numbers = np.frombuffer(raw, dtype)[tensor.offset :]
    steps = tuple(step * dtype.itemsize for step in tensor.stride)
    return np.ascontiguousarray(np.lib.stride_tricks.as_strided(numbers, tensor.shape, steps, writeable=False))
