"""What a worker of the box does with a network: opens it once, and gives its output for batches of pictures.

The network is audited and opened in the worker after that has given up all files. What the audit overlooked then
still finds no file to read.
"""

from __future__ import annotations

from kcrc.files.archive import from_npy, to_npy
from kcrc.files.boxed import Head, Reply
from kcrc.images.network.onnx_runtime import Session, onnxruntime

_opened: list[Session] = []


def prepare() -> None:
    """Import onnxruntime."""
    onnxruntime()


def answer(head: Head, content: bytearray) -> Reply:
    """Open the network in ``content``, which the first request has; after that its output for a batch."""
    if not _opened:
        session = Session(bytes(content), source=head["source"], threads=head["threads"], output=head["output"])
        _opened.append(session)
        return Reply({"outputs": session.vector_outputs})
    output = to_npy(_opened[0].run(from_npy(bytes(content))))
    return Reply({}, len(output), [output])
