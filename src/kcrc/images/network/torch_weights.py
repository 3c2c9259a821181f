"""A PyTorch state dict read without PyTorch, and without letting its pickle run anything.

Both layouts are read: the zip archive, and the older stream of pickles followed by raw numbers. The machine that reads
the pickles (``weights_pickle``) knows three kinds of names: OrderedDict, the storage types, and the function that puts
a tensor together; it meets any other with an error. What it builds is a description; the numbers are cut out of the
file afterwards, and are never more than twice the file.
"""

from __future__ import annotations

import io
import math
import zipfile
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError
from kcrc.images.network.weights_pickle import Machine, Maker, Refused

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
    return {name: _cut(raw[tensor.storage.key], tensor) for name, tensor in table.items()}


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
    return {name: _cut(raw[tensor.storage.key], tensor) for name, tensor in table.items()}


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


def _cut(raw: bytes, tensor: _Tensor) -> Array:
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
