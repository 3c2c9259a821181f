"""A model, and the updates that are pending: what has to be done before it answers the next query.

If something was learned from the examples (a covariance, a kernel's width) and examples come or go, it is learned again
from those that are left: then nothing of a forgotten example stays, and a new one counts in full. This looks at every
example. So do closing the gap that a forgotten example leaves in the arrays, and building the index. All of it waits
for the next query.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.mapped import is_mapped
from kcrc.method.fitted_model import FittedModel
from kcrc.tuning.left_out.sample import chance

# The examples that something is learned from: all of them, or a sample if they are larger than memory.
#
# Examples in a mapped file that is larger than the memory budget are read once to store them and once per search.
# Parameters, a scaling, the width of a kernel and the calibration come from a sample: the rows with the smallest hash
# of (row number, seed). An example that comes or goes outside the sample changes nothing of what was learned, and one
# that leaves it makes room for the next: it is always the sample that a fit with the same rows would take.

SAMPLE = {
    "most": 10_000,  # rows: what is learned changes little beyond
    "fewest": 500,  # rows, however small the budget is
    "bytes": 64,  # of the memory budget per value: learning from the sample takes several copies in double precision
}


def sample_size(X: Array, n: int, budget: int) -> int:
    """Return how many of n examples like those of X are learned from: all, unless they are larger than memory."""
    width = X.shape[1]
    if not is_mapped(X) or n * width * X.itemsize <= budget:
        return n
    return min(n, int(np.clip(budget // (SAMPLE["bytes"] * width), SAMPLE["fewest"], SAMPLE["most"])))


def sample_rows(ids: Array, size: int, seed: int) -> Array:
    """Return the positions, rising, of the sample of ``size`` among examples with the row numbers ``ids``."""
    if size >= len(ids):
        return np.arange(len(ids))
    return np.sort(np.argpartition(chance(ids, seed), size)[:size])


def learns_from_all(model: FittedModel) -> bool:
    """Return whether a model learns from all its examples."""
    return sample_size(model.raw, len(model), model.method.memory_budget) == len(model)


def learning_model(model: FittedModel) -> FittedModel:
    """Return the model of the examples that are learned from, in memory."""
    if learns_from_all(model):
        return model
    rows = sample_rows(model.ids, sample_size(model.raw, len(model), model.method.memory_budget), model.method.seed)
    return FittedModel.build(model.method, model.raw[rows], model.classes, model.labels[rows], model.ids[rows])


def touches(model: FittedModel, positions: Array, gone: Array) -> bool:
    """Return whether any example at ``positions`` is one of those that are learned from; those at ``gone`` are not."""
    size = sample_size(model.raw, len(model) - len(gone), model.method.memory_budget)
    if size == len(model) - len(gone):
        return True
    there = np.delete(np.arange(len(model)), gone)
    return bool(np.isin(positions, there[sample_rows(model.ids[there], size, model.method.seed)]).any())


class PendingUpdates:
    """A model; the positions of examples that are ``gone`` but still in its arrays; and whether a ``refit`` of what it
    learned from its examples is pending.

    Copies of a classifier share it: updating changes when the work is done and nothing else.
    """

    def __init__(self, model: FittedModel, *, needs_refit: bool = False, gone: Array | None = None) -> None:
        self._model = model
        self._needs_refit = needs_refit
        self._gone = np.empty(0, np.intp) if gone is None else gone
        self._lock = threading.RLock()

    def copy(self) -> PendingUpdates:
        """Return a copy that is updated on its own."""
        with self._lock:
            return PendingUpdates(self._model, needs_refit=self._needs_refit, gone=self._gone)

    @property
    def needs_refit(self) -> bool:
        """Whether what was learned from the examples has to be learned again."""
        return self._needs_refit

    def __len__(self) -> int:
        """Return how many examples there are."""
        with self._lock:
            return len(self._model) - len(self._gone)

    @property
    def examples(self) -> FittedModel:
        """The model for its examples, labels and row numbers: nothing is learned, and no index is built."""
        with self._lock:
            if len(self._gone):
                self._model = self._model.without(self._gone).without_empty_classes()
                self._gone = np.empty(0, np.intp)
            return self._model

    @property
    def with_index(self) -> FittedModel:
        """The model with its index, which is built once; nothing is learned."""
        with self._lock:
            self._model = self.examples.with_index()
            return self._model

    def update(self, refit: Callable[[FittedModel], FittedModel]) -> FittedModel:
        """Return the model after all pending work; ``refit`` learns again what is learned from examples."""
        if not self._needs_refit and not len(self._gone) and self._model.searchable:
            return self._model
        with self._lock:
            model = self.examples
            self._model = (refit(model) if self._needs_refit else model).with_index()
            self._needs_refit = False
            return self._model

    def learning_model(self, refit: Callable[[FittedModel], FittedModel]) -> FittedModel:
        """Return the updated model of the examples that are learned from."""
        return learning_model(self.update(refit))

    def locate(self, ids: Array) -> tuple[FittedModel, Array, Array, Array]:
        """Locate row numbers (m,): a model whose arrays still hold them, their positions in it, which of them are
        stored, and the positions of all examples that are gone from it."""
        with self._lock:
            model, gone = self._model, self._gone
        at = np.minimum(np.searchsorted(model.ids, ids), len(model) - 1)
        return model, at, (model.ids[at] == ids) & ~np.isin(at, gone), gone

    def without(self, positions: Array, *, needs_refit: bool) -> PendingUpdates:
        """Return the state without the examples at ``positions`` of the model that ``locate`` gave."""
        with self._lock:
            gone = np.union1d(self._gone, positions)
            return PendingUpdates(self._model, needs_refit=self._needs_refit or needs_refit, gone=gone)

    def classes(self) -> Array:
        """Return the classes that have examples left."""
        with self._lock:
            model, gone = self._model, self._gone
        counts = np.bincount(model.labels, minlength=len(model.classes))
        counts -= np.bincount(model.labels[gone], minlength=len(model.classes))
        return np.asarray(model.classes[counts > 0])

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the examples that are gone: a pickle must not hold them."""
        with self._lock:
            return {"_model": self.examples, "_needs_refit": self._needs_refit, "_gone": self._gone}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()


@dataclass(frozen=True)
class Growth:
    """How many examples came or went since the parameters were chosen: ``growth_``.

    Attributes
    ----------
    next_row : int
        The row number of the next example.
    tuned_on : int
        On how many examples the parameters were chosen.
    changed : int
        How many came or went since.
    due : str or None
        Why ``retune()`` is advisable; None if it is not.
    """

    next_row: int
    tuned_on: int
    changed: int = 0

    def after_adding(self, rows: int, *, next_row: int) -> Growth:
        """Count ``rows`` more examples."""
        return replace(self, next_row=next_row, changed=self.changed + rows)

    def after_forgetting(self, rows: int) -> Growth:
        """Count ``rows`` forgotten examples, whose numbers are not given again."""
        return replace(self, changed=self.changed + rows)

    @property
    def due(self) -> str | None:
        """Why ``retune()`` is advisable, or None."""
        why = why_retune(self.changed, self.tuned_on)
        return None if why is None else f"{why}; call retune()."


def why_retune(changed: int, tuned_on: int) -> str | None:
    """Return why parameters should be chosen again, or None. After a fifth of the examples changed, the parameters may
    no longer be the best."""
    if changed <= max(5, 0.2 * tuned_on):
        return None
    return f"{changed} examples came or went since the settings were chosen on {tuned_on}"
