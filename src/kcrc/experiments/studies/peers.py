"""Without tuning, beside what people would take instead: kNN, SVC and a linear probe, all with their own defaults.

Accuracy on queries; the processor's time of a fit, of one query in a batch, and of adding a class by one example and
asking about it: ``partial_fit`` here, a new fit there. It is the time of all threads added up, linear algebra in one
(not the clock's, so that other work on the machine hardly counts). Two programs that people also take are in the table
by what their documentation says they offer. The table in the README is made of what is measured:

python -m kcrc.experiments.studies.peers --out docs/peers.json --readme README.md
python -m kcrc.experiments.studies.peers --out docs/peers.json --readme README.md --measured    # writes the table alone
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from kcrc import KCRCClassifier, machine
from kcrc.cli.output import say
from kcrc.errors import DataError
from kcrc.experiments.provenance import commit
from kcrc.experiments.studies import command, seven_sets
from kcrc.files.aside import write_aside

SETS = {"digits": "digits", "mnist500": "MNIST, 50 a class", "caltech256_clip": "CLIP vectors, 257 classes"}
METHODS: dict[str, Callable[[], Any]] = {
    "kcrc": KCRCClassifier,
    "kNN": KNeighborsClassifier,
    "SVC": SVC,
    "linear probe": lambda: LogisticRegression(max_iter=1000),
}
OFFERS = {  # which examples decided; "unknown"
    "kcrc": ("each with its share", "yes"),
    "kNN": ("the neighbours, all equal", "no"),
    "SVC": ("no", "no"),
    "linear probe": ("no", "no"),
    "Teachable Machine": ("no", "no"),
    "cleanlab": ("no", "finds outliers"),
}
ADDED = 5  # classes, one after the other: the time of one hangs on chance
TIMED = "caltech256_clip"
BEGIN, END = "<!-- peers: begin -->", "<!-- peers: end -->"


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the processor and what came of it."""
    begun = time.process_time()
    value = work()
    return time.process_time() - begun, value


def measured(method: str, split: Sequence[Any]) -> dict[str, float]:
    """One method on one split."""
    X, queries, y, truth = split
    model = METHODS[method]()
    fit, _ = timed(lambda: model.fit(X, y))
    model.predict(queries[:2])
    asked, answers = timed(lambda: model.predict(queries))
    new, labels = X[:ADDED] + X.std(axis=0), y.max() + 1 + np.arange(ADDED)

    def added(n: int) -> Any:
        """The n-th new class, and a question that it answers."""
        if hasattr(model, "partial_fit"):
            model.partial_fit(new[n : n + 1], labels[n : n + 1])
        else:
            model.fit(np.concatenate([X, new[: n + 1]]), np.append(y, labels[: n + 1]))
        return model.predict(new[n : n + 1])

    adding = median(timed(partial(added, n))[0] for n in range(ADDED))
    right = float(np.mean(answers == truth))
    return {"right": right, "fit": fit, "query": asked / len(queries), "class": adding}


def measure(data: Path | None, splits: int, sets: Sequence[str]) -> dict[str, Any]:
    """Every method on every set, several splits of each."""
    found: dict[str, Any] = {}
    for name in sets:
        for seed in range(splits):
            split = seven_sets.load(name, seed, data)
            for method in METHODS:
                with warnings.catch_warnings(), threadpool_limits(1):
                    warnings.simplefilter("ignore")  # a solver that did not converge is part of its defaults
                    one = measured(method, split)
                found.setdefault(name, {}).setdefault(method, []).append(one)
                say(f"{name} {seed} {method}: " + ", ".join(f"{key} {value:.4g}" for key, value in one.items()))
    return {"commit": commit(), "machine": machine.summary(), "day": time.strftime("%Y-%m-%d"), "sets": found}


def table(found: dict[str, Any]) -> str:
    """What was measured as the README shows it."""
    sets = found["sets"]
    timed_on = TIMED if TIMED in sets else next(iter(sets))
    head = [
        "no tuning",
        *(SETS[name] for name in sets),
        "fit",
        "add a class",
        "a query",
        "shows which examples decided",
        "can say unknown",
    ]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for method, offered in OFFERS.items():
        cells = ["–"] * (len(sets) + 3)
        if method in METHODS:
            cells = [f"{mean(one['right'] for one in sets[name][method]):.1%}" for name in sets]
            runs = sets[timed_on][method]
            cells += [spelled(median(one[key] for one in runs)) for key in ("fit", "class", "query")]
        lines.append("| " + " | ".join([method, *cells, *offered]) + " |")
    splits = sorted({len(runs) for methods in sets.values() for runs in methods.values()})
    told = " to ".join(str(count) for count in splits)
    lines += [
        "",
        "Everyone runs with their own defaults; the linear probe is logistic regression. The first columns are shares",
        f"of right answers, means of {told} splits; the next are processor time, all threads added up, on",
        f"{SETS[timed_on]}, medians of the splits. Made by `python -m kcrc.experiments.studies.peers`, {found['day']},",
        f"commit {found['commit']}, {found['machine']}.",
        "–: not measured; the last two columns of the last two rows are from their own documentation.",
    ]
    return "\n".join(lines)


def spelled(seconds: float) -> str:
    """A time in a unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def placed(page: str, text: str) -> str:
    """The page with the table between its marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise DataError(f"The page has no lines '{BEGIN}' and '{END}' to put the table between.")
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def study(given: argparse.Namespace) -> None:
    if given.measured:
        found = json.loads(given.out.read_text("utf-8"))
    else:
        found = measure(given.data, given.splits, given.sets)
        write_aside(given.out, (json.dumps(found, indent=1) + "\n").encode())
    say(table(found))
    if given.readme is not None:
        write_aside(given.readme, placed(given.readme.read_text("utf-8"), table(found)).encode())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command.options("peers", __doc__)
    parser.add_argument("--out", type=Path, default=Path("peers.json"), help="what was measured")
    parser.add_argument("--readme", type=Path, help="the page whose table is written anew")
    parser.add_argument("--measured", action="store_true", help="measure nothing: the table of what OUT has")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    return command.run(study, parser, arguments)


if __name__ == "__main__":
    sys.exit(main())
