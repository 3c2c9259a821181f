"""Fits with every parameter given, and changes of what is stored: CPU time beside what cannot be saved.

A fit beside ``KNeighborsClassifier(algorithm="brute").fit``, and at a million examples beside a copy of the rows into
fresh memory; one more example and one less at that size; thousands of classes; and how sure answers are after one
change among 20,000 examples of 1280 numbers. All on one thread, by the CPU time of the process.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.classifier.estimator import KCRCClassifier
from kcrc.report.tables import text_table
from lab.bench.parts import PartRun
from lab.bench.results import Requirement
from lab.bench.timing import race

GIVEN: dict[str, Any] = {
    "n_neighbors": 50, "locality": "atoms", "kernel": "rbf", "gamma": 1.0, "form": "rkhs", "mu": 0.01,
    "decision": "residual", "n_jobs": 1,
}  # fmt: skip
METRICS = ("plain", "unit", "within")


def measure(run: PartRun) -> None:
    sizes = [(60, 8, 3)] if run.quick else [(900, 64, 10), (10_000, 64, 10), (10_000, 256, 100)]
    for size in sizes:
        small_fit(run, *size)
    many_classes(run, 20 if run.quick else 5000)
    for metric in METRICS:
        large(run, metric, *((200, 8) if run.quick else (1_000_000, 256)))
    for metric in METRICS:
        sureness(run, metric, *((80, 8) if run.quick else (20_000, 1280)))


def small_fit(run: PartRun, n: int, d: int, classes: int) -> None:
    from sklearn.neighbors import KNeighborsClassifier

    X, y = examples(n, d, classes)
    spent = race(
        {
            "ours": lambda: KCRCClassifier(**GIVEN, scaling="plain").fit(X, y),
            "neighbours": lambda: KNeighborsClassifier(algorithm="brute").fit(X, y),
        },
        rounds=20,
        clock=time.process_time,
    )
    ratio = spent["ours"] / spent["neighbours"]
    run.results.ratios[f"fit with all given / neighbours, {n} x {d}"] = ratio
    run.results.claims.append(Requirement(f"fit / KNeighborsClassifier.fit, {n:,} x {d}", ratio, 3.0))
    run.say(f"fit with all given, {n:,} × {d}: {1e3 * spent['ours']:.2f} ms, {ratio:.2f} times that of neighbours")


def many_classes(run: PartRun, classes: int) -> None:
    X, y = examples(3 * classes, 64, classes)
    spent = cpu(lambda: KCRCClassifier(**GIVEN, scaling="plain").fit(X, y))
    run.results.claims.append(Requirement(f"seconds of a fit of {classes:,} classes of 3", spent, 2.0))
    run.say(f"fit of {classes:,} classes of 3: {1e3 * spent:.1f} ms")


def large(run: PartRun, metric: str, n: int, d: int) -> None:
    X, y = examples(n, d, 100)
    copied = cpu(X.copy)
    made = KCRCClassifier(**GIVEN, scaling=metric)
    fitted = cpu(lambda: made.fit(X, y))
    changes = 20 if run.quick else 101
    added = [cpu(partial(made.partial_fit, X[i : i + 1] + 0.1, y[i : i + 1])) for i in range(changes)]
    forgotten = [cpu(partial(made.forget, [i])) for i in range(changes)]
    asked = cpu(lambda: made.predict(X[-1:]))  # what waited is done now
    where = f"{metric}, {n:,} x {d}"
    run.results.ratios[f"fit with all given / copy, {where}"] = fitted / copied
    if metric != "within":
        add, forget = (1e3 * float(np.median(spent[1:])) for spent in (added, forgotten))
        run.results.claims += [
            Requirement(f"fit / copy into fresh memory, {where}", fitted / copied, 2.0),
            Requirement(f"ms for one more example, {where}", add, 5.0),
            Requirement(f"ms for one example less, {where}", forget, 20.0),
        ]
    lines = [
        [name, *(f"{1e3 * value:.2f}" for value in (spent[0], float(np.median(spent[1:]))))]
        for name, spent in (("one more example", added), ("one example less", forgotten), ("asked next", [asked] * 2))
    ]
    head = f"\n{where}: copy {copied:.2f} s, fit {fitted:.2f} s, {fitted / copied:.2f} times"
    run.say(text_table(head, ["ms", "the first", "median of the rest"], lines))


def sureness(run: PartRun, metric: str, n: int, d: int) -> None:
    X, y = examples(n, d, min(200, n // 4))
    made = KCRCClassifier(**GIVEN, scaling=metric).fit(X, y)
    first = cpu(lambda: made.confidence_)

    def after(change: Callable[[], Any]) -> float:
        return cpu(lambda: (change(), made.confidence_))

    added = [after(partial(made.partial_fit, X[i : i + 1] + 0.1, y[i : i + 1])) for i in range(5)]
    forgotten = [after(partial(made.forget, [i])) for i in range(5)]
    add, forget = (1e3 * float(np.median(spent[1:])) for spent in (added, forgotten))
    run.results.ratios[f"how sure after one more example / learned anew, {metric}, {n} x {d}"] = add / (1e3 * first)
    run.say(
        f"how sure answers are, {metric}, {n:,} × {d}: {first:.2f} s at first, {add:.0f} ms after one more example, "
        f"{forget:.0f} ms after one less (aim 200)"
    )


def examples(n: int, d: int, classes: int) -> tuple[Array, Array]:
    """n vectors in so many classes, and their labels."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    X = rng.standard_normal((n, d), dtype=np.float32)
    X += rng.standard_normal((classes, d), dtype=np.float32)[y]
    return X, y


def cpu(call: Callable[[], Any]) -> float:
    """CPU seconds of one call."""
    before = time.process_time()
    call()
    return time.process_time() - before
