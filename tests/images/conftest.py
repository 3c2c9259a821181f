from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def pictures() -> np.ndarray:
    """Twelve small colour pictures of two kinds: stripes and blobs, with noise."""
    rng = np.random.default_rng(0)
    down, across = np.mgrid[:48, :40] / 8.0
    kinds = [np.sin(3 * across), np.exp(-((down - 3) ** 2) - (across - 2.5) ** 2)]
    images = [127 + 60 * kinds[i % 2][:, :, None] + rng.normal(0, 15, (48, 40, 3)) for i in range(12)]
    return np.clip(images, 0, 255).astype(np.uint8)


@pytest.fixture(scope="session")
def photographs() -> list[Path]:
    folder = Path(os.environ.get("KCRC_DATA") or Path(__file__).parents[3] / "shared" / "data") / "caltech101-20"
    if not folder.is_dir():
        pytest.skip(f"the photographs are not at {folder}")
    return sorted(folder.glob("*/*.jpg"))
