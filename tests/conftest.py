"""Where the real data are, and small problems that many tests share."""

from __future__ import annotations

import os
import random
import secrets
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from disks import wait_for_no_disk

from kcrc._base.parallel import worker_count
from lab.bench.postgres_server import PostgresServer, running

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # tests that import onnxruntime by themselves are quiet too

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("KCRC_DATA", ROOT.parent / "shared" / "data"))


def pytest_configure(config: pytest.Config) -> None:
    """Processes that run tests side by side share out the cores: where their matrix products have more threads than
    there are cores, one waits for another, and a small solve takes many times as long. They inherit what is set here;
    a number that is set already stays."""
    if processes := getattr(config.option, "numprocesses", None):
        os.environ.setdefault("OPENBLAS_NUM_THREADS", str(max(1, worker_count(None) // processes)))
    # On a busy machine an example takes as long as it takes. Examples that failed are stored in the tree, if it can be
    # written: else Hypothesis warns.
    hypothesis.settings.register_profile(
        "any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
    )
    hypothesis.settings.load_profile("any machine")
    if not os.access(ROOT, os.W_OK):
        hypothesis.settings.register_profile("read-only", hypothesis.settings(), database=None)
        hypothesis.settings.load_profile("read-only")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With KCRC_TEST_ORDER, a seed, the tests run in a random order: no test may need what another one left behind."""
    if seed := os.environ.get("KCRC_TEST_ORDER"):
        random.Random(seed).shuffle(items)


@pytest.fixture(scope="session", autouse=True)
def _no_disk_to_wait_for() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        wait_for_no_disk(patched.setattr)
        yield


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


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server for the tests of one process. Where it cannot start they fail: it comes with the packages
    that development needs."""
    with running(fsync="off", full_page_writes="off", max_connections="60", shared_buffers="32MB") as server:
        yield server


@pytest.fixture
def postgres_address(postgres_server: PostgresServer) -> str:
    """The address of a gallery that is not there yet."""
    return postgres_server.address(gallery=f"t{secrets.token_hex(8)}")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
