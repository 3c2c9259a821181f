from __future__ import annotations

import os
from pathlib import Path

import pytest

from kcrc.errors import FileError
from kcrc.files.plain_files import read_plain


def test_a_file_comes_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    for content in (b"", b"abc"):
        path.write_bytes(content)
        assert read_plain(path, limit=3) == content
    link = tmp_path / "link"
    link.symlink_to(path)
    assert read_plain(str(link), limit=3) == b"abc"
    with pytest.raises(FileError, match="cannot be read"):
        read_plain(link, limit=3, follow=False)


def test_more_than_the_limit_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    with open(path, "wb") as file:
        file.truncate(1 << 40)  # a terabyte of nothing
    with pytest.raises(FileError, match="has 1099511627776 bytes, more than the limit of 100"):
        read_plain(path, limit=100)


def test_pipes_devices_and_folders_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", "/dev/tty", tmp_path):
        with pytest.raises(FileError, match="cannot be read"):
            read_plain(path, limit=100)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc")
def test_a_file_that_is_longer_than_it_says_is_refused() -> None:
    with pytest.raises(FileError, match="changed meanwhile"):
        read_plain("/proc/self/status", limit=1 << 20)


@pytest.mark.parametrize("name", ["nothing.bin", "a\0b", "x" * 5000])
def test_names_that_lead_nowhere_are_errors_in_words(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileError, match="cannot be read"):
        read_plain(os.path.join(tmp_path, name), limit=100)
