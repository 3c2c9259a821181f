"""A fitted classifier in one file that is safe to read from anyone: no pickle, no code, no question of trust.

The file (``archive.py``) holds the parameters, the resolved method as parts (``files/parts.py``) and the examples as
arrays. A file can choose among the parts that kcrc knows and set their options, and nothing else. What is derived
(norms, the search index, factorisations) is made again, by the same code as in ``fit``: the loaded classifier gives the
same answers.

Version 1 stored the classifier's attributes by their names in Python; version 2 has names of its own.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import isfinite, prod
from typing import TYPE_CHECKING, Any

import numpy as np

import kcrc
from kcrc._base.arrays import Array, blocks
from kcrc._base.parallel import worker_count
from kcrc._base.registry import fits, hints_of
from kcrc._base.views import Layout
from kcrc.classifier.parameters import method_of_file
from kcrc.classifier.stored_parts import READING_ERRORS, decode, encode, parameters_of_today
from kcrc.confidence.answerer import Answerer
from kcrc.confidence.calibration import POWERS, Calibration, Confidence, Familiarity
from kcrc.confidence.open_set import OpenSet
from kcrc.errors import FileError, KCRCError, ParameterError, StateError
from kcrc.files.archive import check_version, read_archive, write_archive
from kcrc.files.bounds import most_memory
from kcrc.method import decisions, pipeline
from kcrc.method.evidence import SIGNS
from kcrc.method.fitted_model import FittedModel, Method
from kcrc.method.neighbours.base import Neighbourhood
from kcrc.method.neighbours.searches import SEARCHES, available, check_searchable
from kcrc.method.preparation import POSITION, Samples
from kcrc.method.samples import SampleForm
from kcrc.tuning.left_out.answers import LeftOut
from kcrc.tuning.left_out.exclusion import Exclusion
from kcrc.tuning.result import Tuning
from kcrc.tuning.settings import check_form
from kcrc.updates.pending import Growth

if TYPE_CHECKING:
    from kcrc.classifier.estimator import KCRCClassifier
    from kcrc.method.samples import SampleForm


# Whether the parts of a stored classifier fit one another and its examples: shapes, counts, names, ranges.
#
# Each part was of the right kind when it was read (``parts.py``). Here they are checked together. Finally one small
# problem is solved with them, as a smoke test: to represent three of the stored examples.

_LARGEST = 1 << 26  # numbers of a matrix that a file can ask to be drawn


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
        if method.scaling.transform(model.raw[some]).shape != (len(some), model.vectors.shape[1]):
            raise FileError("its scaling is for other vectors")
    columns = [store.content[POSITION] for store in model.stores.values() if POSITION in store.content.parts]
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
        known = method.distance.rowwise(queries.of(method.distance), model.examples(method.distance), rows[None])
        if not np.isfinite(known).all():
            raise FileError("its distances are not finite")
        pipeline.among(model, queries, Neighbourhood(rows[None], known.astype(np.float64)))  # as a search has them


def _check_method(method: Method, n: int) -> None:
    worker_count(method.n_jobs)
    check_form(method.space, method.coder, method.projection)
    counts = [c for c in (method.n_neighbors, method.n_candidates) if c is not None]
    if min(counts, default=1) < 1 or method.seed < 0 or method.memory_budget < 1:
        raise FileError("a number of its method is below what it can be")
    atoms = n if method.n_neighbors is None or method.locality == "classes" else method.n_neighbors
    components = getattr(method.projection, "n_components", None) if method.projection.outgrows_atoms else None
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
    if confidence.groups is not None and not _whole_numbers(confidence.groups, len(confidence.exclusion.ids)):
        return False
    if open_set is not None and not _open_set_fits(open_set):
        return False
    if not _usual_fits(confidence):
        return False
    return sets is None or (
        open_set is not None and _numbers(sets.scores, None) and sets.names.shape == sets.scores.shape
    )


def _exclusion_fits(left: Exclusion, width: int) -> bool:
    n = len(left.ids) if _whole_numbers(left.ids, None) else 0
    if not n or not all(_whole_numbers(part, n) for part in (left.groups, left.labels)):
        return False
    if left.groups.min() < 0 or left.groups.max() > 2 * n or left.labels.min() < 0:
        return False
    if left.means is None or left.weights is None:
        return left.means is None and left.weights is None
    if not _numbers(left.means, None, width) or not _numbers(left.weights, n):
        return False
    return left.labels.max() < len(left.means) and bool((left.weights >= 0).all() and np.isfinite(left.weights).all())


def _usual_fits(confidence: Confidence) -> bool:
    usual, answered, asked = confidence.usual, confidence.answered, confidence.asked
    if usual is None or answered is None or asked is None:
        return usual is answered is asked is None
    n = 0 if confidence.sets is None else len(confidence.sets.scores)
    return n > 0 and _numbers(usual, n, len(SIGNS) + 1) and answered.shape == (n,) and _whole_numbers(asked, n)


def _left_out_fits(left: LeftOut) -> bool:
    n = len(left.rows) if _whole_numbers(left.rows, None) else 0
    whole = all(_whole_numbers(part, n) for part in (left.truth, left.winner, left.how))
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
    shares = (calibration.doubt, calibration.growth, calibration.unanimous_doubt, calibration.unseen)
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


def _whole_numbers(value: Array, *shape: int | None) -> bool:
    return _numbers(value, *shape) and value.dtype.kind == "i"


KIND = "kcrc-classifier"
VERSION = 2

Described = tuple[dict[str, Any], dict[str, Array]]


@dataclass(frozen=True, eq=False)
class Description:
    """All of a fitted classifier but its examples: what answers, and how that came to be chosen."""

    answering: AnsweringParts
    parameters: dict[str, Any]
    tuning: Tuning | None
    growth: Growth


@dataclass(frozen=True, eq=False)
class AnsweringParts:
    """What answers, but for the examples."""

    method: Method
    confidence: Confidence
    samples: SampleForm


@dataclass(frozen=True, eq=False)
class Examples:
    """vectors (n, d) as given, labels (n,) into ``classes``, ids (n,) rising."""

    classes: Array
    vectors: Array
    labels: Array
    ids: Array

    @property
    def fit_together(self) -> bool:
        vectors, labels, ids, classes = self.vectors, self.labels, self.ids, self.classes
        return bool(
            vectors.ndim == 2
            and vectors.dtype.kind == "f"
            and labels.ndim == ids.ndim == classes.ndim == 1
            and len(labels) == len(vectors) == len(ids) > 0
            and labels.dtype.kind == ids.dtype.kind == "i"
            and 0 <= labels.min() <= labels.max() < len(classes)
            and (ids[1:] > ids[:-1]).all()
            and len(np.unique(classes)) == len(classes)
            and all(np.isfinite(vectors[block]).all() for block in blocks(*vectors.shape))
            and (classes.dtype.kind != "f" or np.isfinite(classes).all())
        )


def save(classifier: KCRCClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier to one file."""
    if not hasattr(classifier, "classes_"):
        raise StateError("The classifier is not fitted yet; there is nothing to save.")
    model = classifier.answerer_.model
    header, arrays = describe(classifier)
    stored = {"vectors": model.raw, "labels": model.labels, "ids": model.ids}
    if model.classes.dtype.kind == "O":
        header["classes"] = encode(model.classes, "class names", arrays)
    else:
        stored["classes"] = model.classes
    write_archive(path, KIND, header, {**stored, **arrays})


