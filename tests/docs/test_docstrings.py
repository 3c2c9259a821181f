"""What the API reference is made of: public docstrings in NumPy's form, with every section that applies, whose examples
run."""

from __future__ import annotations

import ast
import copy
import doctest
import importlib
import inspect
import shutil
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate
from photos import folder

import kcrc

CLASSES = {
    "KCRCClassifier": "kcrc.classifier.estimator",
    "ImageClassifier": "kcrc.images.image_classifier",
    "Gallery": "kcrc.gallery.gallery",
    "Evidence": "kcrc.method.evidence",
    "Views": "kcrc._base.views",
    "Registry": "kcrc._base.registry",  # names, make and register of every kind of part
}
FUNCTIONS = {  # of modules whose classes are in test_results.py
    "lab.datasets": None,
    "kcrc.images.datasets": None,
    "kcrc.images.features": None,
    "kcrc.images.looks": ["of_distance", "of_feature"],
    "kcrc.method.distances": ["resolve"],
    "kcrc.method.kernels": ["resolve"],
    "kcrc.method.coding": ["resolve"],
    "kcrc.method.projections": ["resolve"],
}
WRONG = {
    "GL08": "there is none",
    "GL06": "a section has another name",
    "GL07": "sections are in another order",
    "SS01": "it has no first sentence",
    "PR01": "a parameter is not named",
    "PR02": "a parameter is named that there is not",
    "PR03": "parameters are in another order",
    "PR04": "a parameter has no type",
    "PR07": "a parameter is named and not described",
    "PR10": "a type is written in another way",
    "RT01": "what it returns is not told",
    "RT03": "what it returns is not described",
    "YD01": "what it yields is not told",
}

WITHOUT_EXAMPLE = {}


def public() -> Iterator[str]:
    for name, module in CLASSES.items():
        found = getattr(importlib.import_module(module), name)
        yield f"{module}.{name}"
        for verb, member in inspect.getmembers(found):
            function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            ours = str(getattr(inspect.unwrap(function), "__module__", "")).startswith("kcrc.") if function else False
            if ours and not verb.startswith("_"):
                yield f"{module}.{name}.{verb}"
    for module, names in FUNCTIONS.items():
        found = importlib.import_module(module)
        for name in names or found.__all__:
            if inspect.isfunction(getattr(found, name)):
                yield f"{module}.{name}"


def of(name: str) -> Any:
    """The class, function, method or property of that name."""
    where, _, last = name.rpartition(".")
    try:
        return getattr(importlib.import_module(where), last)
    except ModuleNotFoundError:
        module, _, owner = where.rpartition(".")
        found = getattr(importlib.import_module(module), owner)
        return found.__dict__.get(last) or getattr(found, last)


EVERY = list(public())
ASKED = [name for name in EVERY if not isinstance(of(name), property)]


def test_the_classes_are_those_that_are_public():
    public_classes = {name for name in kcrc.__all__ if inspect.isclass(getattr(kcrc, name))}
    assert set(CLASSES) == public_classes | {"Registry"}


@pytest.mark.parametrize("name", EVERY)
def test_a_public_docstring_has_the_sections_that_apply(name):
    told = {code: words for code, words in validate(name)["errors"] if code in WRONG}
    assert told == {}


def raised_in(function: Any) -> set[str]:
    """The errors that the body of a function raises itself, by name."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(getattr(function, "__func__", function)))))
    calls = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
    return {call.func.id for call in calls if isinstance(call.func, ast.Name)}


@pytest.mark.parametrize("name", [name for name in ASKED if not inspect.isclass(of(name))])
def test_an_error_that_is_raised_is_told(name):
    documented = {row.type for row in NumpyDocString(inspect.getdoc(of(name)) or "")["Raises"]}
    assert raised_in(of(name)) - documented == set()


def test_an_error_that_is_not_told_is_found():
    assert raised_in(kcrc.KCRCClassifier.plot_tuning) == {"StateError"}


# Examples -------------------------------------------------------------------------------------------------------------


def run(text: str, known: dict[str, Any], name: str) -> int:
    """Run the examples of a docstring with the names ``known``; how many there were. What differs is an error."""
    test = doctest.DocTestParser().get_doctest(text, known, name, None, None)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    said: list[str] = []
    runner.run(test, out=said.append, clear_globs=False)
    assert runner.failures == 0, "".join(said)
    known.update(test.globs)  # the parser took a copy
    return len(test.examples)


@cache
def begun(owner: str) -> dict[str, Any]:
    """The names that the example of a class leaves behind, which those of its methods go on from."""
    known: dict[str, Any] = {}
    run(inspect.getdoc(of(owner)) or "", known, owner)
    return known


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with photographs of three kinds of bird, and a gallery of them."""
    where = tmp_path_factory.mktemp("examples")
    folder(where / "photos", 7)
    folder(where / "test", 2, first=50)
    (where / "new").mkdir()
    for number, path in enumerate(sorted((where / "test").glob("*/*.jpg")), 1):
        shutil.copy(path, where / "new" / f"{number}.jpg")
    return where


def given(name: str, where: Path) -> dict[str, Any]:
    """What the example of ``name`` may take for granted."""
    owner = name.rpartition(".")[0]
    if owner not in EVERY:
        return {}
    if not owner.endswith(".Gallery"):
        left = {key: value for key, value in begun(owner).items() if key != "__builtins__"}
        return {key: value if inspect.ismodule(value) else copy.deepcopy(value) for key, value in left.items()}
    kept = where / "kept.kcrc"
    if not kept.exists():
        begun(owner)["gallery"].close()
        shutil.copy(where / "birds.kcrc", kept)
    (where / "birds.kcrc").unlink()
    shutil.copy(kept, where / "birds.kcrc")
    return {"Gallery": kcrc.Gallery, "gallery": kcrc.Gallery.open("birds.kcrc")}


@pytest.mark.parametrize("name", [name for name in ASKED if name not in WITHOUT_EXAMPLE])
def test_the_examples_of_a_docstring_run(name, place, monkeypatch):
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    monkeypatch.chdir(place)
    for made in ("again.kcrc", "vectors.kcrc", "copy.kcrc", "birds.npz", "digits.npz"):
        (place / made).unlink(missing_ok=True)
    found = of(name)
    if inspect.isclass(found):
        begun(name)
        return
    known = given(name, place)
    assert run(inspect.getdoc(found) or "", known, name), "it has no example"
    if "gallery" in known:
        known["gallery"].close()
