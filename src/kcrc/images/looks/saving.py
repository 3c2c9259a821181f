"""A fitted image classifier in one file that is safe to read from anyone: looks and classifiers as plain data.

The archive (``kcrc.files.archive``) holds what was chosen, and for every look that answers its state and the
description of its classifier (``kcrc.classifier.saving``), arrays under names of their own ("0-vectors",
"1-vectors"). A look comes back by a feature or distance that kcrc knows; the pictures themselves are not stored.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.registry import fits, hints_of
from kcrc.classifier.confidence_methods import Groups
from kcrc.classifier.saving import Examples, describe, rebuild
from kcrc.classifier.stored_parts import READING_ERRORS, decode, encode
from kcrc.confidence.calibration import Calibration
from kcrc.errors import FileError, KCRCError, StateError
from kcrc.files.archive import check_version, read_archive, write_archive
from kcrc.images import features
from kcrc.images.looks.base import DistanceLook, FeatureLook, Look, PictureKind, Price, of_distance
from kcrc.images.looks.chosen import Choice, LookScore
from kcrc.images.looks.expert import Expert
from kcrc.images.looks.join import JoinLook
from kcrc.images.looks.panel import Panel
from kcrc.images.looks.pictures import PictureForm

if TYPE_CHECKING:
    from kcrc.images.image_classifier import ImageClassifier

KIND = "kcrc-image-classifier"
VERSION = 1
T = TypeVar("T")


def save(classifier: ImageClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted image classifier to one file."""
    if not hasattr(classifier, "panel_"):
        raise StateError("The classifier is not fitted yet; there is nothing to save.")
    arrays: dict[str, Array] = {}
    seeing: dict[str, Array] = {}  # of all looks, because a look may stand alone and be part of a join
    experts = []
    for number, expert in enumerate(classifier.panel_.experts):
        header, parts = describe(expert.classifier)
        model = expert.classifier.model_
        stored = {"vectors": model.raw, "labels": model.labels, "ids": model.ids, **parts}
        look = encode(expert.look.state(), f"look '{expert.look.name}'", seeing)
        arrays |= {f"{number}-{name}": array for name, array in stored.items()}
        told = {"weight": expert.weight, "reach": expert.reach}
        calibration = encode(expert.calibration, "calibration", {})
        experts.append({**told, "look": look, "classifier": header, "calibration": calibration})
    arrays |= {f"look-{name}": array for name, array in seeing.items()}
    rest: dict[str, Array] = {}
    groups = classifier.panel_.groups
    parameters = {name: value for name, value in classifier.get_params(deep=False).items() if name != "looks"}
    if isinstance(parameters["random_state"], np.random.RandomState | np.random.Generator):
        parameters["random_state"] = classifier.model_.method.seed  # what the fit drew of it
    header = {
        "version": VERSION,
        "experts": experts,
        "classes": encode(classifier.classes_, "class names", rest),
        "form": asdict(classifier.form_),
        "kind-of-pictures": asdict(classifier.kind_),
        "choice": encode(_plain_choice(classifier.choice_), "choice", rest),
        "parameters": encode(parameters, "parameters", rest),
        "groups": encode(None if groups is None else {"ids": groups.ids, "groups": groups.groups}, "groups", rest),
    }
    write_archive(path, KIND, header, {**arrays, **{f"rest-{name}": array for name, array in rest.items()}})


