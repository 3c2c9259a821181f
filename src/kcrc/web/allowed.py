"""How much may come in: bytes, pixels, things at a time, seconds. All of it is looked at before anything is decoded."""

from __future__ import annotations

from dataclasses import dataclass

from kcrc.images.decoding.accepted import Limits


@dataclass(frozen=True)
class Allowed:
    """``bytes`` and ``pixels`` of one picture, ``count`` pictures or examples of one request, ``seconds`` that a body
    may take to arrive, ``json_bytes`` of a request in JSON, ``held`` pictures that wait to be asked again, ``uploads``
    that are read at the same time."""

    bytes: int = 32_000_000
    pixels: int = 64_000_000
    count: int = 500
    seconds: float = 30.0
    json_bytes: int = 1_000_000
    held: int = 4000
    held_bytes: int = 200_000_000
    uploads: int = 16

    @property
    def of_pictures(self) -> Limits:
        return Limits(self.bytes, self.pixels)
