"""The fitted classifier of a gallery, stored in it: chosen once, then used by every program that opens the gallery.

Everything except the examples is stored (``kcrc.classifier.saving.describe``): the chosen parameters, the fitted
scaling, the leave-one-out answers. New examples join as in ``partial_fit``, which moves no other example.

An edit writes none of this. The next question calibrates again: it classifies the left-out examples whose answers the
edit touches, and keeps all answers for the question after it. If more than a share ``STALE`` of the examples changed,
the scaling and all else that was learned from examples is learned again too.
"""

from __future__ import annotations

import copy
import dataclasses
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.registry import fits, hints_of
from kcrc.classifier.saving import Examples, describe, rebuild_answerer
from kcrc.classifier.stored_parts import encode
from kcrc.confidence.answerer import Answerer
from kcrc.confidence.calibration import Confidence, ConformalSets
from kcrc.errors import FileError, UnreadableTuning
from kcrc.files.archive import from_npy, to_npy
from kcrc.files.plain_files import read_json
from kcrc.gallery.contract import ActRecord, ExampleRecord, Snapshot, TunedRecord
from kcrc.gallery.examples import Contents
from kcrc.gallery.settings import Settings, to_json
from kcrc.method.fitted_model import FittedModel
from kcrc.method.scaling import within_deviations
from kcrc.tuning.left_out.answers import LeftOut
from kcrc.updates.pending import Growth, why_retune
from kcrc.updates.what_if import with_examples, without_examples

if TYPE_CHECKING:
    from kcrc.classifier.estimator import KCRCClassifier

_FACTS, _CLASSIFIER, _CONFIDENCE, _ARRAY = "facts", "classifier", "confidence", "array "
_CALIBRATED_ON, _CHANGED = "calibrated on ", "changed"
LEARNED_AT = "learned at"
"""The piece with the revision whose examples the calibration was learned from."""
STALE = 0.05
"""The share of examples that may change before all that was learned from them (a covariance, the width of a kernel) is
learned again: 3 of 60, 100 of 2000."""
_LONGEST = 4_000_000  # bytes of a description; those written have at most a million characters
_TRIED = 200  # of the settings tried that are kept, the best
DEFAULT_PARAMETERS: dict[str, Any] = {  # used while choosing has to wait
    "n_neighbors": 25,
    "kernel": "linear",
    "mu": 0.1,
    "form": "rkhs",
    "decision": "ratio",
    "locality": "atoms",
    "scaling": "unit",
}
NOT_CHOSEN = "the usual ones, not chosen from the examples"


@dataclass(frozen=True)
class Facts:
    """What the choice was made on: ``examples`` examples with ids below ``next_id``; ``chosen`` describes it, or is
    None if the examples were too few to try anything."""

    examples: int
    next_id: int
    chosen: str | None

    def changes(self, now: Contents) -> int:
        """Return how many examples came or went since."""
        old = int(np.searchsorted(now.ids, self.next_id))
        return (self.examples - old) + (len(now) - old)

    def growth(self, now: Contents) -> Growth:
        """Return the same as a classifier counts it."""
        return Growth(int(now.ids[-1]) + 1, self.examples, self.changes(now))

    def outgrown(self, now: Contents) -> bool:
        """Return whether the choice is out of date: made without trying, or on less than half of the examples of
        now."""
        return self.outgrown_by(self.changes(now))

    def outgrown_by(self, changes: int) -> bool:
        """Return the same after so many changes."""
        return changes > self.examples or (self.chosen is None and changes > 0)

    def why_retune(self, now: Contents) -> str | None:
        """Return why tuning again is due, or None."""
        return why_retune(self.changes(now), self.examples)


