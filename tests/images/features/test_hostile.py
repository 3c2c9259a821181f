"""Hostile ONNX and weight files, a few hundred here; ``images.features.hostile_child`` reads as many as one likes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .hostile_onnx import hostile_onnx
from .hostile_weights import hostile_weights

pytest.importorskip("resource", reason="memory is limited by the system's own means")
TESTS = Path(__file__).resolve().parents[2]


def read(kind: str, first: int, count: int) -> dict[str, int]:
    """What became of these seeds, in a process with little memory in which only a KCRCError may be raised."""
    paths = [str(TESTS.parent / "src"), str(TESTS), *sys.path]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "images.features.hostile_child", kind, str(first), str(count)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_the_same_seed_is_the_same_file():
    for make in (hostile_onnx, hostile_weights):
        assert [make(seed) for seed in range(20)] == [make(seed) for seed in range(20)]


@pytest.mark.parametrize("kind", ["onnx", "weights"])
def test_nothing_but_an_error_in_words_comes_of_hostile_files(kind):
    told = read(kind, 0, 300)
    assert told["passed"] + told["refused"] == 300
    assert told["passed"] < 150


def test_what_is_let_through_runs_or_is_an_error():
    pytest.importorskip("onnxruntime")
    told = read("sessions", 0, 40)
    assert told["passed"] + told["refused"] == 40
