"""A fitted classifier in one file that is safe to read from anyone: no pickle, no code, no question of trust.

The file (``archive.py``) holds the parameters, the resolved method as named parts with plain fields, and the
examples as arrays. A part is looked up in the closed table of the library's own classes, so a file can choose
among them and set their options, and nothing else. What is derived (norms, the search index, factorisations) is
made again, by the same code as in ``fit``: the loaded classifier gives the same answers.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

import kcrc
from kcrc.archive import read_archive, write_archive
from kcrc.errors import DataError, FileError, KCRCError, StateError
from kcrc.prepared import Array

if TYPE_CHECKING:
    from kcrc.classifier import KCRCClassifier

KIND = "kcrc-classifier"
VERSION = 1
# Where the parts of a fitted classifier are defined: modules, and packages with the files in them.
_HOMES = (
    "distances",
    "kernels",
    "coding",
    "projections",
    "metrics",
    "spaces",
    "model",
    "neighbours",
    "confidence",
    "open_set",
    "tuning.setting",
    "tuning.left_out",
    "tuning.removed",
)
_PRIVATE = ("_next_row", "_tuned_on", "_changed")  # counters; any other attribute of a file ends in one underscore
_DEPTH = 20

Described = tuple[dict[str, Any], dict[str, Array]]


def save(classifier: KCRCClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier to one file."""
    if not hasattr(classifier, "model_"):
        raise StateError("The classifier is not fitted yet; there is nothing to save.")
    model = classifier.model_
    header, arrays = describe(classifier)
    stored = {"vectors": model.raw, "labels": model.labels, "ids": model.ids}
    if model.classes.dtype.kind == "O":
        header["classes"] = _encode(model.classes, "class names", arrays)
    else:
        stored["classes"] = model.classes
    write_archive(path, KIND, header, {**stored, **arrays})


def load(path: str | os.PathLike[str]) -> KCRCClassifier:
    """The classifier that ``save`` wrote."""
    header, arrays = read_archive(path, KIND)
    try:
        classes = _decode(header["classes"], arrays) if "classes" in header else arrays["classes"]
        examples = [arrays[name] for name in ("vectors", "labels", "ids")]
    except (KeyError, TypeError, ValueError, RecursionError) as problem:
        raise FileError(f"'{path}' lacks a part of the examples ({problem}).") from None
    return rebuild(header, arrays, np.array(classes), *map(np.array, examples), path=path)


