"""The page on the architecture names what there is."""

from __future__ import annotations

import ast
import re

import pytest

from docs.pages import ROOT, text

SOURCES = ROOT / "src" / "kcrc"
PACKAGES = sorted(path.parent.name for path in SOURCES.glob("*/__init__.py"))


def row(name: str) -> str:
    """The line of the table that begins with ``name``."""
    (found,) = re.findall(rf"^\| `{re.escape(name)}` \|.*$", text("architecture.md"), re.M)
    return found


def test_every_file_at_the_top_has_a_line():
    files = sorted(path.name for path in SOURCES.glob("*.py") if path.name != "__init__.py")
    assert {"errors.py", "paper.py"} <= set(files)
    assert [name for name in files if not row(name)] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_the_line_of_a_package_names_the_packages_in_it(package):
    within = sorted(path.parent.name for path in (SOURCES / package).glob("*/**/__init__.py"))
    assert [name for name in within if f"`{name}/`" not in row(f"{package}/")] == []


@pytest.mark.parametrize("folder", ["lab", "tests", "fuzz"])
def test_folders_beside_the_library_have_a_line(folder):
    assert (ROOT / folder).is_dir()
    assert row(f"{folder}/")


def test_every_package_is_in_the_picture():
    picture = text("architecture.md").split("## The layers")[1].split("```")[1]
    assert [name for name in [*PACKAGES, "errors"] if not re.search(rf"\b{name}\b", picture)] == []


def test_files_that_are_named_exist():
    names = re.findall(r"`((?:[\w-]+/)*[\w-]+\.(?:py|hpp|cpp))`", text("architecture.md"))
    names += [place for place, _ in solves()]
    assert len(names) > 15
    files = {path.name for path in SOURCES.rglob("*")}  # a line that begins with its folder names a file alone
    there = [name for name in names if (SOURCES / name).exists() or (ROOT / name).exists() or name in files]
    assert there == names


def solves() -> list[tuple[str, list[str]]]:
    """The places that solve the ridge problem, as the page has them: file, names in it."""
    section = text("architecture.md").split("## The nine places")[1].split("\n## ")[0]
    found = re.findall(r"^\| `([\w/.]+)`, ([^|]*) \|", section, re.M)
    return [(place, re.findall(r"`(\w+)`", names)) for place, names in found]


def test_the_nine_places_of_the_ridge_solve_are_there():
    assert len(solves()) == 9
    missing = []
    for place, names in solves():
        source = (SOURCES / place).read_text("utf-8")
        if place.endswith(".py"):
            defined = {
                node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.ClassDef)
            }
        else:
            defined = set(re.findall(r"^    (?:void|bool) (\w+)\(", source, re.M))
        missing += [(place, name) for name in names if name not in defined]
    assert missing == []
