"""Gallery: a folder of photographs in, answers with evidence out, corrections at any time.

Long because half of it is the documentation of its verbs, which belong to one object.

>>> import tempfile, pathlib, numpy as np
>>> folder = tempfile.TemporaryDirectory()
>>> gallery = Gallery.create(pathlib.Path(folder.name) / "birds.kcrc", dim=2)
>>> gallery.add(["wren", "robin"], [[1.0, 0.0], [0.0, 1.0]]).ids
(1, 2)
>>> gallery.relabel([2], "wren")
(2,)
>>> gallery.undo().summary
'relabelled 1 example of robin as wren'
>>> gallery.counts
{'robin': 1, 'wren': 1}
>>> gallery.close(); folder.cleanup()
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError, FileError, WriteNeeded
from kcrc.gallery import acts, erasing, examples, history, stored_choice, stores, undoing
from kcrc.gallery.adding import Add, Added, Duplicates, checked_examples
from kcrc.gallery.check import Verdict, look, problems
from kcrc.gallery.classifier import GalleryClassifier
from kcrc.gallery.contract import ExampleRecord, Snapshot, Store
from kcrc.gallery.correcting import Correct, Corrected
from kcrc.gallery.erasing import Erased
from kcrc.gallery.examples import Contents, Example, StoredExamples
from kcrc.gallery.history import Entry
from kcrc.gallery.settings import Settings
from kcrc.method.evidence import Evidence, join_evidence

if TYPE_CHECKING:
    from kcrc.classifier.estimator import KCRCClassifier
    from kcrc.confidence.advice import Advice
    from kcrc.confidence.audit import Audit
    from kcrc.confidence.likeness import Likeness
    from kcrc.gallery.building import Intake
    from kcrc.tuning.result import Tuning

T = TypeVar("T")


class Gallery:
    """Labelled images or vectors, and the classifier they make.

    Open one with ``Gallery.open``; make one with ``Gallery.from_folder`` or, for vectors of your own,
    ``Gallery.create``. One program can write at a time, and many can read; threads may share one object. When ``add``,
    ``remove`` or ``relabel`` returns, the change is on the disk; ``undo`` takes it back. Removed examples stay, out of
    use, until ``compact``.

    Parameters
    ----------
    store : Store
        If the examples are kept; ``open``, ``create`` and ``from_folder`` find it.

    Examples
    --------
    With a folder ``photos`` that has a folder of pictures for each class (heron, robin, wren):

    >>> from kcrc import Gallery
    >>> gallery = Gallery.from_folder("photos", "birds.kcrc", feature="pixels")
    >>> gallery.counts
    {'heron': 7, 'robin': 7, 'wren': 7}
    >>> gallery.predict(["new/1.jpg"]).tolist()
    ['heron']

    The examples of the methods go on from here.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._examples = StoredExamples(store)
        self.answering = GalleryClassifier(self._examples)
        self._settings = store.read(lambda reading: reading.settings())

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        readonly: bool = False,
        recover: bool = False,
        model: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Open a gallery file, after an audit of what is in it.

        For reading, nothing is written, so that a file of an older version, or one that a killed program left half
        written, is refused; with ``recover`` it is first put in order where that may be done. ``model`` is the network
        file of a gallery made with the feature ``onnx``; it has to be named once on a machine where the gallery was
        not built.

        Parameters
        ----------
        path : str or path
            The file, or the address of a gallery on a server.
        readonly : bool, default=False
            Change nothing.
        recover : bool, default=False
            With ``readonly``: first put in order what an older version or a killed program left, where one may.
        model : str, path or None, default=None
            The network file of the feature ``onnx``.

        Returns
        -------
        Gallery
            Open until ``close``, or to the end of a ``with``.

        Raises
        ------
        FileError
            If there is no gallery, or it is damaged or forged.
        WriteNeeded
            If it has to be opened for writing once.

        Examples
        --------
        >>> with Gallery.open("birds.kcrc", readonly=True) as again:
        ...     len(again)
        21
        """
        store = stores.kind_of(path).open(path, readonly=readonly, recover=recover)
        try:
            opened = cls(store)
        except BaseException:
            store.close()
            raise
        opened.answering.model = model
        return opened

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        feature: Any = None,
        dim: int | None = None,
        fingerprint: str | None = None,
        dtype: str = "float32",
        overwrite: bool = False,
    ) -> Self:
        """A new empty gallery for the vectors of ``feature``, or for ready vectors of ``dim`` numbers.

        Parameters
        ----------
        path : str or path
            The file to make.
        feature : str, Feature or None, default=None
            What makes vectors of images.
        dim : int or None, default=None
            How many numbers a ready vector has.
        fingerprint : str or None, default=None
            What made the ready vectors; others are refused.
        dtype : {"float32", "float64"}, default="float32"
            How vectors are kept.
        overwrite : bool, default=False
            Replace a file that is there.

        Returns
        -------
        Gallery
            Open, and empty.

        Raises
        ------
        FileError
            If something is there already, or nothing can be written.

        Examples
        --------
        >>> with Gallery.create("vectors.kcrc", dim=2) as vectors:
        ...     vectors.add(["wren", "robin"], [[1.0, 0.0], [0.0, 1.0]]).ids
        (1, 2)
        """
        from kcrc.gallery.building import building

        with building(path, feature=feature, dim=dim, fingerprint=fingerprint, dtype=dtype, overwrite=overwrite):
            pass
        return cls.open(path)

    @classmethod
    def from_folder(
        cls,
        folder: str | os.PathLike[str],
        path: str | os.PathLike[str] | None = None,
        *,
        feature: Any = "auto",
        overwrite: bool = False,
        on_error: Literal["raise", "skip"] = "raise",
        duplicates: Duplicates = "skip",
    ) -> Self:
        """A new gallery of a folder that has one folder of images for each class.

        ``path`` is the file to make (None: the folder's name and ``.kcrc``, beside it). ``feature`` is "auto" for the
        look, or the looks side by side, that tell some of the pictures apart best; a name of ``kcrc.features.names()``;
        a Feature; or None for the best that is installed, without a look at the pictures.

        Parameters
        ----------
        folder : str or path
            The folder of class folders.
        path : str, path or None, default=None
            The file to make.
        feature : str, Feature or None, default="auto"
            How images become vectors.
        overwrite : bool, default=False
            Replace a file that is there.
        on_error : {"raise", "skip"}, default="raise"
            What to do with an image that cannot be read.
        duplicates : {"skip", "error", "keep"}, default="skip"
            What to do with the same bytes a second time.

        Returns
        -------
        Gallery
            Open, with its parameters chosen.

        Raises
        ------
        DataError
            If the folder has no class folders with images, or one cannot be read.
        FileError
            If something is there already, or nothing can be written.

        Examples
        --------
        >>> Gallery.from_folder("photos", "again.kcrc", feature="pixels").counts
        {'heron': 7, 'robin': 7, 'wren': 7}
        """
        from kcrc.gallery.building import build_from_folder

        where = Path(folder).absolute().with_name(f"{Path(folder).absolute().name}.kcrc") if path is None else path
        build_from_folder(folder, where, feature=feature, overwrite=overwrite, on_error=on_error, duplicates=duplicates)
        gallery = cls.open(where)
        gallery.classifier()  # chooses the parameters, and stores them
        return gallery

    @property
    def path(self) -> Path | str:
        """Where it is, as it was named: a file, or the address of one that is kept otherwise (without a password)."""
        return self.store.address

    @property
    def name(self) -> str:
        """The name of the gallery, without its folder or server."""
        return self.store.name

    @property
    def readonly(self) -> bool:
        """Whether it was opened for reading only."""
        return self.store.readonly

    def close(self) -> None:
        """Close the gallery. Every change that returned is already on the disk.

        Examples
        --------
        >>> gallery.close()
        """
        self.store.close()
        self._examples.reset()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def read(self, look: Callable[[Snapshot], T]) -> T:
        """Run ``look`` on one unchanging state; for parts of the library.

        Parameters
        ----------
        look : callable
            Called with the ``Snapshot``; may be called again.

        Returns
        -------
        object
            What it returned.

        Examples
        --------
        >>> gallery.read(lambda snapshot: snapshot.settings().dim) == gallery.dim
        True
        """
        return self.store.read(look)

    # What is in it

    @property
    def settings(self) -> Settings:
        """Feature, fingerprint, width and parameters of now."""
        self._settings = self.read(lambda reading: reading.settings())
        return self._settings

    @property
    def fingerprint(self) -> str:
        """What made the vectors; vectors of another fingerprint are refused."""
        return self._settings.fingerprint

    @property
    def dim(self) -> int:
        """How many numbers a vector has."""
        return self._settings.dim

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the classifier that were fixed (``set_parameters``); the others are chosen."""
        return dict(self.settings.parameters)

    @property
    def contents(self) -> Contents:
        """The examples of this moment, by rising id."""
        return self._examples.contents

    def __len__(self) -> int:
        return len(self.contents)

    @property
    def counts(self) -> dict[str, int]:
        """How many examples each class has, classes sorted."""
        return dict(self.contents.counts)

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes, sorted."""
        return tuple(self.contents.counts)

    def example(self, example: int) -> Example:
        """One example by its id.

        Parameters
        ----------
        example : int
            The id.

        Returns
        -------
        Example
            With its ``label``, ``source`` and when it was added.

        Raises
        ------
        DataError
            If there is no such example.

        Examples
        --------
        >>> gallery.example(1).label
        'heron'
        """
        return examples.as_example(self.read(lambda reading: examples.live(reading, [example]))[0])

    def thumbnail(self, example: int) -> bytes | None:
        """The small picture of an example (JPEG, PNG or WebP), if it has one.

        Parameters
        ----------
        example : int
            The id.

        Returns
        -------
        bytes or None
            The bytes of the picture's file; None if there is none.

        Raises
        ------
        DataError
            If there is no such example.

        Examples
        --------
        >>> type(gallery.thumbnail(1))
        <class 'bytes'>
        """
        return self._examples.thumbnail(example)

    def find(
        self,
        *,
        label: str | None = None,
        source: str | None = None,
        content: bytes | None = None,
        removed: bool = False,
    ) -> tuple[int, ...]:
        """The ids of the examples with this label, this source and this content (SHA-256), as far as given.

        ``removed`` looks also among those that were taken out and are still in the file.

        Parameters
        ----------
        label : str or None, default=None
            The class.
        source : str or None, default=None
            If it came from, as it was named.
        content : bytes or None, default=None
            The SHA-256 of its file.
        removed : bool, default=False
            Look also among those that were taken out.

        Returns
        -------
        tuple of int
            Their ids, rising.

        Examples
        --------
        >>> gallery.find(label="robin")
        (8, 9, 10, 11, 12, 13, 14)
        """
        name = None if label is None else examples.checked_label(label)
        where = None if source is None else examples.checked_source(source)
        rows = self.read(lambda reading: reading.all(ExampleRecord)) if removed else self.contents.rows
        return tuple(
            row.id
            for row in rows
            if (name is None or row.label == name)
            and (where is None or row.source == where)
            and (content is None or row.content == content)
        )

    def vectors(self) -> tuple[Array, Array, Array]:
        """(ids (n,), vectors (n, dim), labels (n,)) of one moment.

        Returns
        -------
        tuple of ndarray, ndarray and ndarray
            Ids (n,), vectors (n, dim), labels (n,).

        Examples
        --------
        >>> ids, vectors, labels = gallery.vectors()
        >>> vectors.shape == (21, gallery.dim)
        True
        """

        def look(_: Snapshot) -> tuple[Array, Array, Array]:
            now = self.contents
            return now.ids, self._examples.vectors(), now.labels

        return self.read(look)

    def feature_state(self) -> dict[str, Any]:
        """The state of the fitted feature, plain values and arrays: what ``kcrc.features.restore`` takes.

        Returns
        -------
        dict of str to object
            Values and arrays by name.

        Examples
        --------
        >>> from kcrc import features
        >>> features.restore(gallery.feature_state()).dim == gallery.dim
        True
        """
        return self._examples.feature_state()

    # Answers

    def classifier(self, **parameters: Any) -> KCRCClassifier:
        """A classifier with these examples and the tuned parameters; its evidence names examples by their ids.

        The parameters are chosen by leave-one-out the first time, and stored; those given here are used this once.

        Parameters
        ----------
        **parameters : object
            Parameters of ``KCRCClassifier``, for this once.

        Returns
        -------
        KCRCClassifier
            Fitted; ``Evidence.rows`` are example ids.

        Examples
        --------
        >>> gallery.classifier().classes_.tolist()
        ['heron', 'robin', 'wren']
        """
        return self.answering.classifier(**parameters)

    def tune(self, *, parameters: Mapping[str, Any] | None = None, seconds: float = 60.0) -> Tuning | None:
        """Choose the parameters again by leave-one-out over the examples, and store them; return what was tried.

        ``parameters`` are fixed and not chosen (None: those fixed before). None if there was nothing to choose.

        Parameters
        ----------
        parameters : mapping of str to object, or None, default=None
            Parameters that are fixed from now on; the others are chosen.
        seconds : float, default=60.0
            About how long choosing may take.

        Returns
        -------
        Tuning or None
            None if nothing was left to choose.

        Raises
        ------
        ParameterError
            If there is no such parameter, or it is out of range.

        Examples
        --------
        >>> gallery.tune(parameters={"n_neighbors": 10}).best.n_neighbors
        10
        """
        return self.answering.tune(parameters=parameters, tuning_seconds=seconds).tuning_

    @property
    def retune_due(self) -> str | None:
        """Why ``tune`` is due since examples came or went, or None."""
        return self.answering.retune_due

    def predict(self, images: Sequence[Any], *, reject: float | None = None, unknown: str | None = None) -> Array:
        """The label of each image.

        It is "unknown" if nothing can be said: for an image of one colour or of noise (unless some examples are like
        that), and if there is only one class. With ``reject``, an image that resembles none of the classes is called
        "unknown" too.

        Parameters
        ----------
        images : sequence
            Paths of image files, bytes of such files, or arrays.
        reject : float or None, default=None
            The share of images of known classes that may be called unknown by mistake (0.05: one in 20). None rejects
            nothing.
        unknown : str or None, default=None
            What to call the unknown; "unknown" unless a class has that name.

        Returns
        -------
        ndarray of str of shape (n,)
            The names of the classes.

        Raises
        ------
        StateError
            If the gallery was made of ready vectors, or has no example.
        ImageError
            If an image cannot be read.

        Examples
        --------
        >>> gallery.predict(["new/1.jpg", "new/5.jpg"]).tolist()
        ['heron', 'wren']
        """
        answers = self.answering.answers(images, reject=reject, unknown=unknown)
        if not answers:
            return np.zeros(0, self.answering.answerer().classes.dtype)
        return np.concatenate([some.labels for some in answers])

    def predict_proba(self, images: Sequence[Any]) -> Array:
        """The probability of each class (n, classes), columns as in ``classes``.

        Parameters
        ----------
        images : sequence
            Paths of image files, bytes of such files, or arrays.

        Returns
        -------
        ndarray of shape (n, classes)
            Rows add up to 1.

        Examples
        --------
        >>> gallery.predict_proba(["new/1.jpg", "new/5.jpg"]).shape
        (2, 3)
        """
        answers = self.answering.answers(images)
        return np.concatenate([some.probabilities for some in answers]) if answers else np.zeros((0, len(self.classes)))

    def predict_set(self, images: Sequence[Any], *, coverage: float = 0.95) -> list[tuple[str, ...]]:
        """The classes that each image may belong to, the likeliest first.

        The true class is among them for a share ``coverage`` of the images, as long as they are like the examples. A
        set is empty if no class fits the image as well as it fits that share of the examples.

        Parameters
        ----------
        images : sequence
            Paths of image files, bytes of such files, or arrays.
        coverage : float, default=0.95
            The share of images whose true class is to be in their set.

        Returns
        -------
        list of tuple of str
            For each image the names of the classes.

        Examples
        --------
        >>> gallery.predict_set(["new/1.jpg"], coverage=0.9)
        [('heron',)]
        """
        return [some.set_of(i) for some in self.answering.answers(images, coverage=coverage) for i in range(len(some))]

    def explain(self, images: Sequence[Any]) -> Evidence:
        """The evidence for each image; ``rows`` are example ids.

        Parameters
        ----------
        images : sequence
            Paths of image files, bytes of such files, or arrays.

        Returns
        -------
        Evidence
            Of all images; index it for one of them.

        Raises
        ------
        DataError
            If there is no image.

        Examples
        --------
        >>> gallery.explain(["new/1.jpg"]).labels.tolist()
        ['heron']
        """
        parts = list(self.answering.evidence(images))
        if not parts:
            raise DataError("There is no image to explain; give at least one.")
        return join_evidence(parts)

    def audit(self, ids: Sequence[int] | None = None) -> Audit:
        """Examples that deserve a second look, ranked, with evidence.

        The result lists examples that are probably mislabelled, (almost) the same picture under two labels, and
        examples that are of no use. Its ``rows`` are example ids.

        Parameters
        ----------
        ids : sequence of int, or None, default=None
            The examples to look at; None for all.

        Returns
        -------
        Audit
            ``mislabelled``, ``doubtful``, ``clashes``, ``idle``.

        Examples
        --------
        >>> gallery.audit([1, 2]).mislabelled
        []
        """
        from kcrc.images.look_alikes import with_look_alikes

        classifier = self.classifier()
        audit, model = classifier.audit(ids), classifier.answerer_.model
        return with_look_alikes(audit, model.ids, model.classes[model.labels], self.thumbnail, ids)

    def advise(self, images: Sequence[Any] | None = None, *, count: int = 10) -> Advice:
        """Say whether there are enough examples, and which images to label next.

        It says how often each class is answered right and what it is confused with, how accuracy grew with the number
        of examples, and what more are likely to bring.

        Parameters
        ----------
        images : sequence or None, default=None
            Unlabelled images, of which to name those to label next.
        count : int, default=10
            How many of them.

        Returns
        -------
        Advice
            Print it to read it; ``label_next`` are the images to label.

        Examples
        --------
        >>> len(gallery.advise(["new/1.jpg", "new/2.jpg"], count=1).label_next)
        1
        """
        vectors = None if images is None else self.answering.feature().transform(images)
        return self.classifier().advise(vectors, count=count)

    def likeness(self, images: Sequence[Any], *, level: float = 0.02) -> Likeness:
        """Test whether these images are like the examples.

        Only then do probabilities, sets and ``reject`` keep their promises. If they are not, the result says by how
        much these may be off and which images show it.

        Parameters
        ----------
        images : sequence
            Paths of image files, bytes of such files, or arrays.
        level : float, default=0.02
            The share of false alarms, among batches that are like the examples.

        Returns
        -------
        Likeness
            ``alarm``, the ``rows`` that show it most, and a sentence when printed.

        Examples
        --------
        >>> bool(gallery.likeness(["new/1.jpg", "new/3.jpg", "new/5.jpg"]).alarm)
        False
        """
        return self.classifier().likeness(self.answering.feature().transform(images), level=level)

    # Changes

    def add_images(
        self,
        labels: str | Sequence[str],
        images: Sequence[str | os.PathLike[str]],
        *,
        on_error: Literal["raise", "skip"] = "raise",
        duplicates: Duplicates = "skip",
    ) -> Intake:
        """Add image files, with a label each or one for all, through the gallery's own feature.

        Parameters
        ----------
        labels : str or sequence of str
            The class of all, or of each.
        images : sequence of str or path
            Image files.
        on_error : {"raise", "skip"}, default="raise"
            What to do with an image that cannot be read.
        duplicates : {"skip", "error", "keep"}, default="skip"
            What to do with bytes that are in already.

        Returns
        -------
        Intake
            ``added`` are the new ids; ``duplicates`` and ``problems`` the rest.

        Raises
        ------
        ImageError
            If an image cannot be read, unless ``on_error`` is "skip".
        StateError
            If the gallery was made of ready vectors.

        Examples
        --------
        >>> gallery.add_images("wren", ["new/5.jpg"]).added
        [22]
        """
        from kcrc.gallery.building import add_images

        names = [labels] * len(images) if isinstance(labels, str) else list(labels)
        feature = self.answering.feature()
        return add_images(self, feature, images, names, on_error=on_error, duplicates=duplicates)

    def add(
        self,
        labels: str | Sequence[str] | Array,
        vectors: Any,
        *,
        sources: Sequence[str] | None = None,
        contents: Sequence[bytes | str] | None = None,
        thumbnails: Sequence[bytes | None] | None = None,
        fingerprint: str | None = None,
        duplicates: Duplicates = "skip",
        continuing: Added | None = None,
    ) -> Added:
        """Add examples by their vectors, with a label each or one for all.

        With ``continuing``, where many examples come in several batches, each batch is kept when this returns, and they
        are one entry of the history and undone as one, unless something else was changed in between.

        Parameters
        ----------
        labels : str or sequence of str
            The class of all, or of each.
        vectors : array of shape (n, dim)
            The vectors.
        sources : sequence of str, or None, default=None
            Where each came from.
        contents : sequence of bytes or str, or None, default=None
            The SHA-256 of each; None for that of its vector.
        thumbnails : sequence of bytes or None, default=None
            A small picture of each (JPEG, PNG or WebP), or None.
        fingerprint : str or None, default=None
            What made the vectors.
        duplicates : {"skip", "error", "keep"}, default="skip"
            What to do with content that is in already.
        continuing : Added or None, default=None
            What the batch before returned.

        Returns
        -------
        Added
            ``ids`` of the new examples.

        Raises
        ------
        DataError
            If the vectors are of another width or fingerprint, or the lists of different lengths.

        Examples
        --------
        >>> gallery.add("wren", gallery.vectors()[1][:1] * 0.9).ids
        (22,)
        """
        batch = checked_examples(
            self._settings, labels, vectors, sources=sources, contents=contents, thumbnails=thumbnails,
            fingerprint=fingerprint,
        )  # fmt: skip
        return self.store.write(Add(batch, duplicates, None if continuing is None else continuing.command))

    def remove(self, ids: Iterable[int], *, erase: bool = False) -> tuple[int, ...]:
        """Remove examples; all of them, or none if one of the ids is unknown.

        They stay in the file, out of use, so that ``undo`` can bring them back; with ``erase`` they do not.

        Parameters
        ----------
        ids : iterable of int
            The examples.
        erase : bool, default=False
            For good: nothing of them is left in the file.

        Returns
        -------
        tuple of int
            The ids of those taken out.

        Raises
        ------
        DataError
            If no example has one of the ids; none is taken out then.

        Examples
        --------
        >>> gallery.remove([3])
        (3,)
        >>> gallery.undo().summary
        'removed 1 example of heron'
        """
        if erase:
            return self.erase(ids).ids
        return self.store.write(acts.Remove(examples.checked_ids(ids)))

    def erase(self, ids: Iterable[int]) -> Erased:
        """Erase examples, in use or removed, for good: vectors, pictures, names, caches, history.

        ``undo`` cannot bring them back. A class without examples goes with them. If parameters were chosen
        with them, they are chosen again at the next question.

        Parameters
        ----------
        ids : iterable of int
            The examples, in or removed.

        Returns
        -------
        Erased
            ``ids``: those erased.

        Raises
        ------
        DataError
            Where there never was one of the examples; none is erased then.

        Examples
        --------
        >>> gallery.erase([3]).ids
        (3,)
        """
        erased = erasing.erase(self.store, ids)
        self._examples.reset()
        self.answering.reset()
        return erased

    def relabel(self, ids: Iterable[int], label: str) -> tuple[int, ...]:
        """Give examples another class; return the ids of those that had a different one.

        Parameters
        ----------
        ids : iterable of int
            The examples.
        label : str
            Their class from now on, known or new.

        Returns
        -------
        tuple of int
            The ids of those that had another class.

        Raises
        ------
        DataError
            If no example has one of the ids; none is changed then.

        Examples
        --------
        >>> gallery.relabel([3], "robin")
        (3,)
        """
        return self.store.write(acts.Relabel(examples.checked_ids(ids), examples.checked_label(label)))

    def rename_class(self, old: str, new: str) -> tuple[int, ...]:
        """Rename a class; if a class of the new name exists, the two become one.

        Parameters
        ----------
        old : str
            The class.
        new : str
            Its name from now on.

        Returns
        -------
        tuple of int
            The examples that have it.

        Raises
        ------
        DataError
            If there is no such class.

        Examples
        --------
        >>> len(gallery.rename_class("heron", "grey heron"))
        7
        """
        return self.store.write(acts.Rename(examples.checked_label(old), examples.checked_label(new)))

    def correct(
        self,
        labels: Mapping[int, str],
        *,
        remove: Iterable[int] = (),
        seen: Mapping[int, str] | None = None,
        continuing: Added | None = None,
    ) -> Corrected:
        """Relabel examples and remove others, all as one change.

        Parameters
        ----------
        labels : mapping of int to str
            The new class of each example, by id.
        remove : iterable of int, default=()
            The examples to take out.
        seen : mapping of int to str, or None, default=None
            The labels that examples had when that was decided; if one has another now, nothing is done.
        continuing : Added or None, default=None
            What the same command added before, as in ``add``.

        Returns
        -------
        Corrected
            What was changed.

        Raises
        ------
        DataError
            If no example has one of the ids, or one has another label than ``seen``; nothing is changed then.

        Examples
        --------
        >>> gallery.correct({3: "robin"}, remove=[4]).removed
        (4,)
        """
        checked = {example: examples.checked_label(label) for example, label in labels.items()}
        command = None if continuing is None else continuing.command
        return self.store.write(Correct(checked, examples.checked_ids(remove), seen, command))

    def set_parameters(self, parameters: Mapping[str, Any]) -> None:
        """Fix parameters of the classifier, in place of those fixed before; the others are chosen again.

        Parameters
        ----------
        parameters : mapping of str to object
            Parameters of ``KCRCClassifier``; what they are is checked at the next question.

        Examples
        --------
        >>> gallery.set_parameters({"n_neighbors": 10})
        >>> gallery.parameters
        {'n_neighbors': 10}
        """
        self.store.write(acts.Fix(parameters))

    def keep_tuned(
        self,
        classifier: KCRCClassifier,
        *,
        next_id: int,
        asked: bool = True,
        parameters: Mapping[str, Any] | None = None,
        since: int | None = None,
        chosen: str | None = None,
    ) -> int:
        """Store a classifier fitted on the examples with ids below ``next_id``, and the ``parameters`` that were fixed
        for it (None: those fixed before); return the number of the act.

        ``since`` is the revision it was fitted on: if examples were erased after it, it is refused. ``chosen``
        describes parameters that were not found by trying.

        Parameters
        ----------
        classifier : KCRCClassifier
            Fitted on the examples of this gallery.
        next_id : int
            The id that follows the last of them.
        asked : bool, default=True
            Whether it was asked for, so that it can be undone.
        parameters : mapping of str to object, or None, default=None
            Those that were fixed.
        since : int or None, default=None
            The revision it was fitted on.
        chosen : str or None, default=None
            Describes parameters that were not found by trying.

        Returns
        -------
        int
            The number of the act.

        Examples
        --------
        >>> gallery.keep_tuned(gallery.classifier(), next_id=22) == gallery.history(1)[0].id
        True
        """
        return self.answering.store_choice(
            classifier, next_id=next_id, asked=asked, parameters=parameters, since=since, chosen=chosen
        )

    def tuned_state(self, act: int) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return what ``keep_tuned`` stored in the act, as ``kcrc.classifier.saving.rebuild`` takes it.

        Parameters
        ----------
        act : int
            The number of the act.

        Returns
        -------
        tuple of dict and dict
            The plain values, and the arrays by name.

        Examples
        --------
        >>> act = gallery.keep_tuned(gallery.classifier(), next_id=22)
        >>> len(gallery.tuned_state(act))
        2
        """
        return self.read(lambda reading: stored_choice.read_state(reading, act))

    def undo(self, *, to: int | None = None, past_erase: bool = False) -> Entry:
        """Revert the latest change that stands, or all that came after entry ``to`` of the history (0: everything).

        Call again to go further back; ``redo`` goes forward.

        Parameters
        ----------
        to : int or None, default=None
            An entry of the history; what came after it is reverted. None reverts the latest change.
        past_erase : bool, default=False
            If the latest change erased examples, revert the one before it.

        Returns
        -------
        Entry
            The change that was reverted, of several the earliest.

        Raises
        ------
        StateError
            If there is nothing to revert, or it erased examples.

        Examples
        --------
        >>> _ = gallery.remove([3])
        >>> gallery.undo().summary
        'removed 1 example of heron'
        """
        return self.store.write(undoing.Undo(to, past_erase))

    def redo(self) -> Entry:
        """Do again what the latest ``undo`` reverted, if nothing was changed since; return that change.

        Returns
        -------
        Entry
            The change that was done again.

        Raises
        ------
        StateError
            If nothing was reverted last.

        Examples
        --------
        >>> _ = gallery.remove([3])
        >>> _ = gallery.undo()
        >>> gallery.redo().summary
        'removed 1 example of heron'
        """
        return self.store.write(undoing.Redo())

    def history(self, limit: int | None = None) -> list[Entry]:
        """The latest changes, newest first.

        Parameters
        ----------
        limit : int or None, default=None
            How many entries; None for all.

        Returns
        -------
        list of Entry
            Each with ``id``, ``at``, ``action``, ``summary`` and ``undone_by``.

        Examples
        --------
        >>> gallery.history()[-1].summary
        'built with 21 examples of heron, robin, wren'
        """
        return self.read(lambda reading: history.entries(reading, limit=limit))

    def compact(self) -> int:
        """Drop removed examples for good and free their space; return how many. Earlier changes can no longer be
        undone.

        Returns
        -------
        int
            How many examples were dropped.

        Examples
        --------
        >>> _ = gallery.remove([3])
        >>> gallery.compact()
        1
        """
        dropped = self.store.write(acts.Compact())
        self.store.shrink()
        return dropped

    # Export, import, backup, verify

    def export(self, path: str | os.PathLike[str], *, file_names: bool = False) -> int:
        """Write all examples, vectors and settings to one plain file of arrays; return the number of examples.

        With ``file_names``, sources are written without their folders.

        Parameters
        ----------
        path : str or path
            The file to write.
        file_names : bool, default=False
            Leave the folders out of the sources.

        Returns
        -------
        int
            How many examples were written.

        Raises
        ------
        FileError
            If it cannot be written.

        Examples
        --------
        >>> gallery.export("birds.npz")
        21
        """
        from kcrc.gallery.transfer import export

        return export(self, path, file_names=file_names)

    def import_(self, path: str | os.PathLike[str], *, duplicates: Duplicates = "skip") -> Added:
        """Add the examples of an export, or of another gallery.

        If that compares pictures in another way, its photographs, or the small pictures that it keeps, are looked at
        again.

        Parameters
        ----------
        path : str or path
            The file: an export, or a gallery.
        duplicates : {"skip", "error", "keep"}, default="skip"
            What to do with content that is in already.

        Returns
        -------
        Added
            ``ids`` of the new examples, ``duplicates`` those left out.

        Raises
        ------
        DataError
            If it compares pictures in another way, and some examples have no picture.
        FileError
            If the file is damaged, or is neither.

        Examples
        --------
        >>> _ = gallery.export("birds.npz")
        >>> gallery.import_("birds.npz").ids  # all are in already
        ()
        """
        from kcrc.gallery.transfer import import_

        return import_(self, path, duplicates=duplicates)

    def backup(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> int:
        """Copy the gallery as it is at this moment to another file, which is a gallery too; return its size in bytes.

        Others may go on using it. When this returns, the copy is complete, checked, and on the disk.

        Parameters
        ----------
        path : str or path
            The file to write.
        overwrite : bool, default=False
            Replace one that is there.

        Returns
        -------
        int
            Its size in bytes.

        Raises
        ------
        FileError
            If something is there already, or nothing can be written.

        Examples
        --------
        >>> gallery.backup("copy.kcrc") > 0
        True
        """
        return self.store.backup(Path(path), check=problems, overwrite=overwrite)

    def verify(self) -> Verdict:
        """Read everything and compare it with its checksums.

        Returns
        -------
        Verdict
            ``sound``, and the problems as sentences.

        Examples
        --------
        >>> gallery.verify().sound
        True
        """
        try:
            return self.read(look)
        except FileError as problem:
            return Verdict(0, 0, 0, (str(problem),))

    def __repr__(self) -> str:
        return f"Gallery({str(self.store.address)!r}, fingerprint={self.fingerprint!r}, dim={self.dim})"


def verify(gallery: str | os.PathLike[str]) -> Verdict:
    """Check everything in a gallery file against its checksums; a file too damaged to open gets a verdict too."""
    try:
        with Gallery.open(gallery, readonly=True, recover=True) as opened:
            return opened.verify()
    except WriteNeeded:  # it may well be sound
        raise
    except FileError as problem:
        return Verdict(0, 0, 0, (str(problem),))
