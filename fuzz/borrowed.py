"""Generators of hostile cases that the tests have already: taken from there, so that nothing is written twice."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

TESTS = Path(__file__).resolve().parents[1] / "tests"


@cache
def from_tests(path: str) -> ModuleType:
    """The module in the file ``tests/path``; it may import from the folders of tests as tests do."""
    for folder in (str(TESTS), str(TESTS / "support")):
        if folder not in sys.path:
            sys.path.append(folder)
    name = "fuzz_borrowed_" + path.removesuffix(".py").replace("/", "_")
    spec = importlib.util.spec_from_file_location(name, TESTS / path)
    if spec is None or spec.loader is None:
        raise ImportError(f"There is no {path} in the folder of tests.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
