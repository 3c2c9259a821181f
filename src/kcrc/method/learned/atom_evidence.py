"""Why a learned dictionary gave a label: which atoms, how much each adds, and the training rows they resemble.

The class scores are W x. Atom k adds W[c, k]·x_k to the score of class c: its **contribution**. ``Evidence`` of the
example-based classifiers speaks of residuals and stored examples; here the atoms stand between, so the training
rows named are the ones the atoms are most like.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.learned.ksvd import SparseCodes


@dataclass(frozen=True, eq=False)
class AtomEvidence:
    """The answers to B queries and what they rest on. Index or iterate it for single queries.

    classes        (C,)    the class names
    winner         (B,)    number of the winning class
    scores         (B, C)  W x, larger is better
    atoms          (B, T)  atoms used, rows of ``components_``, the largest contribution first, −1 = padding
    coefficients   (B, T)  their coefficients x
    contributions  (B, T)  W[winner, atom]·x: they add up to the winning score
    atom_labels    (B, T)  number of the class each atom was started from, −1 = padding
    rows           (B, T)  the training row each atom is most like (its sign does not count), −1 = padding
    """

    classes: Array
    winner: Array
    scores: Array
    atoms: Array
    coefficients: Array
    contributions: Array
    atom_labels: Array
    rows: Array

    def __len__(self) -> int:
        return len(self.winner)

    def __getitem__(self, which: int | slice | Sequence[int] | Array) -> AtomEvidence:
        if isinstance(which, (int, np.integer)):
            if not -len(self) <= which < len(self):
                raise IndexError(f"AtomEvidence of {len(self)} queries has no number {which}.")
            at = int(which) % len(self)
            which = slice(at, at + 1)
        parts = (getattr(self, f.name)[which] for f in fields(self) if f.name != "classes")
        return AtomEvidence(self.classes, *parts)

    def __iter__(self) -> Iterator[AtomEvidence]:
        return (self[i] for i in range(len(self)))

    @property
    def labels(self) -> Array:
        """(B,) the answers."""
        return np.asarray(self.classes[self.winner])

    @property
    def runner_up(self) -> Array:
        """(B,) number of the second class; the winner itself where there is no other."""
        if self.scores.shape[1] == 1:
            return self.winner
        rest = self.scores.copy()
        rest[np.arange(len(rest)), self.winner] = -np.inf
        return np.asarray(rest.argmax(axis=1))

    @property
    def margin(self) -> Array:
        """(B,) how far the winner's score is ahead of the runner-up's; the score itself where there is no other."""
        first = self.scores[np.arange(len(self)), self.winner]
        if self.scores.shape[1] == 1:
            return np.asarray(first)
        return np.asarray(first - self.scores[np.arange(len(self)), self.runner_up])

    def to_dict(self) -> dict[str, Any] | list[dict[str, Any]]:
        """Plain Python values, ready for JSON: a dict for one query, else a list of them."""
        if len(self) != 1:
            return [one.to_dict() for one in self]  # type: ignore[misc]  # each of them is a single query
        names = self.classes.tolist()
        order = np.argsort(-self.scores[0], kind="stable")
        return {
            "label": names[self.winner[0]],
            "margin": float(self.margin[0]),
            "runner_up": names[self.runner_up[0]] if len(names) > 1 else None,
            "scores": [[names[c], float(self.scores[0, c])] for c in order],
            "atoms": [
                {
                    "atom": int(self.atoms[0, j]),
                    "label": names[self.atom_labels[0, j]],
                    "row": int(self.rows[0, j]),
                    "coefficient": float(self.coefficients[0, j]),
                    "contribution": float(self.contributions[0, j]),
                }
                for j in np.flatnonzero(self.atoms[0] >= 0)
            ],
        }

    def __repr__(self) -> str:
        shown = 3
        text = "\n".join(one._story() for one in self[:shown])
        more = f"\n… and {len(self) - shown} more queries" if len(self) > shown else ""
        return f"AtomEvidence of {len(self)} {'query' if len(self) == 1 else 'queries'}\n{text}{more}"

    def _story(self, top: int = 5) -> str:
        score = self.scores[0]
        lines = [
            f"  {self.labels[0]!s}: score {score[self.winner[0]]:.4g}, runner-up {self.classes[self.runner_up[0]]!s} "
            f"{score[self.runner_up[0]]:.4g}"
        ]
        for j in np.flatnonzero(self.atoms[0] >= 0)[:top]:
            lines.append(
                f"    atom {self.atoms[0, j]:<5} {self.classes[self.atom_labels[0, j]]!s:<12} "
                f"like row {self.rows[0, j]:<7} adds {self.contributions[0, j]:+.4g}"
            )
        return "\n".join(lines)


def atom_evidence(
    codes: SparseCodes, scores: Array, W: Array, *, classes: Array, atom_labels: Array, atom_rows: Array
) -> AtomEvidence:
    """Evidence of coded queries; scores (B, C) = codes Wᵀ, W (C, K), atom_labels and atom_rows (K,)."""
    winner = scores.argmax(axis=1)
    used = codes.atoms >= 0
    contributions = np.where(used, W[winner[:, None], codes.atoms] * codes.values, 0)
    order = np.argsort(np.where(used, -contributions, np.inf), axis=1, kind="stable")

    def sort(values: Array) -> Array:
        return np.take_along_axis(values, order, axis=1)

    return AtomEvidence(
        classes=classes,
        winner=winner,
        scores=scores,
        atoms=sort(codes.atoms),
        coefficients=sort(codes.values),
        contributions=sort(contributions),
        atom_labels=sort(np.where(used, atom_labels[codes.atoms], -1)),
        rows=sort(np.where(used, atom_rows[codes.atoms], -1)),
    )