def state_of(
    classifier: KCRCClassifier, next_id: int, facts: Facts | None = None, *, chosen: str | None = None
) -> dict[str, bytes]:
    """Return a classifier fitted on examples with ids below ``next_id`` as rows of the table ``tuned``.

    ``facts`` are those of an earlier choice, if the parameters are still that choice; ``chosen`` describes parameters
    that were not found by trying."""
    tuning = classifier.tuning_
    if facts is None:
        facts = Facts(len(classifier.examples_), next_id, chosen or (None if tuning is None else repr(tuning)))
    if tuning is not None and len(tuning.scores) > _TRIED:
        best, scores = tuning.best, tuning.scores
        order = sorted(scores, key=lambda s: (s != best, -scores[s].trials, -scores[s].accuracy))
        tuning = dataclasses.replace(tuning, scores={setting: scores[setting] for setting in order[:_TRIED]})
    model = classifier.answerer_.model
    if tuning is not None and type(tuning.scaling) is type(model.method.scaling):
        tuning = dataclasses.replace(tuning, scaling=model.method.scaling)  # a matrix is stored once, as it is now
    shorter = copy.copy(classifier)
    shorter.tuning_ = tuning
    header, arrays = describe(shorter, confidence=False)
    state = _without_matrix(model, arrays)
    state |= {_ARRAY + name: to_npy(array) for name, array in arrays.items()}
    state |= {_FACTS: to_json(vars(facts)).encode(), _CLASSIFIER: to_json(header).encode()}
    return state | calibration_state(Calibrated(model, classifier.confidence_))


def calibration_state(calibrated: Calibrated) -> dict[str, bytes]:
    """Return the calibration as rows of the table ``tuned``, those that are written again after an edit."""
    arrays: dict[str, Array] = {}
    description = encode(calibrated.confidence, "confidence", arrays)
    model = calibrated.model
    examples = {"ids": model.ids, "labels": model.labels.astype(np.int32), "classes": model.classes}
    return {
        _CONFIDENCE: to_json(description).encode(),
        **{f"{_CONFIDENCE} {name}": to_npy(array) for name, array in arrays.items()},
        **{_CALIBRATED_ON + name: to_npy(array) for name, array in examples.items()},
        _CHANGED: b"%d %d" % (calibrated.changed, calibrated.next_id),
    }


def is_of_calibration(name: str) -> bool:
    """Return whether a row of the table ``tuned`` belongs to the calibration."""
    return name.startswith((_CONFIDENCE, _CALIBRATED_ON)) or name in (_CHANGED, LEARNED_AT)


@dataclass(frozen=True)
class PortableChoice:
    """A stored choice for a gallery of the same examples with ids from 1 on; ``fresh`` if learned from exactly
    those."""

    summary: str
    state: dict[str, bytes]
    fresh: bool


def portable_choice(
    reading: Snapshot, settings: Settings, now: Contents, calibrated: Calibrated | None
) -> PortableChoice:
    """Return the choice in use, for another gallery; ``calibrated`` is the calibration on the examples of now, if
    known."""
    facts = read_facts(reading, settings.tuned)
    chosen_on = int(np.searchsorted(now.ids, facts.next_id))
    state = {piece.name: piece.data for piece in reading.find(TunedRecord, act=settings.tuned)}
    state.pop(LEARNED_AT, None)
    if calibrated is not None:
        state = {name: data for name, data in state.items() if not is_of_calibration(name)}
        state |= calibration_state(calibrated.numbered_from_1())
    state[_FACTS] = to_json(vars(dataclasses.replace(facts, next_id=chosen_on + 1))).encode()
    summary = next((act.summary for act in reading.find(ActRecord, id=settings.tuned)), "tuned")
    return PortableChoice(summary, state, calibrated is not None)


def read_facts(reading: Snapshot, act: int) -> Facts:
    """Return the facts of the choice of act ``act``."""
    for piece in reading.find(TunedRecord, act=act, name=_FACTS):
        facts = _parse(piece.data)
        hints = hints_of(Facts)
        if facts.keys() == hints.keys() and all(fits(facts[name], hint) for name, hint in hints.items()):
            return Facts(**facts)
    raise FileError("What was tuned cannot be read; the file is damaged. 'kcrc tune' chooses again.")


