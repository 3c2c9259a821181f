"""Published image sets by name: ``names()``, ``available()``, ``load(name, data=None)``."""

from kcrc.datasets.catalogue import available, load, locate, names, source

__all__ = ["available", "load", "locate", "names", "source"]
