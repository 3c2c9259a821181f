from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import memory_store
import numpy as np
import pytest
from photos import small_picture

from kcrc.gallery import Gallery, stores


@pytest.fixture(autouse=True)
def _cache_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KCRC_GALLERY_CACHE", raising=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "birds.kcrc"


@pytest.fixture
def gallery(path: Path) -> Iterator[Gallery]:
    """Six examples of three classes, 4 numbers each, with thumbnails for the first four."""
    with Gallery.create(path, dim=4) as made:
        made.add(
            ["wren", "wren", "robin", "robin", "heron", "heron"],
            np.arange(24, dtype=np.float32).reshape(6, 4),
            sources=[f"birds/{i}.jpg" for i in range(6)],
            thumbnails=[small_picture(i) for i in range(4)] + [None, None],
        )
        yield made


@pytest.fixture(params=["sqlite", "memory", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path | str:
    """Where a gallery may be made, for every store there is: SQLite, a small one in memory, a PostgreSQL server."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgres_address"))
    if request.param == "sqlite":
        return tmp_path / "birds.kcrc"
    monkeypatch.setitem(stores.KINDS, "memory", memory_store)
    monkeypatch.setattr(memory_store, "PLACES", {})
    return "memory://birds"
