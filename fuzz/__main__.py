"""``python -m fuzz``: run areas, print a table, exit with 1 where anything went wrong."""

from __future__ import annotations

import argparse
import json
import math
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from fuzz import areas, confinement
from fuzz.area import Area
from fuzz.failure import Failure
from fuzz.tally import Line, Tally
from fuzz.watcher import Case, watched

FULL = 20_000
_STRETCH = 250  # cases that one process runs at most before it is replaced

Stretch = tuple[type[Area], list[int]]


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Attack kcrc, and count what gives way.")
    known = areas.load()
    about = "; ".join(f"{name}: {area.about}" for name, area in known.items())
    parser.add_argument("--area", action="append", choices=list(known), help=f"only this area ({about}).")
    parser.add_argument("--cases", type=int, help=f"cases of all areas together, or of the one named [{FULL}].")
    parser.add_argument("--kills", type=int, help="kills, which are counted apart [500].")
    parser.add_argument("--case", help="run this case alone (or A-B), and show all that it prints.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, help="stop after so long; without --cases: go on until then.")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--out", type=Path, help="write the counts as JSON.")
    return parser.parse_args(given)


def counts(chosen: dict[str, type[Area]], cases: int | None, kills: int | None) -> dict[str, int]:
    """How many cases of each area: by their shares, kills apart from the others."""
    if len(chosen) == 1:
        ((name, area),) = chosen.items()
        return {name: (kills if name == "kills" else None) or cases or area.share}
    total = sum(area.share for name, area in chosen.items() if name != "kills")
    share = (cases or FULL) / max(1, total)
    found = {name: math.ceil(area.share * share) for name, area in chosen.items() if name != "kills"}
    return found | ({"kills": kills if kills is not None else chosen["kills"].share} if "kills" in chosen else {})


def stretches(chosen: dict[str, type[Area]], wanted: dict[str, int], *, endless: bool) -> Iterator[Stretch]:
    """The cases in pieces, one area after the other; again and again with new cases where there is no end."""
    rounds = 0
    while rounds == 0 or endless:
        for name, area in chosen.items():
            size = 25 if name == "kills" else _STRETCH
            first, end = rounds * wanted[name], (rounds + 1) * wanted[name]
            for start in range(first, end, size):
                yield area, list(range(start, min(end, start + size)))
        rounds += 1


class _Running:
    """A piece under way, and the lines it has sent."""

    def __init__(self, piece: Stretch, seed: int, root: Path, until: float, aloud: bool) -> None:
        self.area = piece[0]
        self.pipe, self.process = _begin(piece, seed, root, until, aloud)
        self._rest = b""

    def lines(self) -> list[bytes] | None:
        """Whole lines that came in; None at the end."""
        data = os.read(self.pipe, 1 << 16)
        *lines, self._rest = (self._rest + data).split(b"\n")
        return lines if data else None

    def fileno(self) -> int:
        return self.pipe

    def close(self) -> None:
        os.close(self.pipe)
        if os.waitpid(self.process, 0)[1] != 0:
            raise SystemExit(f"fuzz: the harness failed in the area '{self.area.name}'.")


def run(pieces: Iterator[Stretch], tally: Tally, *, root: Path, jobs: int, until: float, aloud: bool) -> None:
    """Run pieces side by side, each in a process that watches its own worker."""
    running: list[_Running] = []
    while True:
        while len(running) < jobs and time.monotonic() < until:
            piece = next(pieces, None)
            if piece is None:
                break
            tally.lines.setdefault(piece[0].name, Line()).asked += len(piece[1])
            running.append(_Running(piece, tally.seed, root, until, aloud))
        if not running:
            return
        for one in select.select(running, [], [], 1.0)[0]:
            lines = one.lines()
            if lines is None:
                running.remove(one)
                one.close()
                continue
            for line in lines:
                _count(line, one.area, tally)


def _begin(piece: Stretch, seed: int, root: Path, until: float, aloud: bool) -> tuple[int, int]:
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return reading, process
    code = 1
    try:
        confinement.end_with_parent()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.close(reading)

        def heard(case: Case) -> None:
            told = [case.number, case.wall, case.cpu, case.peak, [f.to_dict() for f in case.failures]]
            os.write(writing, json.dumps(told).encode() + b"\n")

        watched(piece[0], root, seed, piece[1], heard, aloud=aloud, until=until)
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def _count(line: bytes, area: type[Area], tally: Tally) -> None:
    number, wall, cpu, peak, failures = json.loads(line)
    for told in tally.add(area.name, Case(number, wall, cpu, peak, [Failure(**f) for f in failures])):
        print(f"{area.name} {number}: {told}", flush=True)


def main(given: Sequence[str] | None = None) -> int:
    asked = arguments(given)
    known = areas.load()
    chosen = {name: known[name] for name in (asked.area or known)}
    tally = Tally(asked.seed)
    until = time.monotonic() + (asked.minutes or 24 * 60) * 60
    alone = asked.case is not None
    if alone:
        first, _, last = asked.case.partition("-")
        numbers = list(range(int(first), int(last or first) + 1))
        pieces = iter([(area, numbers) for area in chosen.values()])
    else:
        endless = asked.minutes is not None and asked.cases is None
        pieces = stretches(chosen, counts(chosen, asked.cases, asked.kills), endless=endless)
    shared = Path("/dev/shm")  # galleries wait for the disk after every change
    roomy = shared.is_dir() and os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > 1 << 30
    root = Path(tempfile.mkdtemp(prefix="kcrc-fuzz-", dir=shared if roomy else None)).resolve()
    started = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("fuzz: ended from outside."))  # so that the folder is deleted
    try:
        run(pieces, tally, root=root, jobs=1 if alone else asked.jobs, until=until, aloud=alone)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    if alone:
        for line in tally.lines.values():
            for _, kind, detail in line.failed:
                print(f"\n{kind}:\n{detail}")
    print(f"\n{tally.table()}\n\n{tally.cases} cases, {tally.failures} failures, seed {asked.seed}, "
          f"{time.monotonic() - started:.0f} s")  # fmt: skip
    if asked.out is not None:
        asked.out.write_text(json.dumps(tally.to_dict(), indent=1) + "\n")
    cut_short = not tally.whole and asked.minutes is None
    if cut_short:
        print("Some cases were not run: an area with many hangs was left early.")
    return 1 if tally.failures or cut_short else 0


if __name__ == "__main__":
    sys.exit(main())
