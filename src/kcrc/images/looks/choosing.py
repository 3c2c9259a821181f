"""Choose the looks that tell the examples apart, by leave-one-out answers of each.

Looks are tried in order of price, costlier ones only while they can still win and the budget lasts. Every look has a
classifier of its own, tuned in a share of the time, and all of them classify the same left-out examples, so that they
are compared in pairs (``kcrc.images.looks.evaluation``). Then the best of those that make vectors are joined, and the
joins evaluated too. Last, several looks answer together where that lowers the log-loss by more than chance would.

The budget is counted in arithmetic (``Price``), so that the same pictures give the same choice on any machine.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import KCRCError, ParameterError
from kcrc.images.looks.base import FeatureLook, Look, Pictures
from kcrc.images.looks.choice import Choice, LookScore
from kcrc.images.looks.ensemble import (
    MOST_LEFT_OUT,
    Member,
    combine_log_probabilities,
    learn_weights,
    leave_one_out_order,
    left_out_evidence,
    log_losses,
)
from kcrc.images.looks.evaluation import (
    MOST_EXAMPLES,
    Evaluator,
    LookResult,
    Task,
    failed_score,
    no_look_works,
    query_price,
)
from kcrc.images.looks.join import JoinLook, join_weights, vectors_of_looks

# Which looks are tried and joined
NOTHING_LEFT = 0.002  # error rate of the best look below which costlier looks are not tried
CHEAP = 10_000.0  # µs per picture: cheap looks are joined with each other, costly ones if they are near the best
MOST_JOINED = 6
ERRORS_TO_JOIN = 3.0  # times those of the best look: with more a look is not joined,
RATE_TO_JOIN = 1 / 3  # unless its error rate is at most this

# Which looks answer together
STANDARD_ERRORS = 1.0  # by which the log-loss has to fall for one more look
MOST_MEMBERS = 6
LEAST_WEIGHT = 0.02  # share of all weight: a look with less is left out
LEAST_OVER_CHANCE = 2.0  # times as often right as by chance, or a look is no candidate


def choose(task: Task, looks: Sequence[Look]) -> tuple[list[Member], Choice]:
    """Return the members that answer together, the heaviest first, and all that was tried."""
    results, skipped, truth = evaluate_looks(task, looks)
    selection = select_members(results, truth)
    choice = Choice(
        weights={member.look.name: member.weight for member in selection.members},
        scores=(*score_looks(results, truth), *skipped),
        way="single" if len(selection.members) == 1 else "fusion",
        right=int((selection.logs.argmax(axis=1) == truth).sum()),
        asked=len(truth),
    )
    return selection.members, choice


def choose_and_fit(task: Task, looks: Sequence[Look]) -> tuple[list[Member], Choice]:
    """Choose looks and fit the members to all examples.

    A look that fails for an example outside the sample is dropped, and the choice is made again without it.
    """
    members, choice = choose(task, looks)
    try:
        return fit_to_all(task, members), choice
    except KCRCError:
        parts = [part for m in members for part in (m.look.parts if isinstance(m.look, JoinLook) else [m.look])]
        reasons = {part.name: reason for part in parts if (reason := _failure(part, task.pictures))}
        others = [look for look in looks if look.name not in reasons]
        if not reasons or not others:
            raise
    members, choice = choose_and_fit(task, others)
    lines = [failed_score(look, reasons[look.name], len(task.labels)) for look in looks if look.name in reasons]
    return members, replace(choice, scores=(*choice.scores, *lines))


def _failure(look: Look, pictures: Pictures) -> KCRCError | None:
    """Return why a look fails for these pictures, or None if it does not."""
    try:
        look.see(pictures)
    except KCRCError as reason:
        return reason
    return None


# Evaluating each look -----------------------------------------------------------------------------------------------


def evaluate_looks(
    task: Task, looks: Sequence[Look], *, sparing: bool = False
) -> tuple[list[LookResult], list[LookScore], Array]:
    """Evaluate the looks, and joins of the best of them.

    Returns the results, the lines of the looks that were not tried, with the reason, and the class numbers of the
    left-out examples. With ``sparing``, nothing is tried after a look without any error, however few were left out.
    """
    if not looks:
        raise ParameterError("There is no look to choose from; give at least one (kcrc.looks.names() lists them).")
    evaluator = Evaluator.of(task, len(looks) + 1 if len(looks) > 1 else 1)  # one more: the join
    n, truth = len(evaluator.task.labels), evaluator.truth
    results: list[LookResult] = []
    skipped: list[LookScore] = []
    reasons: dict[str, KCRCError] = {}
    left = task.seconds
    for number, look in enumerate(sorted(looks, key=lambda look: look.price.total(n))):
        why = _reason_to_skip(look, left, evaluator, results, sparing)
        if why:
            skipped.append(LookScore(look.name, price=query_price(look, n), note=f"not tried: {why}"))
            continue
        try:
            results.append(evaluator.evaluate(look))
        except KCRCError as reason:
            reasons[look.name] = reason
            skipped.append(failed_score(look, reason, n))
            continue
        left -= look.price.total(n)
        leader = min(results, key=lambda result: float(result.losses(truth).mean()))
        task.report((number + 1) / (len(looks) + 1), f"{leader.name} leads, {leader.correct(truth).mean():.1%}")
    if not results:
        raise no_look_works(reasons)
    if not _nothing_left_to_win(results, truth, sparing):
        results += _evaluate_joins(evaluator, results)
    return results, skipped, truth


def _nothing_left_to_win(results: Sequence[LookResult], truth: Array, sparing: bool) -> bool:
    """Whether the best look makes hardly an error."""
    errors = min(int((~result.correct(truth)).sum()) for result in results)
    return (errors + 1) / (len(truth) + 2) <= NOTHING_LEFT or (sparing and not errors)


def _reason_to_skip(look: Look, left: float, evaluator: Evaluator, results: Sequence[LookResult], sparing: bool) -> str:
    """Return why a look is not tried, or "" if it is."""
    if not results:
        return ""
    n = len(evaluator.task.labels)
    seconds = look.price.total(n)
    if seconds > left:
        return f"it would take about {seconds:.0f} s of the {max(left, 0):.0f} s left"
    comparing = look.price.comparing(n)
    if comparing > evaluator.task.tuning_seconds:
        return f"comparing the examples would take about {comparing:.0f} s"
    if _nothing_left_to_win(results, evaluator.truth, sparing):
        return "cheaper looks leave nothing to win"
    return ""


def _evaluate_joins(evaluator: Evaluator, results: Sequence[LookResult]) -> list[LookResult]:
    """Evaluate the best cheap looks as one, and the best of all if a costly one is near the leader."""
    errors = {result.name: _error_rate(result, evaluator.truth) for result in results}
    near_leader = ERRORS_TO_JOIN * min(errors.values())
    most = max(near_leader, RATE_TO_JOIN)
    candidates = [r for r in results if isinstance(r.member.look, FeatureLook) and errors[r.name] <= most]
    candidates = sorted(candidates, key=lambda result: errors[result.name])
    best = candidates[:MOST_JOINED]
    cheap = [result for result in candidates if result.price < CHEAP][:MOST_JOINED]
    costly = [result for result in best if result.price >= CHEAP and errors[result.name] <= near_leader]
    sets = [cheap, best] if costly else [cheap]
    return [_evaluate_join(evaluator, parts, errors) for parts in sets if len(parts) > 1]


def _evaluate_join(evaluator: Evaluator, parts: Sequence[LookResult], errors: Mapping[str, float]) -> LookResult:
    begun = time.perf_counter()
    weights = join_weights([errors[part.name] for part in parts])
    vectors = {part.name: part.vectors for part in parts}
    look = JoinLook(tuple(part.member.look for part in parts), weights).with_axes(vectors)
    return evaluator.evaluate_vectors(look, look.to_stored(look.join(vectors)), begun)


def _error_rate(result: LookResult, truth: Array) -> float:
    """Return the error rate, never 0: as if one of two more examples were wrong."""
    return float((np.count_nonzero(~result.correct(truth)) + 1) / (len(truth) + 2))


def fit_to_all(task: Task, members: Sequence[Member]) -> list[Member]:
    """Fit members to all examples if they were chosen with a sample."""
    if len(task.labels) <= MOST_EXAMPLES:
        return list(members)
    order = leave_one_out_order(task.labels, task.groups)[:MOST_LEFT_OUT]
    looks = [member.look.for_more_examples() for member in members]
    fitted = []
    for member, look, vectors in zip(members, looks, vectors_of_looks(looks, task.pictures), strict=True):
        classifier = task.fit_classifier(look, vectors, len(members), brief=len(members) > 1)
        evidence = left_out_evidence(classifier.answerer_.model, order, task.groups)
        calibrated = Member.from_evidence(look, classifier, evidence, task.labels[order])
        fitted.append(replace(calibrated, weight=member.weight))
    return fitted


# Selecting those that answer together -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Selection:
    """Members with their weights, the heaviest first, and their combined log-probabilities (B, C)."""

    members: list[Member]
    logs: Array


def select_members(results: Sequence[LookResult], truth: Array) -> Selection:
    """Select looks greedily: start with the best alone, and add the look that lowers the log-loss most.

    A look is added as long as the log-loss falls by more than STANDARD_ERRORS, in pairs. The best alone is the cheapest
    of those that are not clearly worse.
    """
    candidates = [result for result in results if not _is_near_chance(result, truth)] or list(results)
    best_alone = min(candidates, key=lambda result: float(result.losses(truth).mean()))
    level = [r for r in candidates if not _is_clearly_positive(r.losses(truth) - best_alone.losses(truth))]
    leader = min(level, key=lambda result: (result.price, float(result.losses(truth).mean())))
    selected, weights, logs = [leader], np.ones(1), leader.logs
    while len(selected) < min(MOST_MEMBERS, len(candidates)):
        larger = [[*selected, other] for other in candidates if other not in selected]
        learned = [learn_weights([result.logs for result in each], truth) for each in larger]
        combined = [
            combine_log_probabilities([r.logs for r in each], w) for each, w in zip(larger, learned, strict=True)
        ]
        gains = [log_losses(logs, truth) - log_losses(new, truth) for new in combined]
        best = int(np.argmax([gain.mean() for gain in gains]))
        if not _is_clearly_positive(gains[best]) or not learned[best].any():  # no weight at all: worse than chance
            break
        selected, weights, logs = larger[best], learned[best], combined[best]
    order = [
        int(place) for place in np.argsort(-weights, kind="stable") if weights[place] > LEAST_WEIGHT * weights.sum()
    ]
    members = [replace(selected[place].member, weight=float(weights[place])) for place in order]
    return Selection(members, combine_log_probabilities([selected[place].logs for place in order], weights[order]))


def _is_clearly_positive(gain: Array) -> bool:
    """Whether the mean of (B,) is above 0 by more than STANDARD_ERRORS."""
    return float(gain.mean()) > STANDARD_ERRORS * float(gain.std() / np.sqrt(len(gain)))


def _is_near_chance(result: LookResult, truth: Array) -> bool:
    return float(result.correct(truth).mean()) < LEAST_OVER_CHANCE / int(result.logs.shape[1])


def score_looks(results: Sequence[LookResult], truth: Array) -> list[LookScore]:
    """Return a line per look, the best first, compared with the best in pairs."""
    order = sorted(results, key=lambda r: (-int(r.correct(truth).sum()), float(r.losses(truth).mean())))
    best = order[0].correct(truth).astype(float)
    lines = []
    for result in order:
        correct = result.correct(truth)
        difference = best - correct
        lines.append(
            LookScore(
                result.name,
                right=int(correct.sum()),
                asked=len(truth),
                loss=float(result.losses(truth).mean()),
                behind=100.0 * float(difference.mean()),
                error=100.0 * float(difference.std() / np.sqrt(len(truth))),
                price=result.price,
                seconds=result.seconds,
                nearest=result.nearest,
            )
        )
    return lines
