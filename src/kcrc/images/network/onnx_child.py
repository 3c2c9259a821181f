"""The other side of ``onnx_apart``: a process that runs one network and can do nothing else.

Once everything is loaded it gives up, for good, to open a file or a connection, to write to one, and to take more than
its share of memory. What the audit overlooked then still finds no file to read, and a network that brings onnxruntime
down brings down this process alone.

Messages are a byte (1: as asked, 0: an error in words), the length in eight bytes, and the content.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import struct
import sys
from typing import IO

from kcrc.errors import DataError, KCRCError
from kcrc.files.archive import from_npy, to_npy
from kcrc.images.network.onnx_runtime import Session, onnxruntime

_HEAD = struct.Struct("<BQ")


def send(stream: IO[bytes], content: bytes, *, fine: bool = True) -> None:
    """Write one message."""
    stream.write(_HEAD.pack(fine, len(content)))
    stream.write(content)
    stream.flush()


def receive(stream: IO[bytes], *, limit: int) -> tuple[bool, bytes] | None:
    """Read one message; None where the stream ends instead."""
    head = stream.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    fine, length = _HEAD.unpack(head)
    if length > limit:
        raise DataError(f"A message of {length} bytes is longer than the limit of {limit}.")
    content = stream.read(length)
    return None if len(content) < length else (bool(fine), content)


def _give_up(memory: int) -> None:
    """No new files or connections, nothing written to files, no traces of a crash, at most ``memory`` bytes."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    limits = {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": 0, "RLIMIT_NOFILE": 0, "RLIMIT_DATA": memory, "RLIMIT_AS": 4 * memory}
    for name, most in limits.items():
        with contextlib.suppress(ValueError, OSError, AttributeError):  # where the system does not know it
            resource.setrlimit(getattr(resource, name), (most, most))


def main() -> None:
    """Take the settings and the network, answer batches until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program that started us; it ends us
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints must not get between the messages
    requests = sys.stdin.buffer
    first, second = receive(requests, limit=1 << 20), receive(requests, limit=sys.maxsize)
    if first is None or second is None:
        return
    settings = json.loads(first[1])
    session = None
    try:
        onnxruntime()
        _give_up(settings["memory"])
        session = Session(second[1], source=settings["source"], threads=settings["threads"], output=settings["output"])
        send(replies, json.dumps(session.vector_outputs).encode())
    except (KCRCError, MemoryError) as problem:
        send(replies, _words(problem), fine=False)
        return
    del second
    while (request := receive(requests, limit=sys.maxsize)) is not None:
        try:
            send(replies, to_npy(session.run(from_npy(request[1]))))
        except (KCRCError, MemoryError) as problem:
            send(replies, _words(problem), fine=False)


def _words(problem: Exception) -> bytes:
    return (str(problem) or "The network needs more memory than it may take.").encode("utf-8", "backslashreplace")


if __name__ == "__main__":
    main()
