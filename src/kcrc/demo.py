"""The main job on data that ships with scikit-learn: `make demo`, or `python -m kcrc.demo FOLDER`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np


def main(folder: str = "demo-out", *, say: Callable[[str], None] = print) -> int:
    """Fit on half of the handwritten digits, classify the other half, and draw why one query got its answer."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC

    from kcrc import KCRCClassifier
    from kcrc.evidence import HOW

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
        fit_seconds, _ = _timed(partial(model.fit, X_train, y_train))
        model.predict(X_test[:2])
        seconds, answers = _timed(partial(model.predict, X_test))
        right = np.mean(answers == y_test)
        say(f"{name:32}{right:>10.2%}{1e3 * fit_seconds:>8.1f} ms{1e3 * seconds / len(X_test):>10.4f} ms")
    clf = rivals["kcrc, no arguments"]
    evidence = clf.explain(X_test)
    # The most doubtful of the right answers shows best how examples decide.
    doubtful = np.where((evidence.how == HOW.index("coded")) & (evidence.labels == y_test), evidence.margin, np.inf)
    at = int(np.argmin(doubtful))
    say(f"\nWhy is query {at} a {evidence.labels[at]}?\n{evidence[at]}")
    start = time.perf_counter()
    clf.partial_fit(np.zeros((1, 64)), [10])
    clf.predict(np.zeros((1, 64)))
    say(f"\nA new class learned from one example and asked about: {1e3 * (time.perf_counter() - start):.1f} ms")
    target = Path(folder) / "why.png"
    target.parent.mkdir(parents=True, exist_ok=True)
    from kcrc.report.figure import draw_evidence

    draw_evidence(evidence[at], X_test[at].reshape(8, 8), lambda row: X_train[row].reshape(8, 8), target)
    say(f"The picture of it: {target}")
    return 0


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    value = call()
    return time.perf_counter() - start, value


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
