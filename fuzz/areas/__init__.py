"""The areas, found by their files; importing one registers it."""

from __future__ import annotations

import importlib
import pkgutil

from fuzz.area import AREAS, Area


def load() -> dict[str, type[Area]]:
    """All areas by name."""
    for found in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{found.name}")
    return dict(sorted(AREAS.items()))
