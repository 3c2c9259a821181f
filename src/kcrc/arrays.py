"""The type of an array, and the one precision that is stored but not computed with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def widened(values: Array) -> Array:
    """Half precision stores, it does not compute: as single precision. Anything else as it is."""
    return values.astype(np.float32) if values.dtype == np.float16 else values
