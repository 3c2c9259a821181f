"""A model, and what is still to be done to it before it is next asked.

Where something was learned from the examples (a covariance, a kernel's width) and examples came or went, it has to be
learned anew from those there are: then nothing of a forgotten one stays, and a new one counts in full. That looks at
every example, and so do closing the gap that a forgotten one leaves in the arrays and making what searches among them;
all of it waits until somebody asks.
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

# The examples that something is learned from: all of them, or a sample where they are larger than memory.
#
# Examples in a mapped file that is larger than the memory budget are looked at one after the other to store and to
# search them, and no more. Parameters, a scaling, the width of a kernel and how sure answers are come from a sample:
# those of whom a number, drawn from the row number and the seed, is least. One that comes or goes outside it changes
# nothing of what was learned, and one that leaves it makes room for the next: it is always the sample that a fit with
# the same examples and row numbers would take.

MOST = 10_000
FEWEST = 500
SHARE = 64  # bytes of the memory budget to each value of the sample


def sample_size(X: Array, n: int, budget: int) -> int:
    """How many of n examples like those of X are looked at together: all, but where they are larger than memory."""
    width = X.shape[1]
    if not is_mapped(X) or n * width * X.itemsize <= budget:
        return n
    return min(n, int(np.clip(budget // (SHARE * width), FEWEST, MOST)))


def sample_rows(ids: Array, size: int, seed: int) -> Array:
    """The positions, rising, of the sample of ``size`` among examples with the row numbers ``ids``."""
    if size >= len(ids):
        return np.arange(len(ids))
    return np.sort(np.argpartition(chance(ids, seed), size)[:size])


def learns_from_all(model: FittedModel) -> bool:
    """Whether things are learned from all examples of a model."""
    return sample_size(model.raw, len(model), model.method.memory_budget) == len(model)


def learned_from(model: FittedModel) -> FittedModel:
    """The model of those that things are learned from, in memory."""
    if learns_from_all(model):
        return model
    rows = sample_rows(model.ids, sample_size(model.raw, len(model), model.method.memory_budget), model.method.seed)
    return FittedModel.build(model.method, model.raw[rows], model.classes, model.labels[rows], model.ids[rows])


def touches(model: FittedModel, positions: Array, gone: Array) -> bool:
    """Whether any example at ``positions`` is one of those that things are learned from; the ones at ``gone`` are none
    of them."""
    size = sample_size(model.raw, len(model) - len(gone), model.method.memory_budget)
    if size == len(model) - len(gone):
        return True
    there = np.delete(np.arange(len(model)), gone)
    return bool(np.isin(positions, there[sample_rows(model.ids[there], size, model.method.seed)]).any())


class Standing:
    """A model, the positions of examples that are ``gone`` but still in its arrays, and whether what it learned from
    its examples is ``due`` to be learned anew.

    Copies of a classifier share it: doing what waits changes when it is done and nothing else.
    """

    def __init__(self, model: FittedModel, *, due: bool = False, gone: Array | None = None) -> None:
        self._model = model
        self._due = due
        self._gone = np.empty(0, np.intp) if gone is None else gone
        self._lock = threading.RLock()

    def copy(self) -> Standing:
        """One that is brought up to date on its own."""
        with self._lock:
            return Standing(self._model, due=self._due, gone=self._gone)

    @property
    def due(self) -> bool:
        return self._due

    def __len__(self) -> int:
        """How many examples there are."""
        with self._lock:
            return len(self._model) - len(self._gone)

    @property
    def examples(self) -> FittedModel:
        """The model for its examples, labels and row numbers; nothing is learned anew for them."""
        with self._lock:
            if len(self._gone):
                self._model = self._model.without(self._gone).without_empty_classes()
                self._gone = np.empty(0, np.intp)
            return self._model

    def learned_from(self, renewed: Callable[[FittedModel], FittedModel]) -> FittedModel:
        """The model of the examples that things are learned from."""
        return learned_from(self.ready(renewed))

    def ready(self, renewed: Callable[[FittedModel], FittedModel]) -> FittedModel:
        """The model as it can be asked; ``renewed`` gives one that has learned anew."""
        if not self._due and not len(self._gone) and self._model.searchable:
            return self._model
        with self._lock:
            model = self.examples
            self._model = (renewed(model) if self._due else model).with_index()
            self._due = False
            return self._model

    def found(self, ids: Array) -> tuple[FittedModel, Array, Array, Array]:
        """Of row numbers (m,): a model whose arrays still hold them, their positions there, which of them are stored,
        and the positions of all that are gone from it."""
        with self._lock:
            model, gone = self._model, self._gone
        at = np.minimum(np.searchsorted(model.ids, ids), len(model) - 1)
        return model, at, (model.ids[at] == ids) & ~np.isin(at, gone), gone

    def without(self, positions: Array, *, due: bool) -> Standing:
        """After the examples at ``positions`` of the model that ``found`` gave are forgotten."""
        with self._lock:
            return Standing(self._model, due=self._due or due, gone=np.union1d(self._gone, positions))

    def classes(self) -> Array:
        """The classes that have examples left."""
        with self._lock:
            model, gone = self._model, self._gone
        counts = np.bincount(model.labels, minlength=len(model.classes))
        counts -= np.bincount(model.labels[gone], minlength=len(model.classes))
        return np.asarray(model.classes[counts > 0])

    def __getstate__(self) -> dict[str, Any]:
        """Without the examples that are gone: what is kept elsewhere must not hold them."""
        with self._lock:
            return {"_model": self.examples, "_due": self._due, "_gone": self._gone}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()


# How many examples came and went since the parameters were chosen, and which row number is next.


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
        Why choosing anew is advisable; None if it is not.
    """

    next_row: int
    tuned_on: int
    changed: int = 0

    def added(self, rows: int, *, next_row: int) -> Growth:
        """After ``rows`` more examples."""
        return replace(self, next_row=next_row, changed=self.changed + rows)

    def forgotten(self, rows: int) -> Growth:
        """After ``rows`` examples were forgotten: their numbers are not given again."""
        return replace(self, changed=self.changed + rows)

    @property
    def due(self) -> str | None:
        """Why choosing anew is due, or None."""
        why = why_retune(self.changed, self.tuned_on)
        return None if why is None else f"{why}; call retune()."


def why_retune(changed: int, tuned_on: int) -> str | None:
    """Why parameters should be chosen anew, or None. Tuned parameters stay as they are; after a fifth of the examples
    changed they may no longer be the best."""
    if changed <= max(5, 0.2 * tuned_on):
        return None
    return f"{changed} examples came or went since the settings were chosen on {tuned_on}"
