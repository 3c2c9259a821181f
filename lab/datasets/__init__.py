"""Published image sets by name: ``names()``, ``available()``, ``load(name, data=None)``."""

from lab.datasets.catalogue import available, load, locate, names, source

__all__ = ["available", "load", "locate", "names", "source"]
