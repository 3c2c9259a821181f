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
from functools import cache
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
    "tuning",
)
_DEPTH = 20


def save(classifier: KCRCClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier to one file."""
    if not hasattr(classifier, "model_"):
        raise StateError("The classifier is not fitted yet; there is nothing to save.")
    model = classifier.model_
    arrays: dict[str, Array] = {}
    attributes = {k: v for k, v in vars(classifier).items() if k not in (*classifier.get_params(deep=False), "model_")}
    header = {
        "version": VERSION,
        "kcrc": kcrc.__version__,
        "parameters": {
            name: _encode(value, f"parameter '{name}'", arrays)
            for name, value in classifier.get_params(deep=False).items()
        },
        "method": _encode(model.method, "method", arrays),
        "attributes": {name: _encode(value, f"attribute '{name}'", arrays) for name, value in attributes.items()},
    }
    stored = {"vectors": model.vectors, "labels": model.labels, "ids": model.ids}
    if model.classes.dtype.kind == "O":
        header["classes"] = _encode(model.classes, "class names", arrays)
    else:
        stored["classes"] = model.classes
    write_archive(path, KIND, header, {**stored, **arrays})


def load(path: str | os.PathLike[str]) -> KCRCClassifier:
    """The classifier that ``save`` wrote."""
    from kcrc.classifier import KCRCClassifier
    from kcrc.model import FittedModel, Method

    header, arrays = read_archive(path, KIND)
    if header.get("version") != VERSION:
        raise FileError(f"'{path}' is of version {header.get('version')!r}; this kcrc reads version {VERSION}.")
    try:
        parameters = {name: _decode(value, arrays) for name, value in header["parameters"].items()}
        method = _decode(header["method"], arrays)
        attributes = {name: _decode(value, arrays) for name, value in header["attributes"].items()}
        classes = _decode(header["classes"], arrays) if "classes" in header else arrays["classes"]
        vectors, labels, ids = arrays["vectors"], arrays["labels"], arrays["ids"]
        if not isinstance(method, Method) or not _fit_together(vectors, labels, ids, classes):
            raise FileError(f"The parts of '{path}' do not fit one another; it is damaged.")
        classifier = KCRCClassifier(**parameters)
        for name, value in attributes.items():
            if name != "_next_row" and (not name.endswith("_") or name.startswith("_") or name in dir(KCRCClassifier)):
                raise FileError(f"'{path}' sets {name[:60]!r}, which a classifier does not have.")
            setattr(classifier, name, value)
        classifier.model_ = FittedModel.build(
            method, np.array(vectors), np.array(classes), np.array(labels), np.array(ids)
        )
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
        name = f"part-{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, list | tuple) and depth < _DEPTH:
        return {type(value).__name__: [_encode(item, what, arrays, depth + 1) for item in value]}
    if isinstance(value, dict) and depth < _DEPTH and all(isinstance(key, str) for key in value):
        return {"dict": {key: _encode(item, what, arrays, depth + 1) for key, item in value.items()}}
    if _name(type(value)) in _parts() and depth < _DEPTH:
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
        encoded = {name: _encode(item, f"{what}, {name}", arrays, depth + 1) for name, item in fields.items()}
        return {"part": _name(type(value)), "fields": encoded}
    raise DataError(
        f"The {what} cannot be saved: {type(value).__name__} is not plain data or a part of kcrc. A file with code in "
        "it would not be safe to open; use a part that kcrc knows by name."
    )


def _decode(value: Any, arrays: dict[str, Array], depth: int = 0) -> Any:
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
        return _parts()[value["part"]](**fields)
    if value.keys() == {"dict"}:
        return {str(key): _decode(item, arrays, depth + 1) for key, item in value["dict"].items()}
    (kind,) = value
    items = [_decode(item, arrays, depth + 1) for item in value[kind]]
    if kind == "objects":
        made = np.empty(len(items), object)
        made[:] = items
        return made
    return {"list": list, "tuple": tuple}[kind](items)


@cache
def _parts() -> dict[str, type[Any]]:
    """The dataclasses of the library that make up a method, by name: the whole of what a file may name."""
    found: dict[str, type[Any]] = {}
    for home in _HOMES:
        try:
            module = importlib.import_module(f"kcrc.{home}")
        except ModuleNotFoundError:
            continue
        inside = pkgutil.iter_modules(getattr(module, "__path__", []))
        modules = [module, *(importlib.import_module(f"kcrc.{home}.{info.name}") for info in inside)]
        for one in modules:
            for thing in vars(one).values():
                if isinstance(thing, type) and dataclasses.is_dataclass(thing) and thing.__module__ == one.__name__:
                    found[_name(thing)] = thing
    return found


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("kcrc.")
