"""Why a learned dictionary gave a label: which atoms, how much each adds, and the training rows they resemble."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kcrc.learned.omp import SparseCodes
from kcrc.prepared import Array

if TYPE_CHECKING:
    from kcrc.learned.base import DictionaryClassifier


@dataclass(frozen=True, eq=False)
class AtomExplanation:
    """One sample's answer. The s entries of each array belong to its atoms, the largest contribution first.

    label          the class that won
    scores         (C,) W x of every class, in the order of ``classes_``
    margin         the winning score less the next best (inf where there is one class)
    atoms          (s,) numbers of the atoms used, rows of ``components_``
    coefficients   (s,) x of each
    contributions  (s,) W[label, atom] · x: they add up to the winning score
    atom_classes   (s,) the class whose samples each atom was started from
    nearest_rows   (s,) the training row each atom is most like (its sign does not count)
    """

    label: Any
    scores: Array
    margin: float
    atoms: Array
    coefficients: Array
    contributions: Array
    atom_classes: Array
    nearest_rows: Array


def explain_codes(model: DictionaryClassifier, codes: SparseCodes, scores: Array) -> list[AtomExplanation]:
    """One explanation a code; ``scores`` (N, C) are the classes' scores of the same codes."""
    answers = []
    for atoms, values, row in zip(codes.atoms, codes.values, scores, strict=True):
        winner = int(row.argmax())
        used = atoms >= 0
        atoms, values = atoms[used], values[used]
        contributions = model.coef_[winner, atoms] * values
        order = np.argsort(-contributions, kind="stable")
        rivals = np.delete(row, winner)
        answers.append(
            AtomExplanation(
                label=model.classes_[winner],
                scores=row,
                margin=float(row[winner] - rivals.max()) if len(rivals) else np.inf,
                atoms=atoms[order],
                coefficients=values[order],
                contributions=contributions[order],
                atom_classes=model.atom_classes_[atoms[order]],
                nearest_rows=model.atom_rows_[atoms[order]],
            )
        )
    return answers
