"""Truncated and bit-flipped galleries: a clear error or the right data; never a crash, never much memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from photos import small_picture

from kcrc.gallery import Gallery

pytest.importorskip("resource", reason="memory limits are set the POSIX way")
CHILD = Path(__file__).with_name("mutation_child.py")


class Feature:
    kind = "some"
    dim = 64
    fingerprint = "some:1"

    def keep(self) -> None:
        """All it needs is in its state."""

    def state(self) -> dict[str, Any]:
        return {"feature": "some", "options": {}, "basis": np.arange(3000.0)}


def damage(folder: Path, first: int, last: int) -> tuple[int, int]:
    rng = np.random.default_rng(0)
    path = folder / "whole.kcrc"
    with Gallery.create(path, feature=Feature()) as gallery:
        for label in ("wren", "robin", "owl"):
            pictures = [small_picture(i, 48) for i in range(12)]
            sources = [f"{label}/{i}.jpg" for i in range(12)]
            gallery.add(label, rng.standard_normal((12, 64)), sources=sources, thumbnails=pictures)
        gallery.remove([3, 30])
        gallery.relabel([5, 6], "heron")
        gallery.set_parameters({"n_neighbors": 9})
        gallery.classifier()  # what was tuned is in the file too
    done = subprocess.run(
        [sys.executable, str(CHILD), str(path), str(first), str(last)],
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    allowed = {"whole.kcrc", "damaged.kcrc", "damaged.kcrc-journal", ".kcrc-cache"}
    assert {p.name for p in folder.iterdir()} <= allowed
    refused, harmless = map(int, done.stdout.split())
    return refused, harmless


def test_sixty_mutations(tmp_path: Path) -> None:
    refused, harmless = damage(tmp_path, 0, 60)
    assert refused + harmless == 60
    assert refused > 30


@pytest.mark.slow
def test_five_hundred_mutations(tmp_path: Path) -> None:
    refused, harmless = damage(tmp_path, 1000, 1500)
    print(f"500 mutations: {refused} refused with a clear error, {harmless} harmless")
    assert refused + harmless == 500
