"""Parquet files that claim what is not there: read in the box, refused in words, with memory that is limited."""

from __future__ import annotations

import io
import struct
import sys
from pathlib import Path

import pytest

from kcrc.errors import DataError, FileError
from kcrc.files import parquet as boxed_parquet
from kcrc.gallery.exchange import parquet as exchange
from kcrc.images.features.vectors import ParquetVectors, read_vectors

pyarrow = pytest.importorskip("pyarrow")
from pyarrow import parquet  # noqa: E402


def written(times: int = 1) -> bytes:
    columns = {"label": ["a", "b"] * times, "v": [[1.0, 2.0], [3.0, 4.0]] * times}
    out = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), out, use_dictionary=False, compression="none")
    return out.getvalue()


def with_footer(footer: bytes) -> bytes:
    return b"PAR1" + footer + struct.pack("<I", len(footer)) + b"PAR1"


def pieces(count: int) -> bytes:
    """A footer of row groups with so many pieces of columns, in three bytes each."""
    in_group = 50_000
    groups = count // in_group
    listed = b"\x19\xfc\xd0\x86\x03"  # a list of 50,000 structs
    group = listed + b"\x26\x00\x00" * in_group + b"\x16\x00\x16\x00\x00"
    start = b"\x15\x02\x19\x1c\x48\x01r\x15\x00\x00\x16\x00\x19"  # a version, a schema of a root, no rows, and a list
    return start + bytes([0xFC, groups | 128, 0]) + group * groups + b"\x00"


def assert_refused(tmp_path: Path, content: bytes, *words: str) -> None:
    """Both readers of Parquet refuse such a file by its name and in these words."""
    file = tmp_path / "forged.parquet"
    file.write_bytes(content)
    with pytest.raises(DataError) as of_vectors:
        read_vectors(file)
    with pytest.raises(FileError) as of_labels:
        list(exchange.read(file))
    for said in (str(of_vectors.value), str(of_labels.value)):
        assert "forged.parquet" in said
        assert [word for word in words if word not in said] == [], said


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not limit memory")
def test_what_arrow_allocates_is_the_workers(tmp_path: Path) -> None:
    assert_refused(tmp_path, with_footer(pieces(5_000_000)), "cannot be read as Parquet")
    import resource

    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    assert most < boxed_parquet.MEMORY + 500_000_000


def test_arrow_is_not_imported_here(tmp_path: Path) -> None:
    import subprocess

    (tmp_path / "v.parquet").write_bytes(written())
    code = (
        "import sys; from kcrc.images.features.vectors import read_vectors; "
        f"print(read_vectors({str(tmp_path / 'v.parquet')!r}).X.shape, 'pyarrow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "(2, 2) False\n"


def test_a_footer_longer_than_its_file_is_refused(tmp_path: Path) -> None:
    assert_refused(tmp_path, written()[:-8] + b"\xff\xff\xff\x7fPAR1", "cannot be read as Parquet")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1PAR1", b"no table at all", written()[:-3]])
def test_what_does_not_end_like_parquet_is_refused(tmp_path: Path, content: bytes) -> None:
    assert_refused(tmp_path, content, "cannot be read as Parquet")


def test_pieces_of_columns_are_in_the_file(tmp_path: Path) -> None:
    """The footer of a longer file, after the beginning of it."""
    content = written(5000)
    length = struct.unpack("<I", content[-8:-4])[0]
    assert_refused(tmp_path, with_footer(content[-8 - length : -8]), "cannot be read as Parquet")


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "whole.parquet").write_bytes(written())
    assert read_vectors(tmp_path / "whole.parquet").X.tolist() == [[1, 2], [3, 4]]


def test_a_file_is_fetched_in_pieces_and_its_errors_are_its_own() -> None:
    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() == 0:
                raise OSError("the disk is gone")
            return super().read(size)

    file = io.BytesIO(written(5000))
    table = ParquetVectors(file, "t.parquet")
    assert (table.rows, table.width, table.groups) == (10_000, 2, 1)
    assert [len(part.vectors) for part in table.read(0, 4096)] == [4096, 4096, 1808]
    with pytest.raises(OSError, match="the disk is gone"):
        list(ParquetVectors(Failing(written()), "t.parquet").read(0, 1))


def test_a_killed_worker_is_one_sentence() -> None:
    import os
    import signal

    table = ParquetVectors(io.BytesIO(written(5000)), "t.parquet")
    os.kill(table._reader._worker.pid, signal.SIGTERM)
    with pytest.raises(DataError, match=r"t\.parquet cannot be read as Parquet: Arrow broke down over it"):
        list(table.read(0, 4096))
