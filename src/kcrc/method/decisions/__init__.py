"""How classes are judged once a query is coded: ``names``, ``make``, ``register`` and ``resolve``."""

from kcrc.method.decisions.base import Decision, make, names, register, resolve

__all__ = ["Decision", "make", "names", "register", "resolve"]
