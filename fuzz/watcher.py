"""Runs cases of one area in a worker and ends it where a case hangs or swells; goes on after it with the next case."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz import confinement, worker
from fuzz.area import Area
from fuzz.failure import Failure, from_dict
from fuzz.place import Place

CPU_SECONDS, WALL_SECONDS = (
    5.0,
    30.0,
)  # a case that takes more of either hangs; waiting for the processor is not counted
_HANGS_ENOUGH = 5  # of one stretch of cases: then the rest of it is not run
_TICK = 0.1


@dataclass
class Case:
    """What became of one case."""

    number: int
    wall: float = 0.0
    cpu: float = 0.0
    peak: int = 0
    failures: list[Failure] = field(default_factory=list)


Heard = Callable[[Case], None]


def watched(
    area: type[Area], root: Path, seed: int, cases: Sequence[int], heard: Heard, *, aloud: bool, until: float
) -> None:
    """Run ``cases``, telling ``heard`` of each; stops at the moment ``until``."""
    made = area(_samples(area, root))
    left = list(cases)
    hangs = 0
    while left and hangs < _HANGS_ENOUGH and time.monotonic() < until:
        place = root / f"{area.name}-{os.getpid()}"
        shutil.rmtree(place, ignore_errors=True)
        done = _one_worker(made, place, seed, left, aloud=aloud, until=until)
        for case in done:
            hangs += any(failure.kind == "hang" for failure in case.failures)
            heard(case)
        if not done and time.monotonic() < until:  # else the time was over before it had loaded its samples
            raise RuntimeError(f"The worker of the area '{area.name}' ended before its first case.")
        left = left[len(done) :]
    with contextlib.suppress(UnboundLocalError):
        shutil.rmtree(place, ignore_errors=True)


def _samples(area: type[Area], root: Path) -> Path:
    """The healthy files of an area, made by the first that needs them."""
    folder = root / "samples" / area.name
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ready = folder.with_suffix(".ready")
        if not ready.exists():
            area(folder).prepare()
            ready.touch()
    return folder


def _one_worker(area: Area, root: Path, seed: int, cases: Sequence[int], *, aloud: bool, until: float) -> list[Case]:
    """The cases that one worker got through, the last of them perhaps the one that ended it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _be_worker(area, root, seed, cases, writing, aloud=aloud)
    os.close(writing)
    watch = _Watched(child, root)
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        while True:
            ready, _, _ = select.select([pipe], [], [], _TICK)
            if ready:
                data = os.read(pipe.fileno(), 1 << 16)
                if not data:
                    break
                watch.hear(data)
            watch.look()
            if time.monotonic() > until and watch.current is None:
                watch.end()
    return watch.finished()


def _be_worker(area: Area, root: Path, seed: int, cases: Sequence[int], report: int, *, aloud: bool) -> None:
    code = 1
    try:
        confinement.end_with_parent()
        os.environ.update(HOME=str(root / "home"), KCRC_CACHE=str(root / "cache"), MPLCONFIGDIR=str(root / "cache"))
        os.environ.pop("KCRC_GALLERY_CACHE", None)
        worker.run(area, Place(root), seed, cases, report, aloud=aloud)
        code = 0
    except BaseException:
        import traceback

        trace = traceback.format_exc()
        os.write(report, json.dumps({"broken": trace}).encode() + b"\n")
    finally:
        os._exit(code)


class _Watched:
    """A worker as its watcher knows it: what it said, and what it takes."""

    def __init__(self, process: int, root: Path) -> None:
        self.process, self.root = process, root
        self.done: list[Case] = []
        self.current: int | None = None
        self._begun = self._cpu = self._starved = 0.0
        self._rest = b""
        self._verdict: Failure | None = None
        self._ended = False

    def hear(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            said: dict[str, Any] = json.loads(line)
            if "broken" in said:
                raise RuntimeError(f"The harness failed, not the program:\n{said['broken']}")
            if "begin" in said:
                self.current, self._begun, self._cpu = said["begin"], time.monotonic(), said["cpu"]
                self._starved = _starved(self.process)
            else:
                self.current = None
                failures = [from_dict(failure) for failure in said["failures"]]
                case = Case(said["end"], said["wall"], said["cpu"], said["peak"], failures)
                if case.cpu > CPU_SECONDS:
                    failures.append(_hang(case.cpu, case.wall))
                self.done.append(case)

    def look(self) -> None:
        """End the worker where its case takes too long or too much."""
        if self.current is None or self._verdict is not None:
            return
        (cpu, held), starved = _taken(self.process), _starved(self.process)
        cpu, wall = cpu - self._cpu, time.monotonic() - self._begun - (starved - self._starved)
        if held > confinement.MEMORY:
            self._verdict = Failure("memory", f"{held >> 20} MB")
        elif cpu > CPU_SECONDS or wall > WALL_SECONDS:
            self._verdict = _hang(cpu, wall)
        if self._verdict is not None:
            self.end()

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)

    def finished(self) -> list[Case]:
        """After the last word: how it ended."""
        _, status = os.waitpid(self.process, 0)
        if self.current is not None:
            failure = self._verdict or self._crash(status)
            self.done.append(Case(self.current, time.monotonic() - self._begun, failures=[failure]))
        return self.done

    def _crash(self, status: int) -> Failure:
        if not os.WIFSIGNALED(status):
            return Failure("crash", f"the process ended by itself, with exit code {os.waitstatus_to_exitcode(status)}")
        number = os.WTERMSIG(status)
        stack = ""
        with contextlib.suppress(OSError):
            stack = (self.root / "crash.txt").read_text(errors="replace")[-3000:]
        if number == signal.SIGSYS:
            return Failure("process", f"a process was started\n{stack}")
        frames = [line.strip() for line in stack.splitlines() if line.startswith("  File")]
        return Failure("crash", f"{stack}\n{signal.Signals(number).name} {'; '.join(frames[:2])}")


def _hang(cpu: float, wall: float) -> Failure:
    return Failure("hang", f"{cpu:.1f} s of processor, {wall:.1f} s of waiting")


def _taken(process: int) -> tuple[float, int]:
    """(seconds of processor, bytes of memory) of a process so far."""
    if sys.platform != "linux":
        return 0.0, 0
    try:
        with open(f"/proc/{process}/stat") as file:
            values = file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0, 0
    return (int(values[11]) + int(values[12])) / os.sysconf("SC_CLK_TCK"), int(values[21]) * os.sysconf("SC_PAGE_SIZE")


def _starved(process: int) -> float:
    """Seconds that a process was ready to run and others had the processor."""
    try:
        with open(f"/proc/{process}/schedstat") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0
