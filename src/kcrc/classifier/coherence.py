"""Whether the parts of a stored classifier fit one another and its examples: shapes, counts, names, ranges.

Each part was of the right kind when it was read (``parts.py``). Here they are seen together, and at the end one small
problem is posed and solved with them: what cannot represent three of its own examples answers nobody.
"""

from __future__ import annotations

from math import isfinite, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from kcrc._base.annotations import fits, hints_of
from kcrc._base.arrays import Array
from kcrc._base.parallel import worker_count
from kcrc.classifier.parameters import check_form
from kcrc.confidence.calibration import POWERS, Calibration, Confidence, Familiarity
from kcrc.confidence.open_set import OpenSet
from kcrc.errors import FileError
from kcrc.method import decisions, pipeline
from kcrc.method.fitted_model import FittedModel, Method
from kcrc.method.neighbours.base import Neighbourhood
from kcrc.method.neighbours.searches import SEARCHES, check_searchable
from kcrc.method.open_set_features import SIGNS
from kcrc.method.preparation import POSITION, Samples
from kcrc.method.projections.random import Random
from kcrc.tuning.left_out.answers import LeftOut
from kcrc.tuning.left_out.exclusion import Exclusion
from kcrc.tuning.setting import Tuning

_LARGEST = 1 << 26  # numbers of a matrix that a file can ask to be drawn

if TYPE_CHECKING:
    from kcrc.classifier.saving import AnsweringParts, Description
    from kcrc.method.samples import SampleForm


def check_parts(told: AnsweringParts, vectors: Array) -> None:
    """An error where what a file says of answering from these examples (n, d) does not fit together."""
    width = vectors.shape[1]
    _check_method(told.method, len(vectors))
    for what, fine in (
        ("how samples look", _samples_fit(told.samples, width)),
        ("how sure answers are", _confidence_fits(told.confidence, width)),
    ):
        if not fine:
            raise FileError(f"what it says of {what} does not fit together")


def check_choice(told: Description) -> None:
    """An error where what a file says of a classifier's parameters, and of what was tried, does not fit together."""
    from kcrc.classifier.estimator import KCRCClassifier

    hints = hints_of(KCRCClassifier.__init__)
    for name, value in told.parameters.items():
        if name in hints and not fits(value, hints[name]):
            raise FileError(f"its parameter '{name}' cannot be {str(value)[:40]!r}")
    if told.tuning is not None and not _tuning_fits(told.tuning):
        raise FileError("what it says of what was tried does not fit together")


def check_answering(model: FittedModel) -> None:
    """An error, of whatever kind, where the model cannot represent a few of its own examples."""
    method = model.method
    _, rows = np.unique(model.labels, return_index=True)
    rows = rows[:3]
    for some in (rows[:1], rows):
        if method.metric.transform(model.raw[some]).shape != (len(some), model.vectors.shape[1]):
            raise FileError("its metric is for other vectors")
    columns = [store.prepared[POSITION] for store in model.stores.values() if POSITION in store.prepared.parts]
    if any(len(at) and at.max() >= model.vectors.shape[1] for at in columns):
        raise FileError("its precomputed matrix lacks columns")
    queries = Samples(np.ascontiguousarray(model.vectors[rows[:1]]))
    with np.errstate(all="ignore"):
        for distance in (method.distance, method.search_distance):
            distance.pairwise(queries.of(distance), model.examples(distance).take(rows))
        if model.whole is not None:
            target = method.space.target(model, model.whole.basis, queries, None)
            method.coder.solve(model.whole.state, target)
            return
        known = method.distance.selected(queries.of(method.distance), model.examples(method.distance), rows[None])
        pipeline.among(model, queries, Neighbourhood(rows[None], known.astype(np.float64)))  # as a search has them


def _check_method(method: Method, n: int) -> None:
    worker_count(method.n_jobs)
    check_form(method.space, method.coder, method.projection)
    counts = [c for c in (method.n_neighbors, method.n_candidates) if c is not None]
    if min(counts, default=1) < 1 or method.seed < 0 or method.memory_budget < 1:
        raise FileError("a number of its method is below what it can be")
    atoms = n if method.n_neighbors is None or method.locality == "classes" else method.n_neighbors
    components = method.projection.n_components if isinstance(method.projection, Random) else None
    if isinstance(components, int) and atoms * components > _LARGEST:  # other projections have no more than atoms
        raise FileError(f"it projects {atoms} atoms on {components} directions")
    if method.n_candidates is not None and method.n_neighbors is None:
        raise FileError("it has candidates without neighbours")
    if method.locality not in ("atoms", "classes"):
        raise FileError(f"there is no locality {method.locality[:20]!r}")
    if method.decision not in decisions.names():
        raise FileError(
            f"there is no decision {method.decision[:20]!r}; where your program has it, register it before loading"
        )
    if method.search not in SEARCHES:
        raise FileError(f"there is no search {method.search[:20]!r}")
    check_searchable(method.search, method.search_distance)


