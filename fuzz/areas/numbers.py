"""Numbers at their extremes through the public classes: examples, queries, labels and parameters that make no sense."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from fuzz.area import Area, Wrong, register
from fuzz.borrowed import from_tests
from fuzz.mutation import NUMBERS, TEXTS
from fuzz.place import Place
from kcrc import KCRCClassifier, coding, distances, kernels, methods, projections
from kcrc.errors import KCRCError

_OPEN: dict[str, tuple[Any, ...]] = {
    "n_neighbors": ("auto", None, 1, 2, 5, 99),
    "n_candidates": (None, None, 3, 50),
    "distance": distances.names(),
    "scaling": ("auto", "plain", "unit", "standard", "within"),
    "kernel": ("auto", *kernels.names()),
    "gamma": ("auto", "scale", 1e-300, 1e300, 0.1),
    "degree": (1, 3, 50),
    "coef0": (0.0, 1.0, -5.0, 1e300),
    "mu": ("auto", 0.0, 1e-300, 1e-6, 1.0, 1e300),
    "form": ("auto", "rkhs", "gram", "raw"),
    "decision": ("auto", "ratio", "residual"),
    "locality": ("auto", "atoms", "classes"),
    "coder": coding.names(),
    "projection": projections.names(),
    "memory_budget": ("512MB", 1, "1KB", 10**6),
    "random_state": (None, 0, 2**32 - 1),
    "n_jobs": (None, 1, 2, -1),
}
_VALUES = [value for value in NUMBERS if isinstance(value, float)]


@register("numbers", about="numeric extremes through the public classes", share=1500)
class Numbers(Area):
    # scikit-learn's own checks of X and y, which every estimator of it makes, raise these.
    expected = (KCRCError, ValueError, TypeError, NotFittedError)

    def plant(self, place: Place, rng: random.Random) -> Any:
        if rng.random() < 0.5:
            return from_tests("support/extremes.py").Case(rng.getrandbits(31))
        n, d = rng.choice([1, 2, 6, 14, 14, 14, 30]), rng.choice([1, 2, 5, 16, 16])
        X, y = _samples(rng, n, d), _labels(rng, n)
        parameters: dict[str, Any] = {"tuning_seconds": 0.5}
        for name in rng.sample(list(_OPEN), rng.choice([0, 1, 1, 2, 3])):
            parameters[name] = (
                rng.choice(_OPEN[name]) if rng.random() < 0.9 else rng.choice([*NUMBERS, *TEXTS[:9], [], None])
            )
        method = rng.choice([None, None, None, *methods.names()])
        Q = _samples(rng, rng.choice([0, 1, 5]), rng.choice([d, d, d, d + 1]))
        return {"X": X, "y": y, "Q": Q, "parameters": parameters, "method": method, "healthy": rng.random() < 0.3}

    def use(self, place: Place, planted: Any) -> None:
        if hasattr(planted, "run"):
            _run(planted)
            return
        X, y, Q, method = planted["X"], planted["y"], planted["Q"], planted["method"]
        made: Any = KCRCClassifier(**planted["parameters"]) if method is None else methods.make(method)
        if planted["healthy"]:
            X = np.random.default_rng(0).standard_normal(np.shape(X))
        made.fit(X, y)
        _check(made, Q)
        _check(made, X)
        if hasattr(made, "partial_fit"):
            _trying(lambda: _check(made.partial_fit(Q, made.classes_[:1].repeat(len(Q))), X))
        if hasattr(made, "forget"):
            _trying(lambda: _check(made.forget([0]), X))
        for name in ("audit", "retune"):
            if hasattr(made, name):
                _trying(getattr(made, name))


def _run(case: Any) -> None:
    """A case of the tests: numbers that are numbers, so that nothing but the library's own errors is fine."""
    try:
        case.run()
    except KCRCError:
        raise
    except (AssertionError, ValueError, TypeError) as problem:
        raise Wrong(f"{case!r}: {problem}") from problem


def _trying(work: Any) -> None:
    try:
        work()
    except (KCRCError, ValueError, TypeError):
        return


def _check(made: Any, Q: Any) -> None:
    """Answers are classes, probabilities are such; whatever is asked is answered or refused."""
    answers = made.predict(Q)
    if len(answers) != len(Q) or not np.isin(answers, made.classes_).all():
        raise Wrong(f"answers that are no classes: {answers!r:.100}")
    if hasattr(made, "explain"):
        evidence = made.explain(Q)
        repr(evidence)
        evidence.to_dict()
    if hasattr(made, "predict_proba"):
        sure = made.predict_proba(Q)
        if not (np.isfinite(sure).all() and (sure >= 0).all() and np.allclose(sure.sum(axis=1), 1.0, atol=1e-5)):
            raise Wrong(f"probabilities that are none: {sure!r:.200}")
        made.predict_set(Q)
        made.predict(Q, reject=0.05)
        made.unknown_score(Q)


def _samples(rng: random.Random, n: int, d: int) -> Any:
    values = np.random.default_rng(rng.getrandbits(32))
    X: Any = values.standard_normal((n, d))
    kind = rng.randrange(9)
    if kind == 0:
        X = X * rng.choice(_VALUES)
    elif kind == 1 and X.size:
        for _ in range(rng.choice([1, 3])):
            X[rng.randrange(n), rng.randrange(d)] = rng.choice(_VALUES)
    elif kind == 2:
        X = np.zeros((n, d))
    elif kind == 3 and n:
        X = X[values.integers(0, max(1, n // 3), n)]
    elif kind == 4:
        X = np.power(10.0, values.uniform(-300, 300, (n, d)))
    elif kind == 5:
        X = X + 1e15
    with np.errstate(all="ignore"):
        X = X.astype(rng.choice(["f8", "f8", "f4", "f4", "f2", "i8", "u1", "?", "O"]))
    return rng.choice([X, X, X, X, X, X, X.tolist(), np.asfortranarray(X), X[::-1], X[..., None], X.T, X.ravel()])


def _labels(rng: random.Random, n: int) -> Any:
    whole = np.arange(n) % rng.choice([1, 2, 3, max(1, n)])
    return rng.choice([
        whole, whole, whole, whole, whole.astype(str), whole.astype(float), whole.astype(object), whole > 0,
        whole - 2**62, whole[:-1],
        [rng.choice(TEXTS) for _ in range(n)], np.where(whole, np.nan, 1.0), [None] * n, whole[:, None],
        whole.astype("S3"),
        [rng.choice([1, "a", None]) for _ in range(n)],
    ])  # fmt: skip
