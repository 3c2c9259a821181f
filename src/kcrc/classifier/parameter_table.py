"""What each parameter of a classifier may be: one row each, which checks a value and writes its type in the docs.

A value is looked at by itself, before any data, so that a typing error does not wait for a search. What one parameter
asks of another is in ``kcrc.classifier.parameters``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kcrc._base.parallel import worker_count
from kcrc._base.seeds import seed_of
from kcrc.errors import ParameterError, UnknownName
from kcrc.method import coding, decisions, distances, kernels, local_problem, projections, scaling
from kcrc.method.coding.base import at_least, count
from kcrc.method.kernels.base import positive
from kcrc.method.neighbours.searches import SEARCHES, check_search
from kcrc.tuning.request import AUTO, is_open

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


@dataclass(frozen=True)
class Parameter:
    """``types``: what it may be, as the docs write it; ``check`` raises where a value is none of them; ``searched``: it
    may be left "auto"."""

    name: str
    types: tuple[str, ...]
    check: Callable[[Any], object]
    searched: bool = False

    @property
    def words(self) -> str:
        """The types in one line, as in "int, None or "auto""."""
        *all_but_last, last = (*self.types, f'"{AUTO}"') if self.searched else self.types
        return f"{', '.join(all_but_last)} or {last}" if all_but_last else last

    def checked(self, value: Any) -> None:
        """Raise where it cannot be ``value``."""
        if not (self.searched and is_open(value)):
            self.check(value)


def byte_count(value: int | str) -> int:
    """Bytes of a memory budget."""
    match = re.fullmatch(r"\s*([\d.]+)\s*([A-Za-z]*)\s*", str(value))
    if isinstance(value, bool) or match is None or match[2].upper() not in UNITS or match[1].count(".") > 1:
        raise ParameterError(f'memory_budget is a number of bytes or a text like "512MB"; got {value!r}.')
    size = int(float(match[1]) * UNITS[match[2].upper()])
    if size < 2**20:
        raise ParameterError(f"memory_budget is at least 1 MiB; got {value!r}.")
    return size


def _count_or_none(name: str, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ParameterError(f"{name} is a whole number, 1 or more, or None; got {value!r}.")


def _number(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise ParameterError(f"{name} is a number; got {value!r}.")


def _gamma(value: Any) -> None:
    if not isinstance(value, str):
        positive("gamma", value)
    elif value != "scale":
        raise UnknownName("gamma", value, (AUTO, "scale"))


def _kernel(value: Any) -> None:
    if isinstance(value, str):
        kernels.registry.maker(value)
    else:
        kernels.resolve(value, distance=distances.make("euclidean"), gamma=1.0, degree=1, coef0=0.0)


def _distance(value: Any) -> None:
    if not callable(value):
        distances.resolve(value)


def _decision(value: Any) -> None:
    """Also one that the program registered itself, so it is looked up when it is asked for."""
    if not isinstance(value, str) or value not in decisions.names():
        raise UnknownName("decision", value, (*decisions.names(), AUTO))


def _seed(value: Any) -> None:
    if not isinstance(value, np.random.RandomState | np.random.Generator):  # of which a fit draws once
        seed_of(value)


def _flag_or_none(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, (bool, np.bool_, int)):
        raise ParameterError(f"{name} is True, False or None; got {value!r}.")


def _one_of(name: str, *known: str) -> Parameter:
    """A parameter with a few names, one of which may be found for it."""

    def check(value: Any) -> None:
        if value not in known:
            raise UnknownName(name, value, (*known, AUTO))

    return Parameter(name, (_set(*known),), check, searched=True)


def _set(*names: str) -> str:
    return "{" + ", ".join(f'"{name}"' for name in names) + "}"


TABLE = (
    Parameter("n_neighbors", ("int", "None"), partial(_count_or_none, "n_neighbors"), searched=True),
    Parameter("n_candidates", ("int", "None"), partial(_count_or_none, "n_candidates")),
    Parameter("distance", ("str", "Distance", "callable"), _distance),
    Parameter("coarse_distance", ("str", "Distance", "callable"), _distance),
    Parameter("metric", (_set(*scaling.names(), "precomputed"), "Metric"), scaling.resolve, searched=True),
    Parameter("kernel", ("str", "Kernel", "callable"), _kernel, searched=True),
    Parameter("gamma", ("float", '"scale"'), _gamma, searched=True),
    Parameter("degree", ("int",), lambda value: count("degree", value, 1)),
    Parameter("coef0", ("float",), partial(_number, "coef0")),
    Parameter("mu", ("float",), lambda value: at_least("mu", value, 0), searched=True),
    Parameter(
        "form", (_set(*local_problem.FORMS),), lambda value: local_problem.resolve(value, normalize=True), searched=True
    ),
    Parameter("normalize_columns", ("bool",), lambda value: local_problem.resolve("rkhs", normalize=value)),
    Parameter("decision", (_set(*decisions.names()),), _decision, searched=True),
    _one_of("locality", "atoms", "classes"),
    Parameter("coder", ("str", "Coder"), coding.resolve),
    Parameter("projection", ("str", "Projection"), projections.resolve),
    Parameter("search", (_set(*SEARCHES),), check_search),
    Parameter("tuning_seconds", ("float",), partial(positive, "tuning_seconds")),
    Parameter("n_jobs", ("int", "None"), worker_count),
    Parameter("memory_budget", ("int", "str"), byte_count),
    Parameter("random_state", ("int", "RandomState", "Generator", "None"), _seed),
    Parameter("verbose", ("bool", "None"), partial(_flag_or_none, "verbose")),
)
SEARCHED = tuple(row.name for row in TABLE if row.searched)
