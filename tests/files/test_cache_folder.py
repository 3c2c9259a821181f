from __future__ import annotations

from pathlib import Path

import pytest

from kcrc.errors import FileError
from kcrc.files.safe_paths import cache_dir


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


@pytest.mark.parametrize("chosen", [None, "~no_such_user/cache"])
def test_without_a_home_it_is_one_sentence(monkeypatch, chosen):
    for name in ("KCRC_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    if chosen:
        monkeypatch.setenv("KCRC_CACHE", chosen)

    def unknown(*_):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", unknown)
    with pytest.raises(FileError, match=r"no home folder for a cache\. Set KCRC_CACHE to a folder\.$"):
        cache_dir()
