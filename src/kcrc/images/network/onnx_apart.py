"""A network of somebody else's, run in a process of its own (``onnx_child``).

The audit keeps files out of a network's reach. It cannot tell a network that makes onnxruntime fail: a convolution
by steps of zero, a split into nothing. Such faults end the process they happen in, and that is not to be ours. The
process is given the bytes of the network and the pictures, and gives back vectors; memory and time are limited.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import weakref

from kcrc._base.arrays import Array
from kcrc.errors import DataError, StateError
from kcrc.files.archive import from_npy, to_npy
from kcrc.files.plain_files import read_json
from kcrc.images.network.onnx_child import receive, send

MEMORY = 8 << 30  # bytes that a network may take, beside four times its file
SECONDS = 120.0  # that a picture may take, and the loading of the network
_LONGEST_REPLY = 1 << 30


class ApartSession:
    """As ``onnx_runtime.Session``, in another process."""

    def __init__(self, content: bytes, *, source: str, threads: int | None = None, output: str | None = None) -> None:
        if not sys.executable:
            raise StateError("This program does not know its Python, which it would need to run a network apart.")
        self._source = source
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._late = False
        # The other process finds packages where this one does; nothing is taken from the folder it is started in.
        there = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "ORT_DISABLE_TELEMETRY": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "kcrc.images.network.onnx_child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **there},
        )
        self._end = weakref.finalize(self, _ended, self._process, self._owner)
        settings = {"source": source, "threads": threads, "output": output, "memory": MEMORY + 4 * len(content)}
        self.vector_outputs = _names(self._exchange(json.dumps(settings).encode(), content, seconds=SECONDS))

    @property
    def usable(self) -> bool:
        """False where the process has ended, or belongs to the process that this one was forked from."""
        return self._owner == os.getpid() and self._process.poll() is None

    def run(self, ready: Array) -> Array:
        """The output for a batch."""
        reply = self._exchange(to_npy(ready), seconds=SECONDS * len(ready))
        return from_npy(reply, what=f"output of {self._source}")

    def _exchange(self, *messages: bytes, seconds: float) -> bytes:
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        with self._lock:
            clock = threading.Timer(seconds, self._stop)
            clock.daemon = True
            clock.start()
            try:
                for message in messages:
                    send(process.stdin, message)
                reply = receive(process.stdout, limit=_LONGEST_REPLY)
            except OSError:
                reply = None
            except BaseException:  # half a message would be taken for the next
                process.kill()
                raise
            finally:
                clock.cancel()
                clock.join()  # it holds on to this object
        if reply is None:
            raise DataError(f"The network {self._source} cannot be used: {self._why()}.")
        fine, content = reply
        if not fine:
            raise DataError(content.decode("utf-8", "replace"))
        return content

    def _stop(self) -> None:
        self._late = True
        self._process.kill()

    def _why(self) -> str:
        self._process.kill()
        code = self._process.wait()
        if self._late:
            return f"it took more than {SECONDS:g} seconds for a picture"
        how = signal.Signals(-code).name if -code in set(signal.Signals) else f"exit code {code}"
        return f"onnxruntime broke down over it ({how})"


def _names(reply: bytes) -> tuple[str, ...]:
    try:
        found = read_json(reply)
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise DataError("The process of the network gave no list of its outputs.")
    return tuple(found)


def _ended(process: subprocess.Popen[bytes], owner: int) -> None:
    if os.getpid() != owner:
        return
    process.kill()
    process.communicate()
