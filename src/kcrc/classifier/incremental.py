"""The examples of a classifier, which come and go: stored, added, forgotten, and what was learned from them.

A method whose scaling, distance or kernel learns from examples is, after some came or went, what it would be if it had
only ever seen those that are left. The parameters that were chosen stay, until ``retune``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kcrc._base.arrays import Array, in_double, widen
from kcrc._base.mapped import apply_by_blocks
from kcrc._base.registry import Registry
from kcrc._base.validation import seed_of
from kcrc._base.views import Layout
from kcrc.classifier.confidence_methods import ConfidenceHolder, ConfidenceMethods, Groups
from kcrc.classifier.parameters import byte_count, precomputed_kind, settings_of
from kcrc.classifier.receipts import ExampleDigests, Receipt, choices, receipt_for
from kcrc.confidence.answerer import Answerer
from kcrc.confidence.calibration import Confidence
from kcrc.errors import DataError, ParameterError, UnknownName
from kcrc.method import kernels, local_problem, scaling
from kcrc.method.distances.pair_cache import PairCounts
from kcrc.method.fitted_model import FittedModel
from kcrc.method.samples import SampleForm
from kcrc.method.scaling import far_out, is_fixed
from kcrc.tuning.left_out.sample import check_groups
from kcrc.tuning.settings import MemberSettings, is_open
from kcrc.tuning.tune import tune
from kcrc.updates.pending import Growth, PendingUpdates, learning_model, sample_rows, sample_size, touches
from kcrc.updates.what_if import with_examples

if TYPE_CHECKING:
    from kcrc.classifier.estimator import KCRCClassifier
    from kcrc.tuning.result import Tuning

C = TypeVar("C", bound="Incremental")


class Incremental(ConfidenceMethods):
    """A classifier whose examples come and go."""

    fit: Callable[..., Any]
    get_params: Callable[..., dict[str, Any]]
    classes_: Array
    tuning_: Tuning | None
    growth_: Growth
    receipt_: Receipt
    memory_budget: int | str
    random_state: Any
    scaling: Any
    kernel: Any
    sample_shape_: tuple[int, ...]
    views_: Layout
    _validate: Callable[..., tuple[Array, Array]]
    _digests: ExampleDigests | None

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
        """Choose what is "auto", and build the model of these examples. ``among`` is the precomputed matrix of the
        examples that are left, if some were forgotten."""
        far = not precomputed_kind(self._classifier) and far_out(vectors)
        if far:
            vectors = apply_by_blocks(in_double, vectors)
        size = sample_size(vectors, len(vectors), byte_count(self.memory_budget))
        sampled = size < len(vectors)
        settings = settings_of(
            self._classifier, seed=seed_of(self.random_state), brief=brief, sampled=sampled, double_precision=far
        )
        groups = check_groups(groups)
        among, known, together = vectors if among is None else among, numbers, groups
        if sampled:
            few = sample_rows(ids, size, settings.seed)
            among, known = vectors[few], np.unique(numbers[few], return_inverse=True)[1]
            together = groups[few] if isinstance(groups, np.ndarray) else groups
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
        self._digests = None

    # The model of the examples as they are ----------------------------------------------------------------------

    @property
    def examples_(self) -> FittedModel:
        """The method and the examples, for the examples: nothing is learned, and no index is built."""
        return self._pending.examples

    @property
    def model_(self) -> FittedModel:
        """The method and the examples, with the index. Nothing is learned: ``answerer_`` holds the updated model."""
        return self._pending.with_index

    @model_.setter
    def model_(self, model: FittedModel) -> None:
        self._pending = PendingUpdates(model)

    @property
    def settings_(self) -> tuple[MemberSettings, ...]:
        """The settings that answers are computed with, nothing "auto": one member, of weight 1. Each value is as the
        constructor takes it. They are those after all pending updates."""
        check_is_fitted(self)
        method = self._snapshot()._updated_model().method
        with_options = is_open(self.scaling) and method.scaling.learns  # chosen, with options that no name says
        member = MemberSettings(
            n_neighbors=method.n_neighbors,
            scaling=method.scaling if with_options else _name_or_part(self.scaling, scaling.registry, method.scaling),
            kernel=_name_or_part(self.kernel, kernels.registry, method.kernel),
            gamma=getattr(method.kernel, "gamma", 1.0),
            mu=getattr(method.coder, "mu", 0.0),
            form=local_problem.name_of(method.space),
            decision=method.decision,
            locality=method.locality,
            projection=method.projection if not method.projection.identity else "identity",
        )
        return (member,)

    def _updated_model(self) -> FittedModel:
        """Return the model that answers: what was learned from examples that came or went is learned again, once."""
        return self._pending.update(self._refit)

    def _refit(self, model: FittedModel) -> FittedModel:
        settings, few = settings_of(self._classifier, seed=model.method.seed), learning_model(model)
        among = few.raw[:, few.ids] if settings.precomputed else few.raw
        try:
            return model.by(settings.refit_learned_parts(model.method, widen(among), few.labels))
        except DataError as why:  # the examples came one by one, and only together do they not fit the parameters
            raise DataError(
                f"{why} The examples that were added since the last answer do not fit the parameters: forget() them, "
                "or fit with others."
            ) from why

    @property
    def _samples(self) -> SampleForm:
        """How samples lie in the arrays: their shape, views and feature names."""
        return SampleForm(self.sample_shape_, self.views_, getattr(self, "feature_names_in_", None))

    @property
    def _classifier(self) -> KCRCClassifier:
        """The classifier itself, which has the parameters."""
        return self  # type: ignore[return-value]

    def _learns(self, model: FittedModel) -> bool:
        """Return whether anything of the method is learned from the examples."""
        return bool(settings_of(self._classifier).learned_parts(model.method))

    @property
    def renewal_due_(self) -> str | None:
        """What is learned again from the examples at the next query, since some came or went; None if nothing."""
        check_is_fitted(self)
        if not self._pending.needs_refit:
            return None
        what = ", ".join(settings_of(self._classifier).learned_parts(self.examples_.method))
        return f"Learned again at the next query: {what}."

    @property
    def retune_due_(self) -> str | None:
        """Why ``retune()`` is advisable since examples came or went, or None."""
        return None if self.tuning_ is None else self.growth_.due

    @property
    def pair_counts_(self) -> PairCounts:
        """How often a costly distance was measured since the fit: ``asked`` from queries to examples; between
        examples, ``evaluated`` pairs were measured and ``found`` looked up among those."""
        check_is_fitted(self)
        return self.examples_.pair_counts

    @property
    def confidence_(self) -> Confidence:
        """The calibration, fitted to leave-one-out answers when it is first needed."""
        return self._confidence_source()

    @confidence_.setter
    def confidence_(self, learned: Confidence) -> None:
        self._confidence = ConfidenceHolder.holding(learned, fixed=is_fixed(self.scaling))

    @property
    def _confidence_source(self) -> Callable[[], Confidence]:
        """A function that returns the calibration for the examples as they are, and fits it at its first call."""
        model = partial(self._pending.learning_model, self._refit)
        return partial(self._confidence.of, model, self.growth_.changed)

    @property
    def _learning_model(self) -> FittedModel:
        """The model of the examples that are learned from: all, or a sample of those that are mapped."""
        return self._pending.learning_model(self._refit)

    @property
    def answerer_(self) -> Answerer:
        """What answers: the updated model and its calibration, as a value that needs no scikit-learn."""
        check_is_fitted(self)
        return self._snapshot()._answerer()

    def _answerer(self) -> Answerer:
        return Answerer(self._updated_model(), self._confidence_source, self._samples)

    # Examples that come and go ----------------------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any, classes: Any = None, *, rows: Any = None) -> Self:
        """Add examples, of known or new classes.

        The result is the same as if they had been there from the start, with the same chosen parameters. What is
        learned from the examples (a covariance, a "scale" gamma) is learned again from all of them at the next question
        (``renewal_due_`` says so). An approximate ``search`` does not promise this: it may find other neighbours until
        its index is built again.

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
            if hasattr(made, "_pending"):
                made._add(X, y, classes, rows)
            else:
                made.fit(X, y, rows=rows)
                if classes is not None:
                    made._announce(classes)
        return self

    def _add(self, X: Any, y: Any, classes: Any, rows: Any) -> None:
        self._refuse_precomputed("partial_fit")
        vectors, labels = self._validate(X, y, reset=False)
        growth = self.growth_
        first = growth.next_row
        ids = np.arange(first, first + len(labels)) if rows is None else row_numbers(rows, len(labels), first=first)
        model = with_examples(self.examples_, vectors, labels, ids, announced=classes)
        self._extend(model, growth.after_adding(len(labels), next_row=int(ids[-1]) + 1), ids)

    def _announce(self, classes: Any) -> None:
        model = self.examples_
        wider = np.union1d(model.classes, np.asarray(classes))
        none = np.empty((0, model.raw.shape[1]), model.raw.dtype)
        empty = np.empty(0, np.intp)
        announced = model.with_examples(none, wider, empty, np.searchsorted(wider, model.classes), empty)
        self._extend(announced, self.growth_, empty)

    def _extend(self, model: FittedModel, growth: Growth, rows: Array) -> None:
        """Go on with the examples of ``model``, of which ``rows`` are new."""
        new = np.arange(len(model) - len(rows), len(model))
        touched = self._learns(model) and touches(model, new, np.empty(0, np.intp))
        digests = None if self._digests is None else self._digests.after(model, rows)
        pending = PendingUpdates(model, needs_refit=self._pending.needs_refit or touched)
        self._go_on(pending, growth, model.classes, digests)

    def _go_on(self, pending: PendingUpdates, growth: Growth, classes: Array, digests: ExampleDigests | None) -> None:
        """Go on with other examples; what was learned from those before is learned again when it is next needed."""
        self._confidence = self._confidence.after(self._pending)
        self._pending, self._digests = pending, digests
        self.classes_, self.growth_ = classes, growth

    def forget(self, rows: Any) -> Self:
        """Forget the examples with these row numbers, as if they had never been stored.

        The chosen parameters stay, and so do the row numbers of the others. A class left empty is forgotten too. What
        was learned with them is learned again at the next question (``renewal_due_``); ``receipt_`` says what was
        forgotten and what is left. An approximate ``search`` finds none of them either, but may find other neighbours
        than if they had never been stored until its index is built again.

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
            If a row is not stored, or no example would be left. Nothing is forgotten then.

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
        before = self._pending
        wanted = np.unique(np.atleast_1d(np.asarray(rows)))
        if wanted.dtype.kind not in "iu":
            raise ParameterError(f"forget takes row numbers (whole numbers); got {rows!r}.")
        model, positions, stored, gone = before.locate(wanted)
        if not stored.all():
            raise ParameterError(f"No stored example has row number {wanted[~stored][0]}. Nothing was forgotten.")
        if len(positions) == len(before):
            raise ParameterError(
                f"Forgetting these {len(wanted)} rows would leave no example. Keep at least one, or fit again."
            )
        digests = ExampleDigests.of(model, gone) if self._digests is None else self._digests
        digests = digests.after(model, wanted, np.union1d(gone, positions))
        left = before.without(positions, needs_refit=self._learns(model) and touches(model, positions, gone))
        self._go_on(left, self.growth_.after_forgetting(len(positions)), left.classes(), digests)
        self.receipt_ = receipt_for(model, positions, digests.state(self._choices))

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
            If there is no such class.

        Examples
        --------
        >>> clf.forget_class(3).classes_
        array([0, 1, 2, 4, 5, 6, 7, 8, 9])
        """
        check_is_fitted(self)
        with self._change() as made:
            model = made.examples_
            number = np.flatnonzero(model.classes == label)
            if not len(number):
                raise UnknownName("class", str(label), [str(c) for c in model.classes])
            made._forget(model.ids[model.labels == number[0]])
        return self

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
        model = now._updated_model()
        if np.isin(model.ids, receipt.rows).any():
            return False
        if ExampleDigests.of(model).state(now._choices) != receipt.state:
            return False
        return not now._learns(model) or now._is_refit(model)

    def _is_refit(self, model: FittedModel) -> bool:
        """Return whether the model answers as one that learned again from its examples does."""
        values = []
        for each in (model, self._refit(model)):
            few = each.examples(each.method.kernel).take(slice(0, 50))
            values.append((learning_model(each).vectors, each.method.kernel.gram(few, few)))
        return all(
            np.allclose(ours, refit, rtol=1e-6, atol=1e-6 * float(np.abs(refit).max()))
            for ours, refit in zip(*values, strict=True)
        )

    def retune(self, *, groups: Any = "auto") -> Self:
        """Choose the "auto" parameters again from the examples as they are now, and calibrate again.

        The examples keep their row numbers.

        Parameters
        ----------
        groups : array of shape (n,), "auto" or None, default="auto"
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
            model, next_row = made.examples_, made.growth_.next_row
            among = model.raw[:, model.ids] if precomputed_kind(made._classifier) else None
            made._store(model.raw, model.classes, model.labels, model.ids, groups, next_row=next_row, among=among)
        return self

    def _refuse_precomputed(self, verb: str) -> None:
        if precomputed_kind(self._classifier):
            raise ParameterError(
                f"{verb} cannot extend a precomputed matrix: it would need the new examples' values with the old. "
                "Use fit with the whole matrix."
            )

    @contextmanager
    def _change(self) -> Iterator[Self]:
        with super()._change() as made:
            if "_pending" in made.__dict__:
                made._pending = made._pending.copy()  # one that no thread updates meanwhile
            yield made

    def __getstate__(self) -> dict[str, Any]:
        """For pickle: what was learned with examples that are gone since is learned again first, as ``save`` does."""
        now = self._snapshot()
        if "_pending" in now.__dict__ and now._pending.needs_refit:
            now._updated_model()
        return super(Incremental, now).__getstate__()


def _name_or_part(given: Any, registry: Registry[Any], part: Any) -> Any:
    """Return the name of a part that was given by name or left open, and any other part itself."""
    name = registry.name_of(type(part)) if isinstance(given, str) else None
    return part if name is None else name


# For those that keep the examples elsewhere (galleries), and put the model together themselves.


def with_model(classifier: C, model: FittedModel) -> C:
    """Return a copy of ``classifier`` that answers from ``model``, the model of other examples; the copy's ``growth_``
    counts the examples that differ."""
    made = copy.copy(classifier)
    made.confidence_ = classifier.confidence_
    made.model_, made.classes_ = model, model.classes
    made._digests = None
    changed = len(np.setxor1d(model.ids, classifier.examples_.ids))
    next_row = max(classifier.growth_.next_row, int(model.ids[-1]) + 1)
    made.growth_ = classifier.growth_.after_adding(changed, next_row=next_row)
    return made


def relearn(classifier: Incremental) -> None:
    """Have everything that ``classifier`` learned from its examples, the calibration too, learned again at the next
    query; what was chosen stays."""
    with classifier._change() as made:
        model = made.examples_
        groups = Groups.learned_with(made.confidence_)
        made._pending = PendingUpdates(model, needs_refit=made._learns(model))
        made._confidence = ConfidenceHolder(groups, fixed=is_fixed(made.scaling))


def row_numbers(rows: Any, n: int, *, first: int) -> Array:
    """Return (n,) the row numbers given, which rise from ``first`` or more."""
    given = np.asarray(rows)
    if given.shape != (n,) or given.dtype.kind not in "iu" or given[0] < first or not (np.diff(given) > 0).all():
        raise ParameterError(
            f"rows must be {n} whole numbers, rising, from {first} on (earlier numbers are never given again); "
            f"got {rows!r}."
        )
    return given.astype(np.intp)
