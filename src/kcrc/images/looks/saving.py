"""Save and load a fitted image classifier: one file of plain data that is safe to read from any source.

The archive (``kcrc.files.archive``) holds the choice of looks, and for each member of the ensemble the state of its
look and the description of its classifier (``kcrc.classifier.saving``), with numbered arrays ("0-vectors",
"1-vectors"). A look is restored from a feature or distance that kcrc knows; pictures are not stored. Files call the
members "experts".
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
from kcrc.images.looks.choice import Choice, LookScore
from kcrc.images.looks.ensemble import Ensemble, Member
from kcrc.images.looks.join import JoinLook
from kcrc.images.looks.pictures import PictureForm
from kcrc.tuning.left_out.sample import AUTO

if TYPE_CHECKING:
    from kcrc.images.image_classifier import ImageClassifier

KIND = "kcrc-image-classifier"
VERSION = 1
T = TypeVar("T")


def save(classifier: ImageClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted image classifier to one file."""
    if not hasattr(classifier, "ensemble_"):
        raise StateError("The classifier is not fitted yet, so there is nothing to save. Call fit first.")
    arrays: dict[str, Array] = {}
    look_arrays: dict[str, Array] = {}  # shared by all looks, because a look may stand alone and be part of a join
    members = []
    for number, member in enumerate(classifier.ensemble_.members):
        header, parts = describe(member.classifier)
        model = member.classifier.answerer_.model
        stored = {"vectors": model.raw, "labels": model.labels, "ids": model.ids, **parts}
        look = encode(member.look.state(), f"look '{member.look.name}'", look_arrays)
        arrays |= {f"{number}-{name}": array for name, array in stored.items()}
        plain = {"weight": member.weight, "reach": member.reach}
        calibration = encode(member.calibration, "calibration", {})
        members.append({**plain, "look": look, "classifier": header, "calibration": calibration})
    arrays |= {f"look-{name}": array for name, array in look_arrays.items()}
    rest: dict[str, Array] = {}
    groups = classifier.ensemble_.groups
    parameters = {name: value for name, value in classifier.get_params(deep=False).items() if name != "looks"}
    if isinstance(parameters["random_state"], np.random.RandomState | np.random.Generator):
        parameters["random_state"] = classifier.model_.method.seed  # the seed that fit drew from it
    header = {
        "version": VERSION,
        "experts": members,
        "classes": encode(classifier.classes_, "class names", rest),
        "form": asdict(classifier.form_),
        "kind-of-pictures": asdict(classifier.kind_),
        "choice": encode(_plain_choice(classifier.choice_), "choice", rest),
        "parameters": encode(parameters, "parameters", rest),
        "groups": encode(
            {"ids": groups.ids, "groups": groups.groups} if isinstance(groups, Groups) else groups, "groups", rest
        ),
    }
    write_archive(path, KIND, header, {**arrays, **{f"rest-{name}": array for name, array in rest.items()}})


def load(path: str | os.PathLike[str], make: Callable[..., T]) -> T:
    """Read the image classifier that ``save`` wrote; ``make`` makes an unfitted one from its parameters."""
    header, arrays = read_archive(path, KIND, version=VERSION)
    check_version(header.get("version"), VERSION, path)
    try:
        rest, look_arrays = _with_prefix("rest-", arrays), _with_prefix("look-", arrays)
        classifier = make(**decode(header["parameters"], rest))
        classes = np.array(decode(header["classes"], rest))
        members = tuple(
            _read_member(state, _with_prefix(f"{number}-", arrays), decode(state["look"], look_arrays), classes, path)
            for number, state in enumerate(header["experts"])
        )
        if len({tuple(member.classifier.examples_.ids.tolist()) for member in members}) != 1:
            raise FileError("its looks have different examples")
        stored_groups = decode(header["groups"], rest)
        groups: Groups | str | None = None if stored_groups is None else AUTO
        if isinstance(stored_groups, dict):
            groups = Groups(stored_groups["ids"], stored_groups["groups"])
        vars(classifier).update(
            form_=PictureForm(**_read_numbers(PictureForm, header["form"])),
            kind_=PictureKind(**_read_numbers(PictureKind, header["kind-of-pictures"])),
            choice_=_read_choice(decode(header["choice"], rest)),
            classes_=members[0].classifier.classes_,
            ensemble_=Ensemble(members, groups),
        )
        return classifier
    except (KCRCError, *READING_ERRORS) as problem:
        raise FileError(f"'{path}' does not describe an image classifier ({f'{problem}'[:200].rstrip('.')}).") from None


