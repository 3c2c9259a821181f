"""Where kcrc is the wrong tool: made-up tables in which a few of many columns matter, beside gradient boosting.

``few``: 5 informative columns of 100 (scikit-learn's ``make_classification``, two classes). ``xor``: the class is the
sign of the product of two columns, beside 10 of noise. All run with their own defaults, on several draws.

python -m lab.experiments.studies.columns
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier

from kcrc._base.arrays import Array
from kcrc.classifier.estimator import KCRCClassifier
from kcrc.report.tables import mean_std, text_table
from kcrc.report.terminal import say
from lab.experiments.studies import command

LEARNED, ASKED = 500, 1000
METHODS: dict[str, Callable[[], Any]] = {"kcrc": KCRCClassifier, "gradient boosting": HistGradientBoostingClassifier}


def few(seed: int) -> tuple[Array, Array]:
    """5 columns of 100 say something."""
    return make_classification(  # type: ignore[no-any-return]
        LEARNED + ASKED, 100, n_informative=5, n_redundant=0, flip_y=0.0, random_state=seed
    )


def xor(seed: int) -> tuple[Array, Array]:
    """Two columns say something, but only together; 10 are noise."""
    X = np.random.default_rng(seed).normal(size=(LEARNED + ASKED, 12))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


TABLES = {"5 informative columns of 100": few, "XOR of two columns, 10 of noise": xor}


def study(given: argparse.Namespace) -> None:
    lines = []
    for name, made in TABLES.items():
        right: dict[str, list[float]] = {method: [] for method in METHODS}
        for seed in range(given.draws):
            X, y = made(seed)
            for method, make in METHODS.items():
                model = make().fit(X[:LEARNED], y[:LEARNED])
                right[method].append(100.0 * float(np.mean(model.predict(X[LEARNED:]) == y[LEARNED:])))
        lines.append([name, *(mean_std(values) for values in right.values())])
    title = f"% right of {ASKED}, {LEARNED} learned from, {given.draws} draws"
    say(text_table(title, ["table", *METHODS], lines))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command.options("columns", __doc__)
    parser.add_argument("--draws", type=int, default=5)
    return command.run(study, parser, arguments)


if __name__ == "__main__":
    sys.exit(main())
