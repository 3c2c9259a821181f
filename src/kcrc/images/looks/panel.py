"""The experts that answer together, as a value: what they say of pictures, and how sure that is."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.few_examples import FEWEST
from kcrc.classifier.confidence_methods import Groups
from kcrc.classifier.estimator import KCRCClassifier
from kcrc.confidence.calibration import STRANGERS, Calibration, Confidence
from kcrc.images.looks.base import Pictures
from kcrc.images.looks.expert import Expert, without_themselves
from kcrc.images.looks.fusion import fused
from kcrc.images.looks.join import seen_by
from kcrc.images.looks.jury import ASKED, answerable
from kcrc.method.evidence import Evidence, join_evidence, open_set_features
from kcrc.tuning.left_out.answers import TRIALS, LeftOut
from kcrc.tuning.left_out.exclusion import Exclusion
from kcrc.tuning.left_out.sample import stratified_by_row

T = TypeVar("T")
CHUNK = 256  # pictures that are looked at together


class _Once:
    """The confidence of one panel, learned by the first who asks."""

    def __init__(self) -> None:
        self.learned: Confidence | None = None
        self._lock = threading.Lock()

    def of(self, learn: Callable[[], Confidence]) -> Confidence:
        with self._lock:
            if self.learned is None:
                self.learned = learn()
        return self.learned

    def __getstate__(self) -> dict[str, Any]:
        return {"learned": self.learned}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.learned = state["learned"]
        self._lock = threading.Lock()


@dataclass(frozen=True, eq=False)
class Panel:
    """``experts``, the heaviest first, with the same examples under the same row numbers."""

    experts: tuple[Expert, ...]
    groups: Groups | None = None
    known: _Once = field(default_factory=_Once)

    @property
    def leader(self) -> KCRCClassifier:
        """The classifier of the look with the most weight."""
        return self.experts[0].classifier

    @property
    def single(self) -> bool:
        return len(self.experts) == 1

    # Asking -----------------------------------------------------------------------------------------------------

    def read(
        self, pictures: Pictures, read: Callable[[Evidence], T], *, explain: bool = False, code_all: bool = False
    ) -> list[T]:
        """``read`` of the evidence of each chunk of pictures, in order."""
        found: list[T] = []
        for start in range(0, len(pictures), CHUNK):
            part = pictures[start : start + CHUNK]
            seen = self.seen(part)
            if self.single:
                found += self.experts[0].read(seen[0], read, explain=explain, code_all=code_all)
                continue
            said = [expert.evidence(mine, code_all=code_all) for expert, mine in zip(self.experts, seen, strict=True)]
            found.append(read(fused(self.experts, said, explain=explain)))
        return found

    def what_if(self, pictures: Pictures, *, without: Any, relabelled: Mapping[int, Any] | None) -> Evidence:
        """The evidence as it would be without some examples, by row number, and with other labels of some."""
        found = []
        for start in range(0, len(pictures), CHUNK):
            seen = self.seen(pictures[start : start + CHUNK])
            said = [
                expert.classifier.what_if(mine, without=without, relabelled=relabelled)
                for expert, mine in zip(self.experts, seen, strict=True)
            ]
            found.append(said[0] if self.single else fused(self.experts, said, explain=True))
        return join_evidence(found)

    def confidence(self) -> Confidence:
        """What is known of how sure the answers are, learned from the examples' own when first asked for."""
        return self.leader.confidence_ if self.single else self.known.of(self._learned)

    def _learned(self) -> Confidence:
        model = self.leader.model_
        groups = None if self.groups is None else self.groups.among(model.ids)
        exclusion = Exclusion.of(model, groups)
        together = exclusion.groups_of(model)
        eligible = np.bincount(together)[together] < len(model)
        order = stratified_by_row(model.labels, model.ids, seed=0, eligible=eligible)[:TRIALS]
        if len(order) < FEWEST:
            return Confidence(exclusion, Calibration(temperature=1.0, power=1), None, None, None, groups=groups)
        strangers = None
        if len(np.unique(model.labels)) > 2:
            strangers = self._left_out(order[:STRANGERS], groups, without_classes=True)
        told = Confidence.learned(exclusion, self._left_out(order, groups), strangers, model.classes)
        return replace(told, groups=groups, revision=self.leader.growth_.changed)

    def _left_out(self, order: Array, groups: Array | None, *, without_classes: bool = False) -> LeftOut:
        """What they say together of the examples at ``order``, each asked as if it were not stored."""
        models = [expert.classifier.model_ for expert in self.experts]
        said = [without_themselves(model, order, groups, without_classes=without_classes) for model in models]
        evidence = fused(self.experts, said, explain=True)
        model = self.leader.model_
        return LeftOut(
            rows=model.ids[order], truth=model.labels[order], winner=evidence.winner, residuals=evidence.residuals,
            how=evidence.how, signs=open_set_features(evidence), reach=np.full(len(order), np.inf),
        )  # fmt: skip

    # Examples that come and go ----------------------------------------------------------------------------------

    def changed(self, change: Callable[[int, KCRCClassifier], Any]) -> Panel:
        """The panel after ``change(number, classifier)`` of a copy of each classifier; this one stays as it is."""
        made = []
        for number, expert in enumerate(self.experts):
            classifier = copy.copy(expert.classifier)
            change(number, classifier)
            made.append(replace(expert, classifier=classifier))
        return replace(self, experts=tuple(made), known=_Once())

    def retuned(self) -> Panel:
        """The panel with parameters chosen anew, and what they mean for how sure each expert is."""
        model = self.leader.model_
        groups = None if self.groups is None else self.groups.among(model.ids)
        changed = self.changed(lambda number, classifier: classifier.retune(groups=groups))
        asked = answerable(model.labels, groups)[:ASKED]
        if len(asked) < FEWEST:
            return changed
        made = []
        for expert in changed.experts:
            evidence = without_themselves(expert.classifier.model_, asked, groups)
            known = Expert.of(expert.look, expert.classifier, evidence, model.labels[asked])
            made.append(known.weighing(expert.weight))
        return replace(changed, experts=tuple(made))

    def seen(self, pictures: Pictures, *, stored: bool = False) -> list[Array]:
        """(n, …) what each expert's look sees of pictures that are asked about, or is ``stored`` of examples."""
        return seen_by([expert.look for expert in self.experts], pictures, stored=stored)


def panel_of(experts: Sequence[Expert], groups: Any) -> Panel:
    """A panel of experts just fitted; ``groups`` (n,) are examples that belong together, or None."""
    ids = experts[0].classifier.model_.ids
    return Panel(tuple(experts), Groups.of(ids, groups))
