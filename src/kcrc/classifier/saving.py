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
from typing import TYPE_CHECKING, Any

import numpy as np

import kcrc
from kcrc._base.arrays import Array, blocks
from kcrc._base.views import Layout
from kcrc.classifier.coherence import check_answering, check_choice, check_parts
from kcrc.classifier.parts import READING_ERRORS, decode, encode
from kcrc.confidence.answerer import Answerer
from kcrc.confidence.calibration import Confidence
from kcrc.errors import FileError, KCRCError, ParameterError, StateError
from kcrc.files.archive import check_version, read_archive, write_archive
from kcrc.files.bounds import most_memory
from kcrc.method.fitted_model import FittedModel, Method
from kcrc.method.neighbours.searches import available
from kcrc.method.samples import SampleForm
from kcrc.tuning.setting import Tuning
from kcrc.updates.growth import Growth

if TYPE_CHECKING:
    from kcrc.classifier.estimator import KCRCClassifier

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
    if not hasattr(classifier, "model_"):
        raise StateError("The classifier is not fitted yet; there is nothing to save.")
    model = classifier.model_
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
    return rebuild(*_stored(path, mapped=mmap_mode == "r"), path=path)


def load_answerer(path: str | os.PathLike[str]) -> Answerer:
    """What answers in the classifier that ``save`` wrote, without scikit-learn."""
    return rebuild_answerer(*_stored(path), path=path)


def _stored(path: str | os.PathLike[str], *, mapped: bool = False) -> tuple[dict[str, Any], dict[str, Array], Examples]:
    header, arrays = read_archive(path, KIND, version=VERSION, mapped=mapped)
    try:
        classes = decode(header["classes"], arrays) if "classes" in header else arrays["classes"]
        labels, ids = (np.array(arrays[name]) for name in ("labels", "ids"))
        vectors = arrays["vectors"] if mapped else np.array(arrays["vectors"])
    except READING_ERRORS as problem:
        raise FileError(f"'{path}' lacks a part of the examples ({_short(problem)}).") from None
    return header, arrays, Examples(np.array(classes), vectors, labels, ids)


def describe(classifier: KCRCClassifier) -> Described:
    """All of a fitted classifier but its examples: a header of plain values, and arrays by name."""
    arrays: dict[str, Array] = {}
    parameters = classifier.get_params(deep=False)
    if isinstance(parameters["random_state"], np.random.RandomState | np.random.Generator):
        parameters["random_state"] = classifier.model_.method.seed  # what the fit drew of it
    samples = SampleForm(classifier.sample_shape_, classifier.views_, getattr(classifier, "feature_names_in_", None))
    header = {
        "version": VERSION,
        "kcrc": kcrc.__version__,
        "parameters": {name: encode(value, f"parameter '{name}'", arrays) for name, value in parameters.items()},
        "method": encode(classifier.model_.method, "method", arrays),
        "confidence": encode(classifier.confidence_, "confidence", arrays),
        "tuning": encode(classifier.tuning_, "tuning", arrays),
        "growth": vars(classifier.growth_),
        "samples": {name: encode(value, f"samples' {name}", arrays) for name, value in vars(samples).items()},
    }
    return header, arrays


def rebuild(
    header: Mapping[str, Any], arrays: Mapping[str, Array], examples: Examples, *, path: object
) -> KCRCClassifier:
    """The classifier of a description with these examples."""
    return faced(header, arrays, rebuild_answerer(header, arrays, examples, path=path), path=path)


def rebuild_answerer(
    header: Mapping[str, Any], arrays: Mapping[str, Array], examples: Examples, *, path: object
) -> Answerer:
    """What answers in the classifier of a description with these examples. How its parameters were chosen is not
    looked at, which takes longer than all the rest."""
    told = _answering_parts(_of_this_version(header, path), arrays, path)
    with _described(path):
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


def faced(
    header: Mapping[str, Any], arrays: Mapping[str, Array], answerer: Answerer, *, path: object
) -> KCRCClassifier:
    """The classifier of a description around what answers in it."""
    from kcrc.classifier.estimator import KCRCClassifier

    header = _of_this_version(header, path)
    with _described(path, as_it_is=(FileError,)):
        told = Description(
            answering=AnsweringParts(answerer.model.method, answerer.confidence, answerer.samples),
            parameters={str(name): decode(value, arrays) for name, value in header["parameters"].items()},
            tuning=decode(header.get("tuning"), arrays),
            growth=Growth(**{name: _whole(header["growth"][name]) for name in ("next_row", "tuned_on", "changed")}),
        )
        if told.tuning is not None and not isinstance(told.tuning, Tuning):
            raise FileError(f"'{path}' does not describe what was tried.")
    with _described(path):
        check_choice(told)
        return KCRCClassifier.restored(told, answerer.model)


@contextlib.contextmanager
def _described(path: object, *, as_it_is: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Whatever goes wrong with a description inside is a ``FileError`` that names the file, or stays as it is."""
    try:
        yield
    except as_it_is:
        raise
    except (KCRCError, *READING_ERRORS) as problem:
        raise FileError(f"'{path}' does not describe a classifier ({_short(problem)}).") from None


def _answering_parts(header: Mapping[str, Any], arrays: Mapping[str, Array], path: object) -> AnsweringParts:
    with _described(path, as_it_is=(FileError,)):
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
    with _described(path):
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
