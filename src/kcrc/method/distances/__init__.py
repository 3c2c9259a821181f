"""How far two samples are apart: ``names()`` and ``make(name, **options)``."""

from kcrc.method.distances import pixel
from kcrc.method.distances.base import Distance, VectorDistance, make, names, register, resolve
from kcrc.method.distances.unified import Unified

__all__ = ["Distance", "Unified", "VectorDistance", "make", "names", "pixel", "register", "resolve"]
