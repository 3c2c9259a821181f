"""Tables of vectors that many are asked from: read once, in bounded memory, and refused in words where they lie."""

from __future__ import annotations

import os
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from kcrc.errors import DataError
from kcrc.files.parquet import ParquetReader
from kcrc.images.features import vectors as features_vectors
from kcrc.images.features.vectors import read_vectors
from kcrc.scale.scoring import inputs

WIDTH = 8


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write_npy(name: str, shape: str, body: bytes = b"") -> None:
    """An .npy file whose header says anything."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    Path(name).write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body)


def write_parquet(name: str, columns: dict[str, object], **options: object) -> None:
    pyarrow.parquet.write_table(pyarrow.table(columns), name, **options)


def refusal(name: str) -> str:
    """Why a table is refused, in little memory."""
    tracemalloc.start()
    before = pyarrow.total_allocated_bytes()
    with pytest.raises(DataError) as caught:
        list(inputs.ranges(name, WIDTH))
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert held < 200_000_000
    assert pyarrow.total_allocated_bytes() - before < 100_000_000
    assert name in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("shape", ["(-3, 8)", "(5, -8)", "(-2, -3)", "(True, 8)", "(5, 8.0)", "-" * 9000 + "1"])
def test_a_forged_header_is_refused(shape: str) -> None:
    write_npy("a.npy", shape, bytes(400))
    assert "is not an .npy array" in refusal("a.npy")


@pytest.mark.parametrize("shape", ["(0, 8)", "(8,)", "(5, 0)", "()"])
def test_an_array_without_vectors_is_refused(shape: str) -> None:
    write_npy("a.npy", shape, bytes(400))
    assert "vectors (n, d) are needed" in refusal("a.npy")


def test_vectors_of_another_width_are_refused_before_they_are_read() -> None:
    write_npy("a.npy", "(1, 2000000000)")
    os.truncate("a.npy", os.path.getsize("a.npy") + 8_000_000_000)  # a file with a hole: it takes no room on the disk
    Path("a.csv").write_text("a,b\n1,2\n")
    write_parquet("a.parquet", {"a": [1.0], "b": [2.0]})
    write_parquet("b.parquet", {"v": [[1.0, 2.0], [3.0, 4.0]]})
    assert refusal("a.npy") == "a.npy must hold vectors of 8 numbers, as the gallery does; got 2000000000."
    for name in ("a.csv", "a.parquet", "b.parquet"):
        assert refusal(name) == f"{name} must hold vectors of 8 numbers, as the gallery does; got 2."


def write_long_list(name: str, count: int) -> None:
    """A list of so many zeros in a file of a few hundred bytes."""
    zeros = pyarrow.array(np.zeros(count, np.float32))
    lists = pyarrow.ListArray.from_arrays(pyarrow.array([0, count], pyarrow.int32()), zeros)
    write_parquet(name, {"v": lists}, compression="zstd", write_statistics=False)
    assert os.path.getsize(name) < 10_000


def test_a_small_file_does_not_unpack_to_much(monkeypatch) -> None:
    write_long_list("a.parquet", 30_000_000)
    monkeypatch.delattr(pyarrow.parquet.ParquetFile, "iter_batches")
    assert "got 30000000" in refusal("a.parquet")
    with pytest.raises(
        DataError, match=r"a\.parquet must not unpack to more than 200 times its size; got 1 vectors of 30000000"
    ):
        read_vectors("a.parquet")


def test_a_long_list_in_the_label_is_refused(monkeypatch) -> None:
    zeros = pyarrow.array(np.zeros(1_000_000, np.float32))
    lists = pyarrow.ListArray.from_arrays(pyarrow.array([0, 1_000_000], pyarrow.int32()), zeros)
    write_parquet("a.parquet", {"label": lists, **{f"c{i}": [0.0] for i in range(WIDTH)}})
    monkeypatch.delattr(pyarrow.parquet.ParquetFile, "iter_batches")
    assert "claims 1000000 values in 1 rows" in refusal("a.parquet")


@pytest.mark.parametrize("column", ["name", "label"])
def test_a_long_text_is_not_repeated_in_memory(column: str) -> None:
    """A dictionary of one text of a megabyte, for thousands of rows."""
    same = pyarrow.DictionaryArray.from_arrays(np.zeros(4000, np.int32), ["x" * 1_000_000])
    write_parquet("a.parquet", {column: same, "v": [[1.0] * WIDTH] * 4000}, compression="zstd")
    assert "texts of at most 65536 bytes; got 1000000" in refusal("a.parquet")
    with pytest.raises(DataError, match="texts of at most 65536 bytes; got 1000000"):
        read_vectors("a.parquet")


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"label": ["a", "b"]}, "has no columns of numbers; its columns are: label"),
        ({"v": [[[1.0] * WIDTH]]}, "must have columns of numbers"),
        ({"v": [{"a": 1.0}], "w": [1.0]}, "must have columns of numbers"),
        ({"v": [["x"] * WIDTH]}, "must have columns of numbers"),
        ({"v": [[1.0] * (WIDTH + 1), [1.0] * (WIDTH - 1)]}, "must have lists of"),
        ({"v": [[1.0] * WIDTH, None]}, "must have lists of"),
        ({"v": [[1.0] * WIDTH, [None] * WIDTH]}, "row 1 (counted from 0) holds a value that is not a finite"),
        ({"v": pyarrow.array([], pyarrow.list_(pyarrow.float32()))}, "has no rows"),
        ({f"c{i}": pyarrow.array([], pyarrow.float32()) for i in range(WIDTH)}, "has no rows"),
        ({f"c{i}": ["one"] for i in range(WIDTH)}, "must have columns of numbers"),
    ],
)
def test_odd_parquet_is_refused_in_words(columns: dict[str, object], reason: str) -> None:
    write_parquet("a.parquet", columns)
    assert reason in refusal("a.parquet")


@pytest.mark.parametrize(
    "kind",
    [
        pyarrow.list_(pyarrow.float64()),
        pyarrow.large_list(pyarrow.float32()),
        pyarrow.list_(pyarrow.float32(), WIDTH),
        pyarrow.list_(pyarrow.int64()),
        pyarrow.float64(),
        pyarrow.int8(),
        pyarrow.string(),
    ],
)
def test_numbers_of_every_kind_are_the_same_vectors(kind: pyarrow.DataType) -> None:
    X = np.arange(10 * WIDTH).reshape(10, WIDTH)
    if pyarrow.types.is_nested(kind):
        columns = {"v": pyarrow.array(X.tolist(), kind)}
    else:
        columns = {f"c{i}": pyarrow.array(X[:, i]).cast(kind) for i in range(WIDTH)}
    write_parquet("a.parquet", {"id": range(10), "label": ["a"] * 10, **columns}, row_group_size=4)
    found = list(inputs.ranges("a.parquet", WIDTH))
    assert [name for piece in found for name in piece.names] == [str(i) for i in range(10)]
    np.testing.assert_array_equal(np.concatenate([piece.vectors for piece in found]), X)
    whole = read_vectors("a.parquet")
    np.testing.assert_array_equal(whole.X, X)
    assert (whole.X.dtype, whole.labels.tolist()) == (np.float32, ["a"] * 10)


def test_a_row_group_is_read_once_for_all_its_pieces(monkeypatch) -> None:
    monkeypatch.setattr(inputs, "ROWS", 40)
    X = np.random.default_rng(0).standard_normal((1000, WIDTH)).astype(np.float32)
    write_parquet("a.parquet", {"v": list(X)}, row_group_size=500)
    real, begun = ParquetReader.batches, []

    def batches(self, head):
        begun.append((head["group"], head["rows"]))
        return real(self, head)

    monkeypatch.setattr(ParquetReader, "batches", batches)
    read = [piece.read(".") for piece in inputs.ranges("a.parquet", WIDTH)]
    assert [len(one) for one in read] == ([40] * 12 + [20]) * 2
    assert begun == [(0, 40), (1, 40)]
    np.testing.assert_array_equal(np.concatenate([one.vectors for one in read]), X)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("a,b,c,d,e,f,g,h\n" + "1" * 200_000 + ",2,3,4,5,6,7,8\n", "field limit"),
        ("name,a,b,c,d,e,f,g,h\n", "has no rows below its first line"),
        ("a,b,c,d,e,f,g,h\n\n\n", "has no rows below its first line"),
        ("", "has no columns of numbers"),
    ],
)
def test_an_odd_csv_is_refused_in_words(content: str, reason: str) -> None:
    Path("a.csv").write_text(content)
    assert reason in refusal("a.csv")


@pytest.mark.parametrize("begin", ["", "a,b,c,d,e,f,g,h\n", "a,b,c,d,e,f,g,h\n1,2,3,4,5,6,7,8\n"])
def test_a_row_of_a_csv_without_end_is_not_read(begin: str) -> None:
    Path("a.csv").write_text(begin)
    os.truncate("a.csv", len(begin) + 8_000_000_000)
    assert refusal("a.csv") == "a.csv must have rows of at most 16777216 characters; got a longer one."


def test_a_row_of_a_csv_over_many_lines_has_an_end_as_well(monkeypatch) -> None:
    """Texts in quotes go over lines; each line is short, and so is each text."""
    monkeypatch.setattr(features_vectors, "LINE", 1000)
    Path("a.csv").write_text('a,b,c,d,e,f,g,h\n"' + '\n","' * 10_000)
    assert refusal("a.csv") == "a.csv must have rows of at most 1000 characters; got a longer one."
    Path("a.csv").write_text("name,a,b,c,d,e,f,g,h\n" + '"x\ny",1,2,3,4,5,6,7,8\n' * 500)
    assert sum(len(piece) for piece in inputs.ranges("a.csv", WIDTH)) == 500


@pytest.mark.parametrize("ending", [".npy", ".csv", ".parquet"])
def test_a_pipe_is_not_waited_for(ending: str) -> None:
    os.mkfifo(f"p{ending}")
    assert refusal(f"p{ending}") == f"p{ending} cannot be read: it is not a regular file."
    with pytest.raises(DataError, match="it is not a regular file"):
        read_vectors(f"p{ending}")
