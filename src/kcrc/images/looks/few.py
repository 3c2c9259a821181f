"""Which looks, where examples are too few to tell by those that are left out: one or two of a class.

There looks matter most, and hardly an example can be asked. But much that must not change an answer is known: copies of
the examples, shifted, turned, in other light (``kcrc.images.looks.few``), have to come back to their own class. So
every look is asked about the same copies, and counts by how many it brings home, beyond chance, times what such looks
tend to see in pictures of this kind (``kcrc.images.looks.base.PRIOR``): a copy is no second drawing of the same
thing. Where a class has two examples each is one of the other, and these are asked as if they were not stored: the
more of them, the more their share of right answers counts beside the copies. The best few answer together, with
weights in proportion.
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
from kcrc.images.looks.chosen import Choice, LookScore
from kcrc.images.looks.expert import Expert, without_themselves
from kcrc.images.looks.fusion import pooled
from kcrc.images.looks.jury import ASKED, LookTrial, Task, answerable, none_works, price_of, refused, sampled

# Copies of pictures that were changed as the world changes them: what must not change an answer.
#
# A copy is shifted, turned, scaled, sheared and bent a little, its strokes are thinner or thicker, light and contrast
# are other, and there is noise on it: a little of all of that, drawn from a seed. The border goes on beyond the edge.

SHIFT = 0.1  # of the side, at most; all of these to either side
TURN = 0.35  # radians
SCALE = 0.25  # of the size
SHEAR = 0.3
BEND = 0.08  # of the side, standard deviation at the knots
KNOTS = 4  # a side, between which the picture bends smoothly
LIGHT = 0.15  # of the range from black to white
CONTRAST = 0.3
NOISE = 0.06  # of the range, standard deviation


def deformed(picture: Array, rng: np.random.Generator) -> Array:
    """One changed copy of a picture (h, w[, 3]), of the same size and type."""
    scale = 255.0 if picture.dtype == np.uint8 else 1.0
    values = picture.astype(np.float32) / np.float32(scale)
    moved = _moved(values, rng)
    widened = _stroked(moved, rng)
    lit = (widened - 0.5) * (1.0 + CONTRAST * rng.uniform(-1, 1)) + 0.5 + LIGHT * rng.uniform(-1, 1)
    noisy = np.clip(lit + NOISE * rng.uniform() * rng.standard_normal(lit.shape), 0.0, 1.0)
    return np.rint(255.0 * noisy).astype(np.uint8) if picture.dtype == np.uint8 else noisy.astype(np.float32)


def copies_of(pictures: Sequence[Array], each: int) -> list[Array]:
    """``each`` copies of every picture, those of the first picture first; the same on every run."""
    return [
        deformed(picture, np.random.default_rng([number, copy]))
        for number, picture in enumerate(pictures)
        for copy in range(each)
    ]


def _moved(values: Array, rng: np.random.Generator) -> Array:
    """Shifted, turned, scaled and sheared about the centre, and bent: bilinear between pixels."""
    height, width = values.shape[:2]
    turn, shear = TURN * rng.uniform(-1, 1), SHEAR * rng.uniform(-1, 1)
    size = np.exp(SCALE * rng.uniform(-1, 1, 2))
    linear = np.array([[np.cos(turn), -np.sin(turn) + shear], [np.sin(turn), np.cos(turn)]]) / size[:, None]
    centre = np.array([(height - 1) / 2.0, (width - 1) / 2.0])
    shift = SHIFT * rng.uniform(-1, 1, 2) * (height, width)
    grid = np.moveaxis(np.indices((height, width)), 0, -1) - centre - shift
    at = grid @ linear.T + centre + _bends(height, width, rng)
    y = np.clip(at[..., 0], 0, height - 1)
    x = np.clip(at[..., 1], 0, width - 1)
    top, left = np.floor(y).astype(np.intp), np.floor(x).astype(np.intp)
    below, right = np.minimum(top + 1, height - 1), np.minimum(left + 1, width - 1)
    down, across = y - top, x - left
    if values.ndim == 3:
        down, across = down[..., None], across[..., None]
    upper = values[top, left] * (1 - across) + values[top, right] * across
    lower = values[below, left] * (1 - across) + values[below, right] * across
    return np.asarray(upper * (1 - down) + lower * down, np.float32)


def _bends(height: int, width: int, rng: np.random.Generator) -> Array:
    """(h, w, 2) how far each pixel is moved: drawn at the knots of a grid, cosine weights between."""
    drawn = rng.standard_normal((KNOTS, KNOTS, 2)) * BEND * (height, width)
    down, across = (_tents(length) for length in (height, width))
    return np.asarray(np.einsum("hk,klc,wl->hwc", down, drawn, across))


def _tents(length: int) -> Array:
    """(length, KNOTS) how much each knot counts at each pixel; they sum to 1."""
    place = np.linspace(0, KNOTS - 1, length)[:, None] - np.arange(KNOTS)
    return np.where(np.abs(place) < 1, 0.5 + 0.5 * np.cos(np.pi * place), 0.0)


def _stroked(values: Array, rng: np.random.Generator) -> Array:
    """Part of the way to the darkest, the brightest or the mean of each pixel's neighbours."""
    padded = np.pad(values, [(1, 1), (1, 1)] + [(0, 0)] * (values.ndim - 2), mode="edge")
    height, width = values.shape[:2]
    around = np.stack([padded[i : i + height, j : j + width] for i, j in ((0, 1), (1, 0), (1, 1), (1, 2), (2, 1))])
    towards = (around.min, around.max, around.mean)[rng.integers(3)](axis=0)
    return np.asarray(values + 0.7 * rng.uniform() * (towards - values), np.float32)


