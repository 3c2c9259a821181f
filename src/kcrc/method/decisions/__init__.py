"""How classes are judged once a query is coded: ``names()``, ``make(name)`` and ``register(name)``."""

from kcrc.method.decisions.base import Decision, make, named, names, register

__all__ = ["Decision", "make", "named", "names", "register"]
