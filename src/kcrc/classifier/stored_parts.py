"""Parts of a classifier as plain data, under names that belong to the format and not to the code.

A part (a scaling, a kernel, what was learned of confidence) is stored as::

    {"part": "metric/within", "version": 1, "fields": {"shrinkage": 0.2, "whitening": {"array": "part-0"}, …}}

The tag is the kind and the name by which users know the part, or a word of ``OTHERS``: files may be moved and classes
renamed, and what was stored is read as before. A reader ignores fields it does not know, gives those it misses the
value that a new part has, and takes older fields through ``UPGRADES``. A part that cannot be made so is a ``FileError``
that names it: the examples are stored apart from it and are never lost with it.

Version 1 of the classifier file named classes by their modules; ``NAMES_OF_VERSION_1`` says which parts those are.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from kcrc._base.arrays import Array, as_python
from kcrc._base.registry import Registry, fits, hints_of
from kcrc.errors import DataError, FileError
from kcrc.files.bounds import exceeds_limit

# The names of the format: which parts a file may hold, and where the code for each is now.
#
# A tag, once written, means the same for good. When a class moves, its row here changes and its tag does not.

REGISTRIES = {
    "metric": "kcrc.method.scaling",
    "distance": "kcrc.method.distances.base",
    "kernel": "kcrc.method.kernels.base",
    "coder": "kcrc.method.coding.base",
    "projection": "kcrc.method.projections.base",
}
"""Parts that users know by name: their tag is the kind and that name, as in "metric/within" (a scaling is a metric in
files, as it was called when the tags were first written)."""

OTHERS = {
    "method": "kcrc.method.fitted_model:Method",
    "form/raw": "kcrc.method.local_problem:Raw",
    "form/gram": "kcrc.method.local_problem:Gram",
    "form/rkhs": "kcrc.method.local_problem:Rkhs",
    "distance-of-kernel": "kcrc.method.kernels.of_distance:KernelDistance",
    "calibration": "kcrc.confidence.calibration:Calibration",
    "familiarity": "kcrc.confidence.calibration:Familiarity",
    "conformal-sets": "kcrc.confidence.calibration:ConformalSets",
    "confidence": "kcrc.confidence.calibration:Confidence",
    "open-set": "kcrc.confidence.open_set:OpenSet",
    "exclusion": "kcrc.tuning.left_out.exclusion:Exclusion",
    "left-out": "kcrc.tuning.left_out.answers:LeftOut",
    "setting": "kcrc.tuning.result:CandidateSetting",
    "score": "kcrc.tuning.result:Score",
    "tuning": "kcrc.tuning.result:Tuning",
}
"""All other parts: tag -> module:class."""

NAMES_OF_VERSION_1 = {
    "coding.ridge.Ridge": "coder/ridge",
    "coding.robust.Robust": "coder/robust",
    "coding.sparse.BasisPursuitDenoising": "coder/bpdn",
    "coding.sparse.L1L1": "coder/l1l1",
    "coding.sparse.Lasso": "coder/lasso",
    "confidence.Calibration": "calibration",
    "confidence.Confidence": "confidence",
    "confidence.ConformalSets": "conformal-sets",
    "distances.geometric_blur.GeometricBlur": "distance/geometric-blur",
    "distances.histogram.ChiSquare": "distance/chi2",
    "distances.histogram.Intersection": "distance/intersection",
    "distances.lbp.LBPChi2": "distance/lbp-chi2",
    "distances.pixel.Chessboard": "distance/chessboard",
    "distances.pixel.Correlation": "distance/correlation",
    "distances.pixel.Cosine": "distance/cosine",
    "distances.pixel.Euclidean": "distance/euclidean",
    "distances.pixel.Mahalanobis": "distance/mahalanobis",
    "distances.pixel.Manhattan": "distance/manhattan",
    "distances.pixel.SquaredEuclidean": "distance/sqeuclidean",
    "distances.precomputed.PrecomputedDistance": "distance/precomputed",
    "distances.shape_context.ShapeContext": "distance/shape-context",
    "distances.sift.SIFT": "distance/sift",
    "distances.tangent.Tangent": "distance/tangent",
    "distances.textons.Marginal": "distance/marginal",
    "distances.textons.TextonChi2": "distance/texton-chi2",
    "distances.unified.Unified": "distance/unified",
    "kernels.Exponential": "kernel/exp",
    "kernels.KernelDistance": "distance-of-kernel",
    "kernels.Linear": "kernel/linear",
    "kernels.Polarisation": "kernel/polarisation",
    "kernels.Polynomial": "kernel/polynomial",
    "kernels.PrecomputedKernel": "kernel/precomputed",
    "kernels.RBF": "kernel/rbf",
    "metrics.Plain": "metric/plain",
    "metrics.Standard": "metric/standard",
    "metrics.Unit": "metric/unit",
    "metrics.Within": "metric/within",
    "model.Method": "method",
    "open_set.OpenSet": "open-set",
    "projections.base.Identity": "projection/identity",
    "projections.random.Random": "projection/random",
    "projections.spectral.Graph": "projection/graph",
    "projections.spectral.KFDA": "projection/kfda",
    "projections.spectral.KPCA": "projection/kpca",
    "spaces.Gram": "form/gram",
    "spaces.Raw": "form/raw",
    "spaces.Rkhs": "form/rkhs",
    "tuning.left_out.LeftOut": "left-out",
    "tuning.removed.Exclusion": "exclusion",
    "tuning.setting.Score": "score",
    "tuning.setting.Setting": "setting",
    "tuning.setting.Tuning": "tuning",
}
"""What version 1 called the parts: module.Class, as the code was then."""


Fields = dict[str, Any]


def _rename(old: str, new: str) -> Callable[[Fields], Fields]:
    return lambda fields: {new if name == old else name: value for name, value in fields.items()}


UPGRADES: dict[tuple[str, int], Callable[[Fields], Fields]] = {
    ("method", 1): _rename("metric", "scaling"),
    ("tuning", 1): _rename("metric", "scaling"),
}
"""(tag, version) -> the fields of that version as those of the next; the version written is one more than the last."""


def parameters_of_today(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a classifier as they were stored, under the names they have now: ``metric`` became ``scaling``, and
    ``metric="precomputed"`` became ``distance="precomputed"``."""
    today = dict(parameters)
    if "metric" in today:
        today["scaling"] = today.pop("metric")
        if isinstance(today["scaling"], str) and today["scaling"] == "precomputed":
            today |= {"scaling": "plain", "distance": "precomputed"}
    return today


