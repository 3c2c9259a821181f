"""The codes of all examples by all the others, from one inverse.

Over a global dictionary with the ridge coder, H = DᵀD of all n examples and Q = (H + μI)⁻¹, the code of example i over
the dictionary without it is, by the inverse of a bordered matrix,

    (H₋ᵢ + μI)⁻¹ hᵢ = −Q₋ᵢ,ᵢ / Qᵢᵢ,    hᵢ the column i of H without its own entry

exactly, for any decision that goes by the code; with the sum rule it is the closed-form leave-one-out of kernel ridge
regression. One inverse takes the place of a factorisation for each example.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from kcrc import decisions
from kcrc.arrays import Array
from kcrc.coding.base import Code, Target
from kcrc.evidence import CODED, Evidence
from kcrc.model import FittedModel
from kcrc.neighbours.base import Neighbourhood

INVERTED = 5e10  # arithmetic of the inverse at most: a few seconds
_made: WeakKeyDictionary[FittedModel, CodesWithout | None] = WeakKeyDictionary()


def whole_ridge(model: FittedModel) -> bool:
    """Whether the left-out codes of a model follow from one inverse, groups of examples that leave together aside."""
    method, n = model.method, len(model)
    return (
        model.whole is not None
        and float(n) ** 3 <= INVERTED
        and 8 * n * n <= method.memory_budget // 4
        and bool(method.coder.ridge_penalty)
        and not method.space.has_columns
        and not method.metric.uses_labels
        and decisions.named(method.decision).of_code_alone
        and int((np.bincount(model.labels) > 0).sum()) > 2  # of two, one may be left alone: nothing to code
    )


@dataclass(frozen=True, eq=False)
class CodesWithout:
    """codes (n, n): line i is the code of example i by the others, 0 at itself; own (n,) ‖y‖² of each."""

    codes: Array
    own: Array

    @classmethod
    def of(cls, model: FittedModel, groups: Array) -> CodesWithout | None:
        """None where ``groups`` of examples leave together, or H + μI is not positive. Made once for a model."""
        if not whole_ridge(model) or len(np.unique(groups)) < len(groups):
            return None
        if model not in _made:
            _made[model] = cls._inverted(model)
        return _made[model]

    @classmethod
    def _inverted(cls, model: FittedModel) -> CodesWithout | None:
        assert model.whole is not None and model.method.coder.ridge_penalty is not None
        basis = model.whole.basis
        H, scale = basis.dictionary.gram[0].astype(np.float64), basis.scale[0].astype(np.float64)
        H[np.diag_indices(len(H))] += model.method.coder.ridge_penalty
        try:
            np.linalg.cholesky(H)
        except np.linalg.LinAlgError:
            return None
        if not (scale > 0).all():
            return None
        Q = np.linalg.inv(H)
        Q /= -(np.diagonal(Q) * scale)[:, None]
        np.fill_diagonal(Q, 0.0)
        kernel = model.method.kernel
        own = np.maximum(kernel.diagonal(model.examples(kernel)), 0.0)
        return cls(Q, own.astype(np.float64))

    def fill(self, model: FittedModel, which: Array, near: Neighbourhood, verdict: Evidence) -> Array:
        """Fill in the verdict on the examples ``which``, whose ``near`` are all others; returns those left over."""
        assert model.whole is not None
        basis, decision, labels = model.whole.basis, decisions.named(model.method.decision), model.labels[None]
        x = self.codes[which]
        code = Code(x, np.ones(len(which), bool), np.ones(len(which), np.intp))
        correlation = basis.dictionary.gram[0][which] / basis.scale[0][which, None]
        target = Target(correlation, self.own[which], None)
        energy, contributed = decision.explained(basis.dictionary, target, code, labels)
        residuals = decision.residuals(energy, contributed, x, labels, len(model.classes))
        found = np.isfinite(residuals.min(axis=1))
        verdict.winner[found] = residuals[found].argmin(axis=1)
        verdict.residuals[found] = residuals[found]
        verdict.energy[found] = energy[found]
        verdict.how[found] = CODED
        verdict.n_iter[found] = 1
        for mine, of_all in ((verdict.coefficients, x), (verdict.contributions, contributed)):
            mine[found] = np.take_along_axis(of_all, near.rows, 1)[found]
        return np.flatnonzero(~found)