def learned_at(reading: Snapshot, act: int) -> int | None:
    """Return the revision from whose examples the calibration of ``act`` was learned; None if not known."""
    for piece in reading.find(TunedRecord, act=act, name=LEARNED_AT):
        if piece.data.isdigit() and len(piece.data) < 19:
            return int(piece.data)
    return None


def read_state(reading: Snapshot, act: int) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the description and the arrays of the classifier that ``act`` chose."""
    header: dict[str, Any] = {}
    confidence: dict[str, Any] | None = None
    arrays: dict[str, Array] = {}
    for piece in reading.find(TunedRecord, act=act):
        name = piece.name
        if name.startswith((_ARRAY, f"{_CONFIDENCE} ", _CALIBRATED_ON)):
            arrays[name.removeprefix(_ARRAY)] = from_npy(piece.data, what=f"tuned {name}")
        elif name == _CLASSIFIER:
            header = _parse(piece.data)
        elif name == _CONFIDENCE:
            confidence = _parse(piece.data)
    if confidence is not None:
        header["confidence"] = _rename_arrays(confidence)
    return header, _with_matrix(arrays)


def _rename_arrays(value: Any) -> Any:
    """Return a description that names its arrays as the rows of the table do."""
    if isinstance(value, list):
        return [_rename_arrays(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"array"}:
        return {"array": f"{_CONFIDENCE} {value['array']}"}
    return {name: _rename_arrays(item) for name, item in value.items()}


def answerer_from(
    header: dict[str, Any], arrays: dict[str, Array], ids: Array, labels: Array, vectors: Array, *, path: object
) -> Answerer:
    """Rebuild the stored classifier with examples: ids (n,), labels (n,) and vectors (n, dim)."""
    classes, numbers = np.unique(labels, return_inverse=True)
    made = rebuild_answerer(header, arrays, Examples(classes, vectors, numbers, ids), path=path)
    if made.samples.width != vectors.shape[1]:
        raise FileError(f"The tuned classifier of '{path}' is for other vectors; the file is damaged.")
    return made


def _parse(data: bytes) -> dict[str, Any]:
    try:
        value = read_json(data) if len(data) <= _LONGEST else None
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise FileError("What was tuned cannot be read; the file is damaged.")
    return value


def warn_unreadable(problem: FileError) -> None:
    """Warn that the stored choice is lost, and that the examples are not."""
    warnings.warn(
        f"What was tuned cannot be read ({problem}) The examples are whole; the parameters are chosen again from them.",
        UnreadableTuning,
        stacklevel=3,
    )


# A whitening matrix (d, d) of fewer examples than half its width: stored as what it is made of.
#
# The shrunk covariance S = (1 − s) C + s v I differs from s v I only along the directions in which the examples of a
# class differ: C = Dᵀ D / f has the r eigenvectors Q of D with the eigenvalues λ / f. So S^(−1/2) = a I − Q diag(g) Qᵀ,
# with a = (s v)^(−1/2) and g = a − ((1 − s) λ / f + s v)^(−1/2). It whitens as the Cholesky factor of S⁻¹ does, up to a
# rotation, which changes no distance.

_FACTOR = "whitening "
_WIDEST = 20_000  # numbers of a vector: a matrix of 1.6 GB


@dataclass(frozen=True, eq=False)
class WhiteningFactors:
    """basis Q (d, r), gains g (r,) and scale a of a I − Q diag(g) Qᵀ."""

    basis: Array
    gains: Array
    scale: float

    @classmethod
    def of(cls, model: FittedModel) -> WhiteningFactors | None:
        """Factorise a model's within-class scaling; None if it has none, or if the matrix takes less space."""
        scaling = model.method.scaling.by_class
        if scaling is None or scaling is not model.method.scaling or scaling.whitening is None:
            return None
        freedom = max(1, len(model) - len(np.unique(model.labels)))
        width = model.raw.shape[1]
        if 2 * min(len(model), freedom) > width:
            return None
        deviations = within_deviations(scaling.ready(model.raw), model.labels)[0].astype(np.float64)
        squares, left = np.linalg.eigh(deviations @ deviations.T)
        variance = float(squares.clip(0).sum()) / freedom / width or 1.0
        real = squares > squares.max() * len(squares) * np.finfo(np.float64).eps
        basis = deviations.T @ (left[:, real] / np.sqrt(squares[real]))
        least = scaling.shrinkage * variance
        gains = least**-0.5 - ((1.0 - scaling.shrinkage) * squares[real] / freedom + least) ** -0.5
        return cls(basis.astype(scaling.whitening.dtype), gains, least**-0.5)

    def matrix(self) -> Array:
        """(d, d), in the type of the basis."""
        basis = self.basis.astype(np.float64)
        made = (basis * -self.gains) @ basis.T
        made[np.diag_indices_from(made)] += self.scale
        return made.astype(self.basis.dtype)


