from __future__ import annotations

from pathlib import Path

from kcrc.files.cache_folder import cache_dir


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
