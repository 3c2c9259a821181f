"""KCRCClassifier: parameters, ``fit`` and what can be asked of a fitted classifier.

Its examples come and go in ``kcrc.classifier.incremental``; how sure its answers are is in
``kcrc.classifier.confidence_methods``; the mathematics is in ``kcrc.method``.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from kcrc._base import validation
from kcrc._base.arrays import Array, in_precision_of
from kcrc._base.views import are_views, layout_of
from kcrc.classifier.incremental import Incremental, row_numbers
from kcrc.classifier.parameters import precomputed_kind, refuses_earlier_names
from kcrc.confidence.answerer import Answerer
from kcrc.errors import ParameterError, StateError
from kcrc.method import coding, distances, kernels, projections
from kcrc.method.evidence import Evidence, join_evidence, leading, leaning
from kcrc.method.samples import FLOATS, SampleForm
from kcrc.method.scaling import Scaling
from kcrc.updates.turning_points import Turning, turning_points
from kcrc.updates.what_if import evidence_if

T = TypeVar("T")


def _in_use(name: str) -> Any:
    """Return a property: the value of a parameter that answers are computed with."""

    def value(self: Any) -> Any:
        return getattr(self.settings_[0], name)

    return property(value, doc=f'``{name}`` as it is used, never "auto".')


class KCRCClassifier(Incremental, ClassifierMixin, BaseEstimator):
    """Classify by example: represent a query by its nearest examples together, in a kernel space.

    KCRC-LCD: find the query's K nearest examples, code the query over all of them with a ridge penalty in the
    space of a kernel, and give it the class whose examples reconstruct it best. There is no training, examples and
    classes can be added at any time, and every answer names the examples that decided it.

    Parameters left "auto" are chosen together by leave-one-out over the stored examples: each of a sample of them is
    classified by the others, and among the settings that are right about equally often the one with the clearest
    answers is taken (``tuning_`` holds the whole table). For a global dictionary, an eighth of the examples is left out
    at a time.

    Parameters
    ----------
    n_neighbors : int, None or "auto", default="auto"
        K, the size of the local dictionary; None uses all examples (the global dictionary). If there are fewer
        examples, all are used. With ``locality="classes"`` it counts classes.
    n_candidates : int or None, default=None
        Coarse to fine: take this many candidates by ``coarse_distance``, then the ``n_neighbors`` nearest of them
        by ``distance``. None searches by ``distance`` itself.
    distance, coarse_distance : str, Distance or callable, default="euclidean"
        How distance is measured: a name of ``kcrc.distances.names()``, a Distance, or a function f(u, v) -> float.
        ``kcrc.distances.Unified`` uses several together, each on its own view of the sample where X is a dict of
        views (name -> array); for scikit-learn's tools, which cut samples by rows, ``kcrc.Views`` of that dict.
        "precomputed": X holds distances to the examples, (n, n) in ``fit``.
    scaling : {"plain", "standard", "unit", "within"}, Scaling or "auto", default="auto"
        How vectors are scaled first: as they are, every feature standardised, to unit length, or whitened by the
        pooled within-class covariance.
    kernel : str, Kernel, callable or "auto", default="auto"
        "linear", "rbf", "polynomial", "precomputed"; "exp" or "polarisation", which make a kernel of ``distance``;
        a Kernel; or a function f(A, B) -> (len(A), len(B)).
    gamma : float, "scale" or "auto", default="auto"
        RBF: exp(−gamma‖a−b‖²), the paper's β = gamma. exp: exp(−gamma·Dist) with Dist squared for Euclidean,
        the paper's β = gamma^(−1/2). "scale" is 1 over the mean squared distance of two examples (for the exp
        kernel: the mean distance), so that the data's unit does not matter.
    degree : int, default=3
        The degree of the polynomial kernel, (gamma a·b + coef0)^degree.
    coef0 : float, default=1.0
        The constant of the polynomial kernel.
    mu : float or "auto", default="auto"
        The weight of the penalty on the code. The best value depends on the data: 1e-5 to 1e-2 for faces, about 1 for
        deep features.
    form : {"raw", "gram", "rkhs"} or "auto", default="auto"
        "gram" is the paper's Algorithm 1, "rkhs" the same model solved in the kernel's own space at a quarter of
        the cost, "raw" codes over the vectors themselves (CRC, no kernel).
    normalize_columns : bool, default=True
        Scale the columns of the dictionary to unit length (Algorithm 1, step 1).
    decision : {"croc", "joint", "ratio", "residual", "sum"} or "auto", default="auto"
        Judge a class by ‖y − Dᵢxᵢ‖/‖xᵢ‖ ("ratio", paper) or by ‖y − Dᵢxᵢ‖ ("residual"); "auto" is one of these two. The
        others are methods that came after the paper: ``kcrc.decisions``.
    locality : {"atoms", "classes"} or "auto", default="auto"
        The dictionary is the K nearest examples, or all examples of the K classes with the nearest mean.
    coder : str or Coder, default="ridge"
        How a query is represented by the dictionary: a name of ``kcrc.coding.names()``, or a Coder.
    projection : str or Projection, default="identity"
        Ψ, the dimension reduction in kernel space; form "gram" only. By name, its dimension is chosen by
        leave-one-out too, as a share of the atoms; a Projection is kept as it is.
    search : {"auto", "exact", "cells", "hnsw", "ivf", "usearch"}, default="auto"
        How the nearest examples are found. "auto", "exact" and "cells" find all of them; "hnsw" and "ivf" (by faiss)
        and "usearch" most of them, sooner where examples are very many, and every answer says how many
        (``Evidence.search``). docs/search.md says which to choose.
    tuning_seconds : float, default=60
        About how long choosing the "auto" parameters may take on two ordinary cores; small data need far less. It is
        counted in arithmetic, so the same data give the same choice however busy the machine is.
    n_jobs : int or None, default=None
        Threads, for batches of queries and for choosing; None uses all cores.
    memory_budget : int or str, default="512MB"
        What a call may use beyond the data, in bytes or like "2GB". Batches are cut to fit. Where X is a mapped array
        larger than this (``np.load(path, mmap_mode="r")``), what is learned from examples is learned from a sample of
        them (docs/scale.md).
    random_state : int, RandomState, Generator or None, default=None
        For random projections and the sample of examples tried. None is the fixed seed 0, so answers never change.
        From a RandomState or Generator each fit draws one seed, which is ``model_.method.seed``.
    verbose : bool or None, default=None
        Whether to show the progress of long work; None shows it on a terminal.

    Attributes
    ----------
    classes_ : ndarray
        The class names, sorted.
    n_neighbors_, scaling_, kernel_, gamma_, mu_, form_, decision_, locality_, projection_ : object
        The parameters that answers are computed with, given or chosen, as the constructor takes them; ``gamma_`` is 1
        for a kernel without one, ``mu_`` 0 for a coder without one.
    settings_ : tuple of MemberSettings
        The same as a list of settings, each with the ``weight`` of its answers. Today there is one, of weight 1.
    confidence_ : Confidence
        The calibration, fitted to leave-one-out answers when it is first needed.
    tuning_ : Tuning or None
        What leave-one-out tried and chose; None if all parameters were given. ``plot_tuning()`` draws it.
    growth_ : Growth
        How many examples came or went since the parameters were chosen.
    retune_due_ : str or None
        Why ``retune()`` is advisable, because examples came or went; None if it is not.
    renewal_due_ : str or None
        What is learned again from the examples at the next query; None if nothing is.
    receipt_ : Receipt
        After ``forget``: what was forgotten, and a digest of what is left.
    pair_counts_ : PairCounts
        How many pairs a costly distance was measured for, and how many were looked up.
    n_features_in_ : int
        The width of a sample.
    model_ : FittedModel
        The method and the stored examples. Nothing is learned when it is looked at.
    answerer_ : Answerer
        The updated model with its calibration: labels, probabilities and evidence in one call.

    Raises
    ------
    ParameterError
        By ``fit``, if a parameter is out of range or does not fit the others.
    DataError
        By ``fit``, if the samples contain values that cannot be compared.

    Notes
    -----
    Row numbers: the first example ever given is row 0, and each example keeps its number for good, even if others are
    forgotten. ``Evidence.rows`` and ``forget`` use these numbers.

    ``fit`` takes no ``sample_weight``. A weight w would have to mean the same as w copies of the example, but copies
    take up places among the K nearest, so the two could not agree. Repeat or ``forget`` examples instead.

    Examples in half or single precision whose mean is more than 100 times as far from the origin as they are from it
    are stored and compared in double precision: distances between them are differences of large squares.

    The index that finds neighbours is built once, by the first query after ``fit``. What is learned from the examples
    is learned again by the first query after examples came or went.

    Outputs are in single precision if the queries are an array in single precision, as elsewhere in scikit-learn.

    Threads may share a classifier. Those that change it (``fit``, ``partial_fit``, ``forget``, ``forget_class``,
    ``retune``) wait for each other, so no change is lost and no row number is given twice. Those that
    ask, save or pickle it need not wait: each call answers from the examples as they were when it began. Two calls may
    see different examples, and ``receipt_`` is that of the last ``forget`` of any thread. Setting parameters is not
    safe while another thread changes the classifier.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kcrc import KCRCClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = KCRCClassifier().fit(X[:1000], y[:1000])
    >>> X_new = X[1000:1050]
    >>> float((clf.predict(X_new) == y[1000:1050]).mean())
    1.0

    The examples of the methods continue from here.
    """

    n_neighbors_ = _in_use("n_neighbors")
    scaling_ = _in_use("scaling")
    kernel_ = _in_use("kernel")
    gamma_ = _in_use("gamma")
    mu_ = _in_use("mu")
    form_ = _in_use("form")
    decision_ = _in_use("decision")
    locality_ = _in_use("locality")
    projection_ = _in_use("projection")

    @refuses_earlier_names
    def __init__(
        self,
        n_neighbors: int | str | None = "auto",
        *,
        n_candidates: int | None = None,
        distance: str | distances.Distance | Callable[..., float] = "euclidean",
        coarse_distance: str | distances.Distance | Callable[..., float] = "euclidean",
        scaling: str | Scaling = "auto",
        kernel: str | kernels.Kernel | Callable[..., Array] = "auto",
        gamma: float | str = "auto",
        degree: int = 3,
        coef0: float = 1.0,
        mu: float | str = "auto",
        form: str = "auto",
        normalize_columns: bool = True,
        decision: str = "auto",
        locality: str = "auto",
        coder: str | coding.Coder = "ridge",
        projection: str | projections.Projection = "identity",
        search: str = "auto",
        tuning_seconds: float = 60.0,
        n_jobs: int | None = None,
        memory_budget: int | str = "512MB",
        random_state: Any = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_candidates = n_candidates
        self.distance = distance
        self.coarse_distance = coarse_distance
        self.scaling = scaling
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
        self.search = search
        self.tuning_seconds = tuning_seconds
        self.n_jobs = n_jobs
        self.memory_budget = memory_budget
        self.random_state = random_state
        self.verbose = verbose

    # Learning and forgetting ------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, *, groups: Any = "auto", rows: Any = None, **more: Any) -> Self:
        """Store the examples X (n, d) with their labels y, in place of any before, and choose what is "auto".

        Where examples are left out, to choose parameters and to learn how sure answers are, those of one group leave
        together, so that they cannot answer for each other: frames of a film, photographs of the same bird. By default
        groups are found, as examples of a class that are much nearer to each other than to the others of it. Exact
        duplicates always leave together. The index that finds neighbours is built by the first query.

        Parameters
        ----------
        X : array of shape (n, …), or views
            The examples: vectors, images, or a dict of views (name -> array); (n, n) where precomputed. A mapped array
            of floating numbers stays in its file, which must not change then.
        y : array of shape (n,)
            Their labels.
        groups : array of shape (n,), "auto" or None, default="auto"
            The group of each example; "auto" finds them, None if there are none.
        rows : array of int of shape (n,), or None, default=None
            Row numbers for the examples, rising; None counts from 0.
        **more : object
            Not used: ``sample_weight``, which other programs pass, is refused with the reason.

        Returns
        -------
        KCRCClassifier
            Itself.

        Raises
        ------
        ParameterError
            If a parameter is out of range or does not fit the others.
        DataError
            If X contains values that cannot be compared.

        Examples
        --------
        >>> KCRCClassifier(n_neighbors=20).fit(X[:300], y[:300]).classes_
        array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
        """
        validation.check_no_weights("fit()", more)
        with self._change() as made:
            made._fit(X, y, groups=groups, rows=rows)
        return self

    def _fit(self, X: Any, y: Any, *, groups: Any, rows: Any = None, brief: bool = False) -> Self:
        """Fit this object in place, which must be new or a copy; ``brief`` chooses parameters by a short search."""
        if rows is not None and precomputed_kind(self):
            raise ParameterError("rows cannot be given with a precomputed matrix: there a row is its own column.")
        vectors, labels = self._validate(X, y, reset=True)
        precision = np.promote_types(vectors.dtype, np.float32)
        validation.check(vectors, precision, or_else=", or give float64" if precision == np.float32 else "")
        classes, numbers = np.unique(labels, return_inverse=True)
        ids = np.arange(len(numbers)) if rows is None else row_numbers(rows, len(numbers), first=0)
        self._store(vectors, classes, numbers, ids, groups, next_row=int(ids[-1]) + 1, brief=brief)
        return self

    def plot_tuning(self, path: Any = None) -> Any:
        """The best leave-one-out accuracy by each parameter, as a Matplotlib figure; written to ``path`` if given.

        Parameters
        ----------
        path : str, path or None, default=None
            Where to write it.

        Returns
        -------
        matplotlib.figure.Figure
            With one panel for each parameter that was chosen.

        Raises
        ------
        StateError
            Where nothing was tuned.

        Examples
        --------
        >>> clf.plot_tuning("tuning.png")  # doctest: +ELLIPSIS
        <Figure size ...>
        """
        check_is_fitted(self)
        if self.tuning_ is None:
            raise StateError('Nothing was tuned: leave a parameter "auto", and give two examples of some class.')
        return self.tuning_.plot(path)

    # Asking -----------------------------------------------------------------------------------------------------

    def predict(self, X: Any, *, reject: float | None = None, unknown: Any = None) -> Array:
        """The label of each query (n,).

        With ``reject``, a query that resembles none of the classes is labelled unknown: "unknown" if labels are text,
        −1 if they are integers, NaN if they are other numbers, or ``unknown`` if given.

        Parameters
        ----------
        X : array of shape (n, …), or views
            The queries.
        reject : float or None, default=None
            The share of queries of known classes that may be rejected by mistake (0.05: one in 20). It holds for
            queries that are like the examples. None rejects nothing.
        unknown : object, default=None
            The label of rejected queries; None chooses one that suits the other labels.

        Returns
        -------
        ndarray of shape (n,)
            The labels, of the type of ``y`` in ``fit``.

        Examples
        --------
        >>> clf.predict(X_new[:3])
        array([1, 4, 0])
        >>> clf.predict(X_new[:3] * 0 - 50, reject=0.05)  # resembles no digit
        array([-1, -1, -1])
        """
        if reject is not None:
            return self._predict_or_reject(X, reject, unknown)
        return np.concatenate(self._read(X, lambda evidence: evidence.labels))

    def decision_function(self, X: Any) -> Array:
        """Scores of the classes, 1/(1 + residual): higher is better.

        For two classes it is one number per query, (r₁ − r₂)/(r₁ + r₂) of the residuals: above 0 for the second class.
        If all neighbours agree, it is between ±1 and ±2 instead, larger the nearer they are.

        Parameters
        ----------
        X : array of shape (n, …), or views
            The queries.

        Returns
        -------
        ndarray of shape (n, classes), or (n,) for two classes
            Higher is better.

        Examples
        --------
        >>> clf.decision_function(X_new[:3]).shape
        (3, 10)
        """
        check_is_fitted(self)
        now = self._snapshot()
        two = len(now.classes_) == 2

        def read(evidence: Evidence) -> Array:
            if two:
                return in_precision_of(X, leaning(evidence))
            return leading(in_precision_of(X, evidence.scores), evidence.winner)

        return np.concatenate(now._read(X, read))

    def explain(self, X: Any) -> Evidence:
        """Label, residuals, margin, and every stored example's part in the answer, for each query.

        Parameters
        ----------
        X : array of shape (n, …), or views
            The queries.

        Returns
        -------
        Evidence
            Of all queries; index it for one of them.

        Examples
        --------
        >>> evidence = clf.explain(X_new[:2])
        >>> evidence.labels, evidence[0].rows.shape[0]
        (array([1, 4]), 1)
        """
        return join_evidence(self._read(X, lambda evidence: evidence, explain=True, code_all=True))

    def what_if(self, X: Any, *, without: Any = (), relabelled: Mapping[int, Any] | None = None) -> Evidence:
        """The answers as they would be if some examples were not stored, or had other labels.

        Nothing is fitted again: parameters and everything learned from the examples stay, and the next nearest examples
        take the free places. A class of which all examples are left out is none of the answers.

        Parameters
        ----------
        X : array of shape (n, …), or views
            The queries.
        without : int or sequence of int, default=()
            Row numbers of the examples to leave out.
        relabelled : dict or None, default=None
            Other labels by row number, of known or new classes.

        Returns
        -------
        Evidence
            As ``explain`` gives it; its ``labels`` are the answers.

        Raises
        ------
        ParameterError
            Where a row is not stored, none would be left, or a label is of another kind than the classes are; with a
            precomputed matrix, where labels are given.

        Examples
        --------
        >>> evidence = clf.explain(X_new[:1])
        >>> strongest = int(evidence.rows[0, evidence.shares[0].argmax()])
        >>> strongest in clf.what_if(X_new[:1], without=[strongest]).rows
        False
        >>> then = clf.what_if(X_new, relabelled={strongest: 7}).labels
        >>> int((then != clf.predict(X_new)).sum())  # how many of 50 answers this one wrong label would change
        1
        """
        answerer, X = self._prepare(X)
        return evidence_if(answerer, X, without=without, relabelled=relabelled)

    def turning_points(self, X: Any) -> list[Turning]:
        """The smallest sets of examples without which the answer to each query would be another.

        One example and pairs of examples are all tried. If none of them changes the answer, examples are taken away one
        by one, which finds a set that need not be the smallest. It takes up to a few seconds for each query.

        Parameters
        ----------
        X : array of shape (n, …), or views
            The queries.

        Returns
        -------
        list of Turning
            One for each query: ``points`` are the sets, and ``sentence`` says it in words.

        Examples
        --------
        >>> query = X_new[38:39]
        >>> found = clf.turning_points(query)[0]
        >>> found.sentence
        'No single example decides it: without these two the answer would be another.'
        >>> bool(clf.what_if(query, without=found.points[0].without).labels[0] == found.points[0].label)
        True
        """
        answerer, X = self._prepare(X)
        return [turning_points(answerer, query) for query in X[:, None]]

    def _read(self, X: Any, read: Callable[[Evidence], T], *, explain: bool = False, code_all: bool = False) -> list[T]:
        """Return what ``read`` makes of the evidence of each chunk of queries."""
        answerer, X = self._prepare(X)
        return answerer.read(X, read, explain=explain, code_all=code_all)

    def _prepare(self, X: Any) -> tuple[Answerer, Array]:
        """Return the answerer, and the queries (n, d) as scikit-learn checks them."""
        check_is_fitted(self)
        now = self._snapshot()
        answerer = now._answerer()
        # A plain array passes scikit-learn's checks for certain, and they would take longer than the answer.
        if not answerer.samples.is_plain(X):
            X = answerer.samples.side_by_side(X)
            with np.errstate(invalid="ignore"):  # scikit-learn sums X, and huge values of both signs make no sum
                X = validate_data(now, X, reset=False, dtype=FLOATS, order="C", allow_nd=True)
            X = answerer.samples.flat(X)
        return answerer, X

    # Keeping ----------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted classifier to one file without code in it (``load`` reads it back).

        Parameters
        ----------
        path : str or path
            The file; one that is there is replaced, whole or not at all.

        Raises
        ------
        StateError
            Before ``fit``.
        DataError
            Where the classifier holds what no file can, such as a function.
        FileError
            Where it cannot be written.

        Examples
        --------
        >>> clf.save("digits.npz")
        >>> bool((KCRCClassifier.load("digits.npz").predict(X_new) == clf.predict(X_new)).all())
        True
        """
        from kcrc.classifier.saving import save

        save(self._snapshot(), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, mmap_mode: str | None = None) -> KCRCClassifier:
        """The classifier that ``save`` wrote: the same answers. Safe for files of any origin.

        Parameters
        ----------
        path : str or path
            The file.
        mmap_mode : {"r"} or None, default=None
            "r" keeps the examples in a mapped file, a copy in the folder for temporary files, where they are larger
            than memory.

        Returns
        -------
        KCRCClassifier
            Fitted, ready to be asked.

        Raises
        ------
        FileError
            Where the file is damaged, or is not one that ``save`` wrote.

        Examples
        --------
        >>> clf.save("digits.npz")
        >>> KCRCClassifier.load("digits.npz").predict(X_new[:3])
        array([1, 4, 0])
        """
        from kcrc.classifier.saving import load

        return load(path, mmap_mode=mmap_mode)

    # Checks -----------------------------------------------------------------------------------------------------

    def _side_by_side(self, X: Any) -> Any:
        return self._samples.side_by_side(X)

    def _validate(self, X: Any, y: Any, *, reset: bool) -> tuple[Array, Array]:
        if reset:
            self.views_ = layout_of(X) if are_views(X) else {}
        X = SampleForm((), self.views_).side_by_side(X)
        # That all values are finite is checked later, with their lengths, without an array as large as X.
        X, y = validate_data(self, X, y, reset=reset, dtype=FLOATS, order="C", allow_nd=True, ensure_all_finite=False)
        with warnings.catch_warnings():  # one example per class is few-shot, not regression
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            check_classification_targets(y)
        if reset:
            self.sample_shape_ = X.shape[1:]
        return self._samples.flat(X), y

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = precomputed_kind(self) is not None
        # A linear representation cannot tell classes apart that lie along one direction (paper, "Data with the same
        # direction distribution"), and scikit-learn's toy blobs are such data: CRC is poor there by nature.
        # So are directions alone (unit rows): the blobs have two features.
        linear = self.form == "raw" or (isinstance(self.kernel, str) and self.kernel in ("linear", "polarisation"))
        tags.classifier_tags.poor_score = linear or (isinstance(self.scaling, str) and self.scaling == "unit")
        return tags


def fit_briefly(classifier: KCRCClassifier, X: Any, y: Any, *, groups: Any = "auto") -> KCRCClassifier:
    """Fit ``classifier`` with a short search, which is enough to compare representations of the examples."""
    with classifier._change() as made:
        made._fit(X, y, groups=groups, brief=True)
    return classifier
