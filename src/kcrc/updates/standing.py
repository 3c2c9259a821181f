"""A model, and what is still to be done to it before it is next asked.

Where something was learned from the examples (a covariance, a kernel's width) and examples came or went, it has to be
learned anew from those there are: then nothing of a forgotten one stays, and a new one counts in full. That looks at
every example, and so do closing the gap that a forgotten one leaves in the arrays and making what searches among them;
all of it waits until somebody asks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.fitted_model import FittedModel
from kcrc.updates.learning_sample import learned_from


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
            self._model = (renewed(model) if self._due else model).searched()
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
