"""A name means one thing: no two modules of the library have a class of the same name, and one makes the bars."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import kcrc

SOURCES = Path(kcrc.__file__).parent


def classes() -> dict[str, list[str]]:
    """The modules in which each top-level class is made."""
    found = defaultdict(list)
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(path.relative_to(SOURCES).as_posix())
    return found


def test_no_class_has_the_name_of_another() -> None:
    found = classes()
    assert found["KCRCClassifier"] == ["classifier/estimator.py"]
    assert not {name: where for name, where in found.items() if len(where) > 1}


def test_progress_bars_are_made_in_one_place() -> None:
    makers = [path.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*.py") if "tqdm" in path.read_text()]
    assert makers == ["_base/progress.py"]


def test_the_public_face_is_what_it_says() -> None:
    parts = {
        "coding",
        "datasets",
        "decisions",
        "distances",
        "errors",
        "features",
        "kernels",
        "looks",
        "methods",
        "paper",
        "projections",
        "scale",
        "scaling",
        "stores",
    }
    assert set(kcrc.__all__) == parts | {"Evidence", "Gallery", "ImageClassifier", "KCRCClassifier", "Views"}
    for name in parts:
        assert getattr(kcrc, name).__name__.startswith("kcrc.")
