"""``kcrc demo``: the main job on data that comes along."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.evidence import HOW, Evidence, together
from kcrc.report.answer_picture import draw_answer, loudest
from kcrc.report.terminal import say


@click.command()
@click.argument("folder", default="demo-out")
def demo(folder: str) -> int:
    """Classify handwritten digits, print accuracy and speed, and draw why into FOLDER."""
    return show(folder)


# The main job on data that ships with scikit-learn: ``kcrc demo FOLDER``, and ``make demo``.

NEW, TAUGHT = 9, 10  # the class that is forgotten and learned again, and from how many examples
SIGN = {True: "+", False: "-"}  # of an example for the answer, and of one against it


def show(folder: str) -> int:
    """Fit on half of the handwritten digits, classify the other half, and show why two queries got their answers."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC

    from kcrc.classifier.estimator import KCRCClassifier

    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    say(f"Handwritten digits: {len(X_train)} examples to classify {len(X_test)} queries of 8 × 8 pixels\n")
    say(f"{'':32}{'accuracy':>10}{'fit':>11}{'a query':>13}")
    rivals: dict[str, Any] = {
        "kcrc, no arguments": KCRCClassifier(),
        "scikit-learn kNN, k=1": KNeighborsClassifier(1),
        "scikit-learn SVC, C=10 γ=.001": SVC(C=10, gamma=0.001),
    }
    for name, model in rivals.items():
        fit_seconds, _ = _time(partial(model.fit, X_train, y_train))
        model.predict(X_test[:2])
        seconds, answers = _time(partial(model.predict, X_test))
        right = np.mean(answers == y_test)
        say(f"{name:32}{right:>10.2%}{1e3 * fit_seconds:>8.1f} ms{1e3 * seconds / len(X_test):>10.4f} ms")
    say("kcrc chooses its parameters in fit, once; the others were given theirs.")

    clf = rivals["kcrc, no arguments"]
    evidence, probabilities = clf.explain(X_test), clf.predict_proba(X_test).max(axis=1)
    unanimous = int(np.sum(evidence.how == HOW.index("unanimous")))
    say(f"\nOf {unanimous} of {len(y_test)} queries, all near examples are of one class. Of the others:")
    Path(folder).mkdir(parents=True, exist_ok=True)
    for words, file, row in (
        ("A typical right answer", "why.png", typical(evidence, y_test)),
        ("The hardest right answer", "hardest.png", hardest(evidence, y_test)),
    ):
        single, answer = evidence[row], evidence.labels[row]
        sure = f"{probabilities[row]:.1%}"
        legend = f"{SIGN[True]} speaks for {answer}, {SIGN[False]} against it"
        say(f"\n{words}: kcrc says that query {row} shows {answer}, and is {sure} sure.")
        say(f"These examples count most ({legend}; the longer, the larger the share):")
        say(_bars(single))
        draw_answer(
            single,
            X_test[row].reshape(8, 8),
            lambda row: X_train[row].reshape(8, 8),
            Path(folder) / file,
            title=f"{words}: kcrc says {answer}, and is {sure} sure",
            legend=f"These stored examples count most. Blue speaks for {answer}, red against; size is share.",
        )
        say(f"    The picture of it: {Path(folder) / file}")

    say(f"\n{_learn_again(clf, X_train, y_train, X_test, y_test)}")
    return 0


def typical(evidence: Evidence, truth: Array) -> int:
    """The right answer with the median margin of those that are easy to read: of the examples that count most, those
    of the answer's class speak for it, the first of all, and one or two of other classes against it."""
    candidates = [row for row in _right(evidence, truth) if _is_easy_to_read(evidence[row])]
    return candidates[int(np.argsort(evidence.margin[candidates], kind="stable")[len(candidates) // 2])]


def hardest(evidence: Evidence, truth: Array) -> int:
    """The right answer with the smallest margin."""
    candidates = _right(evidence, truth)
    return candidates[int(np.argmin(evidence.margin[candidates]))]


def _right(evidence: Evidence, truth: Array) -> list[int]:
    """The queries that were coded and got the right answer."""
    return np.flatnonzero((evidence.how == HOW.index("coded")) & (evidence.labels == truth)).tolist()


def _is_easy_to_read(single: Evidence) -> bool:
    places = loudest(single)
    speaks_for, same_class = single.shares[0, places] > 0, single.neighbour_labels[0, places] == single.winner[0]
    return bool(np.array_equal(speaks_for, same_class) and speaks_for[0] and 1 <= np.sum(~speaks_for) <= 2)


def _bars(single: Evidence) -> str:
    """The examples that count most, a line for each, with a sign for each per cent of their shares."""
    shares, places, answer = single.shares[0], loudest(single), single.labels[0]
    lines = [
        f"    {single.classes[single.neighbour_labels[0, j]]} (row {single.rows[0, j]:>3}) {abs(shares[j]):>4.0%}  "
        + SIGN[bool(shares[j] > 0)] * round(100 * abs(shares[j]))
        for j in places
    ]
    rest = np.delete(shares, places)
    lines.append(f"    {np.count_nonzero(rest)} smaller ones: {together(rest)}")
    lines.append(f"    All together: {single.support[0]:.0%} for {answer}; below 50% the answer would be another.")
    if any(single.neighbour_labels[0, j] == single.winner[0] and shares[j] < 0 for j in places):
        lines.append(
            f"    (A {answer} speaks against {answer} if the {answer}s would represent the query better without it.)"
        )
    return "\n".join(lines)


def _learn_again(clf: Any, X: Array, y: Array, X_test: Array, y_test: Array) -> str:
    """What becomes of the queries of a class that is forgotten, and then learned from a few of its examples."""
    of_class, queries = np.flatnonzero(y == NEW), X_test[y_test == NEW]
    forgetting, _ = _time(lambda: (clf.forget(of_class), clf.predict(queries[:1])))
    learning, _ = _time(lambda: (clf.partial_fit(X[of_class[:TAUGHT]], y[of_class[:TAUGHT]]), clf.predict(queries[:1])))
    right = int(np.sum(clf.predict(queries) == NEW))
    return (
        f"Without a new fit: all {len(of_class)} examples of {NEW} forgotten in {1e3 * forgetting:.0f} ms, "
        f"{TAUGHT} of them learned in {1e3 * learning:.0f} ms;\nwith these {TAUGHT}, "
        f"{right} of {len(queries)} queries that are a {NEW} get the right answer."
    )


def _time(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    value = call()
    return time.perf_counter() - start, value
