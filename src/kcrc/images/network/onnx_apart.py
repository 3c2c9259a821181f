"""A network of somebody else's, run in the box by a worker of its own (``onnx_runtime.answer``).

The audit keeps files out of a network's reach. It cannot tell a network that makes onnxruntime fail: a convolution
by steps of zero, a split into nothing. Such faults end the process they happen in, and that is not to be ours.
"""

from __future__ import annotations

from kcrc._base.arrays import Array
from kcrc.errors import DataError
from kcrc.files.archive import from_npy, to_npy
from kcrc.files.box import Broken, Worker
from kcrc.files.boxed import Head

MEMORY = 8 << 30  # bytes that a network may take, beside four times its file
SECONDS = 120.0  # that a picture may take, and the loading of the network
_LONGEST_REPLY = 1 << 30


class ApartSession:
    """As ``onnx_runtime.Session``, in another process."""

    def __init__(self, content: bytes, *, source: str, threads: int | None = None, output: str | None = None) -> None:
        self._source = source
        self._worker = Worker("kcrc.images.network.onnx_runtime", memory=MEMORY + 4 * len(content))
        head, _ = self._ask({"source": source, "threads": threads, "output": output}, content, seconds=SECONDS)
        names = head.get("outputs")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise DataError("The process of the network gave no list of its outputs.")
        self.vector_outputs = tuple(names)

    @property
    def usable(self) -> bool:
        """False where the process has ended, or belongs to the process that this one was forked from."""
        return self._worker.is_usable

    def run(self, ready: Array) -> Array:
        """The output for a batch."""
        _, reply = self._ask({}, to_npy(ready), seconds=SECONDS * len(ready))
        return from_npy(bytes(reply), what=f"output of {self._source}")

    def _ask(self, head: Head, content: bytes, *, seconds: float) -> tuple[Head, bytearray]:
        try:
            return self._worker.ask(head, content, clock=seconds, limit=_LONGEST_REPLY)
        except Broken as problem:
            why = {
                "time": f"it took more than {SECONDS:g} seconds for a picture",
                "memory": "it needs more memory than it may take",
            }.get(problem.reason, f"onnxruntime broke down over it ({problem})")
        raise DataError(f"The network {self._source} cannot be used: {why}.")
