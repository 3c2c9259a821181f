"""A job for tests of the box: it does as it is told, good or bad."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from typing import Any

from kcrc.errors import DataError
from kcrc.files.boxed import Reply

_kept = []


def prepare(*options: str) -> None:
    if options == ("broken",):
        raise ImportError("no such package")


def answer(head: dict[str, Any], content: bytearray) -> Reply:
    return globals()[f"_{head['do']}"](head, content)


def _echo(head: dict[str, Any], content: bytearray) -> Reply:
    return Reply({"said": head["say"]}, len(content), [content[:3], content[3:]])


def _loop(head: dict[str, Any], content: bytearray) -> Reply:
    while True:
        pass


def _sleep(head: dict[str, Any], content: bytearray) -> Reply:
    time.sleep(head["seconds_asleep"])
    return Reply({})


def _take(head: dict[str, Any], content: bytearray) -> Reply:
    _kept.append(bytearray(head["bytes"]))
    _kept.clear()
    return Reply({})


def _fail(head: dict[str, Any], content: bytearray) -> Reply:
    raise DataError("it is not what it should be")


def _crash(head: dict[str, Any], content: bytearray) -> Reply:
    ctypes.string_at(0)
    return Reply({})


def _give(head: dict[str, Any], content: bytearray) -> Reply:
    return Reply({}, head["bytes"], [bytes(head["bytes"])])


def _modules(head: dict[str, Any], content: bytearray) -> Reply:
    return Reply({"names": sorted(sys.modules), "environment": sorted(os.environ)})


def _descriptors(head: dict[str, Any], content: bytearray) -> Reply:
    found = []
    for number in range(64):
        try:
            os.fstat(number)
        except OSError:
            continue
        found.append(number)
    return Reply({"open": found})


def _forbidden(head: dict[str, Any], content: bytearray) -> Reply:
    """What of all that could be done; the names of what worked."""
    path = head["path"]
    tries = {
        "read": lambda: open(path).close(),
        "write": lambda: open(path + "x", "w").close(),
        "remove": lambda: os.unlink(path),
        "rename": lambda: os.rename(path, path + "y"),
        "connect": lambda: socket.socket(),
        "run": lambda: subprocess.run(["/bin/true"], check=True),
        "replace": lambda: os.execv("/bin/true", ["true"]),
        "fork": lambda: os.fork() or os._exit(0),
        "signal": lambda: os.kill(head["process"], signal.SIGTERM),
    }
    worked = []
    for name, attempt in tries.items():
        try:
            attempt()
        except OSError:
            continue
        worked.append(name)
    return Reply({"worked": worked})
