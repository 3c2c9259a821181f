"""kcrc beside what people would take instead: kNN, SVC and a linear probe, with their own defaults and tuned.

Accuracy on queries; the processor's time of a fit, of one query in a batch, and of adding a class by one example and
asking about it: ``partial_fit`` here, a new fit there. It is the time of all threads added up, linear algebra in one
(not the clock's, so that other work on the machine hardly counts). A tuned rival gets rows of unit length and chooses
from the grid of ``selftuned`` by cross-validation; to add a class, it is fitted again with what it chose. The table in
the README is made of what is measured:

python -m lab.experiments.studies.peers --out docs/peers.json --readme README.md
python -m lab.experiments.studies.peers --out docs/peers.json --readme README.md --measured    # writes the table alone
python -m lab.experiments.studies.peers --out docs/peers.json --only "SVC, tuned"    # the other rows stay
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
from statistics import mean, median, stdev
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from kcrc._base.arrays import Array
from kcrc.classifier.estimator import KCRCClassifier
from kcrc.errors import DataError
from kcrc.files.atomic import write_bytes
from kcrc.report.terminal import say
from lab import machine
from lab.experiments.provenance import commit
from lab.experiments.studies import command, selftuned, seven_sets

SETS = {"digits": "digits", "mnist500": "MNIST, 50 a class", "caltech256_clip": "CLIP vectors, 257 classes"}


class Tuned:
    """A rival of ``selftuned`` on rows of unit length; its first fit chooses from the grid, later ones keep that."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.model: Any = None

    def fit(self, X: Array, y: Array) -> Tuned:
        if self.model is None:
            self.model = selftuned.grid_search(self.name, y).fit(normalize(X), y).best_estimator_
        else:
            self.model.fit(normalize(X), y)
        return self

    def predict(self, X: Array) -> Array:
        return np.asarray(self.model.predict(normalize(X)))


