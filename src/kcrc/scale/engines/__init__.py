"""Where work runs: in this process ("local", the default), or on a Ray cluster.

An engine sees functions and pieces of work, and nothing of galleries or classifiers. A new one is a module here and a
line in ``HOMES``; ``tests/scale/test_engines.py`` then checks what it has to do.
"""

from __future__ import annotations

from kcrc._base.registry import Registry
from kcrc.scale.engines.base import Engine, Held, Result

__all__ = ["ENGINES", "Engine", "Held", "Result", "make", "names"]

HOMES = {
    "local": "kcrc.scale.engines.local",
    "ray": "kcrc.scale.engines.on_ray",
}
ENGINES = Registry[Engine]("engine", HOMES)
names = ENGINES.names


def make(name: str, *, address: str | None = None, workers: int | None = None) -> Engine:
    """The engine called ``name``, to be used in a ``with`` block.

    ``address`` is that of a cluster that runs already; without one, an engine starts ``workers`` processes of its own
    on this machine (None: one per core) and ends them when it is closed."""
    return ENGINES.make(name, address=address, workers=workers)
