"""What answers at one revision of a gallery, and how it follows the examples to the next."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kcrc._base.arrays import Array
from kcrc.confidence.answerer import Answerer
from kcrc.gallery.examples import Contents
from kcrc.gallery.tuned import Facts
from kcrc.updates.following import with_examples, without_examples

if TYPE_CHECKING:
    from kcrc.classifier.estimator import KCRCClassifier


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
