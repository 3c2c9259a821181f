"""How far two samples are apart: ``names()`` and ``make(name, **options)``."""

from kcrc.distances import pixel
from kcrc.distances.base import Distance, VectorDistance, make, names, register, resolve
from kcrc.distances.unified import Unified

__all__ = ["Distance", "Unified", "VectorDistance", "make", "names", "pixel", "register", "resolve"]
