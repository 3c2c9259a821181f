"""Who judges the settings of a request: the compiled ridge, or the stages with the caller's own coder and projection.

With that comes what is not searched: parameters that are given, and those of which the coder leaves one value.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method import coding, decisions
from kcrc.method.projections.base import Projection
from kcrc.tuning.field import Bench
from kcrc.tuning.judging import (
    DECISIONS,
    kernel_of,
    margins,
    nearest_atom,
    needs_double,
    shares_dictionary,
    staged_margins,
)
from kcrc.tuning.left_out.trials import Trials
from kcrc.tuning.request import Request, is_open

STAGED = 30.0  # how much dearer the stages are than the compiled ridge, about


def fixed_of(request: Request, *, atoms: int) -> dict[str, Any]:
    """The parameters that have one value; ``atoms``: how many examples a global dictionary has."""
    given = request.params.items()
    fixed = {name: value for name, value in given if not is_open(value) and name not in ("kernel", "metric")}
    if request.whole:
        fixed["n_neighbors"] = atoms
    if "n_neighbors" in fixed or not request.by_products:
        fixed.setdefault("locality", "atoms")  # a given number counts examples, unless the caller says classes
    if isinstance(request.projection, Projection) or not request.projecting.has_components:
        fixed["share"] = None
    if not isinstance(request.coder, str):
        fixed["mu"] = getattr(request.coder, "mu", 0.01)
    if coding.resolve(request.coder).needs_columns or not request.projecting.identity:
        fixed.setdefault("form", "gram")
    return fixed


def bench_of(request: Request) -> Bench:
    """The judge, and what it costs."""
    projection, iterates = request.projecting, coding.resolve(request.coder).iterates
    rules = _rules(request)
    if request.coder == "ridge" and projection.identity and rules == DECISIONS:
        return Bench(partial(margins, normalize=request.normalize))
    effort = 1.0 if request.whole and not iterates else STAGED
    return Bench(partial(_by_stages, request), effort, iterates, projection.cost, rules)


def _rules(request: Request) -> tuple[str, ...]:
    """The decisions to judge by: those that are searched, but where the caller names one that is not among them."""
    asked = request.params["decision"]
    return DECISIONS if is_open(asked) or decisions.named(asked).compiled else (asked,)


def projected(projection: Projection, share: float | None) -> Projection:
    """With the share of the dimension that was chosen."""
    return projection if share is None else projection.with_components(share)


def _by_stages(
    request: Request,
    trials: Trials,
    gamma: float | None,
    labels: Array,
    sizes: list[int],
    mus: list[float],
    form: str,
    share: float | None = None,
) -> Array:
    """Margins by the stages of the pipeline: see ``judging``."""

    def coder_of(mu: float) -> coding.Coder:
        return coding.resolve(request.coder, mu=mu)

    if form == "raw" and not coder_of(0.01).needs_columns:
        form = "rkhs"  # the same problem, in the linear kernel's own space
    width = int(np.max(np.where(labels >= 0, np.arange(1, labels.shape[1] + 1), 1)))
    if any(needs_double(width, mu, request.normalize) for mu in mus):
        trials = trials.in_double(width)
    G, k, own = kernel_of(trials, gamma)
    vectors = None
    if trials.asked is not None and trials.atoms is not None:
        vectors = (trials.asked, trials.atoms[:, :width])
    return staged_margins(
        (G[:, :width, :width], k[:, :width], own),
        labels[:, :width],
        trials.truth,
        sizes,
        mus,
        form,
        coder_of,
        None if request.projecting.identity else projected(request.projecting, share),
        request.seed,
        vectors,
        nearest=nearest_atom(trials) if shares_dictionary(trials) else None,
        normalize=request.normalize,
        judged_by=_rules(request),
    )
