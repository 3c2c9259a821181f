"""Which stored examples deserve a second look: each is asked as if it were not stored, and watched while others are.

mislabelled  the answer clearly contradicts the label, which is likely wrong; the likeliest first
doubtful     the answer contradicts the label, which is possible all the same; in the same order
clashes      an (almost) identical example has another label; the nearest first
idle         took part in no right answer, though it was among the neighbours; the most often asked in vain first

Where labels are wrong by chance, the doubt ε of the calibration (``kcrc.confidence.calibration``) is the share of
answers that no resemblance accounts for, and ε/C what any one class has of it. So a label that the answer gives the
probability p is one drawn **by chance** with (ε/C) / p, and surely if its class is not in the dictionary. A hard
example lies near its class, a wrong label lies anywhere: a label 15 times as likely as one drawn at random is left
alone (with few classes, where a wrong label lies near more often, 15 + 90/C times). Dictionaries of the nearest
examples and of the nearest classes leave out different classes. So both are asked, where classes are small enough to
be, and a label is by chance only as far as both say so.

All that is about labels, and holds where answers are good. Where they are not, ε is large and nothing is unlikelier
than chance; so the answer has to be twice as likely as the label as well. In a class of two, each is all that speaks
for the other, and if one is wrong, nobody can tell which: both are only in doubt. And of fewer than eight examples
none is asked: one that leaves takes so much of its class along that the others lean to the other classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.confidence.calibration import Calibration, Confidence
from kcrc.confidence.findings import Audit as Audit
from kcrc.confidence.findings import Clash, Idle, Suspect
from kcrc.errors import ParameterError
from kcrc.method.evidence import Evidence
from kcrc.method.fitted_model import FittedModel
from kcrc.tuning.left_out.answers import LeftOut, answers_without
from kcrc.tuning.left_out.fewest import FEWEST
from kcrc.tuning.left_out.groups import duplicate_groups, staying

PART = 0.01  # of the query's energy: less is no part in an answer
NEAR = 0.25  # of the usual distance to the nearest example: nearer is almost identical
CLEAR = 2.0  # times as likely as the label is an answer that contradicts it clearly
MATES = 2  # others of its class that stay, to tell a wrong label from a wrong example beside it
TIMES, FEW = 15.0, 90.0  # as likely as one by chance, and more for few classes: such a label is left alone
NEAREST, CLASSES = 75, 8  # examples or classes in the dictionaries that give the second opinion on a label
SMALL = 200  # examples that so many classes have together, at most, to be asked
TOP = 3  # examples named as evidence
STEP = 2048  # examples between two reports of progress


@dataclass(frozen=True, eq=False)
class _Watched:
    """Of one chunk: answers (B,), probabilities of answer and label (B,), how likely the label is one by chance (B,),
    the nearest other example (B,) and its distance, and who took part in how many dictionaries and right answers."""

    answer: Array
    probability: Array
    of_label: Array
    by_chance: Array
    nearest: Array
    distance: Array
    present: tuple[Array, Array]
    helped: tuple[Array, Array]


def audit(model: FittedModel, confidence: Confidence, rows: Array | None, progress: Callable[[float], None]) -> Audit:
    """Ask the examples with these row numbers (all by default) without themselves."""
    which = np.arange(len(model))
    if rows is not None:
        wanted = np.unique(np.atleast_1d(np.asarray(rows)))
        unknown = wanted[~np.isin(wanted, model.ids)]
        if len(unknown):
            raise ParameterError(f"No stored example has row number {unknown[0]}.")
        which = np.flatnonzero(np.isin(model.ids, wanted))
    one_class = len(np.unique(model.labels)) == 1
    # Without others of its class no answer can be its label, and among one class no other: neither says anything.
    mates = staying(model.labels, confidence.exclusion.groups_of(model))
    alone = 0 if one_class else int((mates[which] == 0).sum())
    too_few = not one_class and 0 < int((mates > 0).sum()) < FEWEST
    which = which[:0] if one_class or too_few else which[mates[which] > 0]
    seen: list[_Watched] = []
    for start in range(0, len(which), STEP):
        seen += answers_without(
            model, confidence.exclusion, which[start : start + STEP], lambda e, at: _watch(model, confidence, e, at)
        )
        progress(min(1.0, (start + STEP) / len(which)))
    if not seen:
        return Audit(len(model), 0, 0, [], _copies(model), [], alone=alone, one_class=one_class, too_few=too_few)
    wrong = np.concatenate([w.answer for w in seen]) != model.labels[which]
    suspects = _suspects(model, which, seen, np.flatnonzero(wrong), confidence)
    least = 1.0 / (TIMES + FEW / len(model.classes))
    told_apart = set(model.ids[mates >= MATES].tolist())
    clear = [s.by_chance >= least and s.probability >= CLEAR * s.of_label and s.row in told_apart for s in suspects]
    return Audit(
        examples=len(model),
        asked=len(which),
        right=int((~wrong).sum()),
        mislabelled=[s for s, is_clear in zip(suspects, clear, strict=True) if is_clear],
        doubtful=[s for s, is_clear in zip(suspects, clear, strict=True) if not is_clear],
        clashes=_copies(model) + _clashes(model, which, seen),
        idle=_idle(model, seen),
        alone=alone,
    )


def _watch(model: FittedModel, confidence: Confidence, evidence: Evidence, which: Array) -> _Watched:
    batch = np.arange(len(which))
    truth = model.labels[which]
    p = confidence.probabilities(evidence)
    real = evidence.rows >= 0
    winners = (evidence.neighbour_labels == evidence.winner[:, None]) & real
    right = (evidence.winner == truth)[:, None]
    explained = evidence.contributions >= PART * evidence.energy[:, None]  # all of them where neighbours agree: 0 of 0
    helped = winners & right & explained
    first = np.where(real, evidence.distances, np.inf).argmin(axis=1)
    return _Watched(
        answer=evidence.winner,
        probability=p[batch, evidence.winner],
        of_label=p[batch, truth],
        by_chance=_by_chance(confidence.calibration, evidence.residuals, truth),
        nearest=evidence.rows[batch, first],
        distance=evidence.distances[batch, first],
        present=_counted(evidence.rows[real]),
        helped=_counted(evidence.rows[helped]),
    )


def _speakers(model: FittedModel, confidence: Confidence, which: Array) -> list[list[tuple[int, float]]]:
    """Who spoke most for the answers to the examples at ``which``, (row, share): with the shares of ``explain``, for
    which queries whose neighbours agree are coded too."""

    def read(evidence: Evidence, _: Array) -> list[list[tuple[int, float]]]:
        winners = (evidence.neighbour_labels == evidence.winner[:, None]) & (evidence.rows >= 0)
        spoke = np.where(winners, evidence.shares, -np.inf)
        top = np.argsort(-spoke, axis=1, kind="stable")[:, :TOP]
        return [
            [(int(rows[j]), float(share[j])) for j in places if np.isfinite(share[j])]
            for rows, share, places in zip(evidence.rows, spoke, top, strict=True)
        ]

    return [one for part in answers_without(model, confidence.exclusion, which, read, code_all=True) for one in part]


def _counted(rows: Array) -> tuple[Array, Array]:
    numbers, counts = np.unique(rows, return_counts=True)
    return numbers, counts


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _by_chance(calibration: Calibration, residuals: Array, truth: Array) -> Array:
    """(B,) how likely the labels ``truth`` are drawn by chance, from residuals (B, C)."""
    batch = np.arange(len(truth))
    p = calibration.probabilities(residuals)[batch, truth]
    chance = np.minimum(calibration.doubt / residuals.shape[1] / p, 1.0)
    return np.where(np.isfinite(residuals[batch, truth]), chance, 1.0)


def _second_opinion(model: FittedModel) -> FittedModel | None:
    """The same examples with dictionaries of the nearest classes in place of the nearest examples, or the reverse."""
    method = model.method
    if method.n_neighbors is None:
        return None
    if method.locality == "classes":
        return replace(model, method=replace(method, locality="atoms", n_neighbors=NEAREST))
    if CLASSES * len(model) > SMALL * len(model.classes):
        return None
    whole = replace(model, method=replace(method, locality="classes", n_neighbors=CLASSES))
    return whole.without(np.empty(0, np.intp))  # which makes the means of the classes


def _by_chance_too(other: FittedModel, confidence: Confidence, which: Array) -> Array:
    """How likely the labels of the examples at ``which`` are by chance in the second opinion; 1 where there is too
    little to learn it from."""
    left = LeftOut.of(other, confidence.exclusion)
    if left is None:
        return np.ones(len(which))
    calibration = Calibration.fit(left.residuals, left.truth)
    parts = answers_without(
        other, confidence.exclusion, which, lambda e, at: _by_chance(calibration, e.residuals, other.labels[at])
    )
    return np.concatenate(parts)


def _suspects(
    model: FittedModel, which: Array, seen: list[_Watched], wrong: Array, confidence: Confidence
) -> list[Suspect]:
    """Those that contradict their label, ``wrong`` among ``which``: those likeliest by chance first, and among
    equals the surest answers."""
    answer, probability, of_label, by_chance = (
        np.concatenate([getattr(w, name) for w in seen]) for name in ("answer", "probability", "of_label", "by_chance")
    )
    other = _second_opinion(model) if len(wrong) else None
    if other is not None:
        by_chance[wrong] = np.minimum(by_chance[wrong], _by_chance_too(other, confidence, which[wrong]))
    order = wrong[np.lexsort((-probability[wrong], -by_chance[wrong]))]
    because = _speakers(model, confidence, which[order]) if len(order) else []
    return [
        Suspect(
            row=int(model.ids[which[i]]),
            label=_plain(model.classes[model.labels[which[i]]]),
            answer=_plain(model.classes[answer[i]]),
            probability=float(probability[i]),
            of_label=float(of_label[i]),
            by_chance=float(by_chance[i]),
            because=spoke,
        )
        for i, spoke in zip(order, because, strict=True)
    ]


def _clashes(model: FittedModel, which: Array, seen: list[_Watched]) -> list[Clash]:
    """Nearest pairs with different labels that are far nearer than usual."""
    nearest = np.concatenate([w.nearest for w in seen])
    distance = np.concatenate([w.distance for w in seen])
    finite = np.isfinite(distance)
    usual = float(np.median(distance[finite])) if finite.any() else 0.0
    other = np.searchsorted(model.ids, nearest)
    labels = model.labels[which]
    close = finite & (distance <= NEAR * usual) & (labels != model.labels[np.minimum(other, len(model) - 1)])
    pairs: dict[tuple[int, int], Clash] = {}
    for i in np.flatnonzero(close)[np.argsort(distance[close], kind="stable")]:
        a, b = sorted((int(which[i]), int(other[i])))
        pairs.setdefault((a, b), _clash(model, a, b, float(distance[i]), usual))
    return list(pairs.values())


def _copies(model: FittedModel) -> list[Clash]:
    """Exact duplicates with different labels."""
    groups = duplicate_groups(model.raw, None)
    order = np.argsort(groups, kind="stable")
    found = []
    for members in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        if len(members) > 1:
            first = members[0]
            found += [_clash(model, first, b, 0.0, 1.0) for b in members[1:] if model.labels[b] != model.labels[first]]
    return found


def _clash(model: FittedModel, a: int, b: int, distance: float, usual: float) -> Clash:
    name = model.classes[model.labels]
    return Clash(
        int(model.ids[a]), _plain(name[a]), int(model.ids[b]), _plain(name[b]), distance, distance / (usual or 1.0)
    )


def _idle(model: FittedModel, seen: list[_Watched]) -> list[Idle]:
    present, helped = np.zeros(len(model), np.intp), np.zeros(len(model), np.intp)
    for w in seen:
        for into, (rows, counts) in ((present, w.present), (helped, w.helped)):
            into[np.searchsorted(model.ids, rows)] += counts
    idle = np.flatnonzero((helped == 0) & (present > 0))
    order = idle[np.argsort(-present[idle], kind="stable")]
    return [Idle(int(model.ids[i]), _plain(model.classes[model.labels[i]]), int(present[i])) for i in order]
