"""What was learned from the examples, learned anew from others: the choices stay.

A method whose scaling, distance or kernel learned from examples is, after some came or went, what it would have been
had it only ever seen those there are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kcrc._base.arrays import Array
from kcrc.classifier.parameters import Parameters
from kcrc.method import kernels, local_problem, scaling
from kcrc.method.distances.base import resolve
from kcrc.method.distances.unified import to_be_weighted
from kcrc.method.fitted_model import Method

if TYPE_CHECKING:
    from kcrc.classifier.estimator import KCRCClassifier

WIDTH = "the width of the kernel"


def learned(parameters: Parameters, method: Method) -> tuple[str, ...]:
    """What of a method was learned from the examples, in words."""
    given = parameters.given
    distance = resolve(given.distance)
    follows = {
        "the scaling": method.scaling.learns and not scaling.is_fixed(given.scaling),
        "the distance": distance.learns,
        "the coarse distance": given.n_candidates is not None and resolve(given.coarse_distance).learns,
        WIDTH: method.wide_as_data and hasattr(method.kernel, "gamma"),  # the linear one has none
        "the matrix given": isinstance(given.kernel, str) and given.kernel == "precomputed",
    }
    return tuple(name for name, holds in follows.items() if holds)


def as_chosen(given: KCRCClassifier, method: Method) -> Method:
    """The method of a classifier that was stored. Earlier versions did not say whether the kernel is as wide as the
    data; it is where that was asked for, or left open and nothing was searched."""
    wide = given.gamma == "scale" or (given.gamma == "auto" and given.tuning_ is None)
    if (
        method.wide_as_data
        or not wide
        or not isinstance(given.kernel, str)
        or local_problem.name_of(method.space) == "raw"
    ):
        return method
    return replace(method, wide_as_data=True)


def renewed(parameters: Parameters, method: Method, X: Array, y: Array) -> Method:
    """``method`` with all that is learned from examples learned from X (n, d) with class numbers y."""
    given, what = parameters.given, learned(parameters, method)
    fitted = method.scaling.fit(X, y) if "the scaling" in what else method.scaling
    scaled = fitted.transform(X)
    measures = method.distance, method.coarse_distance
    if what != (WIDTH,):  # else all but the kernel is as it was
        chosen_weights = to_be_weighted(given.distance) is not None  # they stay as they were chosen
        measures = parameters.fitted(measures if chosen_weights else parameters.distances(scaled), scaled, y)
    automatic = isinstance(given.kernel, str) and given.kernel == "auto"
    chosen = {
        "kernel": kernels.registry.name_of(type(method.kernel)) if automatic else given.kernel,
        "gamma": "scale" if method.wide_as_data else getattr(method.kernel, "gamma", 1.0),
        "form": local_problem.name_of(method.space),
        "n_neighbors": method.n_neighbors,
    }
    kernel = parameters.kernel(scaled, measures[0], chosen, final=False)
    return replace(method, scaling=fitted, distance=measures[0], coarse_distance=measures[1], kernel=kernel)
