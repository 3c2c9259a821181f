from __future__ import annotations

import dataclasses
import importlib
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest

from kcrc._base.arrays import Array
from kcrc._base.registry import fits, hints_of
from kcrc.classifier import stored_parts
from kcrc.method.scaling import Plain, Scaling, Standard


@pytest.mark.parametrize(
    ("hint", "fine", "wrong"),
    [
        (int, [0, -5, (1 << 63) - 1], [1 << 63, True, 1.0, "1", None, [1]]),
        (float, [0.5, 3, float("nan")], [True, "0.5", None, 10**400, np.zeros(1)]),
        (bool, [True, False, 0, 1], [2, -1, "x", None, 1.0]),
        (str, ["", "x"], [1, None, b"x", ["x"]]),
        (None, [None], [0, ""]),
        (int | None, [3, None], ["x", 0.5]),
        (Literal["a", "b"], ["a"], ["c", 1, None, ["a"]]),
        (tuple[int, ...], [(), (1, 2), [1, 2]], [1, "12", (1, "x"), np.arange(2)]),
        (tuple[int, int] | None, [(1, 2), None], [(1,), (1, 2, 3), (1, None)]),
        (tuple[float, ...] | None, [(1, 0.5)], [("x",)]),
        (dict[str, float] | None, [{}, {"a": 1.0}, None], [{1: 1.0}, {"a": "x"}, [1]]),
        (Array, [np.zeros(3)], [[1.0], 3, None]),
        (Array | None, [np.zeros(3), None], ["x"]),
        (Scaling, [Plain()], [Plain, "plain", None]),
        (Standard | None, [Standard(), None], [Plain()]),
        (SimpleNamespace(__value__=Array), [np.zeros(3)], [[1.0], 3, None]),  # as `type Array = …` makes them
        (Any, [1, "x", None], []),
    ],
)
def test_what_fits(hint: Any, fine: list[Any], wrong: list[Any]) -> None:
    assert all(fits(value, hint) for value in fine)
    assert not any(fits(value, hint) for value in wrong)


def test_a_function_fits_nowhere() -> None:
    from kcrc.method.kernels import CallableKernel

    assert not fits(print, hints_of(CallableKernel)["function"])


def test_every_default_of_every_part_fits_its_own_annotation() -> None:
    """Else no file with such a part could be read."""
    kinds = [
        getattr(importlib.import_module(place.partition(":")[0]), place.partition(":")[2])
        for place in stored_parts.OTHERS.values()
    ]
    for module in stored_parts.REGISTRIES.values():
        registry = importlib.import_module(module).registry
        kinds += [registry.maker(name) for name in registry.names()]
    checked = 0
    for kind in kinds:
        for field in dataclasses.fields(kind):
            hint = hints_of(kind)[field.name]
            if field.init and field.default is not dataclasses.MISSING:
                assert fits(field.default, hint), (kind, field.name)
                checked += 1
    assert checked > 80