FEW = 3  # examples a class, on average, below which nothing is left out
ORIGINALS = 200  # that copies are made of, at most
COPIES = 160  # of all of them together, at least two of each
TOGETHER = 3  # looks that answer
TELLING = 10  # examples asked as if they were not stored say as much as all copies and the prior do
NEAR = 0.6  # of the best look's worth, to answer beside it


def are_few(labels: Array, groups: Array | None = None) -> bool:
    """Whether classes have so few examples, or so few can be asked, that copies have to tell the looks apart."""
    return len(labels) < FEW * len(np.unique(labels)) or len(answerable(labels, groups)) < FEWEST


def choose_by_copies(task: Task, looks: Sequence[Look]) -> tuple[list[Expert], Choice]:
    """The experts that answer together, the heaviest first, and what was tried."""
    rows = sampled(task.labels, ORIGINALS)
    each = max(2, COPIES // len(rows))
    copies = copies_of([task.pictures[row] for row in rows], each)
    truth = np.repeat(task.labels[rows], each)
    n, asked = len(task.labels), answerable(task.labels, task.groups)[:ASKED]
    to_compare = len(copies) + len(asked)
    tried: list[LookTrial] = []
    skipped: list[LookScore] = []
    reasons: dict[str, KCRCError] = {}
    left = task.seconds
    for number, look in enumerate(sorted(looks, key=lambda one: _needed(one, n, len(copies), to_compare))):
        needed = _needed(look, n, len(copies), to_compare)
        if tried and needed > left:
            why = f"not tried: it would take about {needed:.0f} s of the {max(left, 0):.0f} s left"
            skipped.append(LookScore(look.name, price=price_of(look, n), note=why))
            continue
        try:
            tried.append(_trial(task, look, copies, truth, asked))
        except KCRCError as reason:
            reasons[look.name] = reason
            skipped.append(refused(look, reason, n))
            continue
        left -= needed
        best = max(tried, key=lambda one: _worth(one, truth, task))
        task.told((number + 1) / len(looks), f"{best.name} leads")
    if not tried:
        raise none_works(reasons)
    order = sorted(tried, key=lambda one: -_worth(one, truth, task))
    worth = np.array([_worth(one, truth, task) for one in order])
    near = np.flatnonzero(worth >= NEAR * worth[0])[:TOGETHER]
    weights = worth[near] / worth[near].sum() if worth[0] > 0 else np.full(len(near), 1.0 / len(near))
    chosen = [order[at].expert.weighing(float(weight)) for at, weight in zip(near, weights, strict=True)]
    logs = pooled([order[at].logs for at in near], weights)
    scores = [
        LookScore(
            one.name,
            right=int(one.right(truth).sum()),
            asked=len(truth),
            loss=float(one.doubts(truth).mean()),
            price=one.price,
            seconds=one.seconds,
            nearest=one.nearest,
        )
        for one in order
    ]
    right = int((logs.argmax(axis=1) == truth).sum())
    weighed = {one.look.name: one.weight for one in chosen}
    return chosen, Choice(weighed, (*scores, *skipped), "copies", right, len(truth))


def _needed(look: Look, n: int, copies: int, to_compare: int) -> float:
    """Seconds to see the examples and their copies, and to compare so many pictures with the examples."""
    return 1e-6 * (look.price.learning + (n + copies) * look.price.picture + n * to_compare * look.price.pair)


def _trial(task: Task, look: Look, copies: Pictures, truth: Array, asked: Array) -> LookTrial:
    begun = time.perf_counter()
    fitted, seen = look.fit_see(task.pictures, task.labels)
    # Every example is a candidate: there are few.
    settings = {name: value for name, value in fitted.settings.items() if name != "n_candidates"}
    classifier = KCRCClassifier(tuning_seconds=1.0, verbose=False, **task.options, **settings)
    classifier.fit(seen, task.classes[task.labels], groups=task.groups)
    evidence = Expert(fitted, classifier, Calibration()).evidence(fitted.see(copies))
    expert = Expert.of(fitted, classifier, evidence, truth)
    # Copies are nearer to their original than a query is to anything: doubt is not to be measured by distance.
    expert = replace(
        expert, calibration=replace(expert.calibration, familiarity=type(expert.calibration)().familiarity)
    )
    left_out = None
    if len(asked):
        alone = without_themselves(classifier.examples_, asked, task.groups)
        left_out = expert.log_probabilities(alone).argmax(axis=1) == task.labels[asked]
    nearest = (0, int(evidence.rows[0, 0]))
    seconds = time.perf_counter() - begun
    logs, price = expert.log_probabilities(evidence), price_of(look, len(task.labels))
    return LookTrial(expert, seen, logs, price, seconds, nearest, left_out)


def _worth(one: LookTrial, truth: Array, task: Task) -> float:
    """The share of copies brought home beyond chance, times the prior; where examples could be asked, the mean of that
    and of their share, in proportions, by how many they are."""
    guess = _beyond_chance(one.right(truth), task) * task.kind.prior(one.name)
    if one.left_out is None:
        return guess
    asked = len(one.left_out)
    share = (_beyond_chance(one.left_out, task) * asked + 0.5) / (asked + 1)  # never 0, which would be too sure
    known = asked / (asked + TELLING)
    return float(guess ** (1.0 - known) * share**known)


def _beyond_chance(right: Array, task: Task) -> float:
    """The share of right answers, 0 where it is no better than chance and 1 where it is all."""
    chance = 1.0 / max(2, len(task.classes))
    return max(0.0, (float(right.mean()) - chance) / (1.0 - chance))
