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
for the other, and if one is wrong, it cannot be told which: both are only in doubt. And of fewer than eight examples
none is asked: one that leaves takes so much of its class along that the others lean to the other classes.

Each is asked alone, with exact copies and with the group that the caller named, if any. A group that was found stays:
its other members were labelled by themselves. What is announced of new examples leaves out whole groups, and folds of
small classes: that is another question. ``lab.experiments.studies.audit`` flips a tenth of the labels of speakers,
whose groups are found: 81 % of the suspects are flipped, and 28 % were where found groups left too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from kcrc._base.arrays import Array, as_python
from kcrc._base.few_examples import FEWEST
from kcrc.confidence.calibration import Calibration, Confidence
from kcrc.errors import ParameterError
from kcrc.method.evidence import Evidence
from kcrc.method.fitted_model import FittedModel
from kcrc.tuning.left_out.answers import LeftOut, answers_without
from kcrc.tuning.left_out.sample import duplicate_groups, staying

# What an audit finds: examples that deserve a second look, as plain values that read, travel and turn into tables.

TOP = 3  # findings of a kind that are told in a few lines


@dataclass(frozen=True)
class Suspect:
    """An example whose own answer contradicts its label.

    Attributes
    ----------
    row : int
        Its row number.
    label : object
        The label it has.
    answer : object
        What the other examples say it is.
    probability : float
        How likely the answer is right.
    of_label : float
        How likely the label is right.
    by_chance : float
        How likely the label is one drawn at random: 1 where nothing near the example speaks for it.
    because : list of (int, float)
        The stored examples that spoke for the answer: row number, and share in it.
    """

    row: int
    label: Any
    answer: Any
    probability: float
    of_label: float
    by_chance: float
    because: list[tuple[int, float]]


@dataclass(frozen=True)
class Clash:
    """Two examples that are the same, or almost, under different labels.

    Attributes
    ----------
    row : int
        The row number of the one.
    label : object
        Its label.
    other : int
        The row number of the other.
    other_label : object
        Its label.
    distance : float or None
        How far they are apart; None where their pictures gave them away.
    relative : float or None
        That distance over the usual distance of an example to its nearest.
    """

    row: int
    label: Any
    other: int
    other_label: Any
    distance: float | None
    relative: float | None


@dataclass(frozen=True)
class Idle:
    """An example that had a part in no right answer.

    Attributes
    ----------
    row : int
        Its row number.
    label : object
        Its label.
    asked : int
        In how many dictionaries it was.
    """

    row: int
    label: Any
    asked: int


@dataclass(frozen=True)
class Audit:
    """What ``audit`` found: stored examples that deserve a second look.

    Attributes
    ----------
    examples : int
        How many examples are stored.
    asked : int
        How many of them were asked as if they were not stored.
    right : int
        How many of those were answered as they are labelled.
    mislabelled : list of Suspect
        They clearly contradict their label, and nothing near them speaks for it; the likeliest first.
    clashes : list of Clash
        Pairs that are almost identical but labelled differently; the nearest first.
    idle : list of Idle
        They took part in no right answer; those that were in most dictionaries first.
    doubtful : list of Suspect
        They contradict their label too, but lie near their class (hard examples more often than wrong ones), or are
        one of two of it.
    unseen : int
        Examples of a gallery that have no picture kept, so that copies of them in another size were not looked for.
    alone : int
        Examples that could not be asked, for without them nothing of their class is left to answer.
    one_class : bool
        Whether there is only one class, so that no example could be asked.
    too_few : bool
        Whether there are too few examples, so that none was asked: the answers would tell nothing.
    expected_wrong : float
        How many labels are expected to be wrong altogether: the sum of ``by_chance`` over all suspects.
    rows : ndarray of int
        The row numbers of the mislabelled, the surest first: what ``forget`` takes.
    not_asked : str or None
        Which examples could not be asked, and why, in words; None where all could.
    """

    examples: int
    asked: int
    right: int
    mislabelled: list[Suspect]
    clashes: list[Clash]
    idle: list[Idle]
    doubtful: list[Suspect] = field(default_factory=list)
    unseen: int = 0
    alone: int = 0
    one_class: bool = False
    too_few: bool = False

    @property
    def expected_wrong(self) -> float:
        """How many labels are expected to be wrong, by the examples' own answers."""
        return float(sum(suspect.by_chance for suspect in self.mislabelled + self.doubtful))

    @property
    def rows(self) -> Array:
        """Row numbers of the likely mislabelled, the surest first: what ``forget`` takes."""
        return np.array([suspect.row for suspect in self.mislabelled], np.intp)

    @property
    def not_asked(self) -> str | None:
        """Which examples could not be asked, and why, in words; None where all could."""
        if self.one_class:
            return "There is only one class, so nothing can be told apart yet: store examples of another."
        if self.too_few:
            return (
                f"{self.examples} examples are too few to ask any as if it were not there: {FEWEST} or more are needed "
                "that are not alone in their class."
            )
        if not self.alone:
            return None
        who = "1 example" if self.alone == 1 else f"{self.alone} examples"
        return f"{who} could not be asked: alone in its class, an example leaves nothing that could answer its label."

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return asdict(self)

    def to_frame(self) -> Any:
        """A pandas DataFrame with a line for every finding (needs pandas)."""
        import pandas as pd

        lists: dict[str, Sequence[Suspect | Clash | Idle]] = {
            "mislabelled": self.mislabelled,
            "doubtful": self.doubtful,
            "clash": self.clashes,
            "idle": self.idle,
        }
        lines = [{"finding": name, **asdict(one)} for name, found in lists.items() for one in found]
        return pd.DataFrame(lines, columns=None if lines else ["finding", "row", "label"])

    def __repr__(self) -> str:
        lines = [
            f"Audit of {self.examples} examples: {self.right} of {self.asked} asked without themselves are answered as "
            "labelled"
        ]
        lines += [f"  {self.not_asked}"] if self.not_asked else []
        for suspects, title in (
            (self.mislabelled, "contradict their label, and nothing speaks for it"),
            (self.doubtful, "contradict their label, which is possible all the same"),
        ):
            lines += _format_section(
                f"{len(suspects)} {title}",
                [
                    f"row {s.row}: labelled {s.label}, answered {s.answer} ({s.probability:.0%} to "
                    f"{s.of_label:.1%}) by {', '.join(f'row {row} ({share:+.0%})' for row, share in s.because)}"
                    for s in suspects[:TOP]
                ],
                len(suspects),
            )
        lines += _format_section(
            f"{len(self.clashes)} pairs are almost identical but labelled differently",
            [f"rows {c.row} ({c.label}) and {c.other} ({c.other_label}): {nearness(c)}" for c in self.clashes[:TOP]],
            len(self.clashes),
        )
        lines += _format_section(
            f"{len(self.idle)} had a part in no right answer",
            [f"row {i.row} ({i.label}): in {i.asked} dictionaries" for i in self.idle[:TOP]],
            len(self.idle),
        )
        return "\n".join(lines)


