from __future__ import annotations

import dataclasses
import importlib

import pytest

from kcrc.classifier import stored_parts
from kcrc.files import bounds


@pytest.mark.parametrize(
    ("name", "value", "beyond"),
    [
        ("max_iter", 100_000, False),
        ("max_iter", 100_001, True),
        ("grid", (8, 8), False),
        ("grid", (8, 1001), True),
        ("smoothing", float("inf"), True),
        ("smoothing", float("nan"), True),
        ("smoothing", -2000.0, True),
        ("n_components", None, False),
        ("seed", 1 << 60, False),
        ("grid", None, False),
    ],
)
def test_numbers_are_compared_with_what_a_file_may_ask(name: str, value: object, beyond: bool) -> None:
    assert bounds.exceeds_limit(name, value) is beyond


def test_every_bound_is_of_a_field_and_far_above_its_default() -> None:
    defaults: dict[str, list[object]] = {}
    kinds = [
        getattr(importlib.import_module(p.partition(":")[0]), p.partition(":")[2]) for p in stored_parts.OTHERS.values()
    ]
    for module in stored_parts.REGISTRIES.values():
        registry = importlib.import_module(module).registry
        kinds += [registry.maker(name) for name in registry.names()]
    for kind in kinds:
        for field in dataclasses.fields(kind):
            defaults.setdefault(field.name, []).append(field.default)
    assert bounds.MOST
    for name, most in bounds.MOST.items():
        assert name in defaults
        numbers = [d for d in defaults[name] if isinstance(d, int | float) and not isinstance(d, bool)]
        assert all(10 * abs(number) <= most for number in numbers), name


def test_memory_is_a_share_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert bounds.most_memory() > 1 << 28

    def unknown(name: str) -> int:
        raise ValueError(name)

    monkeypatch.setattr("os.sysconf", unknown, raising=False)
    assert bounds.most_memory() == 1 << 32
