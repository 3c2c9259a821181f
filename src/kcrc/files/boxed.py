"""The other side of ``box``: a process that reads bytes of strangers and can do nothing else.

It imports what its job needs (a module with ``prepare(*options)`` and ``answer(head, content)``), then gives up, for
good, what the system lets it give up (``confine``), and answers requests until its input ends. A job that reads a
file too large to be sent at once has ``attach(fetch)`` as well; ``fetch(offset, size)`` gives a piece of it.

A message is two lengths, a JSON object and bytes. This file imports little, because every worker waits for it.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import struct
import sys
from collections.abc import Callable, Iterable
from itertools import chain
from typing import IO, Any, NamedTuple

from kcrc.errors import DataError, KCRCError

Head = dict[str, Any]
_LENGTHS = struct.Struct("<IQ")
_LONGEST_HEAD = 1 << 24
LONGEST_PIECE = 1 << 26  # bytes that a job may fetch at once

Fetch = Callable[[int, int], bytearray]


class Reply(NamedTuple):
    """What a job answers: a JSON object, and ``size`` bytes in pieces that are made while they are sent."""

    head: Head
    size: int = 0
    pieces: Iterable[Any] = ()


def send(stream: IO[bytes], head: Head, size: int = 0, pieces: Iterable[Any] = ()) -> None:
    """Write one message to an unbuffered stream."""
    text = json.dumps(head).encode()
    for piece in chain([_LENGTHS.pack(len(text), size) + text], pieces):
        rest = memoryview(piece).cast("B")
        while rest:
            rest = rest[stream.write(rest) :]


def receive(stream: IO[bytes], *, limit: int) -> tuple[Head, bytearray] | None:
    """Read one message from an unbuffered stream; None if the stream ends first."""
    lengths = _read(stream, _LENGTHS.size)
    if lengths is None:
        return None
    text_size, size = _LENGTHS.unpack(lengths)
    if text_size > _LONGEST_HEAD or size > limit:
        raise DataError(f"A message may have {limit} bytes; got one of {text_size} and {size}.")
    text = _read(stream, text_size)
    content = None if text is None else _read(stream, size)
    if text is None or content is None:
        return None
    try:
        head = json.loads(text)
    except (ValueError, RecursionError):
        head = None
    if not isinstance(head, dict):
        raise DataError("A message must begin with a JSON object.")
    return head, content


def _read(stream: IO[bytes], size: int) -> bytearray | None:
    content = bytearray(size)
    rest = memoryview(content)
    while rest:
        count: int = stream.readinto(rest)  # type: ignore[attr-defined]
        if not count:
            return None
        rest = rest[count:]
    return content


# Limits that the system enforces.


def confine(memory: int) -> None:
    """Open no files or connections from here on, write no files, leave no core file, take ``memory`` more bytes."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    can_filter = sys.platform == "linux" and os.uname().machine == "x86_64"
    if can_filter:
        importlib.import_module("ctypes")  # while files can be opened
    limits = {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": 0, "RLIMIT_NOFILE": 0}
    if sys.platform == "linux":  # macOS accepts a limit of memory and does not enforce it
        with open("/proc/self/status", "rb") as status:
            now = next(1024 * int(line.split()[1]) for line in status if line.startswith(b"VmData"))
        limits["RLIMIT_DATA"] = now + memory
    for name, most in limits.items():
        with contextlib.suppress(ValueError, OSError, AttributeError):  # the system does not know it
            resource.setrlimit(getattr(resource, name), (most, most))
    if can_filter:
        _filter_system_calls()


# What computing needs of the kernel (Linux, x86-64): memory, threads, clocks, and the descriptors that are open. All
# else (files, connections, programs, signals to others) is refused with EPERM.
_ALLOWED = {
    "read": 0, "write": 1, "close": 3, "fstat": 5, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12,
    "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "readv": 19, "writev": 20, "sched_yield": 24,
    "mremap": 25, "madvise": 28, "nanosleep": 35, "setitimer": 38, "getpid": 39, "exit": 60, "gettimeofday": 96,
    "getrusage": 98, "sysinfo": 99, "sigaltstack": 131, "gettid": 186, "futex": 202, "sched_setaffinity": 203,
    "sched_getaffinity": 204, "clock_gettime": 228, "clock_getres": 229, "clock_nanosleep": 230, "exit_group": 231,
    "set_robust_list": 273, "getrandom": 318, "membarrier": 324, "rseq": 334,
}  # fmt: skip
_CLONE, _CLONE3, _CLONE_THREAD = 56, 435, 0x00010000
_X86_64, _EPERM, _ENOSYS = 0xC000003E, 1, 38


def _filter_system_calls() -> None:
    import ctypes

    load, equal, has, give = 0x20, 0x15, 0x45, 0x06  # BPF: load a word, jump if equal, jump if bits are set, return
    allow, refuse = 0x7FFF0000, 0x00050000
    program = [
        (load, 0, 0, 4), (equal, 1, 0, _X86_64), (give, 0, 0, 0x80000000),  # calls of another kind end the process
        (load, 0, 0, 0), (equal, 0, 1, _CLONE3), (give, 0, 0, refuse | _ENOSYS),  # then clone is used
        (equal, 0, 4, _CLONE), (load, 0, 0, 16), (has, 0, 1, _CLONE_THREAD), (give, 0, 0, allow),
        (give, 0, 0, refuse | _EPERM),
    ]  # fmt: skip
    for number in _ALLOWED.values():
        program += [(equal, 0, 1, number), (give, 0, 0, allow)]
    program.append((give, 0, 0, refuse | _EPERM))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    filters = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(code)))
    prctl = ctypes.CDLL(None).prctl
    prctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong]
    no_new_privileges, seccomp, mode_filter = 38, 22, 2
    if prctl(no_new_privileges, 1, None, 0, 0) == 0:  # a kernel without filters leaves the limits above
        prctl(seccomp, mode_filter, ctypes.addressof(filters), 0, 0)


# The process.


def _fetcher(requests: IO[bytes], replies: IO[bytes]) -> Fetch:
    def fetch(offset: int, size: int) -> bytearray:
        pieces = bytearray()
        while size > 0:
            send(replies, {"fetch": [offset, min(size, LONGEST_PIECE)]})
            message = receive(requests, limit=LONGEST_PIECE)
            if message is None:
                raise SystemExit
            if not message[1]:
                break  # the end of the file
            pieces += message[1]
            offset, size = offset + len(message[1]), size - len(message[1])
        return pieces

    return fetch


def main(job: str, memory: str, *options: str) -> None:
    """Prepare a job, confine this process, answer requests until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program that started us; it ends us
    replies = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # whatever prints must not get between the messages
    requests = os.fdopen(0, "rb", buffering=0)
    work = importlib.import_module(job)
    work.prepare(*options)
    confine(int(memory))
    send(replies, {})  # ready
    timer = getattr(signal, "setitimer", None)
    if hasattr(work, "attach"):
        work.attach(_fetcher(requests, replies))
    while (request := receive(requests, limit=sys.maxsize)) is not None:
        if timer is not None:  # over its seconds of processor time, the kernel ends this process
            timer(signal.ITIMER_PROF, request[0].get("seconds", 0))
        try:
            reply = work.answer(*request)
        except MemoryError:
            reply = Reply({"fault": "memory"})
        except KCRCError as problem:
            reply = Reply({"error": str(problem)})
        del request
        send(replies, *reply)
        if timer is not None:
            timer(signal.ITIMER_PROF, 0)
        del reply


if __name__ == "__main__":
    main(*sys.argv[1:])
