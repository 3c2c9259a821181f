"""onnxruntime: imported in this file and nowhere else, kept quiet, and given only what the audit let through."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError, FileError, ParameterError
from kcrc.files.archive import from_npy, to_npy
from kcrc.files.atomic import write_bytes
from kcrc.files.boxed import Head, Reply
from kcrc.files.plain_files import read_plain
from kcrc.files.safe_paths import cache_dir, sha256
from kcrc.images.network.onnx_audit import audit


def onnxruntime() -> Any:
    """The package, told before it is imported to send nothing.

    Since 1.31 it writes a number for this machine and a queue of events into the user's cache as it is imported, and
    sends them some seconds later. The variable prevents all of it, but only before the import. Where a program has
    imported the package itself, all that is left is to ask for no more than what it calls essential.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        import onnxruntime as package
    except ImportError:
        raise ParameterError(
            "This feature runs on onnxruntime, which is not installed. Install it: pip install 'kcrc[embedding]'."
        ) from None
    package.disable_telemetry_events()
    return package


class Session:
    """A network ready to run in this process: ``run`` takes (n, …) float32 and gives its output ``output`` (or the
    first). ``vector_outputs`` are the others that are one vector a picture. ``source`` names the file in errors."""

    usable = True

    def __init__(self, content: bytes, *, source: str, threads: int | None = None, output: str | None = None) -> None:
        package = onnxruntime()
        audit(content, source)
        options = package.SessionOptions()
        options.intra_op_num_threads = threads or os.cpu_count() or 1
        options.log_severity_level = 4  # what goes wrong is raised as well
        # Threads that wait by spinning take the cores from the decoding of the next images.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # Else onnxruntime judges by some bytes whether it is given a file of its own format, which was not audited.
        options.add_session_config_entry("session.load_model_format", "ONNX")
        try:
            self._session = package.InferenceSession(content, options, providers=["CPUExecutionProvider"])
            inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        except Exception as problem:  # onnxruntime's own exceptions share no base class
            raise DataError(f"{source} cannot be used as an ONNX file: {first_line(problem)}") from problem
        if not inputs or not outputs:
            raise DataError(f"{source} cannot be used as an ONNX file: it takes no pictures, or gives nothing.")
        self._source = source
        self._input = inputs[0].name
        self._output = output or outputs[0].name
        # By what the file says of them: (n, d) numbers, or with axes of length 1 behind.
        self.vector_outputs = tuple(o.name for o in outputs[1:] if "float" in o.type and _is_vector(o.shape))

    def run(self, ready: Array) -> Array:
        """The output for a batch."""
        try:
            (result,) = self._session.run([self._output], {self._input: ready})
        except Exception as problem:  # onnxruntime's own exceptions share no base class
            raise DataError(f"The network {self._source} failed: {first_line(problem)}") from problem
        return np.asarray(result)


def _is_vector(shape: Sequence[Any] | None) -> bool:
    return shape is not None and len(shape) >= 2 and all(side == 1 for side in shape[2:])


def first_line(problem: Exception) -> str:
    """What a library says of its own error, cut short."""
    return (str(problem).splitlines() or [type(problem).__name__])[0][:500]  # names out of the file are in it


# A worker of the box opens a network once, and gives its output for batches of pictures (``onnx_apart``). It audits and
# opens the network after it has given up all files: what the audit overlooked finds no file to read.

_opened: list[Session] = []


def prepare() -> None:
    """Import onnxruntime while files can be opened."""
    onnxruntime()


def answer(head: Head, content: bytearray) -> Reply:
    """Open the network in ``content``, which the first request has; after that its output for a batch."""
    if not _opened:
        session = Session(bytes(content), source=head["source"], threads=head["threads"], output=head["output"])
        _opened.append(session)
        return Reply({"outputs": session.vector_outputs})
    output = to_npy(_opened[0].run(from_npy(bytes(content))))
    return Reply({}, len(output), [output])


# Network files: read where the user names them, kept under their SHA-256 for the next time.
#
# A gallery says which network made its vectors by the SHA-256 of its file, and what the file was called, for people.
# It never says where: a path out of a file is not opened, from whatever source. What is opened is a file that the
# user names (as an option of the feature, by ``--model``, ``model=`` or ``$KCRC_MODEL``), or the copy that was kept in
# the user's cache, ``models/SHA-256.onnx``, when the user named it before.

LARGEST = (1 << 31) - 1  # bytes: Protocol Buffers end there
_SHA256 = re.compile(r"[0-9a-f]{64}")


def read_model(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a network file that the user named."""
    return read_plain(path, limit=LARGEST, what="ONNX file")


def is_sha256(text: object) -> bool:
    """True for what may stand in a file as a SHA-256; anything else could lead out of the cache."""
    return isinstance(text, str) and _SHA256.fullmatch(text) is not None


def keep(content: bytes) -> None:
    """Put a copy into the cache. Where that cannot be, the user has to name the file again."""
    path = _kept_path(sha256(content))
    if load_cached(path.stem) is not None:
        return
    with contextlib.suppress(FileError):  # a cache that cannot be written costs a question, not the answer
        write_bytes(path, content)


def load_cached(due: str) -> bytes | None:
    """The copy in the cache, if there is one and it is what its name says."""
    try:
        content = read_plain(_kept_path(due), limit=LARGEST, follow=False)
    except FileError:
        return None
    return content if sha256(content) == due else None


def _kept_path(due: str) -> Path:
    return cache_dir() / "models" / f"{due}.onnx"
