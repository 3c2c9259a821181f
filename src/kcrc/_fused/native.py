"""Loads the compiled module that fits this CPU, or nothing: every caller has a NumPy way to go on.

``KCRC_NATIVE=0`` switches the compiled module off, ``KCRC_NATIVE=_native`` forces the build for any CPU.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from types import ModuleType


def _load() -> tuple[ModuleType | None, str]:
    wish = os.environ.get("KCRC_NATIVE", "")
    if wish == "0":
        return None, "switched off by KCRC_NATIVE=0"
    try:
        plain = importlib.import_module("kcrc._fused._native")
    except ImportError as error:
        reason = Path(__file__).with_name("not_built.txt")
        return None, f"not built: {reason.read_text().strip()}" if reason.exists() else f"not built ({error})"
    if wish == "_native":
        return plain, "asked for by KCRC_NATIVE=_native"
    if not plain.cpu_has_avx2():
        return plain, "this CPU has no AVX2 and FMA"
    try:
        return importlib.import_module("kcrc._fused._native_avx2"), "this CPU has AVX2 and FMA"
    except ImportError as error:
        return plain, f"the AVX2 build cannot be loaded ({error})"


native, why = _load()
"""The module, and why it is this one or none."""


def path() -> str:
    """Which native path is in use: ``avx2``, ``portable`` or ``none``."""
    return "none" if native is None else str(native.level)
