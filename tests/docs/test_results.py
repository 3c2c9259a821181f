"""What users are given, and what extenders subclass, is in the reference and told in full: fields, shapes, what to
implement."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate

import kcrc
from docs.pages import text
from docs.test_docstrings import CLASSES, EVERY, WRONG, of

INSIDE = {  # the attribute of a public class that holds one: docs/stability.md says that it is not promised
    "Answerer": "answerer_",
    "Confidence": "confidence_",
    "FittedModel": "model_",
    "Contents": "contents",
    "Settings": "settings",
    "Command": "command",
}

ON_A_PAGE = {  # public classes that are neither results nor abstract, and where they are described
    "Feature": "data-and-features.md",
    "ServerAnswerer": "postgres.md",
}


def listed() -> dict[str, type]:
    """The classes of the API reference, by name."""
    found: dict[str, type] = {}
    for place, options in re.findall(r"^::: ([\w.]+)\n((?:    .*\n)*)", text("api.md"), re.M):
        members = re.search(r"members: \[(.*)\]", options)
        for name in [f"{place}.{one}" for one in members[1].split(", ")] if members else [place]:
            one = of(name)
            if inspect.isclass(one):
                found[one.__name__] = one
    return found


LISTED = listed()
FIELDS = {name: one for name, one in LISTED.items() if dataclasses.is_dataclass(one) and name not in CLASSES}
CONTRACTS = {name: one for name, one in LISTED.items() if inspect.isabstract(one)}


def named_in(annotation: str, module: str) -> Iterator[type]:
    """The classes of kcrc that an annotation in ``module`` names, those too that are imported for annotations alone."""
    known = vars(importlib.import_module(module))
    source = inspect.getsource(importlib.import_module(module))
    for name in re.findall(r"[A-Za-z_][\w.]*", annotation):
        first, *rest = name.split(".")
        one: Any = known.get(first)
        if one is None and (home := re.search(rf"from (kcrc[\w.]*) import .*\b{first}\b", source)):
            one = getattr(importlib.import_module(home[1]), first)
        for part in rest:
            one = getattr(one, part, None)
        ours = inspect.isclass(one) and one.__module__.startswith("kcrc")
        if ours and not issubclass(one, Exception):  # of which test_documented.py sees that they are on a page
            yield one


def given_to_users() -> dict[str, str]:
    """The classes that public methods and attributes give, and those that their fields hold: name -> where from."""
    found: dict[str, str] = {}
    waiting = [(kind, name) for name in EVERY for kind in returned(of(name))]
    while waiting:
        one, source = waiting.pop()
        if one.__name__ in found:
            continue
        found[one.__name__] = source
        if dataclasses.is_dataclass(one) and one.__name__ not in INSIDE:
            told = [str(field.type) for field in dataclasses.fields(one)]
            waiting += [(held, one.__name__) for kind in told for held in named_in(kind, one.__module__)]
    return found


def returned(one: Any) -> Iterator[type]:
    function = one.fget if isinstance(one, property) else getattr(one, "__func__", one)
    if not inspect.isclass(function):
        yield from named_in(str(inspect.signature(function).return_annotation), inspect.unwrap(function).__module__)


def test_every_class_that_users_are_given_is_in_the_reference():
    given = given_to_users()
    assert {"Audit", "Suspect", "Advice", "Gain", "Likeness", "PairedComparison", "Turning", "Tuning"} <= set(given)
    assert {name: where for name, where in given.items() if name not in {*LISTED, *INSIDE}} == {}


def test_attributes_that_docstrings_name_are_in_the_reference():
    """Those that ``fit`` sets have no annotation to read."""
    told = [row.type for name in ("KCRCClassifier", "ImageClassifier")
            for row in NumpyDocString(inspect.getdoc(getattr(kcrc, name)) or "")["Attributes"]]  # fmt: skip
    ours = {word for kind in told for word in re.findall(r"[A-Z]\w+", kind)} - {"None"}
    assert {"Tuning", "Choice", "Receipt"} <= ours
    assert ours - {*LISTED, *INSIDE} == set()


def test_what_is_inside_is_not_promised():
    given, promise = given_to_users(), text("stability.md").split("## Not promised")[1]
    assert [attribute for attribute in INSIDE.values() if f"`{attribute}`" not in promise] == []
    assert set(INSIDE) - set(given) == set()


@pytest.mark.parametrize("name", FIELDS)
def test_every_field_is_told(name):
    one = FIELDS[name]
    doc = NumpyDocString(inspect.getdoc(one) or "")
    section = "Attributes" if doc["Attributes"] else "Parameters"
    fields = {field.name for field in dataclasses.fields(one) if not field.name.startswith("_")}
    if section == "Attributes":  # a result: what follows from its fields is told with them
        fields |= {key for key, value in vars(one).items() if isinstance(value, property) and key[0] != "_"}
    assert {each for row in doc[section] for each in row.name.split(", ")} == fields
    assert [row.name for row in doc[section] if not row.type or not "".join(row.desc).strip()] == []


@pytest.mark.parametrize("name", CONTRACTS)
def test_what_a_subclass_implements_is_told(name):
    one = CONTRACTS[name]
    told = inspect.getdoc(one) or ""
    assert [verb for verb in one.__abstractmethods__ if f"``{verb}``" not in told] == []
    for verb in one.__abstractmethods__:
        home = next(each for each in one.__mro__ if verb in vars(each))
        found = validate(f"{home.__module__}.{home.__name__}.{verb}")["errors"]
        assert {code: words for code, words in found if code in WRONG} == {}


def test_there_are_fields_and_contracts():
    assert len(FIELDS) > 30
    assert {"Coder", "Decision", "Distance", "Kernel", "Look", "Scaling", "Projection"} <= set(CONTRACTS)


def test_no_public_class_is_left_out():
    modules = [getattr(kcrc, name) for name in kcrc.__all__ if inspect.ismodule(getattr(kcrc, name))]
    public = {name for module in modules for name in getattr(module, "__all__", [])
              if inspect.isclass(getattr(module, name))}  # fmt: skip
    assert public - {*CLASSES, *FIELDS, *CONTRACTS, *ON_A_PAGE} == set()
    assert [name for name, page in ON_A_PAGE.items() if name not in text(page)] == []