def load(path: str | os.PathLike[str], *, mmap_mode: str | None = None) -> KCRCClassifier:
    """The classifier that ``save`` wrote, its examples in memory or, with "r", in a mapped file."""
    if mmap_mode not in (None, "r"):
        raise ParameterError(f'mmap_mode must be "r" or None; got {mmap_mode!r}.')
    return rebuild(*_read_stored(path, mapped=mmap_mode == "r"), path=path)


def load_answerer(path: str | os.PathLike[str]) -> Answerer:
    """What answers in the classifier that ``save`` wrote, without scikit-learn."""
    return rebuild_answerer(*_read_stored(path), path=path)


def _read_stored(
    path: str | os.PathLike[str], *, mapped: bool = False
) -> tuple[dict[str, Any], dict[str, Array], Examples]:
    header, arrays = read_archive(path, KIND, version=VERSION, mapped=mapped)
    try:
        classes = decode(header["classes"], arrays) if "classes" in header else arrays["classes"]
        labels, ids = (np.array(arrays[name]) for name in ("labels", "ids"))
        vectors = arrays["vectors"] if mapped else np.array(arrays["vectors"])
    except READING_ERRORS as problem:
        raise FileError(f"'{path}' lacks a part of the examples ({_short(problem)}).") from None
    return header, arrays, Examples(np.array(classes), vectors, labels, ids)


