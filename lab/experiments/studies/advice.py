"""What ``advise`` says of twice as many examples, beside what twice as many bring.

Of each set, examples are drawn at random, asked for advice, and as many more are added, the parameters as chosen and
the metric fitted anew; the accuracy on other rows, before and after, is the gain. It must lie in the stated interval in
at least 80 % of the draws; the intervals' median width must be at most 6 points, and less than without a model: then
all that is known is that the next doubling gains no more than the last one (as measured, with its standard error), and
no less than nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kcrc._base.arrays import Array
from kcrc.classifier.estimator import KCRCClassifier
from kcrc.confidence.learning_curve import refit
from kcrc.report.terminal import say
from lab.experiments.studies import command
from lab.experiments.studies.samples import at_hand, dataset, unit, vectors

EXAMPLES = {"digits": 300, "mnist": 500, "caltech256_clip": 1500}
QUERIES = 3000


def draw(name: str, seed: int, data: Path | None) -> tuple[Array, Array]:
    """Rows and labels in the order of the seed: as many as are stored, doubled and asked."""
    rng, many = np.random.default_rng(seed), 2 * EXAMPLES[name] + QUERIES
    if name == "digits":
        X, y = vectors("digits")
        rows = rng.permutation(len(y))[:many]
        return X[rows], y[rows]
    found = dataset(name, data)
    rows = rng.permutation(len(found.labels))[:many]
    X = found.vectors(rows)
    return (X if name == "mnist" else unit(X)), found.labels[rows]


def study(given: argparse.Namespace) -> bool:
    held = True
    for name in given.sets or EXAMPLES:
        if not at_hand(name, given.data):
            continue
        n = EXAMPLES[name]
        inside, widths, bare = [], [], []
        for seed in range(given.first, given.first + given.draws):
            X, y = draw(name, seed, given.data)
            clf = KCRCClassifier(tuning_seconds=given.seconds).fit(X[:n], y[:n])
            told = clf.advise()
            before = float(np.mean(clf.predict(X[2 * n :]) == y[2 * n :]))
            clf.partial_fit(X[n : 2 * n], y[n : 2 * n])  # new classes too
            clf.model_ = refit(clf.model_, clf.model_.raw, clf.model_.labels, clf.model_.ids)
            gain = float(np.mean(clf.predict(X[2 * n :]) == y[2 * n :])) - before
            said = told.doubled
            assert said is not None
            inside.append(said.low <= gain <= said.high)
            widths.append(said.high - said.low)
            last, now = told.curve[-2:]
            error = np.sqrt((last.high - last.low) ** 2 + (now.high - now.low) ** 2) / 2
            bare.append(max(0.0, now.accuracy - last.accuracy) + error)
            say(f"  {name} {seed}: {told.right:.1%} by itself, {before:.1%} asked; gain {100 * gain:+.2f}, said {said}")
        good = np.mean(inside) >= 0.8 and np.median(widths) <= min(0.06, float(np.median(bare)))
        held &= bool(good)
        say(
            f"{name}, {n} examples doubled: {np.mean(inside):.0%} of {len(inside)} gains in the interval, median width "
            f"{100 * np.median(widths):.2f} points, without a model {100 * np.median(bare):.2f} "
            f"({'holds' if good else 'MISSED'}: 80 %, 6 points, narrower)"
        )
    return held


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command.options("advice", __doc__)
    parser.add_argument("sets", nargs="*", choices=[*EXAMPLES, []], default=[])
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seconds", type=float, default=3.0, help="for tuning")
    return command.run(study, parser, arguments)


if __name__ == "__main__":
    sys.exit(main())
