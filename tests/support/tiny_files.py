"""Tiny files in the formats of the published sets."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np


def write_idx(path: Path, values: np.ndarray) -> Path:
    codes = {"uint8": 8, "int16": 11, "float32": 13}
    head = bytes([0, 0, codes[values.dtype.name], values.ndim]) + np.array(values.shape, ">u4").tobytes()
    content = head + values.astype(values.dtype.newbyteorder(">")).tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def write_pgm(path: Path, image: np.ndarray, comment: bytes = b"") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    height, width = image.shape
    path.write_bytes(b"P5\n" + comment + b"%d %d\n255\n" % (width, height) + image.tobytes())
    return path
