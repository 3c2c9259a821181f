"""Public calls with extreme numbers, from a seed: every answer is finite and well formed, or a KCRCError says why not.

``Case(seed)`` is one classifier with its arrays; ``run()`` fits it, asks it all it can say, changes it and asks again.
It raises ``Wrong`` where an answer is not what it should be; any error but a KCRCError is a fault too, and so is any
RuntimeWarning.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from kcrc import KCRCClassifier
from kcrc.errors import DataError, KCRCError
from kcrc.method.compiled_plan import plan
from kcrc.method.evidence import CODED
from kcrc.method.scaling import Within

Array = np.ndarray[Any, Any]
SIDE = 8  # of the images that distances of images get
VECTOR_DISTANCES = ("euclidean", "sqeuclidean", "manhattan", "chessboard", "cosine", "correlation", "mahalanobis")
HISTOGRAM_DISTANCES = ("chi2", "intersection")
IMAGE_DISTANCES = ("tangent", "marginal", "lbp-chi2", "texton-chi2", "sift", "geometric-blur", "shape-context")


class Wrong(AssertionError):
    """An answer that is not finite, or not of the form it should have."""


# Arrays ---------------------------------------------------------------------------------------------------------


def _ordinary(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return rng.normal(size=shape) + rng.normal(size=shape[1])


def _power(rng: np.random.Generator) -> float:
    """A large power of 10: what single precision serves, what double precision does, or anything."""
    return float(rng.uniform(4, [16, 16, 60, 60, 308][rng.integers(5)]))


def _huge(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return _ordinary(rng, shape) * 10.0 ** _power(rng)


def _tiny(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return _ordinary(rng, shape) * 10.0 ** -_power(rng)


def _denormal(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return rng.integers(-9, 10, shape) * 5e-324


def _constant(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return np.full(shape, rng.choice([0.1, 1.0, -7.0, 1e-9, 1e12, 1e50, 1e200]))


def _duplicates(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return _ordinary(rng, (2, shape[1]))[rng.integers(0, 2, shape[0])]


def _zeros(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return np.where(rng.random(shape) < 0.5, 0.0, -0.0)


def _rows_apart(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    reach = _power(rng)
    return _ordinary(rng, shape) * 10.0 ** rng.uniform(-reach, reach, (shape[0], 1))


def _columns_apart(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    reach = _power(rng)
    return _ordinary(rng, shape) * 10.0 ** rng.uniform(-reach, reach, (1, shape[1]))


def _one_row_huge(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    X = _ordinary(rng, shape)
    X[rng.integers(shape[0])] *= 10.0 ** _power(rng)
    return X


def _one_value_huge(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    X = _ordinary(rng, shape)
    X[rng.integers(shape[0]), rng.integers(shape[1])] = -(10.0 ** _power(rng))
    return X


def _far_from_zero(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return 10.0 ** _power(rng) * (1 + 1e-15 * rng.integers(0, 9, shape))


def _near_2_to_53(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return 2.0**53 + rng.integers(-4, 5, shape)


def _mostly_zero(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return np.where(rng.random(shape) < 0.05, rng.normal(size=shape), 0.0)


def _one_direction(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return np.outer(rng.normal(size=shape[0]), rng.normal(size=shape[1]))


NUMBERS = (
    _ordinary, _huge, _tiny, _denormal, _constant, _duplicates, _zeros, _rows_apart, _columns_apart, _one_row_huge,
    _one_value_huge, _far_from_zero, _near_2_to_53, _mostly_zero, _one_direction,
)  # fmt: skip
TYPES = (np.float64,) * 5 + (np.float32,) * 3 + (np.float16, np.int64, np.uint8, np.bool_)


def _as(X: Array, kind: type) -> Array:
    """In another type, finite there: values beyond it become its largest."""
    dtype = np.dtype(kind)
    if dtype.kind == "b":
        return np.asarray(X > 0)
    limits: Any = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    low, high = float(limits.min), float(limits.max)
    if dtype.kind != "f":
        high = np.nextafter(high, 0)  # 2^63 is no int64
    return np.clip(X, low, high).astype(dtype)


# Classifiers ----------------------------------------------------------------------------------------------------


def _choices(rng: np.random.Generator) -> dict[str, Any]:
    """Parameters of a classifier that fit each other."""
    family = rng.choice(["vectors", "distance", "image", "auto"], p=[0.62, 0.2, 0.1, 0.08])
    chosen: dict[str, Any] = {
        "n_neighbors": [1, 2, 5, 20, 120, None][rng.integers(6)],
        "mu": float(rng.choice([1e-9, 1e-3, 0.01, 1.0, 1e6])),
        "decision": str(rng.choice(["ratio", "residual"])),
        "locality": "atoms",
        "form": str(rng.choice(["rkhs", "gram", "raw"])),
        "normalize_columns": bool(rng.random() < 0.85),
        "gamma": ["scale", "scale", "scale", 1e-3, 1e100, 1e-100][rng.integers(6)],
        "n_jobs": 1,
        "random_state": int(rng.integers(99)),
    }
    if family == "auto":
        return {"tuning_seconds": 0.2, "n_jobs": 1, "n_neighbors": ["auto", 5][rng.integers(2)]}
    if family == "vectors":
        chosen["scaling"] = str(rng.choice(["plain", "plain", "unit", "standard", "within"]))
        chosen["kernel"] = str(rng.choice(["linear", "rbf", "polynomial"]))
        if chosen["n_neighbors"] is not None and rng.random() < 0.2:
            chosen["locality"] = "classes"
        if rng.random() < 0.15:
            chosen["coder"] = str(rng.choice(["lasso", "bpdn", "robust", "l1l1"]))
            if chosen["coder"] in ("l1l1", "robust") and chosen["form"] == "rkhs":
                chosen["form"] = "gram"
        if rng.random() < 0.1:
            chosen |= {"projection": str(rng.choice(["random", "kpca", "kfda", "graph"])), "form": "gram"}
        if rng.random() < 0.05 and chosen["kernel"] == "polynomial":
            chosen["degree"] = 200
        return chosen
    chosen["scaling"] = "plain"
    chosen["kernel"] = str(rng.choice(["exp", "exp", "polarisation"]))
    chosen["form"] = str(rng.choice(["rkhs", "gram"]))
    chosen["n_neighbors"] = [2, 5, 12][rng.integers(3)]
    names = VECTOR_DISTANCES + HISTOGRAM_DISTANCES if family == "distance" else IMAGE_DISTANCES
    chosen["distance"] = str(rng.choice(names))
    if rng.random() < 0.2:
        chosen |= {"n_candidates": 15, "coarse_distance": "euclidean"}
    return chosen


class Case:
    """Everything follows from the seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        rng = np.random.default_rng([20, seed])
        self.parameters = _choices(rng)
        image = self.parameters.get("distance") in IMAGE_DISTANCES
        n = int(rng.choice([1, 2, 3, 9, 30, 70])) if not image else int(rng.choice([2, 9, 14]))
        d = SIDE * SIDE if image else int(rng.choice([1, 2, 7, 33, 150]))
        made = rng.choice(len(NUMBERS), 3)
        if rng.random() < 0.4:
            made[1:] = made[0]
        kinds = [TYPES[i] for i in rng.choice(len(TYPES), 3)]
        if rng.random() < 0.6:
            kinds[1:] = kinds[:1] * 2
        positive = self.parameters.get("distance") in HISTOGRAM_DISTANCES
        counts = n, int(rng.integers(1, 6)), int(rng.choice([1, 2, 5, 5 if image else 40]))
        arrays = []
        for how, kind, count in zip(made, kinds, counts, strict=True):
            with np.errstate(over="ignore", under="ignore"):
                X = NUMBERS[how](rng, (count, d))
            X = _as(np.abs(X) if positive else X, kind)
            arrays.append(X.reshape(count, SIDE, SIDE) if image else X)
        self.examples, self.more, self.queries = arrays
        if rng.random() < 0.3:  # the queries are examples, or close to them
            near = self.examples[rng.integers(0, n, len(self.queries))]
            self.queries = near if rng.random() < 0.5 else near[::-1].copy()
        n_classes = int(rng.integers(1, min(n, 4) + 1))
        self.labels = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
        self.more_labels = rng.integers(0, n_classes + 1, len(self.more))
        self.forgotten = rng.permutation(n + len(self.more))[: max(1, n // 3)]
        self.huge = 10.0 ** _power(rng)
        self.what = f"{NUMBERS[made[0]].__name__} {self.examples.dtype} {self.examples.shape}, {self.parameters}"

    def __repr__(self) -> str:
        return f"Case({self.seed}): {self.what}"

    def run(self) -> str:
        """What came of it: how far it got before a KCRCError, or "answered"."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            classifier = KCRCClassifier(**self.parameters)
            try:
                classifier.fit(self.examples, self.labels)
            except KCRCError as why:
                return f"not fitted: {why}"
            ended = self._ask(classifier)
            if self.parameters.get("projection", "identity") == "identity":
                self._ask_among_others(classifier)
            try:
                classifier.partial_fit(self.more, self.more_labels)
                self._ask(classifier)
            except KCRCError as why:
                ended = f"not extended: {why}"
            if not self._fits_together(classifier):
                classifier.forget(np.arange(len(self.examples), len(self.examples) + len(self.more)))
                _need(self._ask(classifier) == ended, "answers without what did not fit")
                return ended
            known = np.intersect1d(self.forgotten, classifier.model_.ids)
            if 0 < len(known) < len(classifier.model_):
                classifier.forget(known)
                self._ask(classifier)
            return ended

    def _fits_together(self, classifier: KCRCClassifier) -> bool:
        """Whether what is learned from the examples can be learned with those that were added: numbers that are fine by
        themselves may be too large for a kernel beside others, and are refused when it is first asked."""
        try:
            return len(classifier.model_) > 0
        except DataError as why:
            _need("forget() them" in str(why), "words of what to do")
            return False

    def _ask(self, classifier: KCRCClassifier) -> str:
        X, n, classes = self.queries, len(self.queries), classifier.classes_
        try:
            labels = classifier.predict(X)
        except KCRCError as why:
            return f"not answered: {why}"
        _need(labels.shape == (n,) and np.isin(labels, classes).all(), "labels")
        probabilities = classifier.predict_proba(X)
        _need(probabilities.shape == (n, len(classes)) and np.isfinite(probabilities).all(), "probabilities")
        _need((probabilities >= 0).all() and np.allclose(probabilities.sum(axis=1), 1.0), "sums of probabilities")
        _need(not np.isnan(classifier.decision_function(X)).any(), "decision function")
        evidence = classifier.explain(X)
        real = evidence.rows >= 0
        _need(np.array_equal(evidence.labels, labels), "labels explained")
        _need(real.any(axis=1).all() and np.isin(evidence.rows[real], classifier.model_.ids).all(), "rows")
        _need(np.isfinite(evidence.distances[real]).all() and (evidence.distances[real] >= 0).all(), "distances")
        _need(not np.isnan(evidence.residuals).any(), "residuals")
        _need(np.isfinite(evidence.residuals[np.arange(n), evidence.winner]).all(), "the winner's residual")
        _need(np.isfinite(evidence.energy).all() and (evidence.energy >= 0).all(), "energy")
        _need(np.isfinite(evidence.coefficients).all(), "coefficients")
        _need(np.isfinite(evidence.contributions).all(), "contributions")
        far = np.where(real, evidence.distances, np.inf)
        _need((far[:, 1:] >= far[:, :-1]).all(), "order of distances")
        _need(bool(repr(evidence)) and np.isfinite(evidence.margin).all(), "margin")
        try:
            _need(classifier.predict_set(X).shape == (n, len(classes)), "sets")
            _need(np.isfinite(classifier.unknown_score(X)).all(), "unknown scores")
            classifier.predict(X, reject=0.05)
        except KCRCError as why:  # too few examples
            return f"answered, but {why}"
        return f"answered, {int((evidence.how == CODED).sum())} of {n} coded"

    def _ask_among_others(self, classifier: KCRCClassifier) -> None:
        """One huge query beside others changes nothing about them."""
        some = self.queries[:3]
        if some.dtype.kind != "f":
            return
        try:
            alone = classifier.explain(some)
            most = float(np.finfo(some.dtype).max)
            together = classifier.explain(np.concatenate([some, np.full_like(some[:1], min(self.huge, most))]))
        except DataError:
            return
        together = together[: len(some)]
        _need(np.array_equal(alone.labels, together.labels), "labels beside a huge query")
        if classifier.model_.whole is not None:  # one matrix product of all queries, which rounds by its shape
            return
        _need(np.array_equal(alone.rows, together.rows[:, : alone.rows.shape[1]]), "rows beside a huge query")
        scaled = type(classifier.model_.method.scaling) is not Within  # which is a matrix product too
        if scaled and plan(classifier.model_) is not None:
            _need(np.array_equal(alone.residuals, together.residuals), "residuals beside a huge query")


def _need(holds: bool, what: str) -> None:
    if not holds:
        raise Wrong(f"{what} are not as they should be")
