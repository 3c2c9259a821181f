"""The codes of all examples by all the others, from one inverse.

Over a global dictionary with the ridge coder, H = DᵀD of all n examples and Q = (H + μI)⁻¹, the code of example i over
the dictionary without it is, by the inverse of a bordered matrix,

    (H₋ᵢ + μI)⁻¹ hᵢ = −Q₋ᵢ,ᵢ / Qᵢᵢ,    hᵢ the column i of H without its own entry

exactly, for any decision that goes by the code; with the sum rule it is the closed-form leave-one-out of kernel ridge
regression. Where a group g of examples leaves together (duplicates, or a whole class) it is the column i of
−Q₋g,g (Q_gg)⁻¹. One inverse takes the place of a factorisation for each example.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method import decisions
from kcrc.method.coding.base import Code, Target
from kcrc.method.evidence import CODED, Evidence
from kcrc.method.fitted_model import FittedModel
from kcrc.method.neighbours.base import Neighbourhood
from kcrc.method.pipeline import unanimous

INVERTED = 5e10  # arithmetic of the inverse at most: a few seconds
_made: WeakKeyDictionary[FittedModel, Inverse | None] = WeakKeyDictionary()


def whole_ridge(model: FittedModel) -> bool:
    """Whether the left-out codes of a model follow from one inverse, where there is one."""
    method, n = model.method, len(model)
    return (
        model.whole is not None
        and float(n) ** 3 <= INVERTED
        and 8 * n * n <= method.memory_budget // 4
        and bool(method.coder.ridge_penalty)
        and not method.space.has_columns
        and not method.scaling.uses_labels
        and decisions.resolve(method.decision).of_code_alone
        and int((np.bincount(model.labels) > 0).sum()) > 2  # of two, one may be left alone: nothing to code
    )


@dataclass(frozen=True, eq=False)
class Inverse:
    """Q (n, n) = (H + μI)⁻¹ of all examples; scale (n,) 1 / ‖y‖ by which they are atoms; own (n,) ‖y‖² of each."""

    Q: Array
    scale: Array
    own: Array

    @classmethod
    def of(cls, model: FittedModel) -> Inverse | None:
        """None where the codes do not follow from it, or H + μI is not positive. Made once for a model."""
        if not whole_ridge(model):
            return None
        if model not in _made:
            _made[model] = cls._invert(model)
        return _made[model]

    @classmethod
    def _invert(cls, model: FittedModel) -> Inverse | None:
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
        kernel = model.method.kernel
        own = np.maximum(kernel.diagonal(model.examples(kernel)), 0.0)
        return cls(np.linalg.inv(H), scale, own.astype(np.float64))


@dataclass(frozen=True, eq=False)
class CodesWithout:
    """The codes of examples by those that are not of their group; ``groups`` (n,)."""

    inverse: Inverse
    groups: Array

    @classmethod
    def of(cls, model: FittedModel, groups: Array) -> CodesWithout | None:
        """None where there is no inverse."""
        inverse = Inverse.of(model)
        return None if inverse is None else cls(inverse, groups)

    def codes(self, which: Array) -> Array:
        """(B, n) the codes of the examples ``which`` by the others, 0 at their own group."""
        Q, mine = self.inverse.Q, self.groups[which]
        x = Q[which] / -np.diagonal(Q)[which, None]
        x[np.arange(len(which)), which] = 0.0
        for group in np.unique(mine[np.bincount(self.groups)[mine] > 1]):
            members, asked = np.flatnonzero(self.groups == group), np.flatnonzero(mine == group)
            ends = np.eye(len(members))[:, np.searchsorted(members, which[asked])]
            x[asked] = -np.linalg.solve(Q[np.ix_(members, members)], ends).T @ Q[members]
            x[np.ix_(asked, members)] = 0.0
        return np.asarray(x / self.inverse.scale[which, None])

    def fill(self, model: FittedModel, which: Array, near: Neighbourhood, verdict: Evidence) -> Array:
        """Fill in the verdict on the examples ``which``, whose ``near`` are all others; returns those left over."""
        assert model.whole is not None
        basis, decision, labels = model.whole.basis, decisions.resolve(model.method.decision), model.labels[None]
        at = np.maximum(near.rows, 0)
        open_ = ~unanimous(np.where(near.real, model.labels[at], -1))  # the others are settled
        x = self.codes(which)
        code = Code(x, np.ones(len(which), bool), np.ones(len(which), np.intp))
        correlation = basis.dictionary.gram[0][which] / basis.scale[0][which, None]
        target = Target(correlation, self.inverse.own[which], None)
        energy, contributed = decision.explain(basis.dictionary, target, code, labels)
        residuals = decision.residuals(energy, contributed, x, labels, len(model.classes))
        found = open_ & np.isfinite(residuals.min(axis=1))
        verdict.winner[found] = residuals[found].argmin(axis=1)
        verdict.residuals[found] = residuals[found]
        verdict.energy[found] = energy[found]
        verdict.how[found] = CODED
        verdict.n_iter[found] = 1
        for mine, of_all in ((verdict.coefficients, x), (verdict.contributions, contributed)):
            mine[found] = np.where(near.real, np.take_along_axis(of_all, at, 1), 0.0)[found]
        return np.flatnonzero(open_ & ~found)
