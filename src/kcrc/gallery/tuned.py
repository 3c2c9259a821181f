"""The fitted classifier of a gallery, kept in its file: chosen once, then used by whoever opens the gallery.

All but the examples is stored (``kcrc.classifier.saving.describe``): the chosen parameters, the fitted scaling, what
the examples' own answers said. New examples join it as ``partial_fit`` lets them join, so that adding one changes no
other's place, and asking after an ``add`` is quick.
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
from kcrc.confidence.answerer import Answerer
from kcrc.errors import FileError, UnreadableTuning
from kcrc.files.archive import from_npy, to_npy
from kcrc.files.plain_files import read_json
from kcrc.gallery.contract import ActRecord, Snapshot, TunedRecord
from kcrc.gallery.examples import Contents
from kcrc.gallery.settings import Settings, to_json
from kcrc.updates.pending import Growth, why_retune
from kcrc.updates.what_if import with_examples, without_examples

if TYPE_CHECKING:
    from kcrc.classifier.estimator import KCRCClassifier
    from kcrc.confidence.answerer import Answerer

_FACTS, _CLASSIFIER, _ARRAY = "facts", "classifier", "array "
LEARNED_AT = "learned at"
"""The piece with the revision whose examples everything learned was learned from."""
_LONGEST = 4_000_000  # bytes of a description; what is written has at most a million characters
_TRIED = 200  # lines of the table of what was tried that are kept, the best
USUAL: dict[str, Any] = {  # parameters that serve where choosing has to wait
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
    """On what the choice rests: ``examples`` of them, all with ids below ``next_id``; ``chosen`` in words, or None
    where the examples were too few to try anything."""

    examples: int
    next_id: int
    chosen: str | None

    def changes(self, now: Contents) -> int:
        """How many examples came or went since."""
        old = int(np.searchsorted(now.ids, self.next_id))
        return (self.examples - old) + (len(now) - old)

    def growth(self, now: Contents) -> Growth:
        """The same as a classifier counts it."""
        return Growth(int(now.ids[-1]) + 1, self.examples, self.changes(now))

    def outgrown(self, now: Contents) -> bool:
        """Whether the choice is no longer to be used: it was made blindly, or on less than half of what is there."""
        return self.outgrown_by(self.changes(now))

    def outgrown_by(self, changes: int) -> bool:
        """The same where so many examples came or went."""
        return changes > self.examples or (self.chosen is None and changes > 0)

    def due(self, now: Contents) -> str | None:
        """Why tuning again is due, or None."""
        return why_retune(self.changes(now), self.examples)


def state_of(
    classifier: KCRCClassifier, next_id: int, facts: Facts | None = None, *, chosen: str | None = None
) -> dict[str, bytes]:
    """A classifier fitted on examples with ids below ``next_id``, as the rows of the table ``tuned``; ``facts`` are
    those of an earlier moment, where its parameters were chosen then; ``chosen`` says how they came about, where
    nothing was tried."""
    tuning = classifier.tuning_
    if facts is None:
        facts = Facts(len(classifier.model_), next_id, chosen or (None if tuning is None else repr(tuning)))
    if tuning is not None and len(tuning.scores) > _TRIED:
        best, scores = tuning.best, tuning.scores
        order = sorted(scores, key=lambda s: (s != best, -scores[s].trials, -scores[s].accuracy))
        tuning = dataclasses.replace(tuning, scores={setting: scores[setting] for setting in order[:_TRIED]})
    shorter = copy.copy(classifier)
    shorter.tuning_ = tuning
    # What the examples answered was to learn from, and is done.
    shorter.confidence_ = dataclasses.replace(classifier.confidence_, left_out=None, strangers=None)
    header, arrays = describe(shorter)
    state = {_ARRAY + name: to_npy(array) for name, array in arrays.items()}
    return {_FACTS: to_json(vars(facts)).encode(), _CLASSIFIER: to_json(header).encode(), **state}


@dataclass(frozen=True)
class Carried:
    """What was tuned, for a gallery of the same examples with ids from 1 on; ``fresh``: learned from just those."""

    summary: str
    state: dict[str, bytes]
    fresh: bool


def carried(reading: Snapshot, settings: Settings, now: Contents) -> Carried:
    """What is in use of what was tuned, fit to go to another gallery."""
    facts = read_facts(reading, settings.tuned)
    there = int(np.searchsorted(now.ids, facts.next_id))
    state = {piece.name: piece.data for piece in reading.found(TunedRecord, act=settings.tuned)}
    fresh = learned_at(reading, settings.tuned) == settings.revision
    state.pop(LEARNED_AT, None)
    state[_FACTS] = to_json(vars(dataclasses.replace(facts, next_id=there + 1))).encode()
    summary = next((act.summary for act in reading.found(ActRecord, id=settings.tuned)), "tuned")
    return Carried(summary, state, fresh)


def read_facts(reading: Snapshot, act: int) -> Facts:
    """What act ``act`` chose on."""
    for piece in reading.found(TunedRecord, act=act, name=_FACTS):
        facts = _parsed(piece.data)
        hints = hints_of(Facts)
        if facts.keys() == hints.keys() and all(fits(facts[name], hint) for name, hint in hints.items()):
            return Facts(**facts)
    raise FileError("What was tuned cannot be read; the file is damaged. 'kcrc tune' chooses anew.")


def learned_at(reading: Snapshot, act: int) -> int | None:
    """The revision whose examples what ``act`` keeps was learned from; None where that is not known."""
    for piece in reading.found(TunedRecord, act=act, name=LEARNED_AT):
        if piece.data.isdigit() and len(piece.data) < 19:
            return int(piece.data)
    return None


def read_state(reading: Snapshot, act: int) -> tuple[dict[str, Any], dict[str, Array]]:
    """The description and the arrays of the classifier that ``act`` chose."""
    header: dict[str, Any] = {}
    arrays: dict[str, Array] = {}
    for piece in reading.found(TunedRecord, act=act):
        if piece.name.startswith(_ARRAY):
            arrays[piece.name.removeprefix(_ARRAY)] = from_npy(piece.data, what=f"tuned {piece.name}")
        elif piece.name == _CLASSIFIER:
            header = _parsed(piece.data)
    return header, arrays


def answerer_from(
    header: dict[str, Any], arrays: dict[str, Array], now: Contents, vectors: Array, *, path: object
) -> Answerer:
    """What answers in the stored classifier, with the examples of now; vectors (n, dim)."""
    classes, numbers = np.unique(now.labels, return_inverse=True)
    made = rebuild_answerer(header, arrays, Examples(classes, vectors, numbers, now.ids), path=path)
    if made.samples.width != vectors.shape[1]:
        raise FileError(f"The tuned classifier of '{path}' is for other vectors; the file is damaged.")
    return made


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        found = read_json(data) if len(data) <= _LONGEST else None
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise FileError("What was tuned cannot be read; the file is damaged.")
    return found


def warn_unreadable(problem: FileError) -> None:
    """Say that what was chosen is lost, and that nothing else is."""
    warnings.warn(
        f"What was tuned cannot be read ({problem}) The examples are whole; the parameters are chosen anew from them.",
        UnreadableTuning,
        stacklevel=3,
    )


# What answers at one revision of a gallery, and how it follows the examples to the next.


@dataclass(frozen=True, eq=False)
class Moment:
    """The examples of one moment, their vectors (n, dim), the act that chose the parameters, and on what."""

    contents: Contents
    vectors: Array
    tuned: int
    facts: Facts | None


@dataclass(frozen=True, eq=False)
class Ready:
    """What answers from the examples of one moment, and the act that chose its parameters (0: not in the file)."""

    contents: Contents
    tuned: int
    answerer: Answerer
    classifier: KCRCClassifier | None = None
    """The same with scikit-learn's face, once somebody wanted that."""