def load(path: str | os.PathLike[str], make: Callable[..., T]) -> T:
    """The image classifier that ``save`` wrote; ``make`` makes an unfitted one of its parameters."""
    header, arrays = read_archive(path, KIND, version=VERSION)
    check_version(header.get("version"), VERSION, path)
    try:
        rest, seeing = _under("rest-", arrays), _under("look-", arrays)
        made = make(**decode(header["parameters"], rest))
        classes = np.array(decode(header["classes"], rest))
        experts = tuple(
            _expert(told, _under(f"{number}-", arrays), decode(told["look"], seeing), classes, path)
            for number, told in enumerate(header["experts"])
        )
        if len({tuple(e.classifier.model_.ids.tolist()) for e in experts}) != 1:
            raise FileError("its looks have other examples")
        given = decode(header["groups"], rest)
        groups = None if given is None else Groups(given["ids"], given["groups"])
        vars(made).update(
            form_=PictureForm(**_numbers(PictureForm, header["form"])),
            kind_=PictureKind(**_numbers(PictureKind, header["kind-of-pictures"])),
            choice_=_choice(decode(header["choice"], rest)),
            classes_=experts[0].classifier.classes_,
            panel_=Panel(experts, groups),
        )
        return made
    except (KCRCError, *READING_ERRORS) as problem:
        raise FileError(f"'{path}' does not describe an image classifier ({f'{problem}'[:200].rstrip('.')}).") from None


def _expert(
    told: Mapping[str, Any], arrays: Mapping[str, Array], look: Mapping[str, Any], classes: Array, path: object
) -> Expert:
    examples = Examples(classes, *(np.array(arrays[name]) for name in ("vectors", "labels", "ids")))
    classifier = rebuild(told["classifier"], arrays, examples, path=path)
    calibration = decode(told["calibration"], {})
    weight, reach = float(told["weight"]), float(told["reach"])
    if not isinstance(calibration, Calibration) or not (0 < weight < np.inf and 0 < reach < np.inf):
        raise FileError("a look has no weight")
    return Expert(_look(look), classifier, calibration, reach, weight)


def _look(state: Mapping[str, Any]) -> Look:
    if state["look"] == "join":
        weights = tuple(float(weight) for weight in state["weights"])
        parts = tuple(_of_feature(part) for part in state["parts"] if part["look"] == "feature")
        if len(parts) != len(weights) or not all(0 < weight <= 1 for weight in weights):
            raise FileError("a join of looks has other weights than looks")
        return JoinLook(parts, weights, _axes(state["axes"]), _beyond(state))
    if state["look"] == "distance":
        name, price = str(state["name"]), Price(**_numbers(Price, state["price"]))
        height, width = (int(side) for side in state["size"])
        if not (0 < height <= 1024 and 0 < width <= 1024):
            raise FileError("a look has no size")
        size, measure = (height, width), str(state["measure"])
        of_distance(name, measure, size)  # refuses what is no distance
        return DistanceLook(name, size, measure, price, bool(state["unit"]))
    return _of_feature(state)


def _of_feature(state: Mapping[str, Any]) -> FeatureLook:
    name, price = str(state["name"]), Price(**_numbers(Price, state["price"]))
    return FeatureLook(name, features.restore(state["feature"]), price, _axes(state["axes"]), _beyond(state))


def _beyond(state: Mapping[str, Any]) -> bool:
    return bool(state.get("beyond", False))  # of files written before there was such a coordinate


def _axes(axes: Any) -> Array | None:
    if axes is None:
        return None
    if not isinstance(axes, np.ndarray) or axes.ndim != 2 or axes.dtype != np.float32 or not np.isfinite(axes).all():
        raise FileError("the span of a look is no array of numbers")
    return axes


def _plain_choice(choice: Choice) -> dict[str, Any]:
    # Pairs, because their order says which is heaviest.
    weights = [list(pair) for pair in choice.weights.items()]
    return {**vars(choice), "weights": weights, "scores": [asdict(score) for score in choice.scores]}


def _choice(told: Mapping[str, Any]) -> Choice:
    scores = tuple(LookScore(**score) for score in told["scores"])
    weights = {str(name): float(weight) for name, weight in told["weights"]}
    return Choice(weights, scores, str(told["way"]), int(told["right"]), int(told["asked"]))


def _numbers(kind: Any, told: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a value of plain numbers."""
    hints = hints_of(kind)
    found = {field.name: told[field.name] for field in fields(kind)}
    if not all(fits(value, hints[name]) and abs(value) < 1e12 for name, value in found.items()):
        raise FileError(f"{kind.__name__} is not made of such numbers: {str(found)[:100]}")
    return found


def _under(start: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
