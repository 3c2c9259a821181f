"""Pictures decoded in this process, so that a test can change how: the worker's functions without the box."""

from __future__ import annotations

from typing import Any

import pytest

from kcrc.files.box import Broken
from kcrc.images.decoding import decoder, worker


class Unboxed:
    """As a ``WorkerPool`` of ``worker``, without processes or limits."""

    def ask(self, head: dict[str, Any], content: bytes, **_: Any) -> tuple[dict[str, Any], bytearray]:
        try:
            reply = worker.answer(head, bytearray(content))
        except MemoryError:
            raise Broken("memory", "") from None
        told = {name: list(value) if isinstance(value, tuple) else value for name, value in reply.head.items()}
        return told, bytearray(b"".join(reply.pieces))


def unbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decode in this process until the test ends."""
    monkeypatch.setattr(decoder, "_workers", lambda readers: Unboxed())
