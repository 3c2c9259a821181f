"""Beyond one process: engines that spread work, a gallery in shards, and a server that searches.

Importing this is light: what it names is imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kcrc.scale import engines
    from kcrc.scale.on_server import ServerAnswerer
    from kcrc.scale.sharded import shards_of_gallery

__all__ = ["ServerAnswerer", "engines", "shards_of_gallery"]

_HOMES = {"ServerAnswerer": "kcrc.scale.on_server", "shards_of_gallery": "kcrc.scale.sharded"}


def __getattr__(name: str) -> Any:
    if name == "engines":
        return importlib.import_module("kcrc.scale.engines")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'kcrc.scale' has no attribute {name!r}")
