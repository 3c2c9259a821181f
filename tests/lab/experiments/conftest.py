from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Only digits are there, whatever this machine has."""
    monkeypatch.delenv("KCRC_DATA", raising=False)
    monkeypatch.setenv("KCRC_CACHE", str(tmp_path / "cache"))