def _read_member(
    state: Mapping[str, Any], arrays: Mapping[str, Array], look: Mapping[str, Any], classes: Array, path: object
) -> Member:
    examples = Examples(classes, *(np.array(arrays[name]) for name in ("vectors", "labels", "ids")))
    classifier = rebuild(state["classifier"], arrays, examples, path=path)
    calibration = decode(state["calibration"], {})
    weight, reach = float(state["weight"]), float(state["reach"])
    if not isinstance(calibration, Calibration) or not (0 < weight < np.inf and 0 < reach < np.inf):
        raise FileError("the weight and reach of a look must be positive, finite numbers")
    return Member(_read_look(look), classifier, calibration, reach, weight)


def _read_look(state: Mapping[str, Any]) -> Look:
    if state["look"] == "join":
        weights = tuple(float(weight) for weight in state["weights"])
        parts = tuple(_read_feature_look(part) for part in state["parts"] if part["look"] == "feature")
        if len(parts) != len(weights) or not all(0 < weight <= 1 for weight in weights):
            raise FileError("a join of looks must have a weight from 0 to 1 for each look")
        return JoinLook(parts, weights, _read_axes(state["axes"]), _read_beyond(state))
    if state["look"] == "distance":
        name, price = str(state["name"]), Price(**_read_numbers(Price, state["price"]))
        height, width = (int(side) for side in state["size"])
        if not (0 < height <= 1024 and 0 < width <= 1024):
            raise FileError(f"the size of a look must be 1 to 1024 pixels per side; got {height}×{width}")
        size, measure = (height, width), str(state["measure"])
        of_distance(name, measure, size)  # refuses an unknown distance
        return DistanceLook(name, size, measure, price, bool(state["unit"]))
    return _read_feature_look(state)


def _read_feature_look(state: Mapping[str, Any]) -> FeatureLook:
    name, price = str(state["name"]), Price(**_read_numbers(Price, state["price"]))
    return FeatureLook(name, features.restore(state["feature"]), price, _read_axes(state["axes"]), _read_beyond(state))


def _read_beyond(state: Mapping[str, Any]) -> bool:
    return bool(state.get("beyond", False))  # files of earlier versions have no such coordinate


def _read_axes(axes: Any) -> Array | None:
    if axes is None:
        return None
    if not isinstance(axes, np.ndarray) or axes.ndim != 2 or axes.dtype != np.float32 or not np.isfinite(axes).all():
        raise FileError("the axes of a look must be finite numbers (m, d) in float32")
    return axes


def _plain_choice(choice: Choice) -> dict[str, Any]:
    # Pairs, because their order says which look is heaviest.
    weights = [list(pair) for pair in choice.weights.items()]
    return {**vars(choice), "weights": weights, "scores": [asdict(score) for score in choice.scores]}


def _read_choice(state: Mapping[str, Any]) -> Choice:
    scores = tuple(LookScore(**score) for score in state["scores"])
    weights = {str(name): float(weight) for name, weight in state["weights"]}
    return Choice(weights, scores, str(state["way"]), int(state["right"]), int(state["asked"]))


def _read_numbers(kind: Any, state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a dataclass of plain numbers, checked."""
    hints = hints_of(kind)
    values = {field.name: state[field.name] for field in fields(kind)}
    if not all(fits(value, hints[name]) and abs(value) < 1e12 for name, value in values.items()):
        raise FileError(f"{kind.__name__} must have numbers below 1e12 of the right type; got {str(values)[:100]}")
    return values


def _with_prefix(prefix: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
