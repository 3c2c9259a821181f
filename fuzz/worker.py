"""The process in which cases run: one after the other, each said to the watcher when it begins and when it ends."""

from __future__ import annotations

import faulthandler
import json
import os
import random
import sys
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fuzz import confinement
from fuzz.area import Area
from fuzz.failure import Failure, of_exception
from fuzz.place import Place
from fuzz.watching import Watch


def run(area: Area, place: Place, seed: int, cases: Iterable[int], report: int, *, aloud: bool) -> None:
    """Run the cases; lines of JSON go to the descriptor ``report``. Does not return what it finds in any other way."""
    sys.dont_write_bytecode = True
    warnings.simplefilter("ignore")
    os.chdir(place.folder)
    if not aloud:
        _quiet(place.root / "crash.txt")
    faulthandler.enable(file=sys.stderr)
    area.load()
    watch = Watch(place, processes_too=not area.starts_processes)
    confinement.limit_memory()
    if not area.starts_processes and not area.uses_box:
        confinement.forbid_processes_and_sockets(watch.socket_made)
    for number in cases:
        place.clear()
        planted = area.plant(place, random.Random(f"{seed} {area.name} {number}"))
        place.remember()
        _forget_peak()
        begun = time.monotonic(), time.process_time()
        _say(report, begin=number, cpu=begun[1])
        failures = _used(area, place, planted, watch)
        spent = time.monotonic() - begun[0], time.process_time() - begun[1]
        failures += [Failure("file", stray) for stray in place.strays()]
        peak = _peak()
        if peak > confinement.MEMORY:
            failures.append(Failure("memory", f"{peak >> 20} MB"))
        del planted
        area.settle(place)
        told = [failure.to_dict() for failure in failures]
        _say(report, end=number, wall=spent[0], cpu=spent[1], peak=peak, failures=told)


def _used(area: Area, place: Place, planted: Any, watch: Watch) -> list[Failure]:
    problem: BaseException | None = None
    with watch:
        try:
            area.use(place, planted)
        except BaseException as raised:
            problem = raised
    found = None if problem is None else of_exception(problem, area.expected)
    if os.getcwd() != str(place.folder):
        os.chdir(place.folder)
    return watch.seen + ([] if found is None else [found])


def _quiet(output: Path) -> None:
    """Send what libraries print to a file, where the watcher finds the stack of a crash."""
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)


def _say(report: int, **what: Any) -> None:
    os.write(report, json.dumps(what).encode() + b"\n")


def _forget_peak() -> None:
    """Begin again to measure the largest memory held, where the kernel can."""
    if sys.platform == "linux":
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")


def _peak() -> int:
    if sys.platform != "linux":
        return 0
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith("VmHWM"))
    return int(line.split()[1]) << 10