def describe(classifier: KCRCClassifier) -> Described:
    """All of a fitted classifier but its examples: a header of plain values, and arrays by name."""
    parameters = classifier.get_params(deep=False)
    attributes = {k: v for k, v in vars(classifier).items() if k not in (*parameters, "model_")}
    if isinstance(parameters["random_state"], np.random.RandomState | np.random.Generator):
        parameters["random_state"] = classifier.model_.method.seed  # what the fit drew of it
    arrays: dict[str, Array] = {}
    header = {
        "version": VERSION,
        "kcrc": kcrc.__version__,
        "parameters": {name: _encode(value, f"parameter '{name}'", arrays) for name, value in parameters.items()},
        "method": _encode(classifier.model_.method, "method", arrays),
        "attributes": {name: _encode(value, f"attribute '{name}'", arrays) for name, value in attributes.items()},
    }
    return header, arrays


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
    from kcrc.model import FittedModel, Method

    if header.get("version") != VERSION:
        raise FileError(f"'{path}' is of version {header.get('version')!r}; this kcrc reads version {VERSION}.")
    try:
        parameters = {name: _decode(value, arrays) for name, value in header["parameters"].items()}
        method = _decode(header["method"], arrays)
        attributes = {name: _decode(value, arrays) for name, value in header["attributes"].items()}
        if not isinstance(method, Method) or not _fit_together(vectors, labels, ids, classes):
            raise FileError(f"The parts of '{path}' do not fit one another; it is damaged.")
        classifier = KCRCClassifier(**parameters)
        for name, value in attributes.items():
            foreign = not name.endswith("_") or name.startswith("_") or name in dir(KCRCClassifier)
            if foreign and name not in _PRIVATE:
                raise FileError(f"'{path}' sets {name[:60]!r}, which a classifier does not have.")
            setattr(classifier, name, value)
        classifier.model_ = FittedModel.build(method, vectors, classes, labels, ids)
    except FileError:
        raise
    except (KCRCError, KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as problem:
        raise FileError(f"'{path}' does not describe a classifier ({problem}).") from None
    return classifier


def _fit_together(vectors: Array, labels: Array, ids: Array, classes: Array) -> bool:
    n = len(labels)
    return bool(
        vectors.ndim == 2
        and vectors.dtype.kind == "f"
        and n == len(vectors) == len(ids) > 0
        and labels.ndim == ids.ndim == classes.ndim == 1
        and labels.dtype.kind == ids.dtype.kind == "i"
        and 0 <= labels.min() <= labels.max() < len(classes)
        and len(np.unique(ids)) == n
        and np.isfinite(vectors).all()
    )


def _encode(value: Any, what: str, arrays: dict[str, Array], depth: int = 0) -> Any:
    """A value as JSON, its arrays put aside; what is not plain data or a part of the library is refused."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else {"number": str(value)}
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        return {"objects": [_encode(item, what, arrays, depth + 1) for item in value.tolist()]}
    if isinstance(value, np.ndarray):
        name = next((name for name, known in arrays.items() if known is value), f"part-{len(arrays)}")
        arrays[name] = value
        return {"array": name}
    if isinstance(value, list | tuple) and depth < _DEPTH:
        return {type(value).__name__: [_encode(item, what, arrays, depth + 1) for item in value]}
    if isinstance(value, dict) and depth < _DEPTH and all(isinstance(key, str) for key in value):
        return {"dict": {key: _encode(item, what, arrays, depth + 1) for key, item in value.items()}}
    if isinstance(value, dict) and depth < _DEPTH:
        return {"pairs": [_encode(list(pair), what, arrays, depth + 1) for pair in value.items()]}
    if _part(_name(type(value))) is type(value) and depth < _DEPTH:
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
        encoded = {name: _encode(item, f"{what}, {name}", arrays, depth + 1) for name, item in fields.items()}
        return {"part": _name(type(value)), "fields": encoded}
    raise DataError(
        f"The {what} cannot be saved: {type(value).__name__} is not plain data or a part of kcrc. A file with code in "
        "it would not be safe to open; use a part that kcrc knows by name."
    )


def _decode(value: Any, arrays: Mapping[str, Array], depth: int = 0) -> Any:
    if depth > 2 * _DEPTH:
        raise FileError("The description is nested too deeply.")
    if not isinstance(value, dict):
        return value
    if value.keys() == {"number"}:
        return {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}[value["number"]]
    if value.keys() == {"array"}:
        return np.array(arrays[value["array"]])
    if value.keys() == {"part", "fields"}:
        fields = {str(name): _decode(item, arrays, depth + 1) for name, item in value["fields"].items()}
        kind = _part(value["part"])
        if kind is None:
            raise FileError(f"There is no part {str(value['part'])[:60]!r} of a classifier.")
        return kind(**fields)
    if value.keys() == {"dict"}:
        return {str(key): _decode(item, arrays, depth + 1) for key, item in value["dict"].items()}
    (form,) = value
    items = [_decode(item, arrays, depth + 1) for item in value[form]]
    if form == "pairs":
        return dict(items)
    if form == "objects":
        made = np.empty(len(items), object)
        made[:] = items
        return made
    return {"list": list, "tuple": tuple}[form](items)


@cache
def _part(name: str) -> type[Any] | None:
    """A dataclass of the library by its name, from the closed table of homes; None for anything else."""
    module, _, kind = str(name).rpartition(".")
    if module not in _modules():
        return None
    found = getattr(importlib.import_module(f"kcrc.{module}"), kind, None)
    ours = isinstance(found, type) and dataclasses.is_dataclass(found) and _name(found) == name
    return found if ours else None


@cache
def _modules() -> frozenset[str]:
    """The homes and the files in them; found by their names, none is imported for it."""
    found: set[str] = set()
    for home in _HOMES:
        spec = find_spec(f"kcrc.{home}")
        if spec is not None:
            found.add(home)
            inside = pkgutil.iter_modules(spec.submodule_search_locations or [])
            found.update(f"{home}.{info.name}" for info in inside)
    return frozenset(found)


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("kcrc.")
