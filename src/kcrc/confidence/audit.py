"""Which stored examples deserve a second look: each is asked as if it were not stored, and watched while others are.

mislabelled  the answer contradicts the label; the surest contradictions first
clashes      an (almost) identical example has another label; the nearest first
idle         took part in no right answer, though it was among the neighbours; the most often asked in vain first
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kcrc.arrays import Array
from kcrc.confidence.calibration import Confidence
from kcrc.errors import ParameterError
from kcrc.evidence import Evidence
from kcrc.left_out.answers import answers_without
from kcrc.left_out.groups import duplicate_groups
from kcrc.model import FittedModel

PART = 0.01  # of the query's energy: less is no part in an answer
NEAR = 0.25  # of the usual distance to the nearest example: nearer is almost identical
TOP = 3  # examples named as evidence
STEP = 2048  # examples between two reports of progress


@dataclass(frozen=True)
class Suspect:
    """An example whose own answer contradicts its label. ``probability`` is of the answer, ``of_label`` of the label;
    ``because`` names the stored examples that spoke for the answer, (row, share in it)."""

    row: int
    label: Any
    answer: Any
    probability: float
    of_label: float
    because: list[tuple[int, float]]


@dataclass(frozen=True)
class Clash:
    """Two examples that are (almost) identical under different labels; ``relative`` is their distance over the usual
    distance of an example to its nearest."""

    row: int
    label: Any
    other: int
    other_label: Any
    distance: float
    relative: float


@dataclass(frozen=True)
class Idle:
    """An example that was in ``asked`` dictionaries and had a part in no right answer."""

    row: int
    label: Any
    asked: int


@dataclass(frozen=True)
class Audit:
    """What ``KCRCClassifier.audit`` found among ``examples`` stored examples of which ``asked`` were asked."""

    examples: int
    asked: int
    right: int
    mislabelled: list[Suspect]
    clashes: list[Clash]
    idle: list[Idle]

    @property
    def rows(self) -> Array:
        """Row numbers of the likely mislabelled, the surest first: what ``forget`` takes."""
        return np.array([suspect.row for suspect in self.mislabelled], np.intp)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return asdict(self)

    def to_frame(self) -> Any:
        """A pandas DataFrame with a line for every finding (needs pandas)."""
        import pandas as pd

        lists: dict[str, Sequence[Suspect | Clash | Idle]] = {
            "mislabelled": self.mislabelled,
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
        lines += _listed(
            f"{len(self.mislabelled)} contradict their label",
            [
                f"row {s.row}: labelled {s.label}, answered {s.answer} ({s.probability:.0%} to {s.of_label:.1%}) by "
                f"{', '.join(f'row {row} ({share:+.0%})' for row, share in s.because)}"
                for s in self.mislabelled[:TOP]
            ],
            len(self.mislabelled),
        )
        lines += _listed(
            f"{len(self.clashes)} pairs are almost identical but labelled differently",
            [
                f"rows {c.row} ({c.label}) and {c.other} ({c.other_label}): distance {c.distance:.3g}, "
                f"{c.relative:.0%} of the usual"
                for c in self.clashes[:TOP]
            ],
            len(self.clashes),
        )
        lines += _listed(
            f"{len(self.idle)} had a part in no right answer",
            [f"row {i.row} ({i.label}): in {i.asked} dictionaries" for i in self.idle[:TOP]],
            len(self.idle),
        )
        return "\n".join(lines)


def _listed(title: str, lines: list[str], total: int) -> list[str]:
    more = [f"    … and {total - len(lines)} more"] if total > len(lines) else []
    return [f"  {title}", *(f"    {line}" for line in lines), *more]


@dataclass(frozen=True, eq=False)
class _Watched:
    """Of one chunk: answers (B,), probabilities of answer and label (B,), who spoke for it (B, TOP) and by how much,
    the nearest other example (B,) and its distance, and who took part in how many dictionaries and right answers."""

    answer: Array
    probability: Array
    of_label: Array
    because: Array
    share: Array
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
    groups = confidence.exclusion.groups_of(model)
    which = which[np.bincount(groups)[groups[which]] < len(model)]  # one that leaves with all others cannot be asked
    seen: list[_Watched] = []
    for start in range(0, len(which), STEP):
        seen += answers_without(
            model, confidence.exclusion, which[start : start + STEP], lambda e, at: _watch(model, confidence, e, at)
        )
        progress(min(1.0, (start + STEP) / len(which)))
    if not seen:
        return Audit(len(model), 0, 0, [], _copies(model), [])
    return Audit(
        examples=len(model),
        asked=len(which),
        right=int((np.concatenate([w.answer for w in seen]) == model.labels[which]).sum()),
        mislabelled=_suspects(model, which, seen),
        clashes=_copies(model) + _clashes(model, which, seen),
        idle=_idle(model, seen),
    )


def _watch(model: FittedModel, confidence: Confidence, evidence: Evidence, which: Array) -> _Watched:
    batch = np.arange(len(which))
    truth = model.labels[which]
    p = confidence.probabilities(evidence)
    real = evidence.rows >= 0
    winners = (evidence.neighbour_labels == evidence.winner[:, None]) & real
    spoke = np.where(winners, evidence.shares, -np.inf)
    top = np.argsort(-spoke, axis=1, kind="stable")[:, :TOP]
    right = (evidence.winner == truth)[:, None]
    explained = evidence.contributions >= PART * evidence.energy[:, None]  # all of them where neighbours agree: 0 of 0
    helped = winners & right & explained
    first = np.where(real, evidence.distances, np.inf).argmin(axis=1)
    return _Watched(
        answer=evidence.winner,
        probability=p[batch, evidence.winner],
        of_label=p[batch, truth],
        because=_widened(np.take_along_axis(evidence.rows, top, 1), -1),
        share=_widened(np.take_along_axis(spoke, top, 1), -np.inf),
        nearest=evidence.rows[batch, first],
        distance=evidence.distances[batch, first],
        present=_counted(evidence.rows[real]),
        helped=_counted(evidence.rows[helped]),
    )


def _widened(values: Array, filling: float) -> Array:
    """As wide as the others: where most examples leave together, few are left to speak."""
    return np.pad(values, ((0, 0), (0, TOP - values.shape[1])), constant_values=filling)


def _counted(rows: Array) -> tuple[Array, Array]:
    numbers, counts = np.unique(rows, return_counts=True)
    return numbers, counts


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _suspects(model: FittedModel, which: Array, seen: list[_Watched]) -> list[Suspect]:
    answer, probability, of_label, because, share = (
        np.concatenate([getattr(w, name) for w in seen])
        for name in ("answer", "probability", "of_label", "because", "share")
    )
    wrong = np.flatnonzero(answer != model.labels[which])
    order = wrong[np.argsort(of_label[wrong] - probability[wrong], kind="stable")]
    return [
        Suspect(
            row=int(model.ids[which[i]]),
            label=_plain(model.classes[model.labels[which[i]]]),
            answer=_plain(model.classes[answer[i]]),
            probability=float(probability[i]),
            of_label=float(of_label[i]),
            because=[(int(r), float(s)) for r, s in zip(because[i], share[i], strict=True) if np.isfinite(s)],
        )
        for i in order
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
