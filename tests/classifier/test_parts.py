from __future__ import annotations

import dataclasses
import importlib
import json

import numpy as np
import pytest

from kcrc.classifier import stored_parts
from kcrc.classifier.stored_parts import decode, encode, tag_of
from kcrc.errors import DataError, FileError
from kcrc.method.coding.ridge import Ridge
from kcrc.method.local_problem import Rkhs
from kcrc.method.scaling import Within


def classes() -> dict[str, type]:
    """Every part that can be stored, by its tag."""
    found = {}
    for tag, place in stored_parts.OTHERS.items():
        module, _, name = place.partition(":")
        found[tag] = getattr(importlib.import_module(module), name)
    for kind, module in stored_parts.REGISTRIES.items():
        registry = importlib.import_module(module).registry
        found |= {f"{kind}/{name}": registry.maker(name) for name in registry.names()}
    return found


PARTS = classes()


def there_and_back(value, change=lambda encoded: None):
    arrays: dict = {}
    encoded = json.loads(json.dumps(encode(value, "thing", arrays)))
    change(encoded)
    return decode(encoded, arrays)


@pytest.mark.parametrize("tag", PARTS)
def test_every_part_has_one_tag_and_is_a_dataclass(tag: str) -> None:
    assert dataclasses.is_dataclass(PARTS[tag])
    assert tag_of(PARTS[tag]) == tag


@pytest.mark.parametrize("old", stored_parts.NAMES_OF_VERSION_1)
def test_names_of_version_1_lead_to_parts(old: str) -> None:
    assert stored_parts.NAMES_OF_VERSION_1[old] in PARTS


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        2.5,
        np.float32(0.5),
        "wren",
        [1, (2, "x")],
        {"a": 1},
        {1: "a", (2, 3): "b"},
        np.inf,
        Ridge(mu=0.3),
    ],
)
def test_values_come_back_as_they_were(value) -> None:
    assert there_and_back(value) == value


def test_arrays_come_back_and_one_array_is_kept_once() -> None:
    array, arrays = np.arange(6.0).reshape(2, 3), {}
    encoded = encode([array, array], "arrays", arrays)
    assert len(arrays) == 1
    for one in decode(encoded, arrays):
        np.testing.assert_array_equal(one, array)


def test_a_field_that_is_not_known_is_passed_over() -> None:
    made = there_and_back(Within(shrinkage=0.3), lambda encoded: encoded["fields"].update(flavour="sweet"))
    assert vars(made) == vars(Within(shrinkage=0.3))


def test_a_field_that_is_missed_has_the_value_of_a_new_part() -> None:
    made = there_and_back(Within(shrinkage=0.3, scaled=True), lambda encoded: encoded["fields"].pop("scaled"))
    assert vars(made) == vars(Within(shrinkage=0.3))


def test_a_field_that_cannot_be_filled_is_named() -> None:
    with pytest.raises(FileError, match="'form/rkhs' lacks its normalize"):
        there_and_back(Rkhs(normalize=True), lambda encoded: encoded["fields"].pop("normalize"))


def test_older_fields_are_brought_up_step_by_step(monkeypatch) -> None:
    steps = {
        ("coder/ridge", 1): lambda fields: {"penalty": fields["lambda"]},
        ("coder/ridge", 2): lambda fields: {"mu": fields["penalty"]},
    }
    monkeypatch.setattr(stored_parts, "UPGRADES", steps)
    assert stored_parts.version_of("coder/ridge") == 3
    old = {"part": "coder/ridge", "version": 1, "fields": {"lambda": 0.7}}
    assert decode(old, {}) == Ridge(mu=0.7)
    assert decode({**old, "version": 2, "fields": {"penalty": 0.7}}, {}) == Ridge(mu=0.7)


@pytest.mark.parametrize("version", [0, -1, True, "1", None, 1.0])
def test_a_version_that_is_none_is_refused(version) -> None:
    with pytest.raises(FileError, match="version"):
        decode({"part": "coder/ridge", "version": version, "fields": {"mu": 1.0}}, {})


@pytest.mark.parametrize("tag", ["os.system", "kernel/none", "metric/", "/", "kernels.CallableKernel", 3, None, ["x"]])
def test_what_is_no_part_is_refused(tag) -> None:
    with pytest.raises(FileError, match="no part"):
        decode({"part": tag, "version": 1, "fields": {}}, {})


def test_a_part_that_is_not_registered_here_says_what_to_do() -> None:
    with pytest.raises(FileError, match=r"'distance/of-nobody'.*registered before the file is loaded"):
        decode({"part": "distance/of-nobody", "version": 1, "fields": {}}, {})


def test_code_is_not_stored() -> None:
    with pytest.raises(DataError, match="cannot be saved"):
        encode(print, "function", {})


@pytest.mark.parametrize(
    ("module", "kind"), [(importlib.import_module(m), k) for k, m in stored_parts.REGISTRIES.items()], ids=str
)
def test_the_files_of_a_registry_hold_what_it_says(module, kind) -> None:
    assert module.registry.names()
    for name in module.registry.names():
        home = module.registry.homes.get(name, module.__name__)
        assert module.registry.maker(name).__module__ == home
