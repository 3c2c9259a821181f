"""Every block of Python on every page runs, one after the other as on the page, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from photos import COLOURS, folder, photo

import kcrc
from docs.pages import PAGES, ROOT, blocks, numbers_and_words
from docs.running import folders, given, run
from kcrc import methods, scaling
from kcrc._base.arrays import Array
from kcrc.method.coding import base as coding
from kcrc.method.decisions import base as decisions
from kcrc.method.distances import base as distances
from kcrc.method.kernels import base as kernels
from kcrc.method.preparation import Prepared
from kcrc.method.projections import base as projections

ELSEWHERE = {  # pages whose blocks need more than a folder, and the tests that run them
    "postgres.md": "tests/gallery/stores/postgres/test_page.py",
    "engines.md": "tests/scale/test_page.py",
    "examples.md": "tests/examples/test_examples.py",
}
NEEDED = {"search.md": ["faiss"]}
SKELETON = {  # what the file that the distance of CONTRIBUTING.md belongs in imports already
    "Array": Array,
    "ClassVar": ClassVar,
    "Prepared": Prepared,
    "VectorDistance": distances.VectorDistance,
    "dataclass": dataclass,
    "register": distances.register,
}


@pytest.fixture
def registries_as_before():
    """What a page registers is known on that page alone."""
    from kcrc.images.looks import base as looks

    kcrc.looks.names()  # brings the library's own
    modules = [distances, kernels, coding, decisions, projections, scaling, methods, looks]
    before = {module.registry: set(module.registry.names()) for module in modules}
    yield
    for registry, names in before.items():
        for name in set(registry.names()) - names:
            del registry._makers[name]


@pytest.mark.usefixtures("registries_as_before")
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python") and page not in ELSEWHERE])
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch):
    for needed in ("pandas", "matplotlib", *NEEDED.get(page, [])):
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    folders()
    known = given()
    if page == "scale.md":
        np.save("examples.npy", known["X"])
    assert run(page, known | (SKELETON if page == "CONTRIBUTING.md" else {}))


def test_what_is_run_elsewhere_is():
    assert [page for page in ELSEWHERE if page not in PAGES or not blocks(page, "python")] == []
    assert [page for page, test in ELSEWHERE.items() if page not in (ROOT / test).read_text("utf-8")] == []


def test_the_readme_shows_what_its_python_prints(capsys):
    """In comments behind the lines, and below the block what the last line prints."""
    (code,) = blocks("README.md", "python")
    exec(compile(code, "README.md", "exec"), {})
    printed, shown = numbers_and_words(capsys.readouterr().out.strip())
    comments = [line.rpartition(")  # ")[2] for line in code.splitlines()[:-1] if line.startswith("print(")]
    evidence = [block for block in blocks("README.md", "text") if block.startswith("Evidence of 1 query")]
    assert len(evidence) == 1
    words, written = numbers_and_words("\n".join([*comments, *evidence]).strip())
    assert printed == words
    np.testing.assert_allclose(shown, written, rtol=1e-3, atol=0.11)


def test_the_three_commands_of_the_readme_lead_to_an_answer(tmp_path):
    """As they stand there, typed into a shell."""
    typed = [block for block in blocks("README.md", "") if "kcrc build" in block]
    assert len(typed) == 1
    folder(tmp_path / "photos", 7)
    for number, bird in enumerate(COLOURS, 1):
        photo(tmp_path / "new" / f"{number}.jpg", bird, 50)
    command = tmp_path / "bin" / "kcrc"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kcrc "$@"\n', "utf-8")
    command.chmod(0o755)
    paths = os.pathsep.join([str(ROOT / "src"), *sys.path])
    known = {**os.environ, "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": paths}
    ran = subprocess.run(["sh", "-ec", typed[0]], cwd=tmp_path, env=known, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    answers = [line.split("\t")[:2] for line in ran.stdout.splitlines() if "\t" in line]
    assert answers == [[f"new/{number}.jpg", bird] for number, bird in enumerate(COLOURS, 1)]
    page = (tmp_path / "why.html").read_text("utf-8")
    assert "wren" in page
    assert page.count("<img") > 7  # the photograph, and those that decided
