"""ImageClassifier: pictures in, with nothing named but their classes; the looks are chosen by the examples.

Long because a third of it is the documentation of its verbs.
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
from kcrc.classifier.confidence_methods import Confident
from kcrc.classifier.estimator import KCRCClassifier
from kcrc.classifier.parameters import byte_count
from kcrc.classifier.receipts import Receipt
from kcrc.confidence.calibration import Confidence
from kcrc.errors import DataError, ParameterError, UnknownName
from kcrc.images import looks as all_looks
from kcrc.images.looks import saving
from kcrc.images.looks.base import Look, PictureKind, Pictures, kind_of, looks_for, of_feature, registry
from kcrc.images.looks.choosing import choose_for_all
from kcrc.images.looks.few import are_few, choose_by_copies
from kcrc.images.looks.jury import Task
from kcrc.images.looks.panel import panel_of
from kcrc.images.looks.pictures import PictureForm
from kcrc.method.evidence import Evidence, join_evidence, leaning
from kcrc.method.fitted_model import FittedModel

T = TypeVar("T")


class ImageClassifier(Confident, ClassifierMixin, BaseEstimator):
    """Classify pictures by example, seen in the ways that tell the examples apart.

    Images are an array (n, h, w) or (n, h, w, 3), or a list of arrays, paths of image files, bytes of such files and
    Pillow images, of any sizes. A look is a way to compare pictures (``kcrc.looks.names()``). Each is judged by asking
    stored examples as if they were not stored, all looks about the same ones; then the best one answers alone, or
    several together if that is better. The methods are those of ``KCRCClassifier``, and every answer names the examples
    that decided it.

    Parameters
    ----------
    looks : "auto", a name, a Look, or a list of those; default="auto"
        The looks to choose from; "auto" takes all that make sense for such pictures.
    tuning_seconds : float, default=60
        About how long choosing looks and parameters may take. It is counted in arithmetic, so the same pictures give
        the same choice however busy the machine is.
    n_jobs : int or None, default=None
        Threads, for batches of queries and for choosing; None uses all cores.
    memory_budget : int or str, default="512MB"
        What a call may use beyond the data, in bytes or like "2GB".
    random_state : int, RandomState, Generator or None, default=None
        For the sample of examples tried. None is the fixed seed 0.
    verbose : bool or None, default=None
        Progress of long work: None shows it on a terminal.

    Attributes
    ----------
    classes_ : ndarray
        The class names, sorted.
    choice_ : Choice
        What was chosen and all that was tried; ``choice_.sentence`` in plain words.
    kind_ : PictureKind
        What kind of pictures the examples are.
    confidence_ : Confidence
        What the examples' own answers say of how sure answers are.
    model_ : FittedModel
        That of the look with the most weight.

    Raises
    ------
    ParameterError
        By ``fit``, where a parameter is out of range, or a look makes no sense for such pictures.
    DataError
        By ``fit``, where images cannot be read, are not as many as labels, or no look works for them; a look that
        fails while another works is not tried, and ``choice_`` says why.

    Notes
    -----
    Looks learn from the examples of ``fit`` (visual words, the span of the vectors) and keep that when examples come
    or go; ``fit`` chooses and learns anew. Examples keep their row numbers, and threads may share a classifier, as in
    ``KCRCClassifier``.

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

    The examples of the methods go on from here.
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

    def fit(self, images: Any, y: Any, *, groups: Any = None, **more: Any) -> Self:
        """Store the examples with their labels, in place of any before, and choose how they are seen.

        Examples of one group (photographs of the same bird) are left out together, so that they cannot answer for each
        other.

        Parameters
        ----------
        images : array of shape (n, h, w) or (n, h, w, 3), or list
            The examples: arrays, paths, bytes of files or Pillow images; also a column of paths of a pandas, polars or
            pyarrow table.
        y : array of shape (n,)
            Their labels.
        groups : array of shape (n,), or None, default=None
            The group of each example; None if there are none.
        **more : object
            Nothing: ``sample_weight`` of other programs is refused with the reason.

        Returns
        -------
        ImageClassifier
            Itself.

        Raises
        ------
        ParameterError
            Where a parameter is out of range.
        DataError
            Where images and labels are not of one number, or cannot be read.

        Examples
        --------
        >>> clf.fit(images[:100], y[:100]).choice_.weights
        {'pixels': 1.0}
        """
        validation.check_no_weights("fit()", more)
        with self._change() as made:
            made._fit(images, y, groups)
        return self

    def _fit(self, images: Any, y: Any, groups: Any) -> None:
        seconds = self.tuning_seconds
        if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 < seconds < np.inf:
            raise ParameterError(f"tuning_seconds is a number above 0; got {seconds!r}.")
        form = PictureForm.of(images, budget=byte_count(self.memory_budget))
        labels = _labels(y, len(images))
        pictures = form.pictures(images)
        kind = kind_of(pictures)
        classes, numbers = np.unique(labels, return_inverse=True)
        together = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1].ravel()
        if together is not None and len(together) != len(numbers):
            raise DataError(f"groups has {len(together)} entries for {len(numbers)} images; give one each.")
        wanted = self._wanted(kind)
        with count_bar("choosing looks", 100, unit="%", show=self.verbose) as bar:
            done = [0.0]

            def told(share: float, leader: str) -> None:
                bar.update(100.0 * share - done[0])
                done[0] = 100.0 * share
                bar.set_postfix_str(leader)

            options = {name: getattr(self, name) for name in ("n_jobs", "memory_budget", "random_state")}
            task = Task(pictures, numbers, classes, together, kind, float(seconds), options, told)
            if are_few(numbers, together):
                experts, choice = choose_by_copies(task, wanted)
            else:
                experts, choice = choose_for_all(task, wanted)
        panel = panel_of(experts, together)
        self.form_, self.kind_, self.choice_, self.panel_ = form, kind, choice, panel
        self.classes_ = classes

    def _wanted(self, kind: PictureKind) -> list[Look]:
        """The looks to choose from, for pictures of this kind."""
        given = self.looks
        names = all_looks.names()
        if isinstance(given, str) and given == "auto":
            return looks_for(kind, names)
        found: list[Look] = []
        for one in [given] if isinstance(given, str | Look) or not isinstance(given, Sequence) else given:
            if isinstance(one, str):
                look = registry.make(one, kind=kind)
                if look is None:
                    raise ParameterError(f"The look '{one}' makes no sense for such pictures ({kind}).")
            else:
                look = one if isinstance(one, Look) else of_feature(getattr(one, "__name__", "own"), one)
            found.append(look)
        if not found or len({look.name for look in found}) < len(found):
            raise ParameterError(f"looks are names or Looks, each once; got {given!r}. Names: {', '.join(names)}.")
        return found

    def plot_looks(self, images: Any = None, path: str | os.PathLike[str] | None = None) -> Any:
        """What was tried and chosen, as a Matplotlib figure; written to ``path`` if given. With the ``images`` given to
        ``fit`` it shows an example too, and what each look finds nearest to it.

        Parameters
        ----------
        images : array, list or None, default=None
            The examples as they were given to ``fit``.
        path : str, path or None, default=None
            Where to write it.

        Returns
        -------
        matplotlib.figure.Figure
            A bar for each look that was tried.

        Examples
        --------
        >>> clf.plot_looks(path="looks.png")  # doctest: +ELLIPSIS
        <Figure size ...>
        """
        from kcrc.images.looks.chosen import draw_choice

        check_is_fitted(self)
        return draw_choice(self.choice_, images, self.form_, path)

    def partial_fit(self, images: Any, y: Any, classes: Any = None, *, rows: Any = None) -> Self:
        """Add examples, of classes known or new; looks and parameters stay as they were chosen.

        Parameters
        ----------
        images : array or list
            The new examples.
        y : array of shape (n,)
            Their labels, of classes known or new.
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
            Before ``fit``, where rows or classes are given.
        DataError
            Where images and labels are not of one number, or cannot be read.

        Examples
        --------
        >>> int(clf.partial_fit(images[200:201], [10]).classes_[-1])  # a new class, at once
        10
        """
        with self._change() as made:
            if hasattr(made, "panel_"):
                made._add(images, y, classes, rows)
            elif rows is not None or classes is not None:
                raise ParameterError("Fit first: rows and classes can be given to later calls of partial_fit.")
            else:
                made.fit(images, y)
        return self

    def _add(self, images: Any, y: Any, classes: Any, rows: Any) -> None:
        labels = _labels(y, len(images))
        pictures = self.form_.pictures(images)

        seen = self.panel_.seen(pictures, stored=True)

        def added(number: int, classifier: KCRCClassifier) -> None:
            classifier.partial_fit(seen[number], labels, classes, rows=rows)

        self.panel_ = self.panel_.changed(added)
        self.classes_ = self.panel_.leader.classes_

    def retune(self) -> Self:
        """Choose the parameters of each look's classifier anew from the examples as they are now; the looks and their
        weights stay. To choose those anew takes the pictures, which are not kept: ``fit``.

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
        with self._change() as made:
            made.panel_ = made.panel_.retuned()
        return self

    def forget(self, rows: Any) -> Self:
        """Forget the examples with these row numbers; the others keep theirs. ``receipt_`` says what is left.

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
            Where a row is not stored, or none would be left.

        Examples
        --------
        >>> clf.forget([17]).receipt_.rows
        (17,)
        """
        check_is_fitted(self)
        with self._change() as made:
            made.panel_ = made.panel_.changed(lambda number, classifier: classifier.forget(rows))
            made.classes_ = made.panel_.leader.classes_
            made.receipt_ = made.panel_.leader.receipt_
        return self

    def forget_class(self, label: Any) -> Self:
        """Forget all examples of a class, and the class.

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
            Where there is no such class.

        Examples
        --------
        >>> 3 in clf.forget_class(3).classes_
        False
        """
        check_is_fitted(self)
        with self._change() as made:
            model = made.model_
            found = np.flatnonzero(model.classes == label)
            if not len(found):
                raise UnknownName("class", str(label), [str(c) for c in model.classes])
            made.forget(model.ids[model.labels == found[0]])
        return self

    def verify(self, receipt: Receipt) -> bool:
        """Whether ``receipt`` is of this state: none of its rows is stored, with any look.

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
        >>> clf.verify(clf.forget([17]).receipt_)
        True
        """
        check_is_fitted(self)
        panel = self.panel_
        gone = all(not np.isin(e.classifier.model_.ids, receipt.rows).any() for e in panel.experts)
        return gone and panel.leader.verify(receipt)

    # Asking -----------------------------------------------------------------------------------------------------

    def predict(self, images: Any, *, reject: float | None = None, unknown: Any = None) -> Array:
        """The label of each image (n,); ``reject`` and ``unknown`` as in ``KCRCClassifier.predict``.

        Parameters
        ----------
        images : array of shape (n, h, w) or (n, h, w, 3), or list
            The queries: arrays, paths, bytes of files or Pillow images.
        reject : float or None, default=None
            The share of known queries that may be called unknown by mistake; None calls none so.
        unknown : object, default=None
            What to call the unknown; None takes what suits the labels.

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
        """Scores 1/(1 + residual), (n, classes); of two classes (n,), above 0 for the second.

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
        now = self._snapshot()
        two = len(now.classes_) == 2
        return np.concatenate(
            now._read(images, lambda evidence: leaning(evidence) if two else evidence.scores, explain=two)
        )

    def explain(self, images: Any) -> Evidence:
        """Label, residuals, margin, and every stored example's part in the answer, for each image. Of several looks
        together: ``kcrc.images.looks.fusion``.

        Parameters
        ----------
        images : array of shape (n, h, w) or (n, h, w, 3), or list
            The queries: arrays, paths, bytes of files or Pillow images.

        Returns
        -------
        Evidence
            Of all images; index it for one of them.

        Examples
        --------
        >>> clf.explain(X_new[:2]).labels
        array([1, 5])
        """
        return join_evidence(self._read(images, lambda evidence: evidence, explain=True, code_all=True))

    def what_if(self, images: Any, *, without: Any = (), relabelled: Mapping[int, Any] | None = None) -> Evidence:
        """The answers as they would be if some examples were not stored, or had other labels; nothing is fitted or
        chosen again.

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
            As ``explain`` gives it; its ``labels`` are the answers.

        Raises
        ------
        ParameterError
            Where a row is not stored, none would be left, or a label is of another kind than the classes are.

        Examples
        --------
        >>> evidence = clf.explain(X_new[:1])
        >>> strongest = int(evidence.rows[0, evidence.shares[0].argmax()])
        >>> strongest in clf.what_if(X_new[:1], without=[strongest]).rows
        False
        """
        now = self._snapshot()
        return now.panel_.what_if(now._pictures(images), without=without, relabelled=relabelled)

    def _read(
        self, images: Any, read: Callable[[Evidence], T], *, explain: bool = False, code_all: bool = False
    ) -> list[T]:
        now = self._snapshot()
        return now.panel_.read(now._pictures(images), read, explain=explain, code_all=code_all)

    def _pictures(self, images: Any) -> Pictures:
        """The queries, at least one."""
        check_is_fitted(self)
        pictures = self.form_.pictures(images)
        if not pictures:
            raise DataError("There are no images to answer for; give at least one.")
        return pictures

    def _side_by_side(self, images: Any) -> Array:
        look = self.panel_.experts[0].look
        return look.stored(look.see(self.form_.pictures(images)))

    @property
    def model_(self) -> FittedModel:  # type: ignore[override]  # of the panel, which is all that is stored
        """The examples as the look with the most weight sees them."""
        check_is_fitted(self)
        return self.panel_.leader.model_

    @property
    def confidence_(self) -> Confidence:  # type: ignore[override]
        """What the examples' own answers say of how sure answers are: learned when first asked for."""
        check_is_fitted(self)
        return self.panel_.confidence()

    # Keeping ----------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted classifier to one file without code in it (``load`` reads it back).

        Parameters
        ----------
        path : str or path
            The file; one that is there is replaced, whole or not at all.

        Raises
        ------
        DataError
            Where a look was made of a function, which no file can hold.
        FileError
            Where it cannot be written.

        Examples
        --------
        >>> clf.save("digits.npz")
        >>> ImageClassifier.load("digits.npz").predict(X_new[:3])
        array([1, 5, 0])
        """
        saving.save(self._snapshot(), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ImageClassifier:
        """The classifier that ``save`` wrote: the same answers. Safe for files of any origin. Which looks it was
        allowed to choose from is not kept: ``looks`` is "auto".

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        ImageClassifier
            Fitted, ready to be asked.

        Raises
        ------
        FileError
            Where the file is damaged, or is not one that ``save`` wrote.

        Examples
        --------
        >>> clf.save("digits.npz")
        >>> ImageClassifier.load("digits.npz").choice_.weights
        {'pixels': 1.0}
        """
        return saving.load(path, ImageClassifier)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "panel_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = False, True
        return tags


def _labels(y: Any, count: int) -> Array:
    labels = np.asarray(y)
    if labels.dtype.kind == "T":  # NumPy's own strings, which scikit-learn does not take
        labels = np.array(labels.tolist())
    if labels.ndim != 1 or len(labels) != count or not count:
        raise DataError(f"There are {count} images and labels of shape {labels.shape}; give one label each.")
    with warnings.catch_warnings():  # one example a class is what few-shot users have, and no regression
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        check_classification_targets(labels)
    return labels
