"""Which looks tell the examples apart: each is asked about the same examples, none of them stored while it is asked.

Cheap looks come first, then costlier ones while they can still win and the budget lasts. Every look has a classifier of
its own, tuned in a share of the time; all are judged on common rows, paired. Then the answers of several are put
together (``kcrc.looks.fusion``): from the best single look on, the look that lowers the log-loss most joins, as long as
it lowers it by more than chance would.

The budget is counted in arithmetic (``Price``), so that the same pictures give the same choice on any machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kcrc.arrays import Array
from kcrc.classifier import KCRCClassifier
from kcrc.left_out.sample import stratified_by_row
from kcrc.looks.base import Look, Pictures
from kcrc.looks.chosen import Choice, LookScore
from kcrc.looks.expert import Expert, without_themselves
from kcrc.looks.fusion import learned_weights, losses, pooled
from kcrc.looks.kinds import PictureKind

SAMPLE = 1200  # examples that looks are chosen with
ASKED = 1000  # of them are asked
FEWEST = 8  # and fewer say nothing
HOPELESS = 4.0  # standard errors behind the leader: no part in any fusion
GAIN = 1.0  # standard errors by which the log-loss has to fall for one more look
MOST_LOOKS = 5  # that answer together
CERTAIN = 0.002  # share of errors that the leader may still make, below which costlier looks are not tried
TUNING = (0.4, 0.7e-3, 1.0e-6)  # seconds for the parameters of a look; for each example; for each number of it


@dataclass(frozen=True, eq=False)
class Task:
    """The examples looks are chosen for, ``labels`` into ``classes``; ``seconds`` is the budget of all of it."""

    pictures: Pictures
    labels: Array
    classes: Array
    groups: Array | None
    kind: PictureKind
    seconds: float
    options: dict[str, Any]
    """Of the classifiers: n_jobs, memory_budget, random_state."""
    told: Callable[[float, str], None]


@dataclass(frozen=True, eq=False)
class LookTrial:
    """An expert and its answers to the examples asked: log-probabilities (B, C)."""

    expert: Expert
    logs: Array
    price: float
    seconds: float
    nearest: tuple[int, int] | None

    @property
    def name(self) -> str:
        return self.expert.look.name


def choose(task: Task, looks: Sequence[Look]) -> tuple[list[Expert], Choice]:
    """The experts that answer together, the heaviest first, and what was tried."""
    rows = sampled(task.labels, SAMPLE)
    labels = task.labels[rows]
    pictures = [task.pictures[row] for row in rows]
    groups = None if task.groups is None else task.groups[rows]
    asked = _asked(labels, groups)
    truth = labels[asked]
    tried: list[LookTrial] = []
    scores: list[LookScore] = []
    left = task.seconds
    for number, look in enumerate(sorted(looks, key=lambda look: look.price.of(len(rows)))):
        needed = look.price.of(len(rows))
        why = _not_worth(look, needed, left, tried, truth)
        if why:
            scores.append(LookScore(look.name, price=_price(look, len(rows)), note=why))
            continue
        left -= needed
        tried.append(_tried(task, look, pictures, labels, groups, asked, rows))
        leader = min(tried, key=lambda one: losses(one.logs, truth).mean())
        told = f"{leader.name} leads, {np.mean(leader.logs.argmax(axis=1) == truth):.1%}"
        task.told((number + 1) / len(looks), told)
    experts, weights, logs = _together(tried, truth)
    judged = _scores(tried, truth)
    chosen = [one.weighing(float(weight)) for one, weight in zip(experts, weights, strict=True)]
    choice = Choice(
        weights={one.look.name: one.weight for one in chosen},
        scores=(*judged, *scores),
        way="single" if len(chosen) == 1 else "fusion",
        right=int((logs.argmax(axis=1) == truth).sum()),
        asked=len(truth),
    )
    return chosen, choice


def sampled(labels: Array, most: int) -> Array:
    """Positions of at most so many examples, rising: of every class as many as of the others, or all it has, and two of
    each however many classes there are."""
    if len(labels) <= most:
        return np.arange(len(labels))
    mixed = np.random.default_rng(0).permutation(len(labels))
    order = mixed[np.argsort(labels[mixed], kind="stable")]
    first = np.searchsorted(labels[order], labels[order])
    place = np.arange(len(labels)) - first  # the how-manyth of its class
    return np.sort(order[np.argsort(place, kind="stable")[: max(most, 2 * len(np.unique(labels)))]])


def _asked(labels: Array, groups: Array | None) -> Array:
    """Positions of the examples that are asked: those that have another of their class outside their group."""
    alone = np.arange(len(labels)) if groups is None else groups
    _, pair = np.unique(np.stack([labels, alone]), axis=1, return_inverse=True)
    pair = pair.ravel()
    eligible = np.bincount(labels)[labels] > np.bincount(pair)[pair]
    order = stratified_by_row(labels, np.arange(len(labels)), seed=0, eligible=eligible)
    return np.sort(order[:ASKED])


def _not_worth(look: Look, needed: float, left: float, tried: Sequence[LookTrial], truth: Array) -> str:
    """Why a look is not tried; "" where it is."""
    if not tried:
        return ""
    if needed > left:
        return f"not tried: it would take about {needed:.0f} s of the {max(left, 0):.0f} s left"
    wrong = min(int((one.logs.argmax(axis=1) != truth).sum()) for one in tried)
    if (wrong + 1) / (len(truth) + 2) <= CERTAIN:
        return "not tried: cheaper looks leave nothing to win"
    return ""


def _tried(
    task: Task, look: Look, pictures: Pictures, labels: Array, groups: Array | None, asked: Array, rows: Array
) -> LookTrial:
    begun = time.perf_counter()
    fitted = look.fit(pictures, labels)
    seen = fitted.see(pictures)
    classifier = classifier_of(fitted, seen, task).fit(seen, task.classes[labels], groups=groups)
    evidence = without_themselves(classifier, asked, groups)
    expert = Expert.of(fitted, classifier, evidence, labels[asked])
    nearest = (int(rows[asked[0]]), int(rows[evidence.rows[0, 0]])) if len(asked) else None
    seconds = time.perf_counter() - begun
    return LookTrial(expert, expert.log_probabilities(evidence), _price(look, len(labels)), seconds, nearest)


def classifier_of(look: Look, seen: Array, task: Task) -> KCRCClassifier:
    """A classifier for what a look sees, with its share of the time."""
    base, each, entry = TUNING
    seconds = min(task.seconds, base + each * len(seen) + entry * seen.size)
    return KCRCClassifier(tuning_seconds=seconds, verbose=False, **task.options, **look.settings)


def _price(look: Look, n: int) -> float:
    """µs to answer one query."""
    return look.price.of(n) / n * 1e6 - look.price.learning / n


def _together(tried: Sequence[LookTrial], truth: Array) -> tuple[list[Expert], Array, Array]:
    """The experts that answer, their weights, and what they say together of the examples asked."""
    by_loss = sorted(tried, key=lambda one: (float(losses(one.logs, truth).mean()), one.price))
    leader = by_loss[0]
    hopeful = [one for one in by_loss if not _hopeless(one, leader, truth)]
    members, weights, logs = [leader], np.ones(1), leader.logs
    while len(members) < MOST_LOOKS:
        best = None
        for other in (one for one in hopeful if one not in members):
            more = [*members, other]
            found = learned_weights([one.logs for one in more], truth)
            together = pooled([one.logs for one in more], found)
            gain = losses(logs, truth) - losses(together, truth)
            if best is None or gain.mean() > best[0].mean():
                best = (gain, more, found, together)
        if best is None or best[0].mean() <= GAIN * best[0].std() / np.sqrt(len(truth)):
            break
        _, members, weights, logs = best
    heavy = weights > 0.02 * weights.sum()
    members = [one for one, kept in zip(members, heavy, strict=True) if kept]
    weights = weights[heavy]
    order = np.argsort(-weights, kind="stable")
    logs = pooled([members[at].logs for at in order], weights[order])
    return [members[at].expert for at in order], weights[order], logs


def _hopeless(one: LookTrial, leader: LookTrial, truth: Array) -> bool:
    """Whether it is so far behind that it has nothing to add."""
    apart = losses(one.logs, truth) - losses(leader.logs, truth)
    chance = 1.0 / leader.logs.shape[1]
    right = float(np.mean(one.logs.argmax(axis=1) == truth))
    return right < 2.0 * chance and bool(apart.mean() > HOPELESS * apart.std() / np.sqrt(len(truth)))


def _scores(tried: Sequence[LookTrial], truth: Array) -> list[LookScore]:
    """A line a look, the best first; compared with the best, example by example."""

    def right(one: LookTrial) -> Array:
        return np.asarray(one.logs.argmax(axis=1) == truth)

    order = sorted(tried, key=lambda one: (-int(right(one).sum()), float(losses(one.logs, truth).mean())))
    best = right(order[0]).astype(float)
    lines = []
    for one in order:
        apart = best - right(one)
        lines.append(
            LookScore(
                one.name,
                right=int(right(one).sum()),
                asked=len(truth),
                loss=float(losses(one.logs, truth).mean()),
                behind=100.0 * float(apart.mean()),
                error=100.0 * float(apart.std() / np.sqrt(max(len(truth), 1))),
                price=one.price,
                seconds=one.seconds,
                nearest=one.nearest,
            )
        )
    return lines


def on_all(task: Task, experts: Sequence[Expert]) -> list[Expert]:
    """The experts with all examples, where they were chosen with some."""
    if len(task.labels) <= SAMPLE:
        return list(experts)
    made = []
    for expert in experts:
        seen = expert.look.see(task.pictures)
        names = task.classes[task.labels]
        classifier = classifier_of(expert.look, seen, task).fit(seen, names, groups=task.groups)
        asked = _asked(task.labels, task.groups)
        evidence = without_themselves(classifier, asked, task.groups)
        made.append(replace(Expert.of(expert.look, classifier, evidence, task.labels[asked]), weight=expert.weight))
    return made