def renewed(ready: Ready, moment: Moment) -> KCRCClassifier | None:
    """A classifier for the examples of ``moment`` that has learned from them all that is learned from examples, and
    took over what the change since ``ready`` did not touch; None where that cannot be told."""
    change = _change(ready, moment)
    if change is None or ready.classifier is None or ready.tuned != moment.tuned:
        return None
    gone, stay = change
    now, made = moment.contents, copy.copy(ready.classifier)
    if len(gone):
        made.forget(gone)
    if stay < len(now):
        made.partial_fit(moment.vectors[stay:], now.labels[stay:], rows=now.ids[stay:])
    return made


def _change(ready: Ready, moment: Moment) -> tuple[Array, int] | None:
    """The ids of the examples that went, and how many of those there are now had been there; None where others were
    relabelled, or came back, or none stayed."""
    before, now = ready.contents, moment.contents
    kept = np.isin(before.ids, now.ids)
    stay = int(kept.sum())
    same = np.array_equal(before.ids[kept], now.ids[:stay]) and np.array_equal(before.labels[kept], now.labels[:stay])
    if not stay or not same or (stay < len(now) and now.ids[stay] <= before.ids[-1]):
        return None
    return before.ids[~kept], stay


def followed(ready: Ready, moment: Moment) -> Ready | None:
    """What answers, brought up to date where examples only came or went; None where it has to be made again.

    What was handed out before stays as it was.
    """
    now, change = moment.contents, _change(ready, moment)
    if change is None or (moment.facts is not None and moment.facts.outgrown(now)):
        return None
    (gone, stay), model = change, ready.answerer.model
    if len(gone):
        model = without_examples(model, gone)
    if stay < len(now):
        model = with_examples(model, moment.vectors[stay:], now.labels[stay:], now.ids[stay:])
    faced = None if ready.classifier is None else ready.classifier.following(model)
    if faced is not None and moment.facts is not None:
        faced.growth_ = moment.facts.growth(now)
    return Ready(now, moment.tuned, replace(ready.answerer, model=model), faced)
