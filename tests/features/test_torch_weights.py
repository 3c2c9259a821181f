from __future__ import annotations

import io
import pickle
import struct
import tracemalloc
import zipfile
from collections import OrderedDict

import numpy as np
import pytest

from kcrc.errors import DataError
from kcrc.features.torch_weights import read_state_dict

MAGIC = 0x1950A86A20F9469CFC6C
RAN: list[str] = []


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
EXPECTED = {
    "rows": NUMBERS.reshape(3, 4),
    "turned": NUMBERS.reshape(3, 4).T,
    "part": NUMBERS[5:7],
    "count": np.int64(7),
}


def as_stream(table=TABLE, *, keys=("a", "b"), magic=MAGIC, first=None) -> bytes:
    head = [first if first is not None else pickled(magic), pickled(1001), pickled({"little_endian": True})]
    numbers = {"a": struct.pack("<q", 12) + NUMBERS.tobytes(), "b": struct.pack("<qq", 1, 7)}
    return b"".join([*head, pickled(table), pickled(list(keys)), *(numbers[k] for k in keys)])


def as_zip(table=TABLE, *, index=None, **more: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("m/data.pkl", pickled(table) if index is None else index)
        for key, content in {"a": NUMBERS.tobytes(), "b": struct.pack("<q", 7), **more}.items():
            archive.writestr(f"m/data/{key}", content)
    return out.getvalue()


@pytest.mark.parametrize("layout", [as_stream, as_zip])
def test_both_layouts_come_back(layout):
    read = read_state_dict(layout())
    assert set(read) == set(EXPECTED)
    for name, values in EXPECTED.items():
        np.testing.assert_array_equal(read[name], values)
        assert read[name].dtype == values.dtype


class Evil:
    def __reduce__(self):
        return (RAN.append, ("ran",))


def hostile() -> dict[str, bytes]:
    return {
        "append": pickle.dumps(Evil(), 2),
        "system": b"cos\nsystem\n(S'true'\ntR.",
        "eval": b"cbuiltins\neval\n(S'1'\ntR.",
        "getattr through a kept name": b"ccollections\nOrderedDict.__init__\n.",
        "a name in torch": b"ctorch\nload\n(S'x'\ntR.",
        "attributes of the rebuilder": b"ctorch._utils\n_rebuild_tensor_v2\n(S'__call__'\nI1\ndb.",
        "an extension code": b"\x82\x01.",
        "a foreign persistent id": b"(S'module'\nS'x'\ntQ.",
    }


@pytest.mark.parametrize("what", hostile())
def test_a_hostile_pickle_runs_nothing(what):
    RAN.clear()
    evil = hostile()[what]
    for content in (as_zip(index=evil), as_stream(first=evil), as_stream().replace(pickled(TABLE), evil), evil):
        with pytest.raises(DataError, match="not a table of weights"):
            read_state_dict(content)
    assert RAN == []


@pytest.mark.parametrize(
    "tensor",
    [
        Tensor(Stored("a", "FloatStorage", 12), 0, (13,), (1,)),
        Tensor(Stored("a", "FloatStorage", 12), 11, (2,), (1,)),
        Tensor(Stored("a", "FloatStorage", 12), -1, (2,), (1,)),
        Tensor(Stored("a", "FloatStorage", 12), 0, (2,), (-1,)),
        Tensor(Stored("a", "FloatStorage", 12), 0, (10**12,), (0,)),  # one number repeated into a terabyte
        Tensor(Stored("a", "FloatStorage", 12), 0, (2, 2), (1,)),
        Tensor(Stored("a", "FloatStorage", 99), 0, (2,), (1,)),
        Tensor(Stored("a", "QuaternionStorage", 12), 0, (2,), (1,)),
        Tensor(Stored("../../secret", "FloatStorage", 12), 0, (2,), (1,)),
    ],
)
def test_tensors_that_lie_about_their_size_are_refused(tensor):
    for content in (as_zip({"x": tensor}), as_stream({"x": tensor}, keys=("a",))):
        with pytest.raises(DataError):
            read_state_dict(content)


def altered(shape: tuple[int, ...]) -> bytes:
    """A table whose tensor gets another shape after it was put together."""
    storage = Stored("a", "FloatStorage", 12)
    made, state = (pickled(part)[2:-1] for part in (Tensor(storage, 0, (3, 4), (4, 1)), [storage, 0, shape, (1,)]))
    return b"\x80\x02}X\x01\x00\x00\x00x" + made + state + b"bs."


def test_a_tensor_is_not_altered_after_it_was_made():
    for shape in ((1_000_000,), (3,)):
        with pytest.raises(DataError, match="alters a part"):
            read_state_dict(as_zip(index=altered(shape)))


@pytest.mark.parametrize(
    "evil", [b"\x80\x02Nr\x00\x00\x00\x01.", b"\x80\x05\x96\0\0\0\xf0\0\0\0\0.", b"I" + b"9" * 9999 + b"\n."]
)
def test_a_few_bytes_of_pickle_take_little_memory(evil):
    tracemalloc.start()
    for content in (as_zip(index=evil), evil):
        with pytest.raises(DataError):
            read_state_dict(content)
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert held < 1_000_000


def test_every_truncation_is_refused():
    for whole in (as_stream(), as_zip()):
        assert len(whole) > 130
        for length in range(0, len(whole), 13):
            with pytest.raises(DataError):
                read_state_dict(whole[:length])


def test_other_contents_are_refused():
    for table in ([1, 2], {"x": 3}, {3: TABLE["part"]}):
        with pytest.raises(DataError):
            read_state_dict(as_zip(table))
    with pytest.raises(DataError):
        read_state_dict(as_stream(magic=5))
    with pytest.raises(DataError, match="larger"):
        read_state_dict(as_zip(a=NUMBERS.tobytes() * 2))
