from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without any data set: an empty cache, no $KCRC_DATA."""
    monkeypatch.delenv("KCRC_DATA", raising=False)
    monkeypatch.setenv("KCRC_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture(scope="session")
def shared_data() -> Path:
    folder = Path(os.environ.get("KCRC_DATA") or Path(__file__).parents[4] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"the research data are not at {folder}")
    return folder
