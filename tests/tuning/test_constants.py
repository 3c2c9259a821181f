"""The numbers that steer the search stand in one table, and each says what it does and what set it."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

from kcrc.tuning import constants

FOLDER = Path(constants.__file__).parent
LAB = Path(__file__).parents[2] / "lab"
OTHERS = sorted(path for path in FOLDER.glob("*.py") if path.stem != "constants")
SET_BY = {"prior", "timed", "bound", "round"}


def assigned(tree: ast.Module) -> list[ast.Assign | ast.AnnAssign]:
    """The assignments at the top of a module whose values are numbers, or hold some."""
    nodes = [node for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None]
    return [
        node
        for node in nodes
        if any(isinstance(part, ast.Constant) and type(part.value) in (int, float) for part in ast.walk(node.value))
    ]


def test_every_number_says_what_it_does_and_what_set_it() -> None:
    source = Path(constants.__file__).read_text("utf-8")
    comments = {
        token.start[0]: token.string
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    rows = assigned(ast.parse(source))
    assert len(rows) > 60
    for node in rows:
        remark = comments.get(node.end_lineno, "")
        found = re.match(r"# \[(\w+)\] \S.+", remark)
        assert found, f"line {node.lineno}: {remark!r}"
        assert found[1] in SET_BY


def test_the_experiments_that_are_named_are_there() -> None:
    named = re.findall(r"lab\.experiments\.studies\.(\w+)", constants.__doc__ or "")
    assert "prior" in named
    assert all((LAB / "experiments" / "studies" / f"{name}.py").exists() for name in named)


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.stem)
def test_no_number_stands_elsewhere(path: Path) -> None:
    assert [node.lineno for node in assigned(ast.parse(path.read_text("utf-8")))] == []


def test_every_number_is_used() -> None:
    used = "".join(path.read_text("utf-8") for path in OTHERS)
    names = [name for name in vars(constants) if name.isupper()]
    assert [name for name in names if f"constants.{name}" not in used] == []
