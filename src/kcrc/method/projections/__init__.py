"""Dimension reduction in kernel space: ``names()`` and ``make(name, **options)``."""

from kcrc.method.projections.base import Identity, Projection, make, names, register, resolve

__all__ = ["Identity", "Projection", "make", "names", "register", "resolve"]