_DEPTH = 20  # of what is written; what is read may be twice as deep


def encode(value: Any, what: str, arrays: dict[str, Array], depth: int = 0) -> Any:
    """A value as JSON, its arrays put aside in ``arrays``; what is not plain data or a known part is refused."""
    value = as_python(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else {"number": str(value)}
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        return {"objects": [encode(item, what, arrays, depth + 1) for item in value.tolist()]}
    if isinstance(value, np.ndarray):
        name = next((name for name, known in arrays.items() if known is value), f"part-{len(arrays)}")
        arrays[name] = value
        return {"array": name}
    if isinstance(value, list | tuple) and depth < _DEPTH:
        return {type(value).__name__: [encode(item, what, arrays, depth + 1) for item in value]}
    if isinstance(value, dict) and depth < _DEPTH and all(isinstance(key, str) for key in value):
        return {"dict": {key: encode(item, what, arrays, depth + 1) for key, item in value.items()}}
    if isinstance(value, dict) and depth < _DEPTH:
        return {"pairs": [encode(list(pair), what, arrays, depth + 1) for pair in value.items()]}
    tag = tag_of(type(value))
    if tag is not None and depth < _DEPTH:
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
        encoded = {name: encode(item, f"{what}, {name}", arrays, depth + 1) for name, item in fields.items()}
        return {"part": tag, "version": version_of(tag), "fields": encoded}
    raise DataError(
        f"The {what} cannot be saved: {type(value).__name__} is not plain data or a part of kcrc. A file with code in "
        "it would not be safe to open; use a part that kcrc knows by name."
    )


def decode(value: Any, arrays: Mapping[str, Array], depth: int = 0) -> Any:
    """The value that ``encode`` described. Anything else is an error of one of many kinds: see ``READING_ERRORS``."""
    if depth > 2 * _DEPTH:
        raise FileError("The description is nested too deeply.")
    if not isinstance(value, dict):
        return value
    if "part" in value:
        fields = {str(name): decode(item, arrays, depth + 1) for name, item in value["fields"].items()}
        return _rebuild(value["part"], value.get("version", 1), fields)
    (form,) = value
    if form == "number":
        return {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}[value[form]]
    if form == "array":
        return arrays[value[form]]
    if form == "dict":
        return {str(key): decode(item, arrays, depth + 1) for key, item in value[form].items()}
    items = [decode(item, arrays, depth + 1) for item in value[form]]
    if form == "pairs":
        return dict(items)
    if form == "objects":
        made = np.empty(len(items), object)
        made[:] = items
        return made
    return {"list": list, "tuple": tuple}[form](items)


READING_ERRORS = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError, MemoryError)


