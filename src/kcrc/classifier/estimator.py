"""KCRCClassifier: parameters, checks, and the verbs of a scikit-learn classifier; the mathematics is elsewhere.

Long because half of it is the documentation of its parameters and verbs, which belong to one object.
"""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from kcrc._base import validation
from kcrc._base.arrays import Array, in_double, widen
from kcrc._base.mapped import apply_by_blocks
from kcrc._base.validation import seed_of
from kcrc._base.views import are_views, layout_of
from kcrc.classifier.confidence_methods import ConfidenceHolder, Confident, Groups
from kcrc.classifier.parameters import (
    byte_count,
    method_of_file,
    precomputed_kind,
    refuses_earlier_names,
    settings_of,
)
from kcrc.classifier.receipts import ExampleDigests, Receipt, choices, receipt_for
from kcrc.confidence.answerer import Answerer
from kcrc.confidence.calibration import Confidence
from kcrc.errors import DataError, ParameterError, StateError, UnknownName
from kcrc.method import coding, distances, kernels, projections
from kcrc.method.distances.pair_cache import PairCounts
from kcrc.method.evidence import Evidence, join_evidence, leaning
from kcrc.method.fitted_model import FittedModel
from kcrc.method.samples import FLOATS, SampleForm
from kcrc.method.scaling import Scaling, far_out, is_fixed
from kcrc.tuning.tune import tune
from kcrc.updates.pending import Growth, Standing, learned_from, sample_rows, sample_size, touches
from kcrc.updates.turning_points import Turning, turning_points
from kcrc.updates.what_if import evidence_if, with_examples

if TYPE_CHECKING:
    from kcrc.classifier.saving import Description

T = TypeVar("T")