def nearness(clash: Clash) -> str:
    """How near the two are, in words."""
    if clash.relative is None:
        return "their pictures look the same"
    if clash.relative == 0:
        return "the same"
    return f"their distance is {clash.relative:.0%} of the usual one to the nearest"


def _format_section(title: str, lines: list[str], total: int) -> list[str]:
    more = [f"    … and {total - len(lines)} more"] if total > len(lines) else []
    return [f"  {title}", *(f"    {line}" for line in lines), *more]


PART = 0.01  # of the query's energy: less is no part in an answer
NEAR = 0.25  # of the usual distance to the nearest example: nearer is almost identical
CLEAR = 2.0  # times as likely as the label is an answer that contradicts it clearly
MATES = 2  # others of its class that stay, to tell a wrong label from a wrong example beside it
TIMES, FEW = 15.0, 90.0  # as likely as one by chance, and more for few classes: such a label is left alone
NEAREST, CLASSES = 75, 8  # examples or classes in the dictionaries that give the second opinion on a label
SMALL = 200  # examples that so many classes have together, at most, to be asked
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
    confidence = confidence.for_audit(model)
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
        present=_count_rows(evidence.rows[real]),
        helped=_count_rows(evidence.rows[helped]),
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


def _count_rows(rows: Array) -> tuple[Array, Array]:
    numbers, counts = np.unique(rows, return_counts=True)
    return numbers, counts


def _by_chance(calibration: Calibration, residuals: Array, truth: Array) -> Array:
    """(B,) how likely the labels ``truth`` are drawn by chance, from residuals (B, C)."""
    batch = np.arange(len(truth))
    p = calibration.probabilities(residuals)[batch, truth]
    doubt = np.hypot(calibration.doubt, calibration.unseen)
    chance = np.minimum(doubt / residuals.shape[1] / p, 1.0)
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
            label=as_python(model.classes[model.labels[which[i]]]),
            answer=as_python(model.classes[answer[i]]),
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
        int(model.ids[a]),
        as_python(name[a]),
        int(model.ids[b]),
        as_python(name[b]),
        distance,
        distance / (usual or 1.0),
    )


def _idle(model: FittedModel, seen: list[_Watched]) -> list[Idle]:
    present, helped = np.zeros(len(model), np.intp), np.zeros(len(model), np.intp)
    for w in seen:
        for into, (rows, counts) in ((present, w.present), (helped, w.helped)):
            into[np.searchsorted(model.ids, rows)] += counts
    idle = np.flatnonzero((helped == 0) & (present > 0))
    order = idle[np.argsort(-present[idle], kind="stable")]
    return [Idle(int(model.ids[i]), as_python(model.classes[model.labels[i]]), int(present[i])) for i in order]
