"""Image files in: decoded safely, turned upright, brought to the size asked for, many at a time.

Nothing of a file is trusted. Its bytes are counted before they are read (``accepted``), its parts are walked over and
only those that a decoder needs are handed to one (``stored``), its pixels and the memory it will take are counted
before it is decoded (``decoding``, ``memory``), and whatever a decoder raises becomes one ``ImageError`` that names the
file. ``read_many`` counts those or stops at the first, as asked (``reading``).
"""

from __future__ import annotations

from kcrc.images.decoding.accepted import FORMATS, ImageError, Limits, fetch, printable
from kcrc.images.decoding.decoder import AS_IT_IS, Picture, decode
from kcrc.images.decoding.reading import OnError, Reading, read, read_chunks, read_many, summarise

__all__ = [
    "AS_IT_IS",
    "FORMATS",
    "ImageError",
    "Limits",
    "OnError",
    "Picture",
    "Reading",
    "decode",
    "fetch",
    "printable",
    "read",
    "read_chunks",
    "read_many",
    "summarise",
]
