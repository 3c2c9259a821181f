"""Reads hostile files in a process with little memory: ``python -m images.features.hostile_child KIND FIRST COUNT``.

KIND is ``onnx`` (the audit), ``weights`` (PyTorch files) or ``sessions`` (what the audit lets through is opened and
run as the feature ``onnx`` does it). Seeds FIRST to FIRST + COUNT. Prints how many passed and how many were refused;
anything but a KCRCError of some words, a file that is opened, a connection, or a seed that takes more than a minute
ends it with an error.
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import sys

import numpy as np

from kcrc.errors import KCRCError
from kcrc.images.network.onnx_apart import ApartSession
from kcrc.images.network.onnx_audit import audit
from kcrc.images.network.torch_weights import read_state_dict

from .hostile_onnx import hostile_onnx
from .hostile_weights import hostile_weights
from .onnx_files import good_onnx
from .torch_files import as_stream, as_zip

SECONDS = 60
MEMORY = 2 << 30
WATCHED = ("open", "os.listdir", "os.scandir", "socket.", "subprocess.", "os.exec", "os.system", "import")


def session(content: bytes) -> None:
    audit(content, "seed")
    ApartSession(content, source="seed", threads=1).run(np.ones((2, 3, 8, 8), np.float32))


KINDS = {
    "onnx": lambda seed: audit(hostile_onnx(seed), "seed"),
    "weights": lambda seed: read_state_dict(hostile_weights(seed)),
    "sessions": lambda seed: session(hostile_onnx(seed)),
}


def main(kind: str, first: int, count: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if kind != "sessions":  # there another process does the work, and has limits of its own
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        audit(good_onnx(), "good")
        b"a".decode("raw_unicode_escape")  # pickletools imports this one when it is first needed
        assert read_state_dict(as_zip()).keys() == read_state_dict(as_stream()).keys()
        sys.addaudithook(_watch)
    told = {"passed": 0, "refused": 0, "refused at length": 0}
    for seed in range(first, first + count):
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        try:
            KINDS[kind](seed)
            told["passed"] += 1
        except KCRCError as problem:
            told["refused" if len(str(problem)) < 2000 else "refused at length"] += 1
        except BaseException:
            os.write(2, f"seed {seed}\n".encode())
            raise
    faulthandler.cancel_dump_traceback_later()
    print(json.dumps(told))


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if event.startswith(WATCHED):
        os.write(2, f"{event} {arguments}\n".encode())
        os._exit(3)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