def _samples_fit(samples: SampleForm, width: int) -> bool:
    names, end = samples.feature_names, 0
    for start, stop, shape in samples.views.values():
        if start != end or stop - start != prod(shape):
            return False
        end = stop
    named = names is None or (len(names) == samples.width and names.dtype.kind in "UO")
    return prod(samples.shape) == width and end in (0, width) and named


def _tuning_fits(tuning: Tuning) -> bool:
    counted = all(0 <= score.right <= score.trials for score in tuning.scores.values())
    return tuning.best in tuning.scores and counted


def _confidence_fits(confidence: Confidence, width: int) -> bool:
    open_set, sets = confidence.open_set, confidence.sets
    if not _exclusion_fits(confidence.exclusion, width) or not _calibration_fits(confidence.calibration):
        return False
    if not all(_left_out_fits(left) for left in (confidence.left_out, confidence.strangers) if left is not None):
        return False
    if confidence.groups is not None and not _whole(confidence.groups, len(confidence.exclusion.ids)):
        return False
    if open_set is not None and not _open_set_fits(open_set):
        return False
    if not _usual_fits(confidence):
        return False
    return sets is None or (
        open_set is not None and _numbers(sets.scores, None) and sets.names.shape == sets.scores.shape
    )


def _exclusion_fits(left: Exclusion, width: int) -> bool:
    n = len(left.ids) if _whole(left.ids, None) else 0
    if not n or not all(_whole(part, n) for part in (left.groups, left.labels)):
        return False
    if left.groups.min() < 0 or left.groups.max() > 2 * n or left.labels.min() < 0:
        return False
    if left.means is None or left.weights is None:
        return left.means is None and left.weights is None
    return _numbers(left.means, None, width) and left.labels.max() < len(left.means) and _numbers(left.weights, n)


def _usual_fits(confidence: Confidence) -> bool:
    usual, answered, asked = confidence.usual, confidence.answered, confidence.asked
    if usual is None or answered is None or asked is None:
        return usual is answered is asked is None
    n = 0 if confidence.sets is None else len(confidence.sets.scores)
    return n > 0 and _numbers(usual, n, len(SIGNS) + 1) and answered.shape == (n,) and _whole(asked, n)


def _left_out_fits(left: LeftOut) -> bool:
    n = len(left.rows) if _whole(left.rows, None) else 0
    whole = all(_whole(part, n) for part in (left.truth, left.winner, left.how))
    if not n or not whole or not _numbers(left.residuals, n, None) or not _numbers(left.signs, n, len(SIGNS)):
        return False
    if left.reach is not None and not _numbers(left.reach, n):
        return False
    classes = left.residuals.shape[1]
    return all(part.min() >= 0 and part.max() < classes for part in (left.truth, left.winner))


def _open_set_fits(open_set: OpenSet) -> bool:
    signs = all(_numbers(part, len(SIGNS)) for part in (open_set.centre, open_set.spread))
    return signs and _numbers(open_set.weights, len(SIGNS) + 1) and _numbers(open_set.known, None)


def _calibration_fits(calibration: Calibration) -> bool:
    shares = (calibration.doubt, calibration.growth, calibration.unanimous_doubt)
    return (
        calibration.temperature > 0
        and isfinite(calibration.temperature)
        and all(0 <= share <= 1 for share in shares)
        and calibration.power in POWERS
        and _familiarity_fits(calibration.familiarity)
    )


def _familiarity_fits(known: Familiarity) -> bool:
    values = known.slope, known.centre, known.spread, known.level
    return all(map(isfinite, values)) and known.slope >= 0 and known.spread > 0 and known.level > 0


def _numbers(value: Any, *shape: int | None) -> bool:
    """Whether it is an array of numbers with these lengths (None: any)."""
    fits = isinstance(value, np.ndarray) and value.ndim == len(shape) and value.dtype.kind in "iuf"
    return fits and all(due in (None, found) for due, found in zip(shape, value.shape, strict=True))


def _whole(value: Array, *shape: int | None) -> bool:
    return _numbers(value, *shape) and value.dtype.kind == "i"
