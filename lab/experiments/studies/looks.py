"""ImageClassifier with nothing named, beside each single look, vectors alone, and SVC on pixels and on outlines.

python -m lab.experiments.studies.looks digits --splits 3

Sets: digits (half and half), mnist500, usps (both split as in the study selftuned, seed 0 as published), yaleb (32
crops a person), photographs (25 of each of 20 kinds), photographs-bare (the same without a network), and four that are
made by code (``made_pictures``, 20 of each class and 40 asked); --each takes fewer examples a class. Nothing is chosen
on queries: looks by examples asked as if they were not stored, SVC by cross-validation on the training rows.
``--singles`` also fits each look that was tried alone, to see in hindsight how far the choice was from the best of
them. Times are of the processor, so that other work on the machine does not count: "ratio" is the fit less one
extraction of each look tried, over the fit of a KCRCClassifier on the pixels; "of both" is the whole fit over that fit
and the extraction together. Reading the files, what an image distance learns from the examples and prepares of them,
and the span of a join are extraction too. ``--out`` keeps what was measured of each split in a file: what is in it is
not measured again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.svm import SVC

from kcrc._base.arrays import Array
from kcrc.classifier.estimator import KCRCClassifier
from kcrc.files.atomic import write_bytes
from kcrc.images import looks
from kcrc.images.image_classifier import ImageClassifier
from kcrc.images.looks.base import Look, Pictures, registry
from kcrc.images.looks.join import JoinLook
from kcrc.method.distances.base import Distance
from kcrc.report.terminal import say
from lab import datasets as published
from lab.experiments.provenance import commit
from lab.experiments.studies import command
from lab.experiments.studies.made_pictures import MAKERS, made
from lab.experiments.studies.samples import dataset, per_class

SETS = ("digits", "mnist500", "usps", "yaleb", "photographs", "photographs-bare", *MAKERS)
MADE = (20, 40)  # of each class: examples, and queries
# Without the network, and without the three looks that docs/looks.md was measured without.
BARE = sorted({*looks.names()} - {"embedding", "tangent", "geometric blur", "shape context"})
JOIN = "join of "
OURS = "images, nothing named"


def load(name: str, seed: int, data: Path | None) -> tuple[Any, Array, Array, Array]:
    """Images, labels, and the rows of one split: training and test."""
    if name.startswith("photographs"):
        found = published.load("caltech101-20", data)
        paths = [str(path) for path in found.paths or ()]
        return paths, found.labels, *per_class(found.labels, 25, seed)
    if name in MAKERS:
        images, y = made(name, sum(MADE), seed)
        return images, y, *per_class(y, MADE[0], seed)
    found = dataset(name.removesuffix("500"), data)
    images, y = np.asarray(found.images), found.labels
    if name == "digits":
        rows = train_test_split(np.arange(len(y)), test_size=0.5, random_state=seed, stratify=y)
        return images, y, rows[0], rows[1]
    if name == "yaleb":
        return images, y, *per_class(y, 32, seed)
    train, test = found.train, found.test
    if name == "mnist500":
        train = found.extras["author500_train"] if not seed else train[per_class(y[train], 50, seed)[0]]
    elif seed:
        train, test = train_test_split(np.arange(len(y)), random_state=seed, stratify=y, test_size=2007)
    return images, y, train, test


def taken(images: Any, rows: Array) -> Any:
    return [images[row] for row in rows] if isinstance(images, list) else images[rows]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What it gives, and the seconds of the processor it took."""
    begun = time.process_time()
    return work(), time.process_time() - begun


def extracted(look: Look, pictures: Pictures, labels: Array) -> tuple[Look, Array]:
    """The fitted look, and what it sees; what its distance keeps of that is made, and let go."""
    fitted, seen = look.fit_see(pictures, labels)
    distance = fitted.distance
    if isinstance(distance, Distance):
        flat = seen.reshape(len(seen), -1)
        distance.fit(flat, np.unique(labels, return_inverse=True)[1], sample_shape=seen.shape[1:]).prepare(flat)
    return fitted, seen


def side_by_side(seen: Mapping[str, tuple[Look, Array]]) -> Array:
    """What a join of these looks sees."""
    views = {name: view for name, (_, view) in seen.items()}
    weights = (1.0 / len(seen),) * len(seen)
    return JoinLook(tuple(look for look, _ in seen.values()), weights).with_axes(views).join(views)


