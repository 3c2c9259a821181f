"""How far two samples are apart: ``names()`` and ``make(name, **options)``."""

from kcrc.distances import (  # noqa: F401  (importing a family registers its distances)
    geometric_blur,
    histogram,
    lbp,
    pixel,
    precomputed,
    shape_context,
    sift,
    tangent,
    textons,
    unified,
)
from kcrc.distances.base import Distance, VectorDistance, make, names, register, resolve
from kcrc.distances.unified import Unified

__all__ = ["Distance", "Unified", "VectorDistance", "make", "names", "register", "resolve"]