def describe(classifier: KCRCClassifier, *, confidence: bool = True) -> Described:
    """All of a fitted classifier but its examples: a header of plain values, and arrays by name. Where ``confidence``
    is False, how sure answers are is left out."""
    arrays: dict[str, Array] = {}
    parameters = classifier.get_params(deep=False)
    if isinstance(parameters["random_state"], np.random.RandomState | np.random.Generator):
        parameters["random_state"] = classifier.examples_.method.seed  # what the fit drew of it
    samples = SampleForm(classifier.sample_shape_, classifier.views_, getattr(classifier, "feature_names_in_", None))
    header = {
        "version": VERSION,
        "kcrc": kcrc.__version__,
        "parameters": {name: encode(value, f"parameter '{name}'", arrays) for name, value in parameters.items()},
        "method": encode(classifier.answerer_.model.method, "method", arrays),
        **({"confidence": encode(classifier.confidence_, "confidence", arrays)} if confidence else {}),
        "tuning": encode(classifier.tuning_, "tuning", arrays),
        "growth": vars(classifier.growth_),
        "samples": {name: encode(value, f"samples' {name}", arrays) for name, value in vars(samples).items()},
    }
    return header, arrays


def rebuild(
    header: Mapping[str, Any], arrays: Mapping[str, Array], examples: Examples, *, path: object
) -> KCRCClassifier:
    """The classifier of a description with these examples."""
    return wrap_as_estimator(header, arrays, rebuild_answerer(header, arrays, examples, path=path), path=path)


def rebuild_answerer(
    header: Mapping[str, Any], arrays: Mapping[str, Array], examples: Examples, *, path: object
) -> Answerer:
    """What answers in the classifier of a description with these examples. How its parameters were chosen is not
    looked at, which takes longer than all the rest."""
    told = _answering_parts(_of_this_version(header, path), arrays, path)
    with _blame_file(path):
        if not examples.fit_together:
            raise FileError("its examples do not fit one another")
        check_parts(told, examples.vectors)
        method = replace(
            told.method,
            memory_budget=min(told.method.memory_budget, most_memory()),
            search=available(told.method.search),
        )
        model = FittedModel.build(method, examples.vectors, examples.classes, examples.labels, examples.ids)
        check_answering(model)
        return Answerer(model, told.confidence, told.samples)


def wrap_as_estimator(
    header: Mapping[str, Any], arrays: Mapping[str, Array], answerer: Answerer, *, path: object
) -> KCRCClassifier:
    """Return the classifier that a description and its answerer make."""
    header = _of_this_version(header, path)
    with _blame_file(path, as_it_is=(FileError,)):
        told = Description(
            answering=AnsweringParts(answerer.model.method, answerer.confidence, answerer.samples),
            parameters=parameters_of_today(
                {str(name): decode(value, arrays) for name, value in header["parameters"].items()}
            ),
            tuning=decode(header.get("tuning"), arrays),
            growth=Growth(**{name: _whole(header["growth"][name]) for name in ("next_row", "tuned_on", "changed")}),
        )
        if told.tuning is not None and not isinstance(told.tuning, Tuning):
            raise FileError(f"'{path}' does not describe what was tried.")
    with _blame_file(path):
        check_choice(told)
        return restore(told, answerer.model)


