"""The parameters of a classifier: what each may be, in one table, and the settings that they make together.

A value is looked at by itself, before any data, so that a typing error does not wait for a search. What one parameter
asks of another is checked by ``kcrc.tuning.settings.MethodSettings``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np

from kcrc._base.parallel import worker_count
from kcrc._base.validation import seed_of
from kcrc._base.views import Layout
from kcrc.errors import ParameterError, UnknownName
from kcrc.method import coding, decisions, distances, kernels, local_problem, projections, scaling
from kcrc.method.coding.base import at_least, count
from kcrc.method.distances.base import Distance
from kcrc.method.fitted_model import Method
from kcrc.method.kernels.base import check_positive
from kcrc.method.neighbours.searches import SEARCHES, check_search
from kcrc.method.samples import SampleForm
from kcrc.tuning.settings import AUTO, SEARCHED, MemberSettings, MethodSettings, is_open

if TYPE_CHECKING:
    from kcrc.classifier.estimator import KCRCClassifier

P = ParamSpec("P")
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


@dataclass(frozen=True)
class Parameter:
    """``types``: what it may be, as the docs write it; ``check`` raises where a value is none of them."""

    name: str
    types: tuple[str, ...]
    check: Callable[[Any], object]

    @property
    def may_be_auto(self) -> bool:
        """Whether it may be left "auto"."""
        return self.name in SEARCHED

    @property
    def words(self) -> str:
        """The types in one line, as in "int, None or "auto""."""
        *all_but_last, last = (*self.types, f'"{AUTO}"') if self.may_be_auto else self.types
        return f"{', '.join(all_but_last)} or {last}" if all_but_last else last

    def check_value(self, value: Any) -> None:
        """Raise where it cannot be ``value``."""
        if not (self.may_be_auto and is_open(value)):
            self.check(value)


RENAMED = {"metric": 'scaling= for how vectors are scaled, or distance="precomputed" for a matrix of distances'}
"""What earlier versions called parameters, and what to use now."""


def refuses_earlier_names(init: Callable[P, None]) -> Callable[P, None]:
    """Let a constructor name the new parameter where one of an earlier version is given."""

    @wraps(init)
    def refusing(*args: P.args, **given: P.kwargs) -> None:
        for name in RENAMED.keys() & given.keys():
            raise ParameterError(f"There is no parameter '{name}' any more; use {RENAMED[name]}.")
        init(*args, **given)

    return refusing


def byte_count(value: int | str) -> int:
    """Bytes of a memory budget."""
    match = re.fullmatch(r"\s*([\d.]+)\s*([A-Za-z]*)\s*", str(value))
    if isinstance(value, bool) or match is None or match[2].upper() not in UNITS or match[1].count(".") > 1:
        raise ParameterError(f'memory_budget must be a number of bytes or a text like "512MB"; got {value!r}.')
    size = int(float(match[1]) * UNITS[match[2].upper()])
    if size < 2**20:
        raise ParameterError(f"memory_budget must be at least 1 MiB; got {value!r}.")
    return size


def _count_or_none(name: str, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ParameterError(f"{name} must be a whole number, 1 or more, or None; got {value!r}.")


def _number(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise ParameterError(f"{name} must be a number; got {value!r}.")


def _gamma(value: Any) -> None:
    if not isinstance(value, str):
        check_positive("gamma", value)
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
    """Also one that the program registered itself, so it is looked up each time."""
    if not isinstance(value, str) or value not in decisions.names():
        raise UnknownName("decision", value, (*decisions.names(), AUTO))


def _seed(value: Any) -> None:
    if not isinstance(value, np.random.RandomState | np.random.Generator):  # of which a fit draws once
        seed_of(value)


def _flag_or_none(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, (bool, np.bool_, int)):
        raise ParameterError(f"{name} must be True, False or None; got {value!r}.")


def _one_of(name: str, *known: str) -> Parameter:
    """A parameter with a few names, one of which may be found for it."""

    def check(value: Any) -> None:
        if value not in known:
            raise UnknownName(name, value, (*known, AUTO))

    return Parameter(name, (_set(*known),), check)


def _set(*names: str) -> str:
    return "{" + ", ".join(f'"{name}"' for name in names) + "}"


TABLE = (
    Parameter("n_neighbors", ("int", "None"), partial(_count_or_none, "n_neighbors")),
    Parameter("n_candidates", ("int", "None"), partial(_count_or_none, "n_candidates")),
    Parameter("distance", ("str", "Distance", "callable"), _distance),
    Parameter("coarse_distance", ("str", "Distance", "callable"), _distance),
    Parameter("scaling", (_set(*scaling.names()), "Scaling"), scaling.resolve),
    Parameter("kernel", ("str", "Kernel", "callable"), _kernel),
    Parameter("gamma", ("float", '"scale"'), _gamma),
    Parameter("degree", ("int",), lambda value: count("degree", value, 1)),
    Parameter("coef0", ("float",), partial(_number, "coef0")),
    Parameter("mu", ("float",), lambda value: at_least("mu", value, 0)),
    Parameter("form", (_set(*local_problem.FORMS),), lambda value: local_problem.resolve(value, normalize=True)),
    Parameter("normalize_columns", ("bool",), lambda value: local_problem.resolve("rkhs", normalize=value)),
    Parameter("decision", (_set(*decisions.names()),), _decision),
    _one_of("locality", "atoms", "classes"),
    Parameter("coder", ("str", "Coder"), coding.resolve),
    Parameter("projection", ("str", "Projection"), projections.resolve),
    Parameter("search", (_set(*SEARCHES),), check_search),
    Parameter("tuning_seconds", ("float",), partial(check_positive, "tuning_seconds")),
    Parameter("n_jobs", ("int", "None"), worker_count),
    Parameter("memory_budget", ("int", "str"), byte_count),
    Parameter("random_state", ("int", "RandomState", "Generator", "None"), _seed),
    Parameter("verbose", ("bool", "None"), partial(_flag_or_none, "verbose")),
)


def precomputed_kind(classifier: KCRCClassifier) -> str | None:
    """What the samples are where they are rows of a matrix, "kernel" or "distance"; None where they are vectors."""
    given = {name: getattr(classifier, name) for name in ("kernel", "distance")}
    return next((name for name, value in given.items() if isinstance(value, str) and value == "precomputed"), None)


def settings_of(given: KCRCClassifier, **of_fit: Any) -> MethodSettings:
    """Check the parameters of a classifier, whose samples have been looked at, and make the settings of them.

    ``of_fit`` is what parameters do not say: the seed that was drawn, and the last fields of ``MethodSettings``.
    """
    for row in TABLE:
        row.check_value(getattr(given, row.name))
    if of_fit.get("sampled"):
        _check_mapped(given)
    kind = precomputed_kind(given)
    layout = {} if kind == "kernel" else given.views_
    fine = _distance_part("distance", given.distance, layout)
    coarse = fine
    if given.n_candidates is not None:
        coarse = _distance_part("coarse_distance", given.coarse_distance, layout)
    return MethodSettings(
        members=(MemberSettings(**{name: getattr(given, name) for name in SEARCHED}, projection=given.projection),),
        samples=SampleForm(given.sample_shape_, given.views_),
        distance=fine,
        coarse_distance=coarse,
        precomputed=kind,
        normalize_columns=bool(given.normalize_columns),
        tuning_seconds=float(given.tuning_seconds),
        memory_budget=byte_count(given.memory_budget),
        **{name: getattr(given, name) for name in ("n_candidates", "degree", "coef0", "coder", "search", "n_jobs")},
        verbose=given.verbose,
        **of_fit,
    ).with_implied_values()


def _check_mapped(given: KCRCClassifier) -> None:
    """Raise where all examples, larger than memory, would have to be in it."""
    for reason, holds in {
        "n_neighbors=None is a dictionary of all examples": given.n_neighbors is None,
        'locality="classes" takes whole classes': given.locality == "classes",
        "a precomputed matrix has as many columns as there are examples": precomputed_kind(given) is not None,
        f'search="{given.search}" keeps a copy of the examples': given.search not in ("auto", "exact"),
    }.items():
        if holds:
            raise ParameterError(
                f"X is a mapped array larger than memory_budget={given.memory_budget!r}, and {reason}. Raise "
                'memory_budget to its size, or search exactly with a number of neighbours (locality="atoms").'
            )


def _distance_part(name: str, given: Any, layout: Layout) -> Distance:
    """The distance that a parameter says, which knows where the views it looks at are."""
    distance = distances.resolve(given)
    if layout and not distance.sees_views:
        raise ParameterError(
            f"X is a dict of views ({', '.join(layout)}), and {name}={given!r} does not say which to look at. "
            f'Use kcrc.distances.Unified(members={{"{next(iter(layout))}": {given!r}, ...}}).'
        )
    return distance.with_layout(layout)


def method_of_file(given: KCRCClassifier, method: Method) -> Method:
    """The method of a classifier that was stored. Earlier versions did not say whether the kernel is as wide as the
    data; it is where that was asked for, or left open and nothing was searched."""
    wide = given.gamma == "scale" or (given.gamma == AUTO and given.tuning_ is None)
    raw = local_problem.name_of(method.space) == "raw"
    if method.wide_as_data or not wide or not isinstance(given.kernel, str) or raw:
        return method
    return replace(method, wide_as_data=True)