def measured(name: str, seed: int, given: argparse.Namespace) -> dict[str, Any]:
    """Of one split: ``right``, the accuracies by method; the times as above; what was chosen, and by which commit."""
    images, y, train, test = load(name, seed, given.data)
    rng = np.random.default_rng(seed)
    if given.each:
        train = np.concatenate([rng.permutation(train[y[train] == c])[: given.each] for c in np.unique(y)])
    if given.queries:
        test = rng.permutation(test)[: given.queries]
    mine, asked, labels = taken(images, train), taken(images, test), y[train]
    wanted = BARE if name.endswith("-bare") else "auto"
    fitted, seconds = timed(lambda: ImageClassifier(looks=wanted).fit(mine, labels))
    answers, asking = timed(lambda: fitted.predict(asked))
    found = {OURS: float(np.mean(answers == y[test]))}
    pictures, extraction = timed(lambda: fitted.form_.pictures(mine))
    queries = fitted.form_.pictures(asked)
    tried = [line["look"] for line in fitted.choice_.table if line["asked"] and line["look"] in looks.names()]
    seen = {}
    for each in tried:
        look = registry.make(each, kind=fitted.kind_)
        assert look is not None  # it was tried
        seen[each], spent = timed(partial(extracted, look, pictures, labels))
        extraction += spent
    for line in fitted.choice_.table:
        if line["asked"] and line["look"].startswith(JOIN):
            parts = line["look"].removeprefix(JOIN).split(" + ")
            extraction += timed(partial(side_by_side, {name: seen[name] for name in parts}))[1]
    _, vector_seconds = timed(lambda: KCRCClassifier().fit(seen["pixels"][1], labels))
    ratio, of_both = (seconds - extraction) / vector_seconds, seconds / (vector_seconds + extraction)
    say(f"  {name} {seed}: {100 * found[OURS]:.2f} %; {fitted.choice_.sentence}")
    say(
        f"    fit {seconds:.1f} s, of it {extraction:.1f} s extraction; vectors alone {vector_seconds:.1f} s, ratio "
        f"{ratio:.1f}, of both {of_both:.2f}; {1e3 * asking / len(test):.1f} ms a query"
    )
    for each in tried if given.singles else ("pixels", "hog"):
        if each in seen:
            look, vectors = seen[each]
            alone = KCRCClassifier(tuning_seconds=10, **look.settings).fit(vectors, labels)
            at_queries = look.see(queries)
            found[f"{each} alone"] = float(np.mean(alone.predict(at_queries) == y[test]))
            if given.rivals and each in ("pixels", "hog"):
                folds = min(3, int(np.unique(labels, return_counts=True)[1].min()))
                grid = {"C": [1, 10, 100], "gamma": [0.5, 2, 5]}
                svc = GridSearchCV(SVC(), grid, cv=folds) if folds > 1 else SVC()  # of one example a class none is left
                found[f"SVC on {each}"] = float(np.mean(svc.fit(vectors, labels).predict(at_queries) == y[test]))
    told = {"ratio": ratio, "of both": of_both, "sentence": fitted.choice_.sentence, "commit": commit()}
    return {"right": found, **told}


def kept(name: str, seed: int, given: argparse.Namespace) -> dict[str, Any]:
    """What was measured of one split: by the file where it is there, else now, and then kept."""
    known = json.loads(given.out.read_text()) if given.out and given.out.exists() else {}
    limits = f"{given.each or 'all'} a class, {given.queries or 'all'} queries"
    asked = [option for option in ("singles", "rivals") if getattr(given, option)]
    key = " ".join([name, str(seed), f"({limits})", *asked])
    if key not in known:
        found = measured(name, seed, given)
        if not given.out:
            return found
        # Another process may have written meanwhile.
        known = json.loads(given.out.read_text()) if given.out.exists() else {}
        known[key] = found
        write_bytes(given.out, f"{json.dumps(known, indent=1, sort_keys=True)}\n".encode())
    return dict(known[key])


def study(given: argparse.Namespace) -> None:
    for name in given.sets:
        rows: dict[str, list[float]] = {}
        ratios, of_both = [], []
        for seed in range(given.first, given.first + given.splits):
            found = kept(name, seed, given)
            ratios.append(found["ratio"])
            of_both.append(found["of both"])
            for method, value in found["right"].items():
                rows.setdefault(method, []).append(value)
        each = f", {given.each} a class" if given.each else ""
        say(f"{name}{each}, {given.splits} splits; ratio {np.mean(ratios):.1f}, of both {np.mean(of_both):.2f}")
        if given.singles:
            say_hindsight(rows)
        for method, values in sorted(rows.items(), key=lambda row: (row[0] != OURS, -float(np.mean(row[1])))):
            apart = 100 * (np.array(rows[OURS][: len(values)]) - values)
            error = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.nan
            beside = "" if method == OURS else f"   ours {apart.mean():+.2f} ± {error:.2f}"
            say(f"  {method:24}{100 * np.mean(values):7.2f} ± {100 * np.std(values):.2f}{beside}")


def say_hindsight(rows: Mapping[str, Sequence[float]]) -> None:
    """How far the choice is from the single look that is right most often, on the splits where all were asked."""
    whole = {name: v for name, v in rows.items() if name.endswith(" alone") and len(v) == len(rows[OURS])}
    best = max(whole, key=lambda name: float(np.mean(whole[name])))
    apart = 100 * (np.array(rows[OURS]) - whole[best])
    error = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.nan
    say(f"  beside the best single look in hindsight ({best}): {apart.mean():+.2f} ± {error:.2f}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command.options("looks", __doc__)
    parser.add_argument("sets", nargs="+", choices=SETS)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first split")
    parser.add_argument("--each", type=int, default=0, help="so many examples a class (0: the set's own)")
    parser.add_argument("--queries", type=int, default=0, help="at most this many queries (0: all)")
    parser.add_argument("--singles", action="store_true", help="fit each look that was tried alone too")
    parser.add_argument("--out", type=Path, help="a JSON file of what was measured, added to")
    parser.add_argument("--rivals", action="store_true", help="tune SVC on pixels and on outlines too")
    return command.run(study, parser, arguments)


if __name__ == "__main__":
    sys.exit(main())
