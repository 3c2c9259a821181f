"""What can be used is documented: public names, commands and options, names in registries, errors, variables."""

from __future__ import annotations

import inspect
import re

import click
import pytest

import kcrc
from docs.pages import ROOT, code_in_lines, everything, text
from docs.test_commands import command_named
from kcrc import coding, decisions, distances, errors, features, kernels, looks, methods, projections, scaling
from kcrc.cli import COMMANDS
from kcrc.gallery import stores
from kcrc.method.neighbours import approximate
from kcrc.scale import engines
from kcrc.tuning.settings import AUTO
from lab import datasets as published

MODULES = [name for name in kcrc.__all__ if inspect.ismodule(getattr(kcrc, name))]
NAMES = {
    "methods.md": [*coding.names(), *decisions.names(), *kernels.names(), *methods.names(), *scaling.names(),
                   *projections.names(), "raw", "gram", "rkhs"],
    "data-and-features.md": [*published.names(), *features.names()],
    "looks.md": [*looks.names()],
    "engines.md": [*engines.names()],
    "search.md": [*approximate.LIBRARIES, "exact", AUTO],
}  # fmt: skip
SOURCES = sorted(path for folder in ("src/kcrc", "lab") for path in (ROOT / folder).rglob("*.py"))


def test_there_are_modules():
    assert {"coding", "distances", "features", "kernels", "looks", "methods"} <= set(MODULES)


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_of_a_module_is_in_the_reference(module):
    reference = text("api.md")
    found = getattr(kcrc, module)
    public = [*getattr(found, "__all__", ["names", "make", "register"])]
    assert f"kcrc.{module}" in reference
    assert [name for name in public if not re.search(rf"\b{name}\b", reference)] == []


def test_every_public_class_is_in_the_reference():
    classes = [name for name in kcrc.__all__ if name not in MODULES]
    assert [name for name in classes if not re.search(rf"^::: kcrc\.[a-z_.]*{name}$", text("api.md"), re.M)] == []


@pytest.mark.parametrize("page", NAMES)
def test_every_name_of_a_registry_is_on_its_page(page):
    written = {code.strip('"') for code in code_in_lines(page)}
    assert [name for name in NAMES[page] if name not in written] == []


def test_every_distance_is_on_one_of_two_pages():
    written = {*code_in_lines("pixel-distances.md"), *code_in_lines("image-distances.md")}
    assert [name for name in distances.names() if name not in written] == []


def test_every_kind_of_store_has_a_page():
    kinds = [scheme for scheme in stores.KINDS if scheme]
    assert [scheme for scheme in kinds if f"{scheme}://" not in everything()] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_shown_and_every_option_says_what_it_does(name):
    command = command_named(name)
    options = [each for each in command.params if isinstance(each, click.Option)]
    assert re.search(rf"kcrc {name}\b", everything())
    assert [each.opts for each in options if not each.help] == []


def test_every_error_says_what_it_means():
    own = [each for _, each in inspect.getmembers(errors, inspect.isclass) if each.__module__ == errors.__name__]
    assert "::: kcrc.errors" in text("api.md")
    assert [each.__name__ for each in own if not each.__doc__ or each.__name__ not in (errors.__doc__ or "")] == []


def test_errors_of_other_files_are_on_a_page():
    made = re.compile(r"^class (\w+)\((?:KCRC|Parameter|Data|File|State)Error\)", re.M)
    found = {name for path in SOURCES if path.name != "errors.py" for name in made.findall(path.read_text("utf-8"))}
    assert "ImageError" in found
    assert [name for name in sorted(found) if f"`{name}`" not in everything()] == []


def test_every_variable_of_the_environment_is_on_a_page():
    read = {name for path in SOURCES for name in re.findall(r"\bKCRC_[A-Z_]+", path.read_text("utf-8"))}
    assert "KCRC_DATA" in read
    assert [name for name in sorted(read) if name not in everything()] == []
