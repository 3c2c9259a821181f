"""A fitted classifier in one file that is safe to read from anyone: no pickle, no code, no question of trust.

The file (``archive.py``) holds the parameters, the resolved method as parts (``files/parts.py``) and the examples as
arrays. A file can choose among the parts that kcrc knows and set their options, and nothing else. What is derived
(norms, the search index, factorisations) is made again, by the same code as in ``fit``: the loaded classifier gives the
same answers.

Version 1 stored the classifier's attributes by their names in Python; version 2 has names of its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

import kcrc
from kcrc.arrays import Array
from kcrc.confidence.calibration import Confidence
from kcrc.errors import FileError, KCRCError, StateError
from kcrc.files.archive import check_version, read_archive, write_archive
from kcrc.files.bounds import most_memory
from kcrc.files.coherence import check_answering, check_description
from kcrc.files.parts import READING_ERRORS, decode, encode
from kcrc.growth import Growth
from kcrc.model import FittedModel, Method
from kcrc.tuning.setting import Tuning
from kcrc.views import Layout

if TYPE_CHECKING:
    from kcrc.classifier import KCRCClassifier

KIND = "kcrc-classifier"
VERSION = 2

Described = tuple[dict[str, Any], dict[str, Array]]


@dataclass(frozen=True, eq=False)
class Description:
    """All of a fitted classifier but its examples."""

    parameters: dict[str, Any]
    method: Method
    confidence: Confidence
    tuning: Tuning | None
    growth: Growth
    samples: SampleForm


@dataclass(frozen=True)
class SampleForm:
    """What one sample looks like: its shape, where its views stand, the names of its features."""

    shape: tuple[int, ...]
    views: Layout
    feature_names: Array | None = None

    @property
    def width(self) -> int:
        """How many features scikit-learn counts: the first side of a sample."""
        return self.shape[0]


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


def load(path: str | os.PathLike[str]) -> KCRCClassifier:
    """The classifier that ``save`` wrote."""
    header, arrays = read_archive(path, KIND, version=VERSION)
    try:
        classes = decode(header["classes"], arrays) if "classes" in header else arrays["classes"]
        examples = [arrays[name] for name in ("vectors", "labels", "ids")]
    except READING_ERRORS as problem:
        raise FileError(f"'{path}' lacks a part of the examples ({_short(problem)}).") from None
    return rebuild(header, arrays, np.array(classes), *map(np.array, examples), path=path)


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


def described(header: Mapping[str, Any], arrays: Mapping[str, Array], *, path: object) -> Description:
    """What ``describe`` wrote, of this version or an older one; anything else is a ``FileError``."""
    check_version(header.get("version"), VERSION, path)
    try:
        if header["version"] == 1:
            header = _from_version_1(header)
        samples = {name: decode(header["samples"].get(name), arrays) for name in ("shape", "views", "feature_names")}
        made = Description(
            parameters={str(name): decode(value, arrays) for name, value in header["parameters"].items()},
            method=decode(header["method"], arrays),
            confidence=decode(header["confidence"], arrays),
            tuning=decode(header.get("tuning"), arrays),
            growth=Growth(**{name: _whole(header["growth"][name]) for name in ("next_row", "tuned_on", "changed")}),
            samples=SampleForm(_shape(samples["shape"]), _layout(samples["views"]), _names(samples["feature_names"])),
        )
        if not isinstance(made.method, Method) or not isinstance(made.confidence, Confidence):
            raise FileError(f"'{path}' does not describe a method and how sure its answers are.")
        if made.tuning is not None and not isinstance(made.tuning, Tuning):
            raise FileError(f"'{path}' does not describe what was tried.")
    except FileError:
        raise
    except (KCRCError, *READING_ERRORS) as problem:
        raise FileError(f"'{path}' does not describe a classifier ({_short(problem)}).") from None
    return made


def rebuild(
    header: Mapping[str, Any],
    arrays: Mapping[str, Array],
    classes: Array,
    vectors: Array,
    labels: Array,
    ids: Array,
    *,
    path: object,
) -> KCRCClassifier:
    """The classifier of a description with these examples: vectors (n, d) as given, labels (n,) into ``classes``."""
    from kcrc.classifier import KCRCClassifier

    told = described(header, arrays, path=path)
    try:
        if not _fit_together(vectors, labels, ids, classes):
            raise FileError("its examples do not fit one another")
        check_description(told, vectors)
        method = replace(told.method, memory_budget=min(told.method.memory_budget, most_memory()))
        model = FittedModel.build(method, vectors, classes, labels, ids)
        check_answering(model)
        return KCRCClassifier.restored(told, model)
    except (KCRCError, *READING_ERRORS) as problem:
        raise FileError(f"'{path}' does not describe a classifier ({_short(problem)}).") from None


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


def _fit_together(vectors: Array, labels: Array, ids: Array, classes: Array) -> bool:
    return bool(
        vectors.ndim == 2
        and vectors.dtype.kind == "f"
        and labels.ndim == ids.ndim == classes.ndim == 1
        and len(labels) == len(vectors) == len(ids) > 0
        and labels.dtype.kind == ids.dtype.kind == "i"
        and 0 <= labels.min() <= labels.max() < len(classes)
        and (ids[1:] > ids[:-1]).all()
        and len(np.unique(classes)) == len(classes)
        and np.isfinite(vectors).all()
        and (classes.dtype.kind != "f" or np.isfinite(classes).all())
    )
