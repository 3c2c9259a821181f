"""Footers of Parquet files that claim what is not there: refused in words, before Arrow makes room for it."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import pytest

from kcrc.errors import DataError, FileError
from kcrc.files import parquet_footer
from kcrc.gallery.exchange import parquet as exchange
from kcrc.images.features.vectors import read_vectors

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


def test_a_footer_of_many_megabytes_never_reaches_arrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ParquetFile", lambda *_, **__: pytest.fail("Arrow makes room for it"))
    forged = with_footer(pieces(5_000_000))
    assert_refused(tmp_path, forged, "its footer has 15", "more than the limit of 4000000")


def test_a_footer_longer_than_its_file_never_reaches_arrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ParquetFile", lambda *_, **__: pytest.fail("Arrow makes room for it"))
    content = written()
    claim = f"claims 2147483647 bytes, and the whole file has {len(content)}"
    assert_refused(tmp_path, content[:-8] + b"\xff\xff\xff\x7fPAR1", claim)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1PAR1", b"no table at all", written()[:-3]])
def test_what_does_not_end_like_parquet_is_refused(tmp_path: Path, content: bytes) -> None:
    assert_refused(tmp_path, content, "its end is missing, or it is another kind of file")


def test_lists_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_footer, "ENTRIES", 1)
    assert_refused(tmp_path, written(), "cannot be read", "limit")


def test_pieces_of_columns_are_in_the_file(tmp_path: Path) -> None:
    """The footer of a longer file, after the beginning of it."""
    content = written(5000)
    length = struct.unpack("<I", content[-8:-4])[0]
    whole = f"the whole file has {length + 12}. It is damaged; get it again."
    assert_refused(tmp_path, with_footer(content[-8 - length : -8]), "its footer places", whole)


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "whole.parquet").write_bytes(written())
    assert read_vectors(tmp_path / "whole.parquet").X.tolist() == [[1, 2], [3, 4]]
