"""Who answers: the best look alone, or several together where that lowers the doubt by more than chance would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kcrc._base.arrays import Array
from kcrc.images.looks.chosen import LookScore
from kcrc.images.looks.expert import Expert
from kcrc.images.looks.fusion import learned_weights, losses, pooled
from kcrc.images.looks.jury import LookTrial

GAIN = 1.0  # standard errors by which the log-loss has to fall for one more look
MOST_LOOKS = 6  # that answer together
LIGHT = 0.02  # of all weight: a look with less is left out
HOPELESS = 2.0  # times as often right as by chance, at least, to have a part


@dataclass(frozen=True, eq=False)
class Selection:
    """Experts with their weights, the heaviest first, and what they say together of the examples asked (B, C)."""

    experts: list[Expert]
    logs: Array


def together(tried: Sequence[LookTrial], truth: Array) -> Selection:
    """From the best look alone on, the look that lowers the log-loss most is added, as long as it does by more than
    GAIN standard errors, example by example. The best is the cheapest of those that are not clearly worse."""
    hopeful = [one for one in tried if not _hopeless(one, truth)] or list(tried)
    best_alone = min(hopeful, key=lambda one: float(one.doubts(truth).mean()))
    level = [one for one in hopeful if not _behind(one, best_alone, truth)]
    leader = min(level, key=lambda one: (one.price, float(one.doubts(truth).mean())))
    members, weights, logs = [leader], np.ones(1), leader.logs
    while len(members) < min(MOST_LOOKS, len(hopeful)):
        more = [[*members, other] for other in hopeful if other not in members]
        found = [learned_weights([one.logs for one in each], truth) for each in more]
        said = [pooled([one.logs for one in each], weight) for each, weight in zip(more, found, strict=True)]
        gains = [losses(logs, truth) - losses(new, truth) for new in said]
        best = int(np.argmax([gain.mean() for gain in gains]))
        if not _sure(gains[best]) or not found[best].any():  # no weight at all: they are worse than chance
            break
        members, weights, logs = more[best], found[best], said[best]
    order = [int(at) for at in np.argsort(-weights, kind="stable") if weights[at] > LIGHT * weights.sum()]
    experts = [members[at].expert.weighing(float(weights[at])) for at in order]
    return Selection(experts, pooled([members[at].logs for at in order], weights[order]))


def _behind(one: LookTrial, leader: LookTrial, truth: Array) -> bool:
    """Whether it doubts the truth more than the leader does, by more than chance would."""
    return _sure(one.doubts(truth) - leader.doubts(truth))


def _sure(gain: Array) -> bool:
    """Whether the mean of (B,) is above 0 by more than GAIN standard errors."""
    return float(gain.mean()) > GAIN * float(gain.std() / np.sqrt(len(gain)))


def _hopeless(one: LookTrial, truth: Array) -> bool:
    """Whether it hardly does better than chance."""
    return float(one.right(truth).mean()) < HOPELESS / int(one.logs.shape[1])


def scores(tried: Sequence[LookTrial], truth: Array) -> list[LookScore]:
    """A line a look, the best first; compared with the best, example by example."""
    order = sorted(tried, key=lambda one: (-int(one.right(truth).sum()), float(one.doubts(truth).mean())))
    best = order[0].right(truth).astype(float)
    lines = []
    for one in order:
        right = one.right(truth)
        apart = best - right
        lines.append(
            LookScore(
                one.name,
                right=int(right.sum()),
                asked=len(truth),
                loss=float(one.doubts(truth).mean()),
                behind=100.0 * float(apart.mean()),
                error=100.0 * float(apart.std() / np.sqrt(len(truth))),
                price=one.price,
                seconds=one.seconds,
                nearest=one.nearest,
            )
        )
    return lines
