"""A forked child neither uses nor disturbs the gallery that its parent has open."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kcrc.gallery import Gallery, verify

CHILD = Path(__file__).with_name("fork_child.py")
SCENES = [
    "every_use",
    "in_the_middle",
    "in_a_build",
    "opened_again",
    "opened_again_in_the_middle",
    "while_a_thread_has_it",
]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
@pytest.mark.parametrize("scene", SCENES)
def test_scene(gallery: Gallery, path: Path, scene: str) -> None:
    gallery.close()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(CHILD), scene, str(path)],
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert verify(path).problems == ()
