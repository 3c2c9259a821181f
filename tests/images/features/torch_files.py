"""PyTorch weight files, made without PyTorch: small good ones, and the means to make bad ones."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from collections import OrderedDict

import numpy as np

MAGIC = 0x1950A86A20F9469CFC6C


class Named:
    """Pickles as a bare name, the way PyTorch's classes do; PyTorch itself is not needed."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


class Stored:
    def __init__(self, key: str, kind: str, count: int) -> None:
        self.key, self.kind, self.count = key, kind, count


class Tensor:
    def __init__(self, storage: Stored, offset: int, shape: tuple[int, ...], stride: tuple[int, ...]) -> None:
        self.parts = (storage, offset, shape, stride, False, OrderedDict())


class TorchPickler(pickle._Pickler):  # type: ignore[misc,name-defined]
    """Writes the same opcodes as torch.save: storages as persistent ids, names as globals."""

    def persistent_id(self, obj):
        if isinstance(obj, Stored):
            return ("storage", Named("torch", obj.kind), obj.key, "cpu", obj.count)
        return None

    def save(self, obj, save_persistent_id=True):
        if isinstance(obj, Named):
            self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
        elif isinstance(obj, Tensor):
            self.save(Named("torch._utils", "_rebuild_tensor_v2"))
            self.save(obj.parts)
            self.write(pickle.REDUCE)
        else:
            super().save(obj, save_persistent_id)


def pickled(obj) -> bytes:
    out = io.BytesIO()
    TorchPickler(out, 2).dump(obj)
    return out.getvalue()


NUMBERS = np.arange(12, dtype="<f4")
TABLE = OrderedDict(
    rows=Tensor(Stored("a", "FloatStorage", 12), 0, (3, 4), (4, 1)),
    turned=Tensor(Stored("a", "FloatStorage", 12), 0, (4, 3), (1, 4)),
    part=Tensor(Stored("a", "FloatStorage", 12), 5, (2,), (1,)),
    count=Tensor(Stored("b", "LongStorage", 1), 0, (), ()),
)


def as_stream(table=TABLE, *, keys=("a", "b"), magic=MAGIC, first=None) -> bytes:
    head = [first if first is not None else pickled(magic), pickled(1001), pickled({"little_endian": True})]
    numbers = {"a": struct.pack("<q", 12) + NUMBERS.tobytes(), "b": struct.pack("<qq", 1, 7)}
    return b"".join([*head, pickled(table), pickled(list(keys)), *(numbers[k] for k in keys)])


def as_zip(table=TABLE, *, index=None, **more: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo("m/data.pkl"), pickled(table) if index is None else index)
        for key, content in {"a": NUMBERS.tobytes(), "b": struct.pack("<q", 7), **more}.items():
            archive.writestr(zipfile.ZipInfo(f"m/data/{key}"), content)
    return out.getvalue()
