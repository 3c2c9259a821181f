from __future__ import annotations

import os
from pathlib import Path

import pytest

from kcrc.cache import cache_dir, write_aside


def test_the_platforms_own_place(monkeypatch):
    monkeypatch.delenv("KCRC_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_dir() == Path("/x/kcrc")
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache_dir().parts[-3:] == ("Library", "Caches", "kcrc")
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "L")
    assert cache_dir() == Path("L/kcrc/Cache")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "a.bin"
    write_aside(path, b"old")

    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_aside(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(path.parent) == ["a.bin"]
