"""Which looks tell the examples apart: each is asked about the same examples, none of them stored while it is asked.

Cheap looks come first, then costlier ones while they can still win and the budget lasts. Every look has a classifier of
its own, tuned in a share of the time; all are judged on common rows, paired (``kcrc.images.looks.jury``). The best of
those that make vectors are joined, and the joins judged too. Then the answers of several are put together, where that
pays (``kcrc.images.looks.selection``).

The budget is counted in arithmetic (``Price``), so that the same pictures give the same choice on any machine.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import KCRCError, ParameterError
from kcrc.images.looks.base import FeatureLook, Look, Pictures
from kcrc.images.looks.chosen import Choice, LookScore
from kcrc.images.looks.expert import Expert, without_themselves
from kcrc.images.looks.join import JoinLook, join_weights, seen_by
from kcrc.images.looks.jury import ASKED, SAMPLE, Jury, LookTrial, Task, answerable, none_works, price_of, refused
from kcrc.images.looks.selection import scores, together

CERTAIN = 0.002  # share of errors that the leader may still make, below which costlier looks are not tried
CHEAP = 10_000.0  # µs a picture
JOINED = 6  # looks of vectors in a join, at most
BEHIND = 3.0  # times as many errors as the leader, and a look is not joined;
SELDOM = 1 / 3  # but a cheap one may be wrong so often


def choose(task: Task, looks: Sequence[Look]) -> tuple[list[Expert], Choice]:
    """The experts that answer together, the heaviest first, and what was tried."""
    tried, skipped, truth = trials(task, looks)
    chosen = together(tried, truth)
    choice = Choice(
        weights={one.look.name: one.weight for one in chosen.experts},
        scores=(*scores(tried, truth), *skipped),
        way="single" if len(chosen.experts) == 1 else "fusion",
        right=int((chosen.logs.argmax(axis=1) == truth).sum()),
        asked=len(truth),
    )
    return chosen.experts, choice


def choose_for_all(task: Task, looks: Sequence[Look]) -> tuple[list[Expert], Choice]:
    """The same, with all examples; a look that fails for one it was not chosen with is left out of the choice."""
    experts, choice = choose(task, looks)
    try:
        return on_all(task, experts), choice
    except KCRCError:
        parts = [part for one in experts for part in (one.look.parts if isinstance(one.look, JoinLook) else [one.look])]
        reasons = {part.name: reason for part in parts if (reason := _failure(part, task.pictures))}
        others = [look for look in looks if look.name not in reasons]
        if not reasons or not others:
            raise
    experts, choice = choose_for_all(task, others)
    lines = [refused(one, reasons[one.name], len(task.labels)) for one in looks if one.name in reasons]
    return experts, replace(choice, scores=(*choice.scores, *lines))


def _failure(look: Look, pictures: Pictures) -> KCRCError | None:
    """Why a look fails for these pictures; None where it does not."""
    try:
        look.see(pictures)
    except KCRCError as reason:
        return reason
    return None


def trials(
    task: Task, looks: Sequence[Look], *, sparing: bool = False
) -> tuple[list[LookTrial], list[LookScore], Array]:
    """The looks that were tried, and the joins of the best of them; those that were not, and why; the class numbers of
    the examples asked. With ``sparing``, nothing is tried after a look that made no error, however few were asked."""
    if not looks:
        raise ParameterError("There is no look to choose from; give at least one (kcrc.looks.names() lists them).")
    jury = Jury.of(task, len(looks) + 1 if len(looks) > 1 else 1)  # one more: those joined
    n, truth = len(jury.task.labels), jury.truth
    tried: list[LookTrial] = []
    skipped: list[LookScore] = []
    reasons: dict[str, KCRCError] = {}
    left = task.seconds
    for number, look in enumerate(sorted(looks, key=lambda look: look.price.of(n))):
        why = _not_worth(look, left, jury, tried, sparing)
        if why:
            skipped.append(LookScore(look.name, price=price_of(look, n), note=f"not tried: {why}"))
            continue
        try:
            tried.append(jury.trial(look))
        except KCRCError as reason:
            reasons[look.name] = reason
            skipped.append(refused(look, reason, n))
            continue
        left -= look.price.of(n)
        leader = min(tried, key=lambda one: float(one.doubts(truth).mean()))
        task.told((number + 1) / (len(looks) + 1), f"{leader.name} leads, {leader.right(truth).mean():.1%}")
    if not tried:
        raise none_works(reasons)
    if not _settled(tried, truth, sparing):
        tried += _joined(jury, tried)
    return tried, skipped, truth


def _settled(tried: Sequence[LookTrial], truth: Array, sparing: bool) -> bool:
    """Whether the best look leaves nothing to win."""
    wrong = min(int((~one.right(truth)).sum()) for one in tried)
    return (wrong + 1) / (len(truth) + 2) <= CERTAIN or (sparing and not wrong)


def _not_worth(look: Look, left: float, jury: Jury, tried: Sequence[LookTrial], sparing: bool) -> str:
    """Why a look is not tried; "" where it is."""
    if not tried:
        return ""
    needed = look.price.of(len(jury.task.labels))
    if needed > left:
        return f"it would take about {needed:.0f} s of the {max(left, 0):.0f} s left"
    pairs = look.price.asking(len(jury.task.labels))
    if pairs > jury.task.usual:
        return f"comparing the examples would take about {pairs:.0f} s"
    if _settled(tried, jury.truth, sparing):
        return "cheaper looks leave nothing to win"
    return ""


def _joined(jury: Jury, tried: Sequence[LookTrial]) -> list[LookTrial]:
    """The best looks of vectors as one: of the cheap ones, and of all where a costly one is near the leader."""
    errors = {one.name: _error(one, jury.truth) for one in tried}
    near = BEHIND * min(errors.values())
    some = [one for one in tried if isinstance(one.expert.look, FeatureLook) and errors[one.name] <= max(near, SELDOM)]
    some = sorted(some, key=lambda one: errors[one.name])
    cheap = [one for one in some if one.price < CHEAP][:JOINED]
    costly = [one for one in some[:JOINED] if one.price >= CHEAP and errors[one.name] <= near]
    sets = [cheap, some[:JOINED]] if costly else [cheap]
    return [_join(jury, parts, errors) for parts in sets if len(parts) > 1]


def _join(jury: Jury, parts: Sequence[LookTrial], errors: Mapping[str, float]) -> LookTrial:
    begun = time.perf_counter()
    weights = join_weights([errors[one.name] for one in parts])
    seen = {one.name: one.seen for one in parts}
    look = JoinLook(tuple(one.expert.look for one in parts), weights).fitted(seen)
    return jury.judged(look, look.stored(look.joined(seen)), begun)


def _error(one: LookTrial, truth: Array) -> float:
    """How often it is wrong, never 0: as if of two more examples one had been."""
    return float((np.count_nonzero(~one.right(truth)) + 1) / (len(truth) + 2))


def on_all(task: Task, experts: Sequence[Expert]) -> list[Expert]:
    """The experts with all examples, where they were chosen with some."""
    if len(task.labels) <= SAMPLE:
        return list(experts)
    asked = answerable(task.labels, task.groups)[:ASKED]
    looks = [expert.look.of_more() for expert in experts]
    made = []
    for expert, look, mine in zip(experts, looks, seen_by(looks, task.pictures), strict=True):
        classifier = task.classifier(look, mine, len(experts), brief=len(experts) > 1)
        evidence = without_themselves(classifier.model_, asked, task.groups)
        known = Expert.of(look, classifier, evidence, task.labels[asked])
        made.append(replace(known, weight=expert.weight))
    return made
