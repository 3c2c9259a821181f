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
    wide, why_not_wide = (None, "") if wish == "_native" else _import("_native_avx2")
    if wide is not None and wide.cpu_has_avx2():
        return wide, "this CPU has AVX2 and FMA"
    plain, why_not = _import("_native")
    if plain is not None:
        if wish == "_native":
            return plain, "asked for by KCRC_NATIVE=_native"
        fits = plain.cpu_has_avx2()
        return plain, f"the AVX2 build cannot be loaded ({why_not_wide})" if fits else "this CPU has no AVX2 and FMA"
    reason = Path(__file__).with_name("not_built.txt")
    return None, f"not built: {reason.read_text().strip()}" if reason.exists() else f"not built ({why_not})"


def _import(name: str) -> tuple[ModuleType | None, str]:
    """A module, or why there is none. Both levels can be imported on any CPU: what is called decides."""
    try:
        return importlib.import_module(f"kcrc.native.{name}"), ""
    except ImportError as error:
        return None, str(error)


native, why = _load()
"""The module, and why it is this one or none."""


def path() -> str:
    """Which native path is in use: ``avx2``, ``portable`` or ``none``."""
    return "none" if native is None else str(native.level)
