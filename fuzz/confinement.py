"""What a worker may use: memory, and no processes or sockets, which the kernel tells of (seccomp, on Linux)."""

from __future__ import annotations

import ctypes
import platform
import resource
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass

MEMORY = 2 << 30  # bytes a case may take
_ALLOW, _KILL, _TRAP, _REFUSE = 0x7FFF0000, 0x80000000, 0x00030000, 0x00050000 | 38  # 38: ENOSYS
_LOAD, _EQUAL, _HAS, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER, _MACHINE, _FIRST_ARGUMENT = 0, 4, 16  # places in the kernel's description of a call
_THREAD = 0x10000  # the flag by which a new thread differs from a new process


@dataclass(frozen=True)
class _Calls:
    """The numbers of system calls on one kind of machine."""

    machine: int
    socket: int
    processes: tuple[int, ...]  # execve, execveat; fork and vfork where they exist
    clone: int
    clone3: int = 435


_CALLS = {
    "x86_64": _Calls(0xC000003E, 41, (59, 322, 57, 58), 56),
    "aarch64": _Calls(0xC00000B7, 198, (221, 281), 220),
}


class _Step(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("k", ctypes.c_uint32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("steps", ctypes.POINTER(_Step)))


def end_with_parent() -> None:
    """End this process when the one that forked it ends, however that comes."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)


def limit_memory() -> None:
    """An allocation that would take more than a case may have fails, and the failure is counted."""
    if sys.platform != "linux":
        return
    with open("/proc/self/statm") as file:
        held = int(file.read().split()[0]) * resource.getpagesize()
    limit = held + MEMORY + (1 << 30)  # threads reserve room that they do not use
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def forbid_processes_and_sockets(on_socket: Callable[[], None]) -> bool:
    """From here on the kernel ends this process (SIGSYS) where it starts another, and ``on_socket`` is called where
    anything in it makes a socket; False where the kernel cannot do that."""
    calls = _CALLS.get(platform.machine())
    if sys.platform != "linux" or calls is None:
        return False
    ends = {"allow": _ALLOW, "kill": _KILL, "trap": _TRAP, "refuse": _REFUSE}
    # A step: what to do, with which number, and where to go on yes and no; None is the next step.
    plan: list[tuple[int, int, str | None, str | None]] = [
        (_LOAD, _MACHINE, None, None),
        (_EQUAL, calls.machine, None, "allow"),
        (_LOAD, _NUMBER, None, None),
        (_EQUAL, calls.socket, "trap", None),
        *((_EQUAL, number, "kill", None) for number in calls.processes),
        (_EQUAL, calls.clone3, "refuse", None),  # its flags cannot be seen; libraries then use the older call
        (_EQUAL, calls.clone, None, "allow"),
        (_LOAD, _FIRST_ARGUMENT, None, None),
        (_HAS, _THREAD, "allow", "kill"),
    ]
    places = {name: len(plan) + at for at, name in enumerate(ends)}

    def ahead(at: int, goal: str | None) -> int:
        return 0 if goal is None else places[goal] - at - 1

    steps = [_Step(code, ahead(at, yes), ahead(at, no), k) for at, (code, k, yes, no) in enumerate(plan)]
    steps += [_Step(_RETURN, 0, 0, end) for end in ends.values()]
    program = _Program(len(steps), (_Step * len(steps))(*steps))
    signal.signal(signal.SIGSYS, lambda *_: on_socket())
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_rights, set_filter, filter_mode = 38, 22, 2
    if libc.prctl(no_new_rights, 1, 0, 0, 0) != 0:
        return False
    return bool(libc.prctl(set_filter, filter_mode, ctypes.byref(program), 0, 0) == 0)