class KCRCClassifier(Confident, ClassifierMixin, BaseEstimator):
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
        From a RandomState or Generator each fit draws one seed, which ``model_.method.seed`` tells.
    verbose : bool or None, default=None
        Whether to show the progress of long work; None shows it on a terminal.

    Attributes
    ----------
    classes_ : ndarray
        The class names, sorted.
    confidence_ : Confidence
        How sure answers are, learned by asking stored examples as if they were not stored.
    tuning_ : Tuning or None
        What leave-one-out tried and chose; None if all parameters were given. ``plot_tuning()`` shows it.
    growth_ : Growth
        How many examples came or went since the parameters were chosen.
    retune_due_ : str or None
        Why ``retune()`` is advisable, because examples came or went; None if it is not.
    renewal_due_ : str or None
        What is learned again from the examples at the next question; None if nothing is.
    receipt_ : Receipt
        After ``forget``: what was forgotten, and a digest of what is left.
    pair_counts_ : PairCounts
        How many pairs a costly distance was measured for, and how many were looked up.
    n_features_in_ : int
        The width of a sample.
    model_ : FittedModel
        The resolved method and the stored examples.
    answerer_ : Answerer
        Gives labels, probabilities and evidence in one call, and answers as if some examples were not stored.

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

    Threads may share a classifier. Those that change it (``fit``, ``partial_fit``, ``forget``, ``forget_class``,
    ``retune``, ``learn_anew``) wait for each other, so no change is lost and no row number is given twice. Those that
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

    The examples of the methods go on from here.
    """

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

    def fit(self, X: Any, y: Any, *, groups: Any = None, rows: Any = None, **more: Any) -> Self:
        """Store the examples X (n, d) with their labels y, in place of any before, and choose what is "auto".

        When parameters are chosen, examples of one group (photographs of the same bird) are left out together, so that
        they cannot answer for each other. Exact duplicates are always left out together.

        Parameters
        ----------
        X : array of shape (n, …), or views
            The examples: vectors, images, or a dict of views (name -> array); (n, n) where precomputed. A mapped array
            of floating numbers stays in its file, which must not change then.
        y : array of shape (n,)
            Their labels.
        groups : array of shape (n,), or None, default=None
            The group of each example; None if there are none.
        rows : array of int of shape (n,), or None, default=None
            Row numbers for the examples, rising; None counts from 0.
        **more : object
            Nothing: ``sample_weight`` of other programs is refused with the reason.

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

    def fit_briefly(self, X: Any, y: Any, *, groups: Any = None) -> Self:
        """``fit`` with a short search: enough to compare representations of the examples. For kcrc's own parts.

        Parameters
        ----------
        X : array of shape (n, …), or views
            As in ``fit``.
        y : array of shape (n,)
            As in ``fit``.
        groups : array of shape (n,), or None, default=None
            As in ``fit``.

        Returns
        -------
        KCRCClassifier
            Itself.

        Examples
        --------
        >>> KCRCClassifier().fit_briefly(X[:300], y[:300]).classes_
        array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
        """
        with self._change() as made:
            made._fit(X, y, groups=groups, brief=True)
        return self

    def _fit(self, X: Any, y: Any, *, groups: Any, rows: Any = None, brief: bool = False) -> Self:
        """``fit`` of one that is new or a copy; where it is to be ``brief``, by a short search."""
        if rows is not None and precomputed_kind(self):
            raise ParameterError("rows cannot be given with a precomputed matrix: there a row is its own column.")
        vectors, labels = self._checked(X, y, reset=True)
        precision = np.promote_types(vectors.dtype, np.float32)
        validation.check(vectors, precision, or_else=", or give float64" if precision == np.float32 else "")
        classes, numbers = np.unique(labels, return_inverse=True)
        ids = np.arange(len(numbers)) if rows is None else _row_numbers(rows, len(numbers), first=0)
        self._store(vectors, classes, numbers, ids, groups, next_row=int(ids[-1]) + 1, brief=brief)
        return self

    def _store(
        self,
        vectors: Array,
        classes: Array,
        numbers: Array,
        ids: Array,
        groups: Any,
        *,
        next_row: int,
        among: Array | None = None,
        brief: bool = False,
    ) -> None:
        """Choose, and build the model anew from these examples; ``among`` are the columns of a precomputed matrix that
        they still are, where some were forgotten."""
        far = not precomputed_kind(self) and far_out(vectors)
        if far:
            vectors = apply_by_blocks(in_double, vectors)
        size = sample_size(vectors, len(vectors), byte_count(self.memory_budget))
        sampled = size < len(vectors)
        settings = settings_of(
            self, seed=seed_of(self.random_state), brief=brief, sampled=sampled, double_precision=far
        )
        among, known, together = vectors if among is None else among, numbers, groups
        if sampled:
            few = sample_rows(ids, size, settings.seed)
            among, known = vectors[few], np.unique(numbers[few], return_inverse=True)[1]
            together = None if groups is None else np.asarray(groups)[few]
        result = tune(settings, among, known, together)
        if vectors.dtype == np.float16 and not result.settings.keeps_half_precision:
            all_of_them, vectors = among is vectors, apply_by_blocks(widen, vectors)
            among = vectors if all_of_them else widen(among)
        method, scaled = result.settings.make_method(among, known)
        self.model_ = FittedModel.build(
            method,
            vectors,
            classes,
            numbers,
            ids,
            None if sampled else result.pairs,  # what was measured on the way is of the sample
            scaled=scaled if among is vectors else None,
            prepared=None if sampled else result.prepared,
            searchable=False,
        )
        self.classes_ = classes
        self._confidence = ConfidenceHolder(Groups.of(ids, groups), fixed=is_fixed(self.scaling))
        self.tuning_ = result.report
        self.growth_ = Growth(next_row, len(numbers))
        self._digests: ExampleDigests | None = None

    def retune(self, *, groups: Any = None) -> Self:
        """Choose the "auto" parameters anew from the examples as they are now, and learn anew how sure answers are.
        The examples keep their row numbers.

        Parameters
        ----------
        groups : array of shape (n,), or None, default=None
            As in ``fit``, for the examples as they are now.

        Returns
        -------
        KCRCClassifier
            Itself.

        Examples
        --------
        >>> clf.retune().retune_due_ is None
        True
        """
        check_is_fitted(self)
        with self._change() as made:
            model, following = made.examples_, made.growth_.next_row
            among = model.raw[:, model.ids] if precomputed_kind(made) else None
            made._store(model.raw, model.classes, model.labels, model.ids, groups, next_row=following, among=among)
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

    @property
    def retune_due_(self) -> str | None:
        """Why ``retune()`` is due since examples came or went, or None."""
        return None if self.tuning_ is None else self.growth_.due

    # The model of the examples as they are ----------------------------------------------------------------------

    @property
    def examples_(self) -> FittedModel:
        """The method and the examples for the sake of the examples: nothing is learned, and nothing that searches
        among them is made."""
        return self._standing.examples

    @property
    def model_(self) -> FittedModel:
        """The method and the examples. Where examples came or went since something was learned from them, it is
        learned anew here, once."""
        return self._standing.ready(self._renewed)

    @model_.setter
    def model_(self, model: FittedModel) -> None:
        self._standing = Standing(model)

    def _renewed(self, model: FittedModel) -> FittedModel:
        settings, few = settings_of(self, seed=model.method.seed), learned_from(model)
        among = few.raw[:, few.ids] if settings.precomputed else few.raw
        try:
            return model.by(settings.refit_learned_parts(model.method, widen(among), few.labels))
        except DataError as why:  # the examples came one by one, and only together do they not fit the parameters
            raise DataError(
                f"{why} The examples that came since it last answered do not fit its parameters: forget() them, or fit "
                "with others."
            ) from why

    def _learns_from(self, model: FittedModel, positions: Array, gone: Array) -> bool:
        """Whether something was learned from any of the examples at ``positions``."""
        return bool(settings_of(self).learned_parts(model.method)) and touches(model, positions, gone)

    def _goes_on(self, standing: Standing, growth: Growth, classes: Array, digests: ExampleDigests | None) -> None:
        """Go on with other examples; what was learned from those before is learned anew when it is next needed."""
        self._confidence = self._confidence.after(self._standing)
        self._standing, self._digests = standing, digests
        self.classes_, self.growth_ = classes, growth

    def _grown(self, model: FittedModel, growth: Growth, rows: Array) -> None:
        """Go on with the examples of ``model``, of which ``rows`` are new."""
        new = np.arange(len(model) - len(rows), len(model))
        due = self._standing.due or self._learns_from(model, new, np.empty(0, np.intp))
        digests = None if self._digests is None else self._digests.after(model, rows)
        self._goes_on(Standing(model, due=due), growth, model.classes, digests)

    def learn_anew(self) -> Self:
        """Learn anew, when it is next needed, all that is learned from the examples, confidence too; what was chosen
        stays. For a classifier that was stored and given other examples since.

        Returns
        -------
        KCRCClassifier
            Itself.

        Examples
        --------
        >>> clf.learn_anew() is clf
        True
        """
        check_is_fitted(self)
        with self._change() as made:
            model = made.examples_
            groups = Groups.learned_with(made.confidence_)
            made._standing = Standing(model, due=bool(settings_of(made).learned_parts(model.method)))
            made._confidence = ConfidenceHolder(groups, fixed=is_fixed(made.scaling))
        return self

    @property
    def renewal_due_(self) -> str | None:
        """What is learned anew from the examples at the next question, since some came or went; None if nothing."""
        check_is_fitted(self)
        if not self._standing.due:
            return None
        what = ", ".join(settings_of(self).learned_parts(self.examples_.method))
        return f"Learned anew from the examples when next asked: {what}."

    @property
    def confidence_(self) -> Confidence:
        """What the examples' own answers say of how sure answers are: learned when first asked for."""
        return self._what_is_known()

    @confidence_.setter
    def confidence_(self, learned: Confidence) -> None:
        self._confidence = ConfidenceHolder.holding(learned, fixed=is_fixed(self.scaling))

    @property
    def _what_is_known(self) -> Callable[[], Confidence]:
        """What gives, or learns when it is first called, the confidence of the examples as they are."""
        learned_from = partial(self._standing.learned_from, self._renewed)
        return partial(self._confidence.of, learned_from, self.growth_.changed)

    @property
    def _learning_model(self) -> FittedModel:
        """The model of the examples that things are learned from: all, or a sample of those that are mapped."""
        return self._standing.learned_from(self._renewed)

    # Examples that come and go ----------------------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any, classes: Any = None, *, rows: Any = None) -> Self:
        """Add examples, of known or new classes.

        The result is the same as if they had been there from the start, with the same chosen parameters. What is
        learned from the examples (a covariance, a "scale" gamma) is learned again from all of them at the next question
        (``renewal_due_`` says so). An approximate ``search`` does not promise this: it may find other neighbours until
        its index is built anew.

        Parameters
        ----------
        X : array of shape (n, …), or views
            The new examples.
        y : array of shape (n,)
            Their labels, of known or new classes.
        classes : sequence or None, default=None
            Further classes, which have no example yet.
        rows : array of int of shape (n,), or None, default=None
            Their row numbers, rising and above those given before; None takes those that follow.

        Returns
        -------
        KCRCClassifier
            Itself.

        Raises
        ------
        ParameterError
            With a precomputed matrix, which cannot be extended.

        Examples
        --------
        >>> clf.partial_fit(X[1000:1001], [10]).classes_  # a new class, at once
        array([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10])
        """
        with self._change() as made:
            if hasattr(made, "_standing"):  # to look at the model would bring it up to date
                made._add(X, y, classes, rows)
            else:
                made.fit(X, y, rows=rows)
                if classes is not None:
                    made._announce(classes)
        return self

    def _add(self, X: Any, y: Any, classes: Any, rows: Any) -> None:
        self._refuse_precomputed("partial_fit")
        vectors, labels = self._checked(X, y, reset=False)
        growth = self.growth_
        first = growth.next_row
        ids = np.arange(first, first + len(labels)) if rows is None else _row_numbers(rows, len(labels), first=first)
        grown = with_examples(self.examples_, vectors, labels, ids, announced=classes)
        self._grown(grown, growth.added(len(labels), next_row=int(ids[-1]) + 1), ids)

    def _announce(self, classes: Any) -> None:
        model = self.examples_
        wider = np.union1d(model.classes, np.asarray(classes))
        none = np.empty((0, model.raw.shape[1]), model.raw.dtype)
        empty = np.empty(0, np.intp)
        announced = model.with_examples(none, wider, empty, np.searchsorted(wider, model.classes), empty)
        self._grown(announced, self.growth_, empty)

    @property
    def pair_counts_(self) -> PairCounts:
        """How often a costly distance was measured since the fit: ``asked`` from queries to examples; between
        examples, ``evaluated`` pairs were measured and ``found`` looked up among those."""
        check_is_fitted(self)
        return self.model_.pair_counts

    def forget(self, rows: Any) -> Self:
        """Forget the examples with these row numbers, as if they had never been stored.

        The chosen parameters stay, and so do the row numbers of the others. A class left empty is forgotten too. What
        was learned with them is learned again at the next question (``renewal_due_``); ``receipt_`` says what was
        forgotten and what is left. An approximate ``search`` finds none of them either, but may find other neighbours
        than if they had never been stored until its index is built anew.

        Parameters
        ----------
        rows : int or sequence of int
            Row numbers.

        Returns
        -------
        KCRCClassifier
            Itself.

        Raises
        ------
        ParameterError
            Where a row is not stored, or none would be left. Nothing is forgotten then.

        Examples
        --------
        >>> clf.forget([17]).receipt_.rows
        (17,)
        """
        check_is_fitted(self)
        with self._change() as made:
            made._forget(rows)
        return self

    def _forget(self, rows: Any) -> None:
        before = self._standing
        wanted = np.unique(np.atleast_1d(np.asarray(rows)))
        if wanted.dtype.kind not in "iu":
            raise ParameterError(f"forget takes row numbers (whole numbers); got {rows!r}.")
        model, positions, stored, gone = before.found(wanted)
        if not stored.all():
            raise ParameterError(f"No stored example has row number {wanted[~stored][0]}. Nothing was forgotten.")
        if len(positions) == len(before):
            raise ParameterError(
                f"Forgetting these {len(wanted)} rows would leave no example. Keep at least one, or fit anew."
            )
        digests = ExampleDigests.of(model, gone) if self._digests is None else self._digests
        digests = digests.after(model, wanted, np.union1d(gone, positions))
        left = before.without(positions, due=self._learns_from(model, positions, gone))
        self._goes_on(left, self.growth_.forgotten(len(positions)), left.classes(), digests)
        self.receipt_ = receipt_for(model, positions, digests.state(self._choices))

    @property
    def _choices(self) -> bytes:
        return choices(self.get_params(deep=False), None if self.tuning_ is None else self.tuning_.best)

    def verify(self, receipt: Receipt) -> bool:
        """Whether ``receipt`` is of this state: none of its rows is stored, the digest of the rows that remain is the
        one it names, and all that was learned from examples is what these rows alone give.

        Parameters
        ----------
        receipt : Receipt
            What ``receipt_`` was after ``forget``.

        Returns
        -------
        bool
            True where it is.

        Examples
        --------
        >>> receipt = clf.forget([17]).receipt_
        >>> clf.verify(receipt)
        True
        """
        check_is_fitted(self)
        now = self._snapshot()
        model = now.model_
        if np.isin(model.ids, receipt.rows).any():
            return False
        if ExampleDigests.of(model).state(now._choices) != receipt.state:
            return False
        return not settings_of(now).learned_parts(model.method) or now._learned_from(model)

    def _learned_from(self, model: FittedModel) -> bool:
        """Whether the model answers as one that learned anew from its examples does."""
        made = []
        for one in (model, self._renewed(model)):
            few = one.examples(one.method.kernel).take(slice(0, 50))
            made.append((learned_from(one).vectors, one.method.kernel.gram(few, few)))
        return all(
            np.allclose(ours, anew, rtol=1e-6, atol=1e-6 * float(np.abs(anew).max()))
            for ours, anew in zip(*made, strict=True)
        )

    def forget_class(self, label: Any) -> Self:
        """Forget all examples of a class, and the class.

        Parameters
        ----------
        label : object
            The class, as in ``classes_``.

        Returns
        -------
        KCRCClassifier
            Itself.

        Raises
        ------
        UnknownName
            Where there is no such class.

        Examples
        --------
        >>> clf.forget_class(3).classes_
        array([0, 1, 2, 4, 5, 6, 7, 8, 9])
        """
        check_is_fitted(self)
        with self._change() as made:
            model = made.examples_
            found = np.flatnonzero(model.classes == label)
            if not len(found):
                raise UnknownName("class", str(label), [str(c) for c in model.classes])
            made.forget(model.ids[model.labels == found[0]])
        return self

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
        return np.concatenate(now._read(X, lambda evidence: leaning(evidence) if two else evidence.scores))

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
        answerer, X = self._asked(X)
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
        answerer, X = self._asked(X)
        return [turning_points(answerer, query) for query in X[:, None]]

    def _read(self, X: Any, read: Callable[[Evidence], T], *, explain: bool = False, code_all: bool = False) -> list[T]:
        """``read`` of the evidence of each chunk of queries."""
        answerer, X = self._asked(X)
        return answerer.read(X, read, explain=explain, code_all=code_all)

    def _asked(self, X: Any) -> tuple[Answerer, Array]:
        """Who answers, and the queries (n, d) as scikit-learn checks them."""
        check_is_fitted(self)
        now = self._snapshot()
        answerer = now._answerer(now.model_)
        if not answerer.samples.is_plain(X):  # else scikit-learn's checks, longer than the answer, have nothing to say
            X = answerer.samples.side_by_side(X)
            with np.errstate(invalid="ignore"):  # scikit-learn sums X, and huge values of both signs make no sum
                X = validate_data(now, X, reset=False, dtype=FLOATS, order="C", allow_nd=True)
            X = answerer.samples.flat(X)
        return answerer, X

    @property
    def answerer_(self) -> Answerer:
        """What answers: the model and how sure it is, as a value that needs no scikit-learn."""
        check_is_fitted(self)
        now = self._snapshot()
        return now._answerer(now.model_)

    def _answerer(self, model: FittedModel) -> Answerer:
        return Answerer(model, self._what_is_known, self._samples)

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

    @classmethod
    def restored(cls, described: Description, model: FittedModel) -> KCRCClassifier:
        """A fitted classifier from its description and a model: what was chosen and learned is taken as it is.

        Parameters
        ----------
        described : Description
            What a file says of a classifier.
        model : FittedModel
            The method and the examples.

        Returns
        -------
        KCRCClassifier
            Fitted, ready to be asked.
        """
        known = set(KCRCClassifier._get_param_names())  # files of earlier versions say more
        made = KCRCClassifier(**{name: value for name, value in described.parameters.items() if name in known})
        made.tuning_, made.growth_ = described.tuning, described.growth
        made.model_, made.classes_ = replace(model, method=method_of_file(made, model.method)), model.classes
        made._digests = None
        made.confidence_ = described.answering.confidence
        form = described.answering.samples
        made.sample_shape_, made.views_ = form.shape, form.views
        made.n_features_in_ = form.width
        if form.feature_names is not None:
            made.feature_names_in_ = form.feature_names
        return made

    def following(self, model: FittedModel) -> KCRCClassifier:
        """A copy that answers from ``model``, which is this one's after examples came or went.

        Parameters
        ----------
        model : FittedModel
            The model to answer from.

        Returns
        -------
        KCRCClassifier
            The copy; this classifier stays as it is.

        Examples
        --------
        >>> clf.following(clf.model_) is clf
        False
        """
        made = copy.copy(self)
        made.confidence_ = self.confidence_
        made.model_, made.classes_ = model, model.classes
        made._digests = None
        changed = len(np.setxor1d(model.ids, self.model_.ids))
        made.growth_ = self.growth_.added(changed, next_row=max(self.growth_.next_row, int(model.ids[-1]) + 1))
        return made

    # Checks -----------------------------------------------------------------------------------------------------

    @property
    def _samples(self) -> SampleForm:
        return SampleForm(self.sample_shape_, self.views_, getattr(self, "feature_names_in_", None))

    def _side_by_side(self, X: Any) -> Any:
        return self._samples.side_by_side(X)

    def _checked(self, X: Any, y: Any, *, reset: bool) -> tuple[Array, Array]:
        if reset:
            self.views_ = layout_of(X) if are_views(X) else {}
        X = SampleForm((), self.views_).side_by_side(X)
        X, y = validate_data(  # whether all are numbers is looked at with their lengths, without an array as large as X
            self, X, y, reset=reset, dtype=FLOATS, order="C", allow_nd=True, ensure_all_finite=False
        )
        with warnings.catch_warnings():  # one example a class is what few-shot users have, and no regression
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            check_classification_targets(y)
        if reset:
            self.sample_shape_ = X.shape[1:]
        return self._samples.flat(X), y

    def _refuse_precomputed(self, verb: str) -> None:
        if precomputed_kind(self):
            raise ParameterError(
                f"{verb} cannot extend a precomputed matrix: it would need the new examples' values with the old. "
                "Use fit with the whole matrix."
            )

    @contextmanager
    def _change(self) -> Iterator[Self]:
        with super()._change() as made:
            if "_standing" in made.__dict__:
                made._standing = made._standing.copy()  # one that no thread brings up to date meanwhile
            yield made

    def __getstate__(self) -> dict[str, Any]:
        """For pickle: what was learned with examples that are gone since is learned anew first, as ``save`` does."""
        now = self._snapshot()
        if "_standing" in now.__dict__ and now._standing.due:
            now._standing.ready(now._renewed)
        return super(KCRCClassifier, now).__getstate__()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = precomputed_kind(self) is not None
        # A linear representation cannot tell classes apart that lie along one direction (paper, "Data with the same
        # direction distribution"), and scikit-learn's toy blobs are such data: CRC is poor there by nature.
        # So are directions alone (unit rows): the blobs have two features.
        linear = self.form == "raw" or (isinstance(self.kernel, str) and self.kernel in ("linear", "polarisation"))
        tags.classifier_tags.poor_score = linear or (isinstance(self.scaling, str) and self.scaling == "unit")
        return tags


def _row_numbers(rows: Any, n: int, *, first: int) -> Array:
    """(n,) the row numbers given, which rise from ``first`` or more."""
    given = np.asarray(rows)
    if given.shape != (n,) or given.dtype.kind not in "iu" or given[0] < first or not (np.diff(given) > 0).all():
        raise ParameterError(
            f"rows are {n} whole numbers, rising, from {first} on (those given before are not given again); "
            f"got {rows!r}."
        )
    return given.astype(np.intp)
