"""KCRCClassifier: parameters, checks, and the verbs of a scikit-learn classifier; the mathematics is elsewhere."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from kcrc import coding, distances, kernels, metrics, pipeline, projections, spaces
from kcrc.errors import DataError, ParameterError, UnknownName
from kcrc.evidence import Evidence, joined
from kcrc.model import FittedModel, Method
from kcrc.prepared import Array

FLOATS = [np.float64, np.float32]


class KCRCClassifier(ClassifierMixin, BaseEstimator):
    """Classify by example: represent a query by its nearest examples together, in a kernel space.

    KCRC-LCD: find the query's K nearest examples, code the query over all of them with a ridge penalty in the
    space of a kernel, and give it the class whose examples reconstruct it best. No training; new examples and
    classes at any time; every answer names the examples that decided it.

    Parameters
    ----------
    n_neighbors : int or None, default=50
        K, the size of the local dictionary; None uses all examples (the global dictionary). More than there are
        means all of them. With ``locality="classes"`` it counts classes.
    n_candidates : int or None, default=None
        Coarse to fine: take this many candidates by ``coarse_distance``, then the ``n_neighbors`` nearest of them
        by ``distance``. None searches by ``distance`` itself.
    distance, coarse_distance : str, Distance or callable, default="euclidean"
        What near means: a name of ``kcrc.distances.names()``, a Distance, or a function f(u, v) -> float.
    metric : {"plain", "unit", "precomputed"} or Metric, default="plain"
        How vectors are scaled first. "precomputed": X holds distances to the examples, (n, n) in ``fit``.
    kernel : str, Kernel or callable, default="rbf"
        "linear", "rbf", "polynomial", "precomputed"; "exp" and "polarisation" make a kernel of ``distance``;
        or a Kernel, or a function f(A, B) -> (len(A), len(B)).
    gamma : float or "scale", default="scale"
        RBF: exp(−gamma‖a−b‖²), the paper's β = gamma. exp: exp(−gamma·Dist) with Dist squared for Euclidean,
        the paper's β = gamma^(−1/2). "scale" is 1 over the mean squared distance of two examples (for the exp
        kernel: the mean distance), so that the data's unit does not matter.
    degree, coef0 : int, float, default=3, 1.0
        The polynomial kernel (gamma a·b + coef0)^degree.
    mu : float, default=0.01
        The ridge penalty. 0.001 to 0.01 suits faces and digits, about 1 suits deep features with the ratio rule.
    form : {"rkhs", "gram", "raw"}, default="rkhs"
        "gram" is the paper's Algorithm 1, "rkhs" the same model solved in the kernel's own space at a quarter of
        the cost, "raw" codes over the vectors themselves (CRC, no kernel).
    normalize_columns : bool, default=True
        Scale the columns of the dictionary to unit length (Algorithm 1, step 1).
    decision : {"ratio", "residual"}, default="ratio"
        Judge a class by ‖y − Dᵢxᵢ‖/‖xᵢ‖ (paper) or by ‖y − Dᵢxᵢ‖.
    locality : {"atoms", "classes"}, default="atoms"
        The dictionary is the K nearest examples, or all examples of the K classes with the nearest mean.
    coder : str or Coder, default="ridge"
    projection : str or Projection, default="identity"
        Ψ, the dimension reduction in kernel space; form "gram" only.
    n_jobs : int or None, default=None
        Threads for batches of queries; None uses all cores.
    memory_budget : int or str, default="512MB"
        What a call may use beyond the data, in bytes or like "2GB". Batches are cut to fit.
    random_state : int, RandomState or None, default=None
        For random projections. None is the fixed seed 0: answers never change between calls.

    Attributes
    ----------
    classes_ : the class names, sorted.
    n_features_in_ : the width of a sample.
    model_ : the FittedModel: the resolved method and the stored examples.

    Rows: the first example ever given is row 0, and each keeps its number for good; forgetting others does not
    renumber it. ``Evidence.rows`` and ``forget`` use these numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kcrc import KCRCClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = KCRCClassifier().fit(X[:1000], y[:1000])
    >>> int(clf.predict(X[1000:1001])[0])
    1
    """

    def __init__(
        self,
        n_neighbors: int | None = 50,
        *,
        n_candidates: int | None = None,
        distance: str | distances.Distance | Callable[..., float] = "euclidean",
        coarse_distance: str | distances.Distance | Callable[..., float] = "euclidean",
        metric: str | metrics.Metric = "plain",
        kernel: str | kernels.Kernel | Callable[..., Array] = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        mu: float = 0.01,
        form: str = "rkhs",
        normalize_columns: bool = True,
        decision: str = "ratio",
        locality: str = "atoms",
        coder: str | coding.Coder = "ridge",
        projection: str | projections.Projection = "identity",
        n_jobs: int | None = None,
        memory_budget: int | str = "512MB",
        random_state: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_candidates = n_candidates
        self.distance = distance
        self.coarse_distance = coarse_distance
        self.metric = metric
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.mu = mu
        self.form = form
        self.normalize_columns = normalize_columns
        self.decision = decision
        self.locality = locality
        self.coder = coder
        self.projection = projection
        self.n_jobs = n_jobs
        self.memory_budget = memory_budget
        self.random_state = random_state

    # Learning and forgetting ------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> Self:
        """Store the examples X (n, d) with their labels y, in place of any before."""
        before = dict(self.__dict__)
        try:
            return self._fit(X, y)
        except BaseException:  # whatever went wrong, Ctrl-C too: the classifier stays what it was
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _fit(self, X: Any, y: Any) -> Self:
        vectors, labels = self._checked(X, y, reset=True)
        classes, numbers = np.unique(labels, return_inverse=True)
        method = self._method(vectors, numbers)
        self.model_ = FittedModel.build(
            method, method.metric.transform(vectors), classes, numbers, np.arange(len(numbers))
        )
        self.classes_ = classes
        self._next_row = len(numbers)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Add examples, of classes known or new; the stored ones are not looked at again.

        What ``fit`` derived from the examples (a "scale" gamma, a covariance) stays as it was. ``classes`` may
        announce classes that have no example yet.
        """
        if not hasattr(self, "model_"):
            self.fit(X, y)
            return self if classes is None else self._announced(classes)
        self._refuse_precomputed("partial_fit")
        vectors, labels = self._checked(X, y, reset=False)
        model = self.model_
        all_classes = np.union1d(model.classes, np.unique(labels))
        if classes is not None:
            all_classes = np.union1d(all_classes, np.asarray(classes))
        self.model_ = model.with_examples(
            model.method.metric.transform(vectors),
            all_classes,
            np.searchsorted(all_classes, labels),
            np.searchsorted(all_classes, model.classes),
            np.arange(self._next_row, self._next_row + len(labels)),
        )
        self.classes_ = all_classes
        self._next_row += len(labels)
        return self

    def _announced(self, classes: Any) -> Self:
        model = self.model_
        wider = np.union1d(model.classes, np.asarray(classes))
        none = np.empty((0, model.vectors.shape[1]), model.vectors.dtype)
        empty = np.empty(0, np.intp)
        self.model_ = model.with_examples(none, wider, empty, np.searchsorted(wider, model.classes), empty)
        self.classes_ = wider
        return self

    def forget(self, rows: Any) -> Self:
        """Forget the examples with these row numbers; the others keep theirs. A class left empty is forgotten too."""
        check_is_fitted(self)
        model = self.model_
        wanted = np.unique(np.atleast_1d(np.asarray(rows)))
        if wanted.dtype.kind not in "iu":
            raise ParameterError(f"forget takes row numbers (whole numbers); got {rows!r}.")
        unknown = wanted[~np.isin(wanted, model.ids)]
        if len(unknown):
            raise ParameterError(f"No stored example has row number {unknown[0]}. Nothing was forgotten.")
        positions = np.flatnonzero(np.isin(model.ids, wanted))
        if len(positions) == len(model):
            raise ParameterError(
                f"Forgetting these {len(positions)} rows would leave no example. Keep at least one, or fit anew."
            )
        self.model_ = model.without(positions).without_empty_classes()
        self.classes_ = self.model_.classes
        return self

    def forget_class(self, label: Any) -> Self:
        """Forget all examples of a class, and the class."""
        check_is_fitted(self)
        model = self.model_
        found = np.flatnonzero(model.classes == label)
        if not len(found):
            raise UnknownName("class", str(label), [str(c) for c in model.classes])
        return self.forget(model.ids[model.labels == found[0]])

    # Asking -----------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> Array:
        """The label of each query (n,)."""
        return np.concatenate(self._answers(X, lambda evidence: evidence.labels))

    def decision_function(self, X: Any) -> Array:
        """Scores 1/(1 + residual), higher is better: (n, classes), or (n,) second minus first for two classes."""
        scores = np.concatenate(self._answers(X, lambda evidence: evidence.scores))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def explain(self, X: Any) -> Evidence:
        """Label, residuals, margin, and every stored example's part in the answer, for each query."""
        return joined(self._answers(X, lambda evidence: evidence, explain=True))

    def _answers(self, X: Any, read: Callable[[Evidence], Any], explain: bool = False) -> list[Any]:
        check_is_fitted(self)
        X = self._flat(validate_data(self, X, reset=False, dtype=FLOATS, order="C", allow_nd=True))
        model = self.model_
        queries = model.method.metric.transform(X.astype(model.vectors.dtype, copy=False))
        return pipeline.answer(model, queries, read, explain=explain)

    # Keeping ----------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted classifier to one file without code in it (``load`` reads it back)."""
        from kcrc.saving import save

        save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> KCRCClassifier:
        """The classifier that ``save`` wrote: the same answers. Safe for files of any origin."""
        from kcrc.saving import load

        return load(path)

    # Checks -----------------------------------------------------------------------------------------------------

    def _checked(self, X: Any, y: Any, *, reset: bool) -> tuple[Array, Array]:
        X, y = validate_data(self, X, y, reset=reset, dtype=FLOATS, order="C", allow_nd=True)
        check_classification_targets(y)
        if reset:
            self.sample_shape_ = X.shape[1:]
        return self._flat(X), y

    def _flat(self, X: Array) -> Array:
        if X.shape[1:] != self.sample_shape_ and X.ndim > 2:
            raise DataError(f"Samples have shape {X.shape[1:]}, the stored examples {self.sample_shape_}.")
        return np.ascontiguousarray(X.reshape(len(X), -1))

    def _precomputed(self) -> bool:
        return "precomputed" in (self.metric, self.kernel, self.distance)

    def _refuse_precomputed(self, verb: str) -> None:
        if self._precomputed():
            raise ParameterError(
                f"{verb} cannot extend a precomputed matrix: it would need the new examples' values with the old. "
                "Use fit with the whole matrix."
            )

    def _method(self, X: Array, y: Array) -> Method:
        """All parameters checked and resolved."""
        n_neighbors = _count("n_neighbors", self.n_neighbors)
        n_candidates = _count("n_candidates", self.n_candidates)
        if n_candidates is not None and (n_neighbors is None or n_candidates < n_neighbors):
            raise ParameterError(f"n_candidates={n_candidates} must be at least n_neighbors={n_neighbors} (K_c ≥ K_f).")
        for name, known in (("decision", ("ratio", "residual")), ("locality", ("atoms", "classes"))):
            if getattr(self, name) not in known:
                raise UnknownName(name, getattr(self, name), known)
        space = spaces.resolve(self.form, normalize=self.normalize_columns)
        coder = coding.resolve(self.coder, mu=self.mu)
        projection = projections.resolve(self.projection)
        if coder.needs_columns and not space.has_columns:
            raise ParameterError(
                f'The coder {type(coder).__name__} judges the entries of y − Dx, which form="rkhs" does not have. '
                'Use form="gram" or "raw".'
            )
        if not isinstance(projection, projections.Identity) and not space.projects:
            raise ParameterError(f'projection works with form="gram"; got form={self.form!r}.')
        metric = metrics.resolve(self.metric).fit(X, y)
        scaled = metric.transform(X)
        distance, coarse = self._distances(scaled, y)
        if self.locality == "classes" and self._precomputed():
            raise ParameterError('locality="classes" needs class means, which precomputed matrices do not give.')
        return Method(
            metric=metric,
            distance=distance,
            coarse_distance=coarse,
            kernel=self._kernel(scaled, distance),
            space=space,
            coder=coder,
            projection=projection,
            n_neighbors=n_neighbors,
            n_candidates=n_candidates,
            locality=self.locality,
            decision=self.decision,
            seed=_seed(self.random_state),
            n_jobs=self.n_jobs,
            memory_budget=_bytes(self.memory_budget),
        )

    def _distances(self, X: Array, y: Array) -> tuple[distances.Distance, distances.Distance]:
        if self.kernel == "precomputed":
            fitted: distances.Distance = kernels.KernelDistance(kernels.PrecomputedKernel().fit(X))
            return fitted, fitted
        wanted = "precomputed" if self.metric == "precomputed" else self.distance
        distance = distances.resolve(wanted).fit(X, y, sample_shape=self.sample_shape_)
        if self.n_candidates is None:
            return distance, distance
        return distance, distances.resolve(self.coarse_distance).fit(X, y, sample_shape=self.sample_shape_)

    def _kernel(self, X: Array, distance: distances.Distance) -> kernels.Kernel:
        spec = self.kernel
        if self.metric == "precomputed" and spec in ("rbf", "linear", "polynomial"):
            if spec != "rbf":
                raise ParameterError(f'kernel={spec!r} needs vectors; with metric="precomputed" use "exp".')
            spec = "exp"  # exp(−gamma·Dist) of the given distances, the RBF's form
        if self.form == "raw":
            spec = "linear"
        made = kernels.resolve(
            spec,
            distance=distance,
            gamma=self._gamma(X, spec, distance),
            degree=self.degree,
            coef0=self.coef0,
        ).fit(X)
        few = made.prepare(X) if spec == "precomputed" else made.prepare(X[:8])
        few = few.take(slice(0, 8))
        if not np.isfinite(made.gram(few, few)).all():
            raise DataError(
                f"The kernel {spec!r} returns NaN or infinite values on the examples. Check its parameters, and "
                "scale the data."
            )
        return made

    def _gamma(self, X: Array, kernel: Any, distance: distances.Distance) -> float:
        if self.gamma != "scale":
            kernels.positive("gamma", self.gamma)
            return float(self.gamma)
        if kernel == "exp":
            sample = np.random.default_rng(0).permutation(len(X))[:64]
            some = distance.prepare(X).take(sample) if self._precomputed() else distance.prepare(X[sample])
            mean = float(np.mean(distance.pairwise(some, some) ** distance.power))
        elif kernel in ("rbf", "polynomial"):
            mean = 2.0 * float(np.var(X, axis=0, dtype=np.float64).sum())
        else:
            return 1.0
        return 1.0 / mean if mean > 0 else 1.0

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed()
        # A linear representation cannot tell classes apart that lie along one direction (paper, "Data with the same
        # direction distribution"), and scikit-learn's toy blobs are such data: CRC is poor there by nature.
        tags.classifier_tags.poor_score = self.form == "raw" or self.kernel in ("linear", "polarisation")
        return tags


def _count(name: str, value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ParameterError(f"{name} is a whole number, 1 or more, or None; got {value!r}.")
    return int(value)


def _seed(random_state: Any) -> int:
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(random_state.randint(2**31))


def _bytes(value: int | str) -> int:
    units = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
    match = re.fullmatch(r"\s*([\d.]+)\s*([A-Za-z]*)\s*", str(value))
    if isinstance(value, bool) or match is None or match[2].upper() not in units or match[1].count(".") > 1:
        raise ParameterError(f'memory_budget is a number of bytes or a text like "512MB"; got {value!r}.')
    size = int(float(match[1]) * units[match[2].upper()])
    if size < 2**20:
        raise ParameterError(f"memory_budget is at least 1 MiB; got {value!r}.")
    return size
