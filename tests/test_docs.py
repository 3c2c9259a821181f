"""The examples on the documentation's pages run."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("page", ["no-knobs.md", "pixel-distances.md"])
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    for needed in ("pandas", "matplotlib"):
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    X, y = load_digits(return_X_y=True)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    assert blocks
    from kcrc import KCRCClassifier

    known = {"X": X[:200], "y": y[:200], "np": np, "KCRCClassifier": KCRCClassifier}
    for block in blocks:
        exec(compile(block, page, "exec"), known)
    assert known["clf"].tuning_ is not None


def test_the_architecture_names_every_package_and_every_file_beside_them():
    page = (DOCS / "architecture.md").read_text("utf-8")
    sources = DOCS.parent / "src" / "kcrc"
    files = {path.name for path in sources.glob("*.py") if path.name != "__init__.py"}
    packages = {f"{path.parent.name}/" for path in sources.glob("*/__init__.py")}
    assert len(packages) > 10
    assert [name for name in sorted(files | packages) if f"`{name}`" not in page] == []
