"""Sees what a case does to files, processes and the network: Python's audit events, and inotify for native code."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from fuzz.failure import Failure
from fuzz.place import Place

_PROCESS = ("subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system")
_CHANGES = {"os.remove": 1, "os.rename": 2, "os.mkdir": 1, "os.rmdir": 1, "os.link": 2, "os.symlink": 2,
            "os.truncate": 1, "os.chmod": 1, "os.chown": 1, "shutil.rmtree": 1}  # fmt: skip
_SYSTEM = (
    "/proc/",
    "/sys/",
    "/dev/null",
    "/dev/urandom",
    "/dev/zero",
    "/etc/localtime",
    "/usr/share/zoneinfo",
    "/usr/lib/",
)
_SEEN_LIMIT = 20


class Watch:
    """While it is on, notes everything a case must not do. One a process: an audit hook cannot be taken away."""

    def __init__(self, place: Place, *, processes_too: bool) -> None:
        self.place = place
        self.seen: list[Failure] = []
        self._on = False
        self._processes_too = processes_too
        source = Path(__file__).resolve().parents[1]
        libraries = {sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), *filter(None, sys.path)}
        self._readable = (*(f"{os.path.realpath(path)}/" for path in libraries), f"{source}/", *_SYSTEM)
        self._cache = f"{place.root}/cache/"
        self._ours = f"{place.folder}/"
        self._canaries = frozenset(map(str, place.canaries))
        self._events = _Inotify([place.outside, place.home, place.folder])
        sys.addaudithook(self._hear)

    def __enter__(self) -> Self:
        self._events.drain()
        self.seen = []
        self._on = True
        return self

    def __exit__(self, *_: object) -> None:
        self._on = False
        for name in self._events.drain():
            if any(name == os.path.basename(path) for path in self._canaries):
                self._note("file", f"opened or changed {name}, which nobody named (seen by inotify)")

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._on:
            return
        if event == "open":
            path, mode, flags = arguments
            writes = bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)) if isinstance(flags, int) else mode != "r"
            self._judge(path, writes, "opened")
        elif event == "sqlite3.connect":
            self._judge(str(arguments[0]).removeprefix("file://").partition("?")[0], True, "opened")
        elif event in _CHANGES:
            for path in arguments[: _CHANGES[event]]:
                self._judge(path, True, event)
        elif event in _PROCESS and self._processes_too and not _is_worker(event, arguments):
            self._note("process", f"{event} {arguments!r:.200}")
        elif event.startswith("socket."):
            self._note("socket", f"{event} {arguments!r:.200}")
        elif event == "pickle.find_class":
            self._note("process", f"unpickled {arguments!r:.200}")

    def socket_made(self) -> None:
        """The kernel saw native code make one."""
        self._note("socket", "native code made a socket")

    def _judge(self, path: Any, writes: bool, what: str) -> None:
        if isinstance(path, int) or path is None:
            return
        text = os.path.normpath(os.path.join(self._ours, os.fsdecode(path)))
        ours = f"{text}/".startswith((self._ours, self._cache)) or text == os.devnull
        if text in self._canaries or not (ours or (not writes and text.startswith(self._readable))):
            self._note("file", f"{what} {os.path.relpath(text, self.place.root)!r:.200}")

    def _note(self, kind: str, detail: str) -> None:
        if len(self.seen) < _SEEN_LIMIT:
            self.seen.append(Failure(kind, detail))


def _is_worker(event: str, arguments: tuple[Any, ...]) -> bool:
    """Whether a process is a worker of the box, which reads hostile bytes under limits of its own."""
    return event == "subprocess.Popen" and "kcrc.files.boxed" in list(arguments[1])


class _Inotify:
    """Names of files that anything in this machine touched in some folders; nothing where inotify is missing."""

    _MASK = 0x20 | 0x2 | 0x4 | 0x40 | 0x80 | 0x200  # open, modify, attributes, moved from and to, delete

    def __init__(self, folders: Sequence[Path]) -> None:
        self._descriptor = -1
        if sys.platform != "linux":
            return
        libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for folder in folders:
            if self._descriptor >= 0:
                libc.inotify_add_watch(self._descriptor, os.fsencode(folder), self._MASK)

    def drain(self) -> set[str]:
        """The names since the last call."""
        names: set[str] = set()
        while self._descriptor >= 0:
            try:
                data = os.read(self._descriptor, 1 << 16)
            except BlockingIOError:
                break
            at = 0
            while at < len(data):
                _, _, _, length = struct.unpack_from("iIII", data, at)
                names.add(os.fsdecode(data[at + 16 : at + 16 + length].rstrip(b"\0")))
                at += 16 + length
        return names