def restore(described: Description, model: FittedModel) -> KCRCClassifier:
    """Return a fitted classifier from its description and a model; nothing is chosen or learned."""
    from kcrc.classifier.estimator import KCRCClassifier  # scikit-learn, which ``load_answerer`` does without

    known = set(KCRCClassifier._get_param_names())  # files of earlier versions name others too
    made = KCRCClassifier(**{name: value for name, value in described.parameters.items() if name in known})
    growth = described.growth
    made.tuning_ = described.tuning
    made.growth_ = replace(growth, next_row=max(growth.next_row, int(model.ids[-1]) + 1))  # no number is given twice
    made.model_, made.classes_ = replace(model, method=method_of_file(made, model.method)), model.classes
    made._digests = None
    made.confidence_ = described.answering.confidence
    form = described.answering.samples
    made.sample_shape_, made.views_ = form.shape, form.views
    made.n_features_in_ = form.width
    if form.feature_names is not None:
        made.feature_names_in_ = form.feature_names
    return made


@contextlib.contextmanager
def _blame_file(path: object, *, as_it_is: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Whatever goes wrong with a description inside is a ``FileError`` that names the file, or stays as it is."""
    try:
        yield
    except as_it_is:
        raise
    except (KCRCError, *READING_ERRORS) as problem:
        raise FileError(f"'{path}' does not describe a classifier ({_short(problem)}).") from None


def _answering_parts(header: Mapping[str, Any], arrays: Mapping[str, Array], path: object) -> AnsweringParts:
    with _blame_file(path, as_it_is=(FileError,)):
        samples = {name: decode(header["samples"].get(name), arrays) for name in ("shape", "views", "feature_names")}
        made = AnsweringParts(
            method=decode(header["method"], arrays),
            confidence=decode(header["confidence"], arrays),
            samples=SampleForm(_shape(samples["shape"]), _layout(samples["views"]), _names(samples["feature_names"])),
        )
        if not isinstance(made.method, Method) or not isinstance(made.confidence, Confidence):
            raise FileError(f"'{path}' does not describe a method and how sure its answers are.")
    return made


def _of_this_version(header: Mapping[str, Any], path: object) -> Mapping[str, Any]:
    check_version(header.get("version"), VERSION, path)
    with _blame_file(path):
        return _from_version_1(header) if header["version"] == 1 else header


def _from_version_1(header: Mapping[str, Any]) -> dict[str, Any]:
    """The header of a file of version 1, whose attributes had the names they had in Python, as version 2 has it."""
    had = header["attributes"]
    return {
        "parameters": header["parameters"],
        "method": header["method"],
        "confidence": had["confidence_"],
        "tuning": had["tuning_"],
        "growth": {"next_row": had["_next_row"], "tuned_on": had["_tuned_on"], "changed": had["_changed"]},
        "samples": {
            "shape": had["sample_shape_"],
            "views": had["views_"],
            "feature_names": had.get("feature_names_in_"),
        },
    }


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 62:
        raise ValueError(f"{str(value)[:40]!r} is not a number of examples")
    return value


def _shape(value: Any) -> tuple[int, ...]:
    if not isinstance(value, tuple) or not value:
        raise ValueError("the shape of a sample is not known")
    return tuple(_whole(side) for side in value)


def _layout(value: Any) -> Layout:
    """Views by name: (first column, column behind the last, shape)."""
    layout: Layout = {}
    for name, (start, stop, shape) in ({} if value is None else value).items():
        layout[str(name)] = (_whole(start), _whole(stop), tuple(_whole(side) for side in shape))
    return layout


def _names(value: Any) -> Array | None:
    if value is not None and not (isinstance(value, np.ndarray) and value.ndim == 1):
        raise ValueError("the names of features are not a list")
    return value


def _short(problem: BaseException) -> str:
    return f"{problem}"[:200].rstrip(".") or type(problem).__name__
