"""The slow formulas are independent: they use general libraries and each other, and nothing of ours."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import references

FILES = sorted(Path(references.__file__).parent.glob("*.py"))
GENERAL = {*sys.stdlib_module_names, "numpy", "scipy", "sklearn", "references"}
TABLES = ("DISTANCES", "KERNELS", "CODERS", "PROJECTIONS", "METRICS")


def imported(source: str) -> set[str]:
    """The packages that a file imports from, those inside functions too."""
    nodes = list(ast.walk(ast.parse(source)))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    of = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.split(".")[0] for name in plain | of}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_they_import_nothing_of_ours(path):
    source = path.read_text("utf-8")
    assert imported(source) - GENERAL == set()
    assert "import_module" not in source
    assert "__import__" not in source


def test_an_import_is_found_wherever_it_is():
    assert imported("def f():\n    from kcrc.metrics import Unit\nimport numpy as np") == {"kcrc", "numpy"}


@pytest.mark.parametrize("table", TABLES)
def test_no_row_is_left_out(table):
    rows = getattr(references, table)
    assert rows
    assert all(callable(getattr(row, "formula", row)) for row in rows.values())