def compact_scaling(model: FittedModel) -> FittedModel | None:
    """Return the model with a whitening matrix as it is stored; None if it is stored whole."""
    factors, scaling = WhiteningFactors.of(model), model.method.scaling.by_class
    if factors is None or scaling is None or scaling.whitening is None:
        return None
    matrix, whole = factors.matrix(), scaling.whitening
    inverse = whole @ whole.T
    if not np.allclose(matrix @ matrix.T, inverse, rtol=0, atol=1e-3 * float(inverse.max())):
        return None  # it was fitted on other examples
    return model.by(replace(model.method, scaling=replace(scaling, whitening=factors.matrix())))


def _without_matrix(model: FittedModel, arrays: dict[str, Array]) -> dict[str, bytes]:
    """Return rows that replace the whitening matrix among ``arrays``, which is removed; empty if it stays."""
    factors = WhiteningFactors.of(model)
    if factors is None:
        return {}
    scaling = model.method.scaling.by_class
    name = next((name for name, array in arrays.items() if scaling is not None and array is scaling.whitening), None)
    if name is None or not np.array_equal(arrays[name], factors.matrix()):
        return {}
    del arrays[name]
    parts = {"basis": factors.basis, "gains": factors.gains, "scale": np.array(factors.scale)}
    return {f"{_ARRAY}{_FACTOR}{part} {name}": to_npy(array) for part, array in parts.items()}


def _with_matrix(arrays: dict[str, Array]) -> dict[str, Array]:
    """Return the arrays with the whitening matrix restored from its factors."""
    begins = f"{_FACTOR}basis "
    for name in [name.removeprefix(begins) for name in arrays if name.startswith(begins)]:
        basis, gains, scale = (arrays.pop(f"{_FACTOR}{part} {name}", None) for part in ("basis", "gains", "scale"))
        if basis is None or gains is None or scale is None or basis.ndim != 2 or basis.dtype.kind != "f":
            raise FileError("What was tuned cannot be read; the file is damaged.")
        if len(basis) > _WIDEST or gains.shape != basis.shape[1:] or scale.shape or 2 * basis.shape[1] > len(basis):
            raise FileError("What was tuned cannot be read; the file is damaged.")
        arrays[name] = WhiteningFactors(basis, gains, float(scale)).matrix()
    return arrays


# The answerer at one revision of a gallery, and how it is updated to the next.


@dataclass(frozen=True, eq=False)
class GalleryState:
    """The examples at one revision, their vectors (n, dim), the act that chose the parameters, and its facts."""

    contents: Contents
    vectors: Array
    tuned: int
    facts: Facts | None


