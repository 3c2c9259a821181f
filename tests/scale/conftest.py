"""Engines with two workers each, one of each kind at a time on a machine."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcrc.scale import engines
from kcrc.scale.engines import Engine

TESTS = Path(__file__).parents[1]


@contextlib.contextmanager
def turn(name: str, turns: Path) -> Iterator[None]:
    """Inside, no other process that runs these tests has this engine, and workers can import what tests give them."""
    known = os.environ.get("PYTHONPATH")
    folders = [str(folder) for folder in (TESTS.parent / "src", TESTS, TESTS / "support")]
    os.environ["PYTHONPATH"] = os.pathsep.join([*folders, *filter(None, [known])])
    try:
        with (turns / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    finally:
        del os.environ["PYTHONPATH"]
        if known is not None:
            os.environ["PYTHONPATH"] = known


@pytest.fixture(scope="module", params=engines.names())
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Each engine in turn. One that cannot start is a failure, not a reason to skip."""
    name = request.param
    with (
        turn(name, tmp_path_factory.getbasetemp().parent),
        engines.make(name, workers=None if name == "local" else 2) as made,
    ):
        yield made


@pytest.fixture
def ray_alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No Ray runs yet in these tests."""
    with turn("ray", tmp_path_factory.getbasetemp().parent):
        yield
