"""What is known of how sure answers are, learned when somebody first asks.

A fit says labels; how sure they are costs a question to many of the examples, and most callers never ask. So it is
learned at the first asking, by one thread, for the examples as they are then. When examples come or go a new holder
takes the place of this one: it knows what was learned before, so that only the answers a change touches are asked anew.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.confidence.calibration import Confidence
from kcrc.method.fitted_model import FittedModel
from kcrc.updates.learning_sample import learns_from_all
from kcrc.updates.standing import Standing


@dataclass(frozen=True, eq=False)
class Groups:
    """What the caller said belongs together, by row number: ids (m,), rising, and the groups (m,) of those."""

    ids: Array
    groups: Array

    @classmethod
    def of(cls, ids: Array, groups: Any) -> Groups | None:
        return None if groups is None else cls(ids, np.unique(np.asarray(groups), return_inverse=True)[1].ravel())

    @classmethod
    def learned_with(cls, confidence: Confidence) -> Groups | None:
        """What confidence that was stored was learned with."""
        exclusion, groups = confidence.exclusion, confidence.groups
        if groups is None and len(np.unique(exclusion.groups)) < len(exclusion.groups):
            groups = exclusion.groups  # files of earlier versions say no more
        return None if groups is None else cls(exclusion.ids, groups)

    def among(self, ids: Array) -> Array:
        """(n,) of the examples ``ids``; those nobody spoke of stand alone."""
        at = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        alone = int(self.groups.max()) + 1 + np.arange(len(ids))
        return np.where(self.ids[at] == ids, self.groups[at], alone)


@dataclass(frozen=True, eq=False)
class EarlierConfidence:
    """Confidence, and the model whose examples it was learned from."""

    confidence: Confidence
    model: FittedModel


class ConfidenceHolder:
    """The confidence of one state of a classifier; ``before`` is what was learned of an earlier state, if anything."""

    def __init__(
        self,
        groups: Groups | None,
        *,
        fixed: bool,
        learned: Confidence | None = None,
        before: EarlierConfidence | None = None,
    ) -> None:
        self.groups = groups
        self.fixed = fixed
        self._learned = learned
        self._before = before
        self._lock = threading.Lock()

    @classmethod
    def holding(cls, learned: Confidence, *, fixed: bool) -> ConfidenceHolder:
        """What was learned before and stored."""
        return cls(None, fixed=fixed, learned=learned)

    @property
    def known(self) -> bool:
        """Whether it has been learned."""
        return self._learned is not None

    def of(self, learned_from: Callable[[], FittedModel], revision: int) -> Confidence:
        """The confidence of what ``learned_from`` gives, which is always the model of the same state and revision."""
        if self._learned is None:
            with self._lock:
                if self._learned is None:
                    model = learned_from()
                    groups = None if self.groups is None else self.groups.among(model.ids)
                    before = self._before
                    earlier = None if before is None else (before.confidence, before.model)
                    self._learned = Confidence.of(model, groups, fixed=self.fixed, before=earlier, revision=revision)
                    self._before = None
        return self._learned

    def after(self, standing: Standing) -> ConfidenceHolder:
        """The holder for a state that comes after this one, which was ``standing``."""
        before, groups = self._before, self.groups
        if self._learned is not None:
            if learns_from_all(standing.examples):  # of others, the sample that was asked is not kept
                before = EarlierConfidence(self._learned, standing.examples)
            groups = Groups.learned_with(self._learned) if groups is None else groups
        return ConfidenceHolder(groups, fixed=self.fixed, before=before)

    def __getstate__(self) -> dict[str, Any]:
        """Without the earlier examples, some of which may be forgotten: they only spare asking anew."""
        return {name: value for name, value in self.__dict__.items() if name != "_lock"} | {"_before": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()