@dataclass(frozen=True, eq=False)
class Calibrated:
    """The calibration of ``model``. ``changed`` counts the examples changed since its scaling, and all else that is
    learned from examples, was learned. Nothing was learned from examples with ids from ``next_id`` on."""

    model: FittedModel
    confidence: Confidence
    changed: int = 0
    next_id: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "next_id", max(self.next_id, int(self.model.ids.max(initial=0)) + 1))

    def following(self, model: FittedModel, revision: int) -> Calibrated | None:
        """Return the calibration of ``model`` as it is now, computing only the answers that a change touches. None if
        so many examples changed that everything has to be learned again, or if the answers are not known any more."""
        if not _differences(self.model, model):
            return replace(self, model=model)
        known = self._with_new_names(model)
        differences = _differences(known.model, model)
        changed = self.changed + differences
        if changed > STALE * len(model) or (self.confidence.sets is not None and self.confidence.left_out is None):
            return None
        if not differences:
            return replace(known, model=model)
        had = known.confidence
        made = Confidence.of(model, None, exclusion=had.exclusion, before=(had, known.model), revision=revision)
        made = replace(made, groups=had.groups, groups_found=had.groups_found)
        return Calibrated(model, made, changed, self.next_id)

    def numbered_from_1(self) -> Calibrated:
        """Return the same with the examples renumbered from 1 on."""
        ids, had = self.model.ids, self.confidence

        def numbers(rows: Array) -> Array:
            return np.searchsorted(ids, rows) + 1

        def renumber(left: LeftOut | None) -> LeftOut | None:
            return None if left is None else replace(left, rows=numbers(left.rows))

        out = had.exclusion
        stay = np.isin(out.ids, ids)
        out = replace(
            out, ids=numbers(out.ids[stay]), groups=out.groups[stay], labels=out.labels[stay],
            weights=None if out.weights is None else out.weights[stay],
        )  # fmt: skip
        confidence = replace(
            had, exclusion=out, left_out=renumber(had.left_out), strangers=renumber(had.strangers),
            asked=None if had.asked is None else numbers(had.asked),
            groups=None if had.groups is None else had.groups[stay],
        )  # fmt: skip
        model = replace(self.model, ids=np.arange(1, len(ids) + 1))
        return Calibrated(model, confidence, self.changed)

    def _with_new_names(self, model: FittedModel) -> Calibrated:
        """Return the same with classes renamed that only have another name in ``model``."""
        names = _renamed_classes(self.model, model)
        old, had = self.model, self.confidence
        if not names:
            return self

        def rename(labels: Array) -> Array:
            return np.array([names.get(label, label) for label in labels.tolist()])

        order = np.argsort(rename(old.classes))
        number = np.argsort(order)  # of a class of before, now

        def reorder(left: LeftOut | None) -> LeftOut | None:
            return left and replace(
                left, truth=number[left.truth], winner=number[left.winner], residuals=left.residuals[:, order]
            )

        sets = had.sets and ConformalSets(had.sets.scores, rename(had.sets.names))
        confidence = replace(
            had, left_out=reorder(had.left_out), strangers=reorder(had.strangers), sets=sets,
            answered=None if had.answered is None else rename(had.answered),
        )  # fmt: skip
        model = old.relabel(rename(old.classes)[order], number[old.labels])
        return replace(self, model=model, confidence=confidence)


def _differences(one: FittedModel, other: FittedModel) -> int:
    """Return how many examples are in only one of two models, or have different labels in them."""
    _, here, there = np.intersect1d(one.ids, other.ids, assume_unique=True, return_indices=True)
    moved = one.classes[one.labels[here]] != other.classes[other.labels[there]]
    return len(one) + len(other) - 2 * len(here) + int(moved.sum())


def _renamed_classes(old: FittedModel, now: FittedModel) -> dict[str, str]:
    """Return the new names of classes of ``old`` that kept all their examples and got none of another class."""
    _, then, there = np.intersect1d(old.ids, now.ids, assume_unique=True, return_indices=True)
    pairs = np.unique(np.stack([old.labels[then], now.labels[there]]), axis=1)
    names: dict[str, str] = {}
    for before, after in pairs.T.tolist():
        alone = (pairs[0] == before).sum() == (pairs[1] == after).sum() == 1
        if alone and old.classes[before] != now.classes[after] and now.classes[after] not in old.classes:
            names[str(old.classes[before])] = str(now.classes[after])
    return names


