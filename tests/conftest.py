"""Where the real data are, and small problems that many tests share."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # tests that import onnxruntime by themselves are quiet too

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("KCRC_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture
def real_data():
    """Load one of the real data sets, or skip with the reason."""

    def load(name: str) -> dict[str, np.ndarray]:
        path = DATA / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"{name}.npz is not here; set KCRC_DATA to the folder that has it")
        with np.load(path, allow_pickle=False) as stored:
            return dict(stored)

    return load


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
