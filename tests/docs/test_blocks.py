"""Every block of Python on every page runs, one after the other as on the page, in a folder of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

import kcrc
from docs.pages import PAGES, blocks
from kcrc import methods, metrics
from kcrc.coding import base as coding
from kcrc.decisions import base as decisions
from kcrc.distances import base as distances
from kcrc.kernels import base as kernels
from kcrc.projections import base as projections
from photos import folder

NOT_RUN = {
    "postgres.md": "a PostgreSQL server; tests/gallery/stores/postgres starts one",
    "engines.md": "a cluster of Ray workers; tests/scale/test_engines.py starts one",
    "examples.md": "scripts of their own; tests/examples runs them",
    "scale.md": "a disk of the reader's, /fast/disk; the tests of storage have folders of their own",
    "CONTRIBUTING.md": "a skeleton with the bodies left out; docs/extending.md has it whole",
}
NEEDED = {"search.md": ["faiss"]}


def given() -> dict[str, object]:
    """What the blocks of a page take for granted; the folders photos/, test/ and new/ are there too."""
    digits = load_digits()
    X, y = digits.data, digits.target
    gallery = kcrc.Gallery.create("given.kcrc", dim=64)
    gallery.add([str(label) for label in y[:120]], X[:120])
    paths = [str(path) for path in sorted(Path("photos").glob("*/*.jpg"))]
    return {
        "np": np,
        "kcrc": kcrc,
        "KCRCClassifier": kcrc.KCRCClassifier,
        "X": X[:120],
        "y": y[:120],
        "X_new": X[200:230],
        "X_more": X[230:240],
        "y_more": y[230:240],
        "images": digits.images[:120],
        "new_images": digits.images[200:205],
        "gallery": gallery,
        "paths": paths,
        "training_paths": paths,
        "names": ["1.jpg", "2.jpg"],
        "labels": ["wren", "robin"],
        "vectors": np.eye(2, 512),
        "my_function": lambda pictures: np.stack([np.ravel(p) for p in pictures]),
    }


@pytest.fixture
def registries_as_before():
    """What a page registers is known on that page alone."""
    from kcrc.looks import base as looks

    kcrc.looks.names()  # brings the library's own
    modules = [distances, kernels, coding, decisions, projections, metrics, methods, looks]
    before = {module.registry: set(module.registry.names()) for module in modules}
    yield
    for registry, names in before.items():
        for name in set(registry.names()) - names:
            del registry._makers[name]


@pytest.mark.usefixtures("registries_as_before")
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python") and page not in NOT_RUN])
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch):
    for needed in ("pandas", "matplotlib", *NEEDED.get(page, [])):
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    folder(Path("photos"), 7)
    folder(Path("test"), 2, first=50)
    Path("new").mkdir()
    for number, path in enumerate(sorted(Path("test").glob("*/*.jpg")), 1):
        shutil.copy(path, f"new/{number}.jpg")
    known = given()
    ran = 0
    for number, block in enumerate(blocks(page, "python"), 1):
        exec(compile(block, f"{page}, block {number}", "exec"), known)
        ran += 1
    assert ran


def test_what_is_not_run_is_there():
    assert [page for page in NOT_RUN if page not in PAGES or not blocks(page, "python")] == []