@dataclass(frozen=True, eq=False)
class CurrentAnswerer:
    """The answerer of the examples at one revision, and the act that chose its parameters (0: not in the file)."""

    contents: Contents
    tuned: int
    facts: Facts | None
    answerer: Answerer
    calibrated: Calibrated | None
    """The latest calibration that is known, of these examples or earlier ones."""
    classifier: KCRCClassifier | None = None
    """The same as a scikit-learn classifier, once it was asked for."""
    stored: bool = True
    """Whether the calibration is in the file."""
    learned_again: bool = False
    """Whether more than the calibration is not in the file."""

    @property
    def is_calibrated(self) -> bool:
        """Whether the calibration is of these very examples."""
        return self.calibrated is not None and self.calibrated.model is self.answerer.model


def model_following(model: FittedModel, ids: Array, labels: Array, vectors: Array) -> FittedModel:
    """Return a model of the same method with other examples: ids (n,) rising, labels (n,) and vectors (n, dim). What
    was prepared of examples that stay is reused; ``model`` itself does not change."""
    kept, old = np.isin(model.ids, ids), np.isin(ids, model.ids)
    stay = int(kept.sum())
    if stay and old[:stay].all():  # new ones follow those that stay
        if stay < len(model):
            model = without_examples(model, model.ids[~kept])
        if stay < len(ids):
            model = with_examples(model, vectors[stay:], labels[stay:], ids[stay:])
        classes, numbers = np.unique(labels, return_inverse=True)
        same = np.array_equal(classes, model.classes) and np.array_equal(numbers, model.labels)
        return model if same else model.relabel(classes, numbers)
    classes, numbers = np.unique(labels, return_inverse=True)
    scaled = None
    if stay and model.vectors is not model.raw and not model.method.double_precision:
        scaled = np.empty((len(ids), model.vectors.shape[1]), model.vectors.dtype)
        scaled[old] = model.vectors[kept]
        scaled[~old] = model.method.scaling.transform(vectors[~old])
    return FittedModel.build(model.method, vectors, classes, numbers, ids, scaled=scaled)


def next_id_learned(reading: Snapshot, act: int) -> int:
    """Return the id from which on no example influenced what ``act`` keeps."""
    learned = _read_changes(reading, act)
    if learned is not None:
        return max(read_facts(reading, act).next_id, learned[1])
    known = learned_at(reading, act) in (None, act)  # earlier versions learned later, and did not say from what
    return read_facts(reading, act).next_id if known else reading.settings().next_id


def _read_changes(reading: Snapshot, act: int) -> tuple[int, int] | None:
    """Return ``Calibrated.changed`` and ``Calibrated.next_id`` of the calibration that ``act`` keeps."""
    for piece in reading.find(TunedRecord, act=act, name=_CHANGED):
        numbers = piece.data.split()
        if len(numbers) == 2 and all(number.isdigit() and len(number) < 19 for number in numbers):
            return int(numbers[0]), int(numbers[1])
    return None


def calibrated_on(
    reading: Snapshot, arrays: dict[str, Array], act: int, now: Contents, vectors: Array
) -> tuple[Array, Array, Array, tuple[int, int]] | None:
    """Return the examples that the calibration of ``act`` was learned from (ids, labels, vectors), and its ``changed``
    and ``next_id``. None if they are not known any more."""
    changed = _read_changes(reading, act)
    try:
        ids, numbers, classes = (arrays[_CALIBRATED_ON + name] for name in ("ids", "labels", "classes"))
        labels = classes[numbers]
    except (KeyError, IndexError):
        return None
    rising = ids.ndim == 1 and ids.dtype.kind == "i" and len(ids) == len(labels) > 0 and (np.diff(ids) > 0).all()
    if changed is None or not rising or labels.ndim != 1 or labels.dtype.kind != "U":
        return None
    gone = ids[~np.isin(ids, now.ids)].tolist()
    records = sorted(reading.find(ExampleRecord, id=gone)) if gone else []
    if len(records) < len(gone):
        return None
    before = np.empty((len(ids), vectors.shape[1]), vectors.dtype)
    before[np.isin(ids, now.ids)] = vectors[np.isin(now.ids, ids)]
    if gone:
        before[np.isin(ids, gone)] = reading.vectors(records)
    return ids, labels, before, changed
