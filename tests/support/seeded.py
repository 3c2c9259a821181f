"""Runs cases that follow from a seed in a process of their own, so that a crash or a hang is a failed case and no more.

A module of cases has ``Case(seed)`` with ``run()``. As a program, ``python seeded.py file first last`` runs a stretch,
says the number of each case before it, and what was wrong with it after.
"""

from __future__ import annotations

import faulthandler
import importlib.util
import os
import subprocess
import sys
import traceback
from pathlib import Path
from types import ModuleType

TESTS = Path(__file__).resolve().parents[1]
MEMORY = 6 << 30
PATIENCE = 120  # seconds a stretch may say nothing


def faults(path: str, first: int, last: int) -> list[str]:
    """What went wrong in the cases ``first`` … ``last`` − 1 of the module in the file ``path`` below tests."""
    found: list[str] = []
    while first < last:
        begun, said, ending = _stretch(path, first, last)
        found += said
        if ending is None:
            return found
        found.append(f"case {begun}: {ending}")
        if len(found) > 20:
            return [*found, "and so on"]
        first = begun + 1
    return found


def _stretch(path: str, first: int, last: int) -> tuple[int, list[str], str | None]:
    """The case begun last, the faults told, and how the process ended before its time."""
    command = [sys.executable, __file__, path, str(first), str(last)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    begun, said, ending = first, [], None
    try:
        out, err = child.communicate(timeout=PATIENCE + (last - first))
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = child.communicate()
        ending = "did not end"
    for line in out.splitlines():
        number, _, fault = line.partition(" ")
        begun = int(number)
        if fault:
            said.append(f"case {begun}: {fault}")
    if ending is None and child.returncode != 0:
        ending = f"ended the process with {child.returncode}: {err[-600:]}"
    return begun, said, ending


def loaded(path: str) -> ModuleType:
    """The module in the file ``path`` below tests."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, TESTS / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _run(path: str, first: int, last: int) -> None:
    faulthandler.enable()
    sys.path.insert(0, str(TESTS))  # as pytest has it
    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # whose shadow memory is all of it
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    cases = loaded(path)
    for seed in range(first, last):
        print(seed, flush=True)
        case = None
        try:
            case = cases.Case(seed)
            case.run()
        except Exception as fault:
            where = traceback.extract_tb(fault.__traceback__)[-1]
            told = f"{case}: {type(fault).__name__} at {Path(where.filename).name}:{where.lineno}: {fault}"
            print(seed, " ".join(told.split()), flush=True)


if __name__ == "__main__":
    _run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
