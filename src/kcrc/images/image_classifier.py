"""ImageClassifier: classify pictures by example; the examples choose how pictures are compared.

Long because a third of it is the documentation of its methods.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from kcrc._base import validation
from kcrc._base.arrays import Array
from kcrc._base.progress import count_bar
from kcrc.classifier.confidence_methods import ConfidenceMethods
from kcrc.classifier.estimator import KCRCClassifier
from kcrc.classifier.parameters import byte_count
from kcrc.classifier.receipts import Receipt
from kcrc.confidence.calibration import Confidence
from kcrc.errors import DataError, ParameterError, UnknownName
from kcrc.images import looks as all_looks
from kcrc.images.looks import saving
from kcrc.images.looks.base import Look, PictureKind, Pictures, kind_of, looks_for, of_feature, registry
from kcrc.images.looks.choosing import choose_and_fit
from kcrc.images.looks.ensemble import Ensemble
from kcrc.images.looks.evaluation import Task
from kcrc.images.looks.few_shot import choose_few_shot, is_few_shot
from kcrc.images.looks.pictures import PictureForm
from kcrc.method.evidence import Evidence, join_evidence, leading, leaning
from kcrc.method.fitted_model import FittedModel
from kcrc.tuning.left_out.sample import check_groups

T = TypeVar("T")


class ImageClassifier(ConfidenceMethods, ClassifierMixin, BaseEstimator):
    """Classify pictures by example, compared in the ways that tell the examples apart.

    Images are an array (n, h, w) or (n, h, w, 3), or a list of arrays, paths of image files, bytes of such files and
    Pillow images, of any sizes. A look is a way to compare pictures (``kcrc.looks.names()``). Looks are evaluated by
    leave-one-out, all on the same examples; then the best one answers alone, or several together if that is better. The
    methods are those of ``KCRCClassifier``, and every answer names the examples that decided it.

    Parameters
    ----------
    looks : "auto", a name, a Look, or a list of those; default="auto"
        The looks to choose from; "auto" takes all that make sense for these pictures.
    tuning_seconds : float, default=60
        About how long choosing looks and parameters may take. It is counted in arithmetic, so the same pictures give
        the same choice however busy the machine is.
    n_jobs : int or None, default=None
        Threads, for batches of queries and for choosing; None uses all cores.
    memory_budget : int or str, default="512MB"
        What a call may use beyond the data, in bytes or like "2GB".
    random_state : int, RandomState, Generator or None, default=None
        Draws the sample that looks are chosen with. None is the fixed seed 0.
    verbose : bool or None, default=None
        Whether to show progress of long work; None shows it on a terminal.

    Attributes
    ----------
    classes_ : ndarray
        The class names, sorted.
    choice_ : Choice
        Which looks were chosen and all that were tried; ``choice_.sentence`` says it in plain words.
    kind_ : PictureKind
        What kind of pictures the examples are.
    confidence_ : Confidence
        How sure answers are, learned from left-out examples.
    model_ : FittedModel
        The model of the look with the most weight.

    Raises
    ------
    ParameterError
        By ``fit``, if a parameter is out of range, or a look makes no sense for these pictures.
    DataError
        By ``fit``, if images cannot be read, are not as many as labels, or no look works for them. A look that fails
        while another works is left out, and ``choice_`` says why.

    Notes
    -----
    Looks learn from the examples of ``fit`` (visual words, the subspace of the vectors) and keep that when examples are
    added or forgotten; ``fit`` chooses and learns again. Examples keep their row numbers, and threads may share a
    classifier, as in ``KCRCClassifier``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kcrc import ImageClassifier
    >>> digits = load_digits()
    >>> images, y = digits.images, digits.target
    >>> clf = ImageClassifier(looks=["pixels"]).fit(images[:200], y[:200])
    >>> clf.choice_.weights
    {'pixels': 1.0}
    >>> X_new = images[200:250]

    The examples of the methods continue from here.
    """

    def __init__(
        self,
        looks: Any = "auto",
        *,
        tuning_seconds: float = 60.0,
        n_jobs: int | None = None,
        memory_budget: int | str = "512MB",
        random_state: Any = None,
        verbose: bool | None = None,
    ) -> None:
        self.looks = looks
        self.tuning_seconds = tuning_seconds
        self.n_jobs = n_jobs
        self.memory_budget = memory_budget
        self.random_state = random_state
        self.verbose = verbose

    # Learning and forgetting ------------------------------------------------------------------------------------

    def fit(self, images: Any, y: Any, *, groups: Any = "auto", **more: Any) -> Self:
        """Store the examples with their labels, replacing earlier ones, and choose how they are compared.

        Examples of one group (photographs of the same bird) are left out together, so that they cannot answer for each
        other.

        Parameters
        ----------
        images : array of shape (n, h, w) or (n, h, w, 3), or list
            The examples: arrays, paths, bytes of files or Pillow images; also a column of paths of a pandas, polars or
            pyarrow table.
        y : array of shape (n,)
            Their labels.
        groups : array of shape (n,), "auto" or None, default="auto"
            The group of each example; "auto" finds them, in the vectors of each look; None if there are none.
        **more : object
            Not used; ``sample_weight`` is refused with the reason.

        Returns
        -------
        ImageClassifier
            Itself.

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        DataError
            If there are not as many images as labels, or images cannot be read.

        Examples
        --------
        >>> clf.fit(images[:100], y[:100]).choice_.weights
        {'pixels': 1.0}
        """
        validation.check_no_weights("fit()", more)
        with self._change() as changed:
            changed._fit(images, y, groups)
        return self

    def _fit(self, images: Any, y: Any, groups: Any) -> None:
        seconds = self.tuning_seconds
        if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 < seconds < np.inf:
            raise ParameterError(f"tuning_seconds must be a positive number; got {seconds!r}.")
        form = PictureForm.of(images, budget=byte_count(self.memory_budget))
        labels = _labels(y, len(images))
        pictures = form.pictures(images)
        kind = kind_of(pictures)
        classes, numbers = np.unique(labels, return_inverse=True)
        group_numbers = check_groups(groups)
        if isinstance(group_numbers, np.ndarray):
            group_numbers = np.unique(group_numbers, return_inverse=True)[1].ravel()
        if isinstance(group_numbers, np.ndarray) and len(group_numbers) != len(numbers):
            raise DataError(
                f"groups must have one entry per image; got {len(group_numbers)} entries for {len(numbers)} images."
            )
        looks = self._resolve_looks(kind)
        with count_bar("choosing looks", 100, unit="%", show=self.verbose) as bar:
            done = [0.0]

            def report(share: float, leader: str) -> None:
                bar.update(100.0 * share - done[0])
                done[0] = 100.0 * share
                bar.set_postfix_str(leader)

            options = {name: getattr(self, name) for name in ("n_jobs", "memory_budget", "random_state")}
            task = Task(pictures, numbers, classes, group_numbers, kind, float(seconds), options, report)
            choose = choose_few_shot if is_few_shot(numbers, group_numbers) else choose_and_fit
            members, choice = choose(task, looks)
        self.form_, self.kind_, self.choice_ = form, kind, choice
        self.ensemble_ = Ensemble.of(members, group_numbers)
        self.classes_ = classes

    def _resolve_looks(self, kind: PictureKind) -> list[Look]:
        """Return the looks to choose from, for pictures of this kind."""
        specs = self.looks
        names = all_looks.names()
        if isinstance(specs, str) and specs == "auto":
            return looks_for(kind, names)
        looks: list[Look] = []
        for spec in [specs] if isinstance(specs, str | Look) or not isinstance(specs, Sequence) else specs:
            if isinstance(spec, str):
                look = registry.make(spec, kind=kind)
                if look is None:
                    raise ParameterError(f"The look '{spec}' makes no sense for these pictures ({kind}).")
            else:
                look = spec if isinstance(spec, Look) else of_feature(getattr(spec, "__name__", "own"), spec)
            looks.append(look)
        if not looks or len({look.name for look in looks}) < len(looks):
            raise ParameterError(f"looks must be names or Looks, each once; got {specs!r}. Names: {', '.join(names)}.")
        return looks

    def plot_looks(self, images: Any = None, path: str | os.PathLike[str] | None = None) -> Any:
        """Draw the looks that were tried and chosen, as a Matplotlib figure; write it to ``path`` if given.

        With the ``images`` given to ``fit`` it also shows an example, and what each look finds nearest to it.

        Parameters
        ----------
        images : array, list or None, default=None
            The examples as they were given to ``fit``.
        path : str, path or None, default=None
            The file to write.

        Returns
        -------
        matplotlib.figure.Figure
            A bar for each look that was tried.

        Examples
        --------
        >>> clf.plot_looks(path="looks.png")  # doctest: +ELLIPSIS
        <Figure size ...>
        """
        from kcrc.images.looks.choice import draw_choice

        check_is_fitted(self)
        return draw_choice(self.choice_, images, self.form_, path)

    def partial_fit(self, images: Any, y: Any, classes: Any = None, *, rows: Any = None) -> Self:
        """Add examples of known or new classes; looks and parameters stay as they were chosen.

        Parameters
        ----------
        images : array or list
            The new examples.
        y : array of shape (n,)
            Their labels, of known or new classes.
        classes : sequence or None, default=None
            Classes that have no example yet.
        rows : array of int of shape (n,), or None, default=None
            Their row numbers.

        Returns
        -------
        ImageClassifier
            Itself.

        Raises
        ------
        ParameterError
            Before ``fit``, if rows or classes are given.
        DataError
            If there are not as many images as labels, or images cannot be read.

        Examples
        --------
        >>> int(clf.partial_fit(images[200:201], [10]).classes_[-1])  # a new class, at once
        10
        """
        with self._change() as changed:
            if hasattr(changed, "ensemble_"):
                changed._add(images, y, classes, rows)
            elif rows is not None or classes is not None:
                raise ParameterError("The first call of partial_fit takes no rows or classes. Call fit first.")
            else:
                changed.fit(images, y)
        return self

    def _add(self, images: Any, y: Any, classes: Any, rows: Any) -> None:
        labels = _labels(y, len(images))
        vectors = self.ensemble_.vectors(self.form_.pictures(images), stored=True)

        def add(number: int, classifier: KCRCClassifier) -> None:
            classifier.partial_fit(vectors[number], labels, classes, rows=rows)

        self.ensemble_ = self.ensemble_.change(add)
        self.classes_ = self.ensemble_.leader.classes_

    def retune(self) -> Self:
        """Choose the parameters of each look's classifier again from the current examples.

        The looks and their weights stay. Choosing those again takes the pictures, which are not kept: call ``fit``.

        Returns
        -------
        ImageClassifier
            Itself.

        Examples
        --------
        >>> clf.retune().choice_.weights
        {'pixels': 1.0}
        """
        check_is_fitted(self)
        with self._change() as changed:
            changed.ensemble_ = changed.ensemble_.retune()
        return self

    def forget(self, rows: Any) -> Self:
        """Forget the examples with these row numbers; the others keep theirs. ``receipt_`` says what remains.

        Parameters
        ----------
        rows : int or sequence of int
            Row numbers.

        Returns
        -------
        ImageClassifier
            Itself.

        Raises
        ------
        ParameterError
            If a row is not stored, or none would remain.

        Examples
        --------
        >>> clf.forget([17]).receipt_.rows
        (17,)
        """
        check_is_fitted(self)
        with self._change() as changed:
            changed.ensemble_ = changed.ensemble_.change(lambda number, classifier: classifier.forget(rows))
            changed.classes_ = changed.ensemble_.leader.classes_
            changed.receipt_ = changed.ensemble_.leader.receipt_
        return self

    def forget_class(self, label: Any) -> Self:
        """Forget all examples of a class, and the class itself.

        Parameters
        ----------
        label : object
            The class, as in ``classes_``.

        Returns
        -------
        ImageClassifier
            Itself.

        Raises
        ------
        UnknownName
            If there is no such class.

        Examples
        --------
        >>> 3 in clf.forget_class(3).classes_
        False
        """
        check_is_fitted(self)
        with self._change() as changed:
            model = changed.ensemble_.leader.examples_
            number = np.flatnonzero(model.classes == label)
            if not len(number):
                raise UnknownName("class", str(label), [str(c) for c in model.classes])
            changed.forget(model.ids[model.labels == number[0]])
        return self

    def verify(self, receipt: Receipt) -> bool:
        """Whether ``receipt`` matches this state: none of its rows is stored, with any look.

        Parameters
        ----------
        receipt : Receipt
            The ``receipt_`` after ``forget``.

        Returns
        -------
        bool
            True if it matches.

        Examples
        --------
        >>> clf.verify(clf.forget([17]).receipt_)
        True
        """
        check_is_fitted(self)
        ensemble = self.ensemble_
        are_gone = all(not np.isin(m.classifier.examples_.ids, receipt.rows).any() for m in ensemble.members)
        return are_gone and ensemble.leader.verify(receipt)

    # Classifying ------------------------------------------------------------------------------------------------

    def predict(self, images: Any, *, reject: float | None = None, unknown: Any = None) -> Array:
        """Predict the label of each image; ``reject`` and ``unknown`` as in ``KCRCClassifier.predict``.

        Parameters
        ----------
        images : array of shape (n, h, w) or (n, h, w, 3), or list
            The queries: arrays, paths, bytes of files or Pillow images.
        reject : float or None, default=None
            The share of known queries that may be called unknown by mistake; None calls no query unknown.
        unknown : object, default=None
            The label of unknown queries; None takes one that suits the labels.

        Returns
        -------
        ndarray of shape (n,)
            The labels, of the type of ``y`` in ``fit``.

        Examples
        --------
        >>> clf.predict(X_new[:3])
        array([1, 5, 0])
        """
        if reject is not None:
            return self._predict_or_reject(images, reject, unknown)
        return np.concatenate(self._read(images, lambda evidence: evidence.labels))

    def decision_function(self, images: Any) -> Array:
        """Return scores 1/(1 + residual) (n, classes), or for two classes one number (n,), positive for the second.

        Parameters
        ----------
        images : array of shape (n, h, w) or (n, h, w, 3), or list
            The queries: arrays, paths, bytes of files or Pillow images.

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
        snapshot = self._snapshot()
        is_binary = len(snapshot.classes_) == 2
        return np.concatenate(
            snapshot._read(
                images, lambda e: leaning(e) if is_binary else leading(e.scores, e.winner), explain=is_binary
            )
        )

    def explain(self, images: Any) -> Evidence:
        """Return the label, residuals, margin, and every stored example's part in the answer, for each image.

        ``kcrc.images.looks.ensemble`` says what these are if several looks answer together.

        Parameters
        ----------
        images : array of shape (n, h, w) or (n, h, w, 3), or list
            The queries: arrays, paths, bytes of files or Pillow images.

        Returns
        -------
        Evidence
            The evidence of all images; index it for one of them.

        Examples
        --------
        >>> clf.explain(X_new[:2]).labels
        array([1, 5])
        """
        return join_evidence(self._read(images, lambda evidence: evidence, explain=True, code_all=True))

    def what_if(self, images: Any, *, without: Any = (), relabelled: Mapping[int, Any] | None = None) -> Evidence:
        """Return the answers as they would be if some examples were not stored, or had other labels.

        Nothing is fitted or chosen again.

        Parameters
        ----------
        images : array of shape (n, h, w) or (n, h, w, 3), or list
            The queries: arrays, paths, bytes of files or Pillow images.
        without : int or sequence of int, default=()
            Row numbers of the examples to leave out.
        relabelled : dict or None, default=None
            Other labels by row number, of known or new classes.

        Returns
        -------
        Evidence
            The same as from ``explain``; its ``labels`` are the answers.

        Raises
        ------
        ParameterError
            If a row is not stored, none would remain, or a label is of another kind than the classes.

        Examples
        --------
        >>> evidence = clf.explain(X_new[:1])
        >>> strongest = int(evidence.rows[0, evidence.shares[0].argmax()])
        >>> strongest in clf.what_if(X_new[:1], without=[strongest]).rows
        False
        """
        snapshot = self._snapshot()
        return snapshot.ensemble_.what_if(snapshot._pictures(images), without=without, relabelled=relabelled)

    def _read(
        self, images: Any, read: Callable[[Evidence], T], *, explain: bool = False, code_all: bool = False
    ) -> list[T]:
        snapshot = self._snapshot()
        return snapshot.ensemble_.read(snapshot._pictures(images), read, explain=explain, code_all=code_all)

    def _pictures(self, images: Any) -> Pictures:
        """Return the queries, at least one."""
        check_is_fitted(self)
        pictures = self.form_.pictures(images)
        if not pictures:
            raise DataError("images must hold at least one image; got none.")
        return pictures

    def _side_by_side(self, images: Any) -> Array:
        look = self.ensemble_.members[0].look
        return look.to_stored(look.see(self.form_.pictures(images)))

    @property
    def model_(self) -> FittedModel:  # type: ignore[override]  # the ensemble stores it
        """The model of the look with the most weight, with its vectors of the examples."""
        check_is_fitted(self)
        return self.ensemble_.leader.model_

    @property
    def confidence_(self) -> Confidence:  # type: ignore[override]
        """How sure answers are, learned from left-out examples when it is first needed."""
        check_is_fitted(self)
        return self.ensemble_.confidence()

    # Saving -----------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted classifier to one file that contains no code; ``load`` reads it.

        Parameters
        ----------
        path : str or path
            The file. An existing one is replaced completely or not at all.

        Raises
        ------
        DataError
            If a look is made from a function, which cannot be saved.
        FileError
            If the file cannot be written.

        Examples
        --------
        >>> clf.save("digits.npz")
        >>> ImageClassifier.load("digits.npz").predict(X_new[:3])
        array([1, 5, 0])
        """
        saving.save(self._snapshot(), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ImageClassifier:
        """Read the classifier that ``save`` wrote, which gives the same answers. Safe for files of any origin.

        The looks that it could choose from are not saved: ``looks`` is "auto".

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        ImageClassifier
            The fitted classifier.

        Raises
        ------
        FileError
            If the file is damaged, or was not written by ``save``.

        Examples
        --------
        >>> clf.save("digits.npz")
        >>> ImageClassifier.load("digits.npz").choice_.weights
        {'pixels': 1.0}
        """
        return saving.load(path, ImageClassifier)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "ensemble_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = False, True
        return tags


def _labels(y: Any, count: int) -> Array:
    labels = np.asarray(y)
    if labels.dtype.kind == "T":  # NumPy's variable-width strings, which scikit-learn refuses
        labels = np.array(labels.tolist())
    if labels.ndim != 1 or len(labels) != count or not count:
        raise DataError(f"y must have one label per image; got shape {labels.shape} for {count} images.")
    with warnings.catch_warnings():  # one example per class is few-shot classification, not regression
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        check_classification_targets(labels)
    return labels