def tag_of(kind: type) -> str | None:
    """The tag of a class of parts; None where objects of the class are not parts that can be stored."""
    if not dataclasses.is_dataclass(kind):
        return None
    for name, registry in _registries().items():
        entered = registry.name_of(kind)
        if entered is not None:
            return f"{name}/{entered}"
    return _tags_by_class().get((kind.__module__, kind.__qualname__))


def version_of(tag: str) -> int:
    """The version of the fields that is written now."""
    return 1 + max((version for known, version in UPGRADES if known == tag), default=0)


def _rebuild(tag: Any, version: Any, fields: Fields) -> Any:
    """The part of a tag with these fields, of this version of them."""
    name = NAMES_OF_VERSION_1.get(str(tag), str(tag))
    kind = _class_of(name)
    now = version_of(name)
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise FileError(f"The part '{name}' has no version that can be read ({str(version)[:20]!r}).")
    for step in range(version, now):
        fields = UPGRADES[name, step](fields)
    known = {f.name: f for f in dataclasses.fields(kind) if f.init}
    missing = [
        name
        for name, f in known.items()
        if name not in fields and f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise FileError(f"The part '{name}' lacks its {missing[0]}.")
    given = {field: item for field, item in fields.items() if field in known}
    hints = hints_of(kind)
    for field, item in given.items():
        if not fits(item, hints[field]) or exceeds_limit(field, item):
            raise FileError(f"The part '{name}' cannot have {str(item)[:40]!r} as its {field}.")
    return kind(**given)


def _class_of(tag: str) -> Any:
    family, _, name = tag.partition("/")
    if tag in OTHERS:
        module, _, attribute = OTHERS[tag].partition(":")
        return getattr(importlib.import_module(module), attribute)
    registry = _registries().get(family)
    if registry is None or name not in registry.names():
        raise FileError(
            f"There is no part {tag[:60]!r} of a classifier here. A newer kcrc may have it; one of your own has to be "
            "registered before the file is loaded."
        )
    kind = registry.maker(name)
    if not isinstance(kind, type) or not dataclasses.is_dataclass(kind):
        raise FileError(f"The part {tag[:60]!r} cannot be made from a file.")
    return kind


@cache
def _registries() -> dict[str, Registry[Any]]:
    return {kind: importlib.import_module(module).registry for kind, module in REGISTRIES.items()}


@cache
def _tags_by_class() -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for tag, place in OTHERS.items():
        module, _, kind = place.partition(":")
        found[module, kind] = tag
    return found
