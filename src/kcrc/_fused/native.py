"""Loads the compiled module that fits this CPU, or nothing: every caller has a NumPy way to go on.

``KCRC_NATIVE=0`` switches the compiled module off, ``KCRC_NATIVE=_native`` forces the plain build.
"""

from __future__ import annotations

import importlib
import os
from types import ModuleType


def _load() -> ModuleType | None:
    wish = os.environ.get("KCRC_NATIVE", "")
    if wish == "0":
        return None
    try:
        plain = importlib.import_module("kcrc._fused._native")
    except ImportError:
        return None
    if wish == "_native" or not plain.cpu_has_avx2():
        return plain
    try:
        return importlib.import_module("kcrc._fused._native_avx2")
    except ImportError:
        return plain


native = _load()
