"""Which looks tell the examples apart: each is asked about the same examples, none of them stored while it is asked.

Cheap looks come first, then costlier ones while they can still win and the budget lasts. Every look has a classifier of
its own, tuned in a share of the time; all are judged on common rows, paired (``kcrc.looks.jury``). The best of those
that make vectors are joined and judged once more. Then the answers of several are put together, where that pays
(``kcrc.looks.selection``).

The budget is counted in arithmetic (``Price``), so that the same pictures give the same choice on any machine.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kcrc.arrays import Array
from kcrc.looks.base import FeatureLook, Look
from kcrc.looks.chosen import Choice, LookScore
from kcrc.looks.expert import Expert, without_themselves
from kcrc.looks.join import JoinLook, join_weights, seen_by
from kcrc.looks.jury import ASKED, SAMPLE, Jury, LookTrial, Task, answerable, price_of
from kcrc.looks.selection import scores, together

CERTAIN = 0.002  # share of errors that the leader may still make, below which costlier looks are not tried
JOINED = 4  # looks of vectors in a join, at most
BEHIND = 3.0  # times as many errors as the leader, and a look has no part in the join


def choose(task: Task, looks: Sequence[Look]) -> tuple[list[Expert], Choice]:
    """The experts that answer together, the heaviest first, and what was tried."""
    jury = Jury.of(task, len(looks) + 1)
    n, truth = len(jury.task.labels), jury.truth
    tried: list[LookTrial] = []
    skipped: list[LookScore] = []
    left = task.seconds
    for number, look in enumerate(sorted(looks, key=lambda look: look.price.of(n))):
        why = _not_worth(look, left, jury, tried)
        if why:
            skipped.append(LookScore(look.name, price=price_of(look, n), note=f"not tried: {why}"))
            continue
        left -= look.price.of(n)
        tried.append(jury.trial(look))
        leader = min(tried, key=lambda one: float(one.doubts(truth).mean()))
        task.told((number + 1) / (len(looks) + 1), f"{leader.name} leads, {leader.right(truth).mean():.1%}")
    joined = _joined(jury, tried)
    if joined is not None:
        tried.append(joined)
    chosen = together(tried, truth)
    choice = Choice(
        weights={one.look.name: one.weight for one in chosen.experts},
        scores=(*scores(tried, truth), *skipped),
        way="single" if len(chosen.experts) == 1 else "fusion",
        right=int((chosen.logs.argmax(axis=1) == truth).sum()),
        asked=len(truth),
    )
    return chosen.experts, choice


def _not_worth(look: Look, left: float, jury: Jury, tried: Sequence[LookTrial]) -> str:
    """Why a look is not tried; "" where it is."""
    if not tried:
        return ""
    needed = look.price.of(len(jury.task.labels))
    if needed > left:
        return f"it would take about {needed:.0f} s of the {max(left, 0):.0f} s left"
    pairs = look.price.asking(len(jury.task.labels))
    if pairs > jury.task.usual:
        return f"comparing the examples would take about {pairs:.0f} s"
    wrong = min(int((~one.right(jury.truth)).sum()) for one in tried)
    if (wrong + 1) / (len(jury.truth) + 2) <= CERTAIN:
        return "cheaper looks leave nothing to win"
    return ""


def _joined(jury: Jury, tried: Sequence[LookTrial]) -> LookTrial | None:
    """The best looks of vectors as one; None where there are no two, or nothing is left to win."""
    begun, truth = time.perf_counter(), jury.truth
    errors = {one.name: _error(one, truth) for one in tried}
    some = [one for one in tried if isinstance(one.expert.look, FeatureLook)]
    some = [one for one in some if errors[one.name] <= max(BEHIND * min(errors.values()), 0.5)]
    some = sorted(some, key=lambda one: errors[one.name])[:JOINED]
    if len(some) < 2 or min(errors.values()) <= CERTAIN:
        return None
    weights = join_weights([errors[one.name] for one in some])
    seen = {one.name: one.seen for one in some}
    look = JoinLook(tuple(one.expert.look for one in some), weights).fitted(seen)
    return jury.judged(look, look.joined(seen), begun)


def _error(one: LookTrial, truth: Array) -> float:
    """How often it is wrong, never 0: as if of two more examples one had been."""
    return float((np.count_nonzero(~one.right(truth)) + 1) / (len(truth) + 2))


def on_all(task: Task, experts: Sequence[Expert]) -> list[Expert]:
    """The experts with all examples, where they were chosen with some."""
    if len(task.labels) <= SAMPLE:
        return list(experts)
    asked = answerable(task.labels, task.groups)[:ASKED]
    seen = seen_by([expert.look for expert in experts], task.pictures)
    made = []
    for expert, mine in zip(experts, seen, strict=True):
        classifier = task.classifier(expert.look, mine, len(experts))
        evidence = without_themselves(classifier, asked, task.groups)
        known = Expert.of(expert.look, classifier, evidence, task.labels[asked])
        made.append(replace(known, weight=expert.weight))
    return made
