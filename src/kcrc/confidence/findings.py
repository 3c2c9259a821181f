"""What an audit finds: examples that deserve a second look, as plain values that read, travel and turn into tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.tuning.left_out.fewest import FEWEST

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
            lines += _listed(
                f"{len(suspects)} {title}",
                [
                    f"row {s.row}: labelled {s.label}, answered {s.answer} ({s.probability:.0%} to "
                    f"{s.of_label:.1%}) by {', '.join(f'row {row} ({share:+.0%})' for row, share in s.because)}"
                    for s in suspects[:TOP]
                ],
                len(suspects),
            )
        lines += _listed(
            f"{len(self.clashes)} pairs are almost identical but labelled differently",
            [f"rows {c.row} ({c.label}) and {c.other} ({c.other_label}): {nearness(c)}" for c in self.clashes[:TOP]],
            len(self.clashes),
        )
        lines += _listed(
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


def _listed(title: str, lines: list[str], total: int) -> list[str]:
    more = [f"    … and {total - len(lines)} more"] if total > len(lines) else []
    return [f"  {title}", *(f"    {line}" for line in lines), *more]
