"""Choose looks from one or two examples per class (few-shot), by augmented copies of them.

With so few, hardly an example can be left out. But much is known that must not change an answer: augmented copies of
the examples (shifted, turned, in other light) have to come back to their own class. Every look classifies the same
copies and is rated by the share it gets right beyond chance, times how well such looks usually work on pictures of this
kind (``prior`` in ``kcrc.images.looks.table``), because a copy does not show how two pictures of the same thing
differ. Classes with two examples are also classified by leave-one-out; the more such answers, the more their accuracy
counts compared with the copies. The best few looks answer together, with weights in proportion to their ratings.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.few_examples import FEWEST
from kcrc.classifier.estimator import KCRCClassifier
from kcrc.confidence.calibration import Calibration
from kcrc.errors import KCRCError
from kcrc.images.looks.base import Look, Pictures
from kcrc.images.looks.choice import Choice, LookScore
from kcrc.images.looks.ensemble import (
    MOST_LEFT_OUT,
    Member,
    combine_log_probabilities,
    leave_one_out_order,
    left_out_evidence,
)
from kcrc.images.looks.evaluation import LookResult, Task, balanced_sample, failed_score, no_look_works, query_price

# How far a copy differs from its picture: amounts are drawn evenly up to these, to either side. Chosen by eye, so that
# a copy still shows its class.
SHIFT = 0.1  # of the side
TURN = 0.35  # radians
SCALE = 0.25  # of the size
SHEAR = 0.3
BEND = 0.08  # of the side, standard deviation at the knots
KNOTS = 4  # per side; the picture bends smoothly between them
LIGHT = 0.15  # of the range from black to white
CONTRAST = 0.3
STROKE = 0.7  # of the way to a pixel's neighbours
NOISE = 0.06  # of the range, standard deviation

# How looks are rated by copies
FEW = 3  # examples per class, on average, below which looks are rated by copies
MOST_ORIGINALS = 200
COPIES = 160  # of all originals together, at least two of each
MOST_MEMBERS = 3
LEFT_OUT_EQUAL = 10  # left-out answers that count as much as the copies and the prior together
LEAST_RATING = 0.6  # of the best rating: looks with less do not answer


def augment(picture: Array, rng: np.random.Generator) -> Array:
    """Return one changed copy of a picture (h, w[, 3]), of the same size and type.

    It is shifted, turned, scaled, sheared and bent a little, its strokes are thinner or thicker, light and contrast
    differ, and noise is added. The border is repeated beyond the edge.
    """
    scale = 255.0 if picture.dtype == np.uint8 else 1.0
    values = picture.astype(np.float32) / np.float32(scale)
    values = _thin_or_thicken(_deform(values, rng), rng)
    lit = (values - 0.5) * (1.0 + CONTRAST * rng.uniform(-1, 1)) + 0.5 + LIGHT * rng.uniform(-1, 1)
    noisy = np.clip(lit + NOISE * rng.uniform() * rng.standard_normal(lit.shape), 0.0, 1.0)
    return np.rint(255.0 * noisy).astype(np.uint8) if picture.dtype == np.uint8 else noisy.astype(np.float32)


def augmented_copies(pictures: Sequence[Array], each: int) -> list[Array]:
    """Return ``each`` copies of every picture, those of the first picture first; the same on every run."""
    return [
        augment(picture, np.random.default_rng([number, copy]))
        for number, picture in enumerate(pictures)
        for copy in range(each)
    ]


def _deform(values: Array, rng: np.random.Generator) -> Array:
    """Shift, turn, scale and shear a picture about its centre, and bend it; bilinear between pixels."""
    height, width = values.shape[:2]
    turn, shear = TURN * rng.uniform(-1, 1), SHEAR * rng.uniform(-1, 1)
    size = np.exp(SCALE * rng.uniform(-1, 1, 2))
    linear = np.array([[np.cos(turn), -np.sin(turn) + shear], [np.sin(turn), np.cos(turn)]]) / size[:, None]
    centre = np.array([(height - 1) / 2.0, (width - 1) / 2.0])
    shift = SHIFT * rng.uniform(-1, 1, 2) * (height, width)
    grid = np.moveaxis(np.indices((height, width)), 0, -1) - centre - shift
    source = grid @ linear.T + centre + _bends(height, width, rng)
    y = np.clip(source[..., 0], 0, height - 1)
    x = np.clip(source[..., 1], 0, width - 1)
    top, left = np.floor(y).astype(np.intp), np.floor(x).astype(np.intp)
    below, right = np.minimum(top + 1, height - 1), np.minimum(left + 1, width - 1)
    down, across = y - top, x - left
    if values.ndim == 3:
        down, across = down[..., None], across[..., None]
    upper = values[top, left] * (1 - across) + values[top, right] * across
    lower = values[below, left] * (1 - across) + values[below, right] * across
    return np.asarray(upper * (1 - down) + lower * down, np.float32)


def _bends(height: int, width: int, rng: np.random.Generator) -> Array:
    """Return how far each pixel moves (h, w, 2): drawn at the knots of a grid, cosine weights between."""
    drawn = rng.standard_normal((KNOTS, KNOTS, 2)) * BEND * (height, width)
    down, across = (_knot_weights(length) for length in (height, width))
    return np.asarray(np.einsum("hk,klc,wl->hwc", down, drawn, across))


def _knot_weights(length: int) -> Array:
    """Return how much each knot counts at each pixel (length, KNOTS); rows sum to 1."""
    place = np.linspace(0, KNOTS - 1, length)[:, None] - np.arange(KNOTS)
    return np.where(np.abs(place) < 1, 0.5 + 0.5 * np.cos(np.pi * place), 0.0)


def _thin_or_thicken(values: Array, rng: np.random.Generator) -> Array:
    """Move each pixel part of the way to the darkest, the brightest or the mean of its neighbours."""
    padded = np.pad(values, [(1, 1), (1, 1)] + [(0, 0)] * (values.ndim - 2), mode="edge")
    height, width = values.shape[:2]
    neighbours = np.stack([padded[i : i + height, j : j + width] for i, j in ((0, 1), (1, 0), (1, 1), (1, 2), (2, 1))])
    towards = (neighbours.min, neighbours.max, neighbours.mean)[rng.integers(3)](axis=0)
    return np.asarray(values + STROKE * rng.uniform() * (towards - values), np.float32)


def is_few_shot(labels: Array, groups: Array | str | None = None) -> bool:
    """Whether classes have so few examples, or so few can be left out, that looks are rated by augmented copies."""
    return len(labels) < FEW * len(np.unique(labels)) or len(leave_one_out_order(labels, groups)) < FEWEST


def choose_few_shot(task: Task, looks: Sequence[Look]) -> tuple[list[Member], Choice]:
    """Return the members that answer together, the heaviest first, and all that was tried."""
    rows = balanced_sample(task.labels, MOST_ORIGINALS)
    each = max(2, COPIES // len(rows))
    copies = augmented_copies([task.pictures[row] for row in rows], each)
    truth = np.repeat(task.labels[rows], each)
    n, left_out = len(task.labels), leave_one_out_order(task.labels, task.groups)[:MOST_LEFT_OUT]
    to_compare = len(copies) + len(left_out)
    results: list[LookResult] = []
    skipped: list[LookScore] = []
    reasons: dict[str, KCRCError] = {}
    left = task.seconds
    for number, look in enumerate(sorted(looks, key=lambda look: _seconds(look, n, len(copies), to_compare))):
        seconds = _seconds(look, n, len(copies), to_compare)
        if results and seconds > left:
            why = f"not tried: it would take about {seconds:.0f} s of the {max(left, 0):.0f} s left"
            skipped.append(LookScore(look.name, price=query_price(look, n), note=why))
            continue
        try:
            results.append(_evaluate(task, look, copies, truth, left_out))
        except KCRCError as reason:
            reasons[look.name] = reason
            skipped.append(failed_score(look, reason, n))
            continue
        left -= seconds
        leader = max(results, key=lambda result: _rating(result, truth, task))
        task.report((number + 1) / len(looks), f"{leader.name} leads")
    if not results:
        raise no_look_works(reasons)

    # The best looks answer together, weighted by their ratings.
    order = sorted(results, key=lambda result: -_rating(result, truth, task))
    ratings = np.array([_rating(result, truth, task) for result in order])
    chosen = np.flatnonzero(ratings >= LEAST_RATING * ratings[0])[:MOST_MEMBERS]
    weights = ratings[chosen] / ratings[chosen].sum() if ratings[0] > 0 else np.full(len(chosen), 1.0 / len(chosen))
    members = [replace(order[at].member, weight=float(weight)) for at, weight in zip(chosen, weights, strict=True)]
    logs = combine_log_probabilities([order[at].logs for at in chosen], weights)
    scores = [
        LookScore(
            result.name,
            right=int(result.correct(truth).sum()),
            asked=len(truth),
            loss=float(result.losses(truth).mean()),
            price=result.price,
            seconds=result.seconds,
            nearest=result.nearest,
        )
        for result in order
    ]
    right = int((logs.argmax(axis=1) == truth).sum())
    weight_of = {member.look.name: member.weight for member in members}
    return members, Choice(weight_of, (*scores, *skipped), "copies", right, len(truth))


def _seconds(look: Look, n: int, copies: int, to_compare: int) -> float:
    """Estimate the seconds to see the examples and their copies, and to compare so many pictures with the examples."""
    return 1e-6 * (look.price.learning + (n + copies) * look.price.picture + n * to_compare * look.price.pair)


def _evaluate(task: Task, look: Look, copies: Pictures, truth: Array, left_out: Array) -> LookResult:
    begun = time.perf_counter()
    fitted, vectors = look.fit_see(task.pictures, task.labels)
    # Every example is a candidate: there are few.
    settings = {name: value for name, value in fitted.settings.items() if name != "n_candidates"}
    classifier = KCRCClassifier(tuning_seconds=1.0, verbose=False, **task.options, **settings)
    classifier.fit(vectors, task.classes[task.labels], groups=task.groups)
    evidence = Member(fitted, classifier, Calibration()).evidence(fitted.see(copies))
    member = Member.from_evidence(fitted, classifier, evidence, truth)
    # Copies are nearer to their original than a query is to anything, so distance must not count in the calibration.
    member = replace(
        member, calibration=replace(member.calibration, familiarity=type(member.calibration)().familiarity)
    )
    left_out_correct = None
    if len(left_out):
        answers = member.log_probabilities(left_out_evidence(classifier.examples_, left_out, task.groups))
        left_out_correct = answers.argmax(axis=1) == task.labels[left_out]
    nearest = (0, int(evidence.rows[0, 0]))
    seconds = time.perf_counter() - begun
    logs, price = member.log_probabilities(evidence), query_price(look, len(task.labels))
    return LookResult(member, vectors, logs, price, seconds, nearest, left_out_correct)


def _rating(result: LookResult, truth: Array, task: Task) -> float:
    """Return the share of copies classified correctly beyond chance, times the prior of the look.

    If examples could be left out, it is the geometric mean of that and of their share, weighted by their number.
    """
    by_copies = _beyond_chance(result.correct(truth), task) * task.kind.prior(result.name)
    if result.left_out_correct is None:
        return by_copies
    count = len(result.left_out_correct)
    share = (_beyond_chance(result.left_out_correct, task) * count + 0.5) / (count + 1)  # never 0: too sure
    weight = count / (count + LEFT_OUT_EQUAL)
    return float(by_copies ** (1.0 - weight) * share**weight)


def _beyond_chance(correct: Array, task: Task) -> float:
    """Return the share of correct answers on a scale from chance (0) to all (1)."""
    chance = 1.0 / max(2, len(task.classes))
    return max(0.0, (float(correct.mean()) - chance) / (1.0 - chance))
