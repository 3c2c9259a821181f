from __future__ import annotations

import io
import pickle
import resource
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from images.features.torch_files import NUMBERS, TABLE, Stored, Tensor, as_stream, as_zip, pickled
from kcrc.errors import DataError
from kcrc.images.network.torch_weights import read_state_dict

RAN: list[str] = []
EXPECTED = {
    "rows": NUMBERS.reshape(3, 4),
    "turned": NUMBERS.reshape(3, 4).T,
    "part": NUMBERS[5:7],
    "count": np.int64(7),
}


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


def doubled(depth: int) -> bytes:
    """A tuple of the same two tuples, of the same two tuples …: short, and its hash takes 2^depth steps."""
    return b"\x80\x02}" + b")q\x00" + b"".join(b"h%c\x86q%c" % (i, i + 1) for i in range(depth)) + b"Ns."


GREEDY = {
    "an index of its memory": b"\x80\x02Nr\x00\x00\x00\x08.",  # ``pickle`` takes two gigabytes for it
    "a name that takes for ever to hash": doubled(80),
    "a table made from pairs": b"\x80\x02ccollections\nOrderedDict\n" + doubled(80)[3:-3] + b"N\x86\x85\x85R.",
    "text of a terabyte": b"\x80\x04\x8d" + struct.pack("<Q", 2**40) + b".",
    "bytes of a terabyte": b"\x80\x05\x96" + struct.pack("<Q", 2**40) + b".",
    "instructions without end": b"\x80\x02" + b"N0" * 300_000 + b".",
    "marks without end": b"\x80\x02" + b"N" * 200_000 + b"(t" * 40_000 + b".",
}


@pytest.mark.parametrize("what", GREEDY)
def test_a_pickle_that_asks_for_all_memory_or_time_is_refused(what):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DataError, match="not a table of weights"):
        read_state_dict(as_zip(index=GREEDY[what]))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kilobytes


def test_numbers_that_are_compressed_are_refused_unread():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        count = 50_000_000
        archive.writestr("m/data.pkl", pickled({"x": Tensor(Stored("a", "ByteStorage", count), 0, (1,), (1,))}))
        archive.writestr("m/data/a", b"\0" * count)
    assert len(out.getvalue()) < count // 100
    with pytest.raises(DataError, match="compressed"):
        read_state_dict(out.getvalue())


def test_tensors_share_numbers_within_bounds():
    shared = Tensor(Stored("a", "FloatStorage", 12), 0, (3, 4), (4, 1))
    assert len(read_state_dict(as_zip({"x": shared, "y": shared}))) == 2
    many = {f"{i}": Tensor(Stored("a", "FloatStorage", 10**6), 0, (10**6,), (1,)) for i in range(50)}
    with pytest.raises(DataError, match="claim"):
        read_state_dict(as_zip(many, a=bytes(4 * 10**6)))


def test_numbers_of_one_key_are_of_one_kind():
    two = {"x": Tensor(Stored("a", "FloatStorage", 12), 0, (1,), (1,))}
    two["y"] = Tensor(Stored("a", "IntStorage", 12), 0, (1,), (1,))
    with pytest.raises(DataError, match="two kinds"):
        read_state_dict(as_zip(two))


def test_attributes_of_a_table_are_passed_over():
    """``state_dict()`` has a note of the versions of its layers, which is kept as an attribute."""
    noted = pickled(TABLE)[:-1] + b"}X\x09\x00\x00\x00_metadata}sb."
    assert read_state_dict(as_zip(index=noted)).keys() == EXPECTED.keys()
