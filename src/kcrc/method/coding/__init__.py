"""How a query is represented by a dictionary: ``names()`` and ``make(name, **options)``."""

from kcrc.method.coding.base import Code, Coder, Dictionary, Target, make, names, register, resolve

__all__ = ["Code", "Coder", "Dictionary", "Target", "make", "names", "register", "resolve"]
