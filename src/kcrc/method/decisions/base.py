"""From a code to what each class is judged by, and the table of the ways to judge.

A decision says how much there was to explain (``energy``), what each atom j explains of it for its class (its
contribution c_j), and what the classes are judged by: residuals, of which the smallest wins. Its contributions add up,
class by class, to what its residuals are made of, so that an answer can be taken apart example by example.

A new one is a file with a class, and one line in ``_HOMES``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.registry import Registry
from kcrc.method.coding.base import Code, Dictionary, Target

_HOMES = {"ratio": "residual", "residual": "residual", "sum": "sum", "joint": "joint", "croc": "croc"}
registry: Registry[Decision] = Registry(
    "decision", {name: f"kcrc.method.decisions.{file}" for name, file in _HOMES.items()}
)
names = registry.names
register = registry.register
make = registry.make


class Decision(ABC):
    """Judges the classes of a dictionary by the code of a query.

    A decision implements ``explain``: how much there was to explain, and what each atom explains of it for its class.
    A class is judged by √(energy − the contributions of its atoms), and the smallest value wins; override ``residuals``
    where that is another formula. ``kcrc.decisions.register`` gives it a name.
    """

    compiled: ClassVar[bool] = False
    """Whether the compiled stage and the compiled judge of tuning know it."""

    over_length: ClassVar[bool] = False
    """Whether residuals are divided by ‖xᵢ‖, the length of the class's part of the code."""

    of_code_alone: ClassVar[bool] = True
    """Whether an atom whose coefficient is 0 has no part in it: the dictionary might as well be without."""

    @abstractmethod
    def explain(self, dictionary: Dictionary, target: Target, code: Code, labels: Array) -> tuple[Array, Array]:
        """What there was to explain, and what each atom explains of it.

        Parameters
        ----------
        dictionary : Dictionary
            The atoms.
        target : Target
            B queries.
        code : Code
            Their coefficients (B, K).
        labels : array of int of shape (1 or B, K)
            The atoms' class numbers, −1 for padding.

        Returns
        -------
        energy : ndarray of shape (B,)
            How much there was to explain.
        contributions : ndarray of shape (B, K)
            What each atom explains of it for its class; 0 at padding.
        """

    def residuals(
        self, energy: Array, contributed: Array, x: Array, labels: Array, n_classes: int, *, floor: float = 0.0
    ) -> Array:
        """(B, C) √(energy − Σ c_j), over ‖xᵢ‖ where ``over_length``; ∞ for a class that has no part in the code.
        ``floor``: the least share of the energy that counts as left over, for those who take logarithms."""
        least = floor * np.maximum(energy, np.finfo(np.float64).tiny)
        squared = np.maximum(energy[:, None] - per_class(contributed, labels, n_classes), least[:, None])
        length = np.sqrt(per_class(np.square(x, dtype=np.float64), labels, n_classes))  # in single they vanish
        residual = np.sqrt(squared)
        if self.over_length:
            residual = np.divide(residual, length, out=np.full_like(residual, np.inf), where=length > 0)
        return np.where(length > 0, residual, np.inf)

    def over_one(self, dictionary: Dictionary, target: Target, code: Code, labels: Array, n_classes: int) -> Array:
        """``residuals`` of queries that share one dictionary, whose atoms have the class numbers ``labels`` (n,)."""
        energy, contributed = self.explain(dictionary, target, code, labels[None])
        return self.residuals(energy, contributed, code.coefficients, labels[None], n_classes)


def per_class(values: Array, labels: Array, n_classes: int) -> Array:
    """(B, C) the sums of values (B, K) over the atoms of each class; ``labels`` (1|B, K), −1 for padding."""
    batch = len(values)
    labels = np.broadcast_to(labels, values.shape)
    real = labels >= 0
    cell = (np.arange(batch)[:, None] * n_classes + labels)[real]
    return np.bincount(cell, weights=values[real], minlength=batch * n_classes).reshape(batch, n_classes)


def within_classes(H: Array, x: Array, labels: Array) -> Array:
    """(B, K) for each atom j of class i, Σ_{l in class i} H_jl x_l; H (1|B, K, K), ``labels`` (1|B, K)."""
    if len(H) > 1 or len(x) == 1:
        same = labels[:, :, None] == labels[:, None, :]
        return np.asarray(np.einsum("bjl,bl->bj", np.where(same, H, 0.0), x))
    out = np.zeros_like(x)  # one dictionary for all: a matrix product for each class's block
    for c in np.unique(labels):
        members = np.flatnonzero(labels[0] == c)
        out[:, members] = x[:, members] @ H[0][np.ix_(members, members)]
    return out


def resolve(spec: str | Decision) -> Decision:
    """Return the decision that a name stands for; return a Decision as it is."""
    return registry.resolve(spec, Decision)