METHODS: dict[str, Callable[[], Any]] = {
    "kcrc": KCRCClassifier,
    "kNN": KNeighborsClassifier,
    "kNN, tuned": partial(Tuned, "kNN"),
    "SVC": SVC,
    "SVC, tuned": partial(Tuned, "SVC"),
    "linear probe": lambda: LogisticRegression(max_iter=1000),
    "linear probe, tuned": partial(Tuned, "logistic"),
}
OFFERS = {  # which examples decided; "unknown"
    "kcrc": ("each with its share", "yes"),
    "kNN": ("the neighbours, without shares", "no"),
    "SVC": ("no", "no"),
    "linear probe": ("no", "no"),
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


def measure(data: Path | None, splits: int, sets: Sequence[str], methods: Sequence[str]) -> dict[str, Any]:
    """These methods on every set, several splits of each."""
    found: dict[str, Any] = {}
    for name in sets:
        for seed in range(splits):
            split = seven_sets.load(name, seed, data)
            for method in methods:
                with warnings.catch_warnings(), threadpool_limits(1):
                    warnings.simplefilter("ignore")  # a solver that did not converge is part of its defaults
                    one = measured(method, split)
                found.setdefault(name, {}).setdefault(method, []).append(one)
                say(f"{name} {seed} {method}: " + ", ".join(f"{key} {value:.4g}" for key, value in one.items()))
    return {**source(), "sets": found}


def source() -> dict[str, str]:
    """Where numbers of this run come from."""
    return {"commit": commit(), "machine": machine.summary(), "day": time.strftime("%Y-%m-%d")}


def merged(before: dict[str, Any], found: dict[str, Any], methods: Sequence[str]) -> dict[str, Any]:
    """What was measured before, with these methods measured again and where that comes from; figures of them that were
    quoted from elsewhere are no longer needed."""
    sets = {name: runs | found["sets"].get(name, {}) for name, runs in before["sets"].items()}
    own = {method: {key: found[key] for key in ("commit", "machine", "day")} for method in methods}
    quoted = {method: text for method, text in before.get("quoted", {}).items() if method not in methods}
    return {**before, "sets": sets, "later": before.get("later", {}) | own, "quoted": quoted}


def table(found: dict[str, Any]) -> str:
    """What was measured as the README shows it."""
    sets = found["sets"]
    timed_on = TIMED if TIMED in sets else next(iter(sets))
    head = [
        "",
        *(SETS[name] for name in sets),
        "fit, once",
        "add a class",
        "a query",
        "shows which examples decided",
        "can say unknown",
    ]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for method, offered in OFFERS.items():
        cells = [cell(sets[name], method, right) for name in sets]
        cells += [cell(sets[timed_on], method, partial(time_of, key)) for key in ("fit", "class", "query")]
        lines.append("| " + " | ".join([method, *cells, *offered]) + " |")
    counts = {len(runs) for methods in sets.values() for runs in methods.values()}
    several = f"means of {max(counts)} splits ± their standard deviation" if max(counts) > 1 else "of one split"
    alone = " (without ±: of the first split)" if 1 in counts and len(counts) > 1 else ""
    lines += [
        "",
        f"Shares of right answers are {several}{alone}. The next three columns are",
        f"processor time, all threads added up, on {SETS[timed_on]}, medians of the splits. **Fit is paid once**:",
        "kcrc, which gets no arguments, chooses its parameters in it and adds a class without another; the others are",
        "fitted again. They have their own defaults or, if *tuned*, rows of unit length and what cross-validation",
        "chooses from a small grid; the time of that is part of the fit. The linear probe is logistic regression.",
        "Made by `python -m lab.experiments.studies.peers`,",
        f"{spelled_source(found)}.",
    ]
    later = found.get("later", {})
    for text in sorted({spelled_source(own) for own in later.values()}):
        names = [method for method in METHODS if method in later and spelled_source(later[method]) == text]
        lines.append(f"Measured by themselves ({'; '.join(names)}): {text}.")
    return "\n".join([*lines, *found.get("quoted", {}).values()])


def cell(runs: dict[str, Any], method: str, spell: Callable[[Sequence[dict[str, float]]], str]) -> str:
    """What a method reached with its defaults and, if that was measured, tuned."""
    tuned = spell(runs.get(f"{method}, tuned", []))
    return spell(runs[method]) + (f", tuned {tuned}" if tuned else "")


def right(runs: Sequence[dict[str, float]]) -> str:
    """The mean share of right answers and how far it varies; nothing if there is none."""
    shares = [100 * one["right"] for one in runs]
    spread = f" ± {stdev(shares):.1f}" if len(shares) > 1 else ""
    return f"{mean(shares):.1f}{spread} %" if shares else ""


def time_of(key: str, runs: Sequence[dict[str, float]]) -> str:
    """The median of a time; nothing if there is none."""
    seconds = [one[key] for one in runs if key in one]
    return spelled(median(seconds)) if seconds else ""


def spelled_source(of: dict[str, Any]) -> str:
    """The day, the commit and the machine."""
    return f"{of['day']}, commit {of['commit']}, {of['machine']}"


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
        methods = given.only or list(METHODS)
        found = measure(given.data, given.splits, given.sets, methods)
        if given.only:
            found = merged(json.loads(given.out.read_text("utf-8")), found, methods)
        write_bytes(given.out, (json.dumps(found, indent=1) + "\n").encode())
    say(table(found))
    if given.readme is not None:
        write_bytes(given.readme, placed(given.readme.read_text("utf-8"), table(found)).encode())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command.options("peers", __doc__)
    parser.add_argument("--out", type=Path, default=Path("peers.json"), help="what was measured")
    parser.add_argument("--readme", type=Path, help="the page whose table is written anew")
    parser.add_argument("--measured", action="store_true", help="measure nothing: the table of what OUT has")
    parser.add_argument("--only", nargs="+", choices=METHODS, help="measure these; what OUT has of the others stays")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    return command.run(study, parser, arguments)


if __name__ == "__main__":
    sys.exit(main())
