"""A PyTorch state dict read without PyTorch, and without letting its pickle run anything.

Both layouts are read: the zip archive, and the older stream of pickles followed by raw numbers. The unpickler
knows the opcodes that such a table is written in and four kinds of names: OrderedDict, the storage types, and the
function that puts a tensor together; it meets any other with an error. What it builds is a description; the numbers are
cut out of the file afterwards, where the description fits them.
"""

from __future__ import annotations

import io
import math
import pickle
import zipfile
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np

from kcrc.errors import DataError
from kcrc.prepared import Array

_MAGIC, _PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
_PICKLE_LIMIT = 1 << 22  # bytes of pickle, whatever follows it; a table of a thousand tensors has 100 kB
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


class _Rebuild:
    """Stands for torch._utils._rebuild_tensor_v2; an object without attributes, so a pickle cannot alter it."""

    __slots__ = ()

    def __call__(self, storage: Any, offset: Any, shape: Any, stride: Any, *_: Any) -> _Tensor:
        whole = all(isinstance(n, int) and n >= 0 for n in (offset, *shape, *stride))
        if not isinstance(storage, _Storage) or not whole or len(shape) != len(stride):
            raise pickle.UnpicklingError("a tensor that is not one")
        return _Tensor(storage, offset, tuple(shape), tuple(stride))


def _build(unpickler: Any) -> None:
    """Attributes: an OrderedDict of PyTorch has some, which say nothing of the weights. Nothing else is altered."""
    unpickler.stack.pop()
    if type(unpickler.stack[-1]) is not OrderedDict:
        raise pickle.UnpicklingError("it alters a part after it was made")


class _Opcodes(dict[int, Any]):
    def __missing__(self, key: int) -> Any:
        raise pickle.UnpicklingError(f"it has the opcode {key}, which no table of weights needs")


_WRITTEN = (
    b"\x80.(N\x88\x89)tl]}aeus\x85\x86\x87"  # protocol, stop, mark, None, truth, tuples, lists, dicts
    b"JKM\x8aX"  # whole numbers, text
    b"qrhj"  # put and get
    b"cRQ"  # a name, a call of it, numbers stored elsewhere
)


class _Unpickler(pickle._Unpickler):
    """Builds descriptions of tensors in dictionaries, and nothing else.

    In Python, because the compiled one reserves as many places for objects as a pickle says that it has."""

    dispatch = _Opcodes({**{key: pickle._Unpickler.dispatch[key] for key in _WRITTEN}, pickle.BUILD[0]: _build})

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _Rebuild()
        if module == "torch" and name in _STORAGES:
            return _Kind(_STORAGES[name])
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is not part of a table of weights")

    def persistent_load(self, pid: Any) -> _Storage:
        if not (isinstance(pid, tuple) and len(pid) in (5, 6) and pid[0] == "storage" and isinstance(pid[1], _Kind)):
            raise pickle.UnpicklingError("numbers kept in a way that is not known")
        if len(pid) == 6 and pid[5] is not None:
            raise pickle.UnpicklingError("numbers kept as views of others")
        if not isinstance(pid[2], str) or not isinstance(pid[4], int) or pid[4] < 0:
            raise pickle.UnpicklingError("numbers without a name or a count")
        return _Storage(pid[2], pid[1].dtype, pid[4])


def read_state_dict(content: bytes, *, source: str = "weights") -> dict[str, Array]:
    """Arrays by name from the bytes of a ``.pth`` file; else an error that names it. Nothing in it is run."""
    try:
        if zipfile.is_zipfile(io.BytesIO(content)):
            return _from_zip(content)
        return _from_stream(content)
    except DataError:
        raise
    except Exception as problem:  # a damaged pickle fails in as many ways as there are opcodes
        raise DataError(f"{source} is not a table of weights that can be read: {problem}.") from problem


def _from_zip(content: bytes) -> dict[str, Array]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        index = next((n for n in archive.namelist() if n.endswith("/data.pkl") or n == "data.pkl"), None)
        if index is None:
            raise pickle.UnpicklingError("it has no data.pkl")
        root = index.removesuffix("data.pkl")
        table = _table(_Unpickler(io.BytesIO(_member(archive, index, 1 << 24))).load())
        out: dict[str, Array] = {}
        for name, tensor in table.items():
            size = tensor.storage.count * np.dtype(tensor.storage.dtype).itemsize
            out[name] = _cut(_member(archive, f"{root}data/{tensor.storage.key}", size), tensor)
        return out


def _member(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    # The size in the directory may lie, so no more is unpacked than was due.
    with archive.open(name) as member:
        content = member.read(limit + 1)
    if len(content) > limit:
        raise pickle.UnpicklingError(f"'{name}' is larger than it should be")
    return content


def _from_stream(content: bytes) -> dict[str, Array]:
    stream = io.BytesIO(content[:_PICKLE_LIMIT])
    if _Unpickler(stream).load() != _MAGIC or _Unpickler(stream).load() != _PROTOCOL:
        raise pickle.UnpicklingError("it does not begin like one")
    system = _Unpickler(stream).load()
    if not isinstance(system, dict) or system.get("little_endian") is not True:
        raise pickle.UnpicklingError("its numbers are not little endian")
    table = _table(_Unpickler(stream).load())
    keys = _Unpickler(stream).load()
    storages = {tensor.storage.key: tensor.storage for tensor in table.values()}
    if not isinstance(keys, list) or set(keys) != set(storages):
        raise pickle.UnpicklingError("its list of numbers does not match its tensors")
    raw: dict[str, bytes] = {}
    stream = io.BytesIO(content[stream.tell() :])
    for key in keys:
        count = int.from_bytes(stream.read(8), "little")
        if count != storages[key].count:
            raise pickle.UnpicklingError(f"'{key}' holds {count} numbers; {storages[key].count} were due")
        raw[key] = stream.read(count * np.dtype(storages[key].dtype).itemsize)
    return {name: _cut(raw[tensor.storage.key], tensor) for name, tensor in table.items()}


def _table(loaded: Any) -> dict[str, _Tensor]:
    if not isinstance(loaded, dict) or not all(
        isinstance(k, str) and isinstance(v, _Tensor) for k, v in loaded.items()
    ):
        raise pickle.UnpicklingError("it is not a table of tensors by name")
    return dict(loaded)


def _cut(raw: bytes, tensor: _Tensor) -> Array:
    dtype = np.dtype(tensor.storage.dtype)
    if len(raw) != tensor.storage.count * dtype.itemsize:
        raise pickle.UnpicklingError(f"the numbers '{tensor.storage.key}' are incomplete")
    if not math.prod(tensor.shape):
        return np.empty(tensor.shape, dtype)
    last = tensor.offset + sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride, strict=True))
    # The second bound keeps a step of 0 from turning one number into a terabyte.
    if last >= tensor.storage.count or math.prod(tensor.shape) > tensor.storage.count:
        raise pickle.UnpicklingError("a tensor larger than its numbers")
    numbers = np.frombuffer(raw, dtype)[tensor.offset :]
    steps = tuple(step * dtype.itemsize for step in tensor.stride)
    return np.ascontiguousarray(np.lib.stride_tricks.as_strided(numbers, tensor.shape, steps, writeable=False))
