"""Collection: labelled examples that are kept somewhere, and the acts that change them.

Long because a third of it is the documentation of its verbs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from kcrc._base.arrays import Array
from kcrc.errors import DataError
from kcrc.gallery import acts, adding, correcting, erasing, examples, history, tuned, undoing
from kcrc.gallery.adding import Added, Duplicates
from kcrc.gallery.contract import ExampleRecord, Snapshot, Store
from kcrc.gallery.correcting import Corrected
from kcrc.gallery.erasing import Erased
from kcrc.gallery.examples import Contents, Example
from kcrc.gallery.settings import Settings

if TYPE_CHECKING:
    from kcrc.classifier.estimator import KCRCClassifier

T = TypeVar("T")


class Collection:
    """The examples of a gallery, wherever a ``store`` keeps them.

    One program writes at a time, many read; threads may share one object. What an act returns has been kept for good.
    Removed examples stay, out of use, until ``compact``.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._contents: Contents | None = None
        self._vectors: tuple[int, Array] | None = None
        self._settings = store.read(lambda reading: reading.settings())

    @property
    def path(self) -> Path | str:
        """Where it is, as it was named: a file, or the address of one that is kept otherwise (without a password)."""
        return self.store.address

    @property
    def name(self) -> str:
        """What it is called, without where it is."""
        return self.store.name

    @property
    def readonly(self) -> bool:
        """Whether it was opened for reading only."""
        return self.store.readonly

    def close(self) -> None:
        """Let go of it. An act that returned has long been written.

        Examples
        --------
        >>> gallery.close()
        """
        self.store.close()
        self._contents = self._vectors = None

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
        """Feature, fingerprint, width, parameters, as of now."""
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

        def look(reading: Snapshot) -> Contents:
            if self._contents is None or self._contents.revision != reading.settings().revision:
                self._contents = examples.read_contents(reading)
            return self._contents

        return self.read(look)

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
            Where there is no such example.

        Examples
        --------
        >>> gallery.example(1).label
        'heron'
        """
        return examples.as_example(self.read(lambda reading: acts.live(reading, [example]))[0])

    def thumbnail(self, example: int) -> bytes | None:
        """The small picture of an example (JPEG, PNG or WebP), if it has one.

        Parameters
        ----------
        example : int
            The id.

        Returns
        -------
        bytes or None
            The bytes of the picture's file; None where there is none.

        Raises
        ------
        DataError
            Where there is no such example.

        Examples
        --------
        >>> type(gallery.thumbnail(1))
        <class 'bytes'>
        """
        return self.read(lambda reading: reading.thumbnail(*acts.live(reading, [example])))

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
            Where it came from, as it was named.
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
            if self._vectors is None or self._vectors[0] != now.revision:
                self._vectors = (now.revision, self.store.vectors(now))
            return now.ids, self._vectors[1], now.labels

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
        arrays = self.read(lambda reading: reading.feature_state())
        return {**self._settings.values, **arrays}

    # Acts

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
        """Add examples: a label each (or one for all), vectors (n, dim), where they came from, their SHA-256.

        ``duplicates`` says what to do with content that is in already: 'skip', 'error' or 'keep'. ``continuing`` is
        what the batch before returned, where many examples come in several: each is kept when this returns, and they
        are one entry of the history and undone as one, unless something else was changed in between.
        """
        had = self._settings
        if fingerprint is not None and fingerprint != had.fingerprint:
            raise DataError(
                f"The gallery holds vectors of '{had.fingerprint}'; these are of '{fingerprint}'. "
                "Make them with the gallery's own feature, or build another gallery."
            )
        array = examples.checked_vectors(vectors, dim=had.dim, dtype=had.dtype, fingerprint=had.fingerprint)
        n = len(array)
        names = [labels] * n if isinstance(labels, str) else list(labels)
        given = {"labels": names, "sources": sources, "contents": contents, "thumbnails": thumbnails}
        for name, values in given.items():
            if values is not None and len(values) != n:
                raise DataError(f"There are {n} vectors but {len(values)} {name}; give one each.")
        batch = adding.NewExamples(
            labels=[examples.checked_label(name) for name in names],
            vectors=array,
            sources=[""] * n if sources is None else [examples.checked_source(source) for source in sources],
            contents=examples.checked_contents(contents, array),
            thumbnails=[None] * n
            if thumbnails is None
            else [examples.checked_thumbnail(data, position) for position, data in enumerate(thumbnails)],
        )
        return self.store.write(adding.Add(batch, duplicates, None if continuing is None else continuing.command))

    def remove(self, ids: Iterable[int], *, erase: bool = False) -> tuple[int, ...]:
        """Take examples out; all of them, or none where one of the ids is unknown.

        They stay in the file, out of use, so that ``undo`` can bring them back; with ``erase`` they do not.
        """
        if erase:
            return self.erase(ids).ids
        return self.store.write(acts.Remove(examples.checked_ids(ids)))

    def erase(self, ids: Iterable[int]) -> Erased:
        """Take examples, in or removed, out of the file for good: vectors, pictures, names, caches, history.

        ``undo`` cannot bring them back. A class of which nothing is left goes with them."""
        erased = erasing.erase(self.store, ids)
        self._contents = self._vectors = None
        return erased

    def relabel(self, ids: Iterable[int], label: str) -> tuple[int, ...]:
        """Give examples another class; the ids of those that had a different one."""
        return self.store.write(acts.Relabel(examples.checked_ids(ids), examples.checked_label(label)))

    def rename_class(self, old: str, new: str) -> tuple[int, ...]:
        """Call a class by another name; where that class exists the two become one."""
        return self.store.write(acts.Rename(examples.checked_label(old), examples.checked_label(new)))

    def correct(
        self,
        labels: Mapping[int, str],
        *,
        remove: Iterable[int] = (),
        seen: Mapping[int, str] | None = None,
        continuing: Added | None = None,
    ) -> Corrected:
        """Give examples other classes, by id, and take others out, all as one change.

        ``seen`` are the labels that examples had when that was decided: where one has another now, nothing is done.
        ``continuing`` is what the same command added before, as in ``add``."""
        wanted = {example: examples.checked_label(label) for example, label in labels.items()}
        command = None if continuing is None else continuing.command
        return self.store.write(correcting.Correct(wanted, examples.checked_ids(remove), seen, command))

    def set_parameters(self, parameters: Mapping[str, Any]) -> None:
        """Fix parameters of the classifier, in place of those fixed before; the others are chosen anew.

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
        for it (None: those that were before); the number of the act.

        ``since`` is the revision it was fitted on: where examples were erased after it, it is refused. ``chosen`` says
        how the parameters came about, where nothing was tried.

        Parameters
        ----------
        classifier : KCRCClassifier
            Fitted on the examples of this gallery.
        next_id : int
            The id that follows the last of them.
        asked : bool, default=True
            Whether somebody asked for it.
        parameters : mapping of str to object, or None, default=None
            Those that were fixed.
        since : int or None, default=None
            The revision it was fitted on.
        chosen : str or None, default=None
            How the parameters came about, where nothing was tried.

        Returns
        -------
        int
            The number of the act.

        Examples
        --------
        >>> gallery.keep_tuned(gallery.classifier(), next_id=22) == gallery.history(1)[0].id
        True
        """
        state = tuned.state_of(classifier, next_id, chosen=chosen)
        words = chosen or ("nothing to choose" if classifier.tuning_ is None else repr(classifier.tuning_))
        told = f"tuned: {words.removeprefix('Tuning: ')}"
        return self.store.write(acts.Tune(told, state, parameters, asked, since))

    def tuned_state(self, act: int) -> tuple[dict[str, Any], dict[str, Array]]:
        """What ``keep_tuned`` stored in the act: what ``kcrc.classifier.saving.rebuild`` takes.

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
        return self.read(lambda reading: tuned.read_state(reading, act))

    def undo(self, *, to: int | None = None, past_erase: bool = False) -> history.Entry:
        """Revert the latest change that stands, or all that came after entry ``to`` of the history (0: everything);
        the change, of several the earliest. Call again to go further back, and ``redo`` to come forth.

        Where that change erased examples it is an error; ``past_erase`` then reverts the one before it."""
        return self.store.write(undoing.Undo(to, past_erase))

    def redo(self) -> history.Entry:
        """Do again what the latest ``undo`` reverted, if nothing was changed since; the change."""
        return self.store.write(undoing.Redo())

    def history(self, limit: int | None = None) -> list[history.Entry]:
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
        """Drop removed examples for good and give their space back; how many. Ends what can be undone.

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

    def __repr__(self) -> str:
        return f"Gallery({str(self.store.address)!r}, fingerprint={self.fingerprint!r}, dim={self.dim})"
