"""Store: labelled examples in one file, changed by acts that are durable, undoable and all-or-nothing."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kcrc.arrays import Array
from kcrc.errors import DataError, FileError
from kcrc.gallery import acts, erasing, examples, file, history, payloads, sealed, settings, tuned, vector_file
from kcrc.gallery.acts import Added, Duplicates
from kcrc.gallery.connection import Connection
from kcrc.gallery.erasing import Erased
from kcrc.gallery.examples import Contents, Example
from kcrc.gallery.opened import Opened
from kcrc.gallery.settings import Settings

if TYPE_CHECKING:
    from kcrc.classifier import KCRCClassifier


class Store(Opened):
    """The examples of a gallery on disk.

    One program writes at a time, many read; threads may share one object. What an act returns has reached the
    disk. Removed examples stay in the file, out of use, until ``compact``.
    """

    def __init__(self, path: Path, db: Connection, *, readonly: bool = False) -> None:
        super().__init__(path, db, readonly=readonly)
        self._contents: Contents | None = None
        self._vectors: tuple[int, Array] | None = None

    # What is in it

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

        def look(db: sqlite3.Connection) -> Contents:
            revision = settings.read(db, file_bytes=self._file_bytes()).revision
            if self._contents is None or self._contents.revision != revision:
                self._contents = examples.read_contents(db, revision, file_bytes=self._file_bytes())
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
        """One example by its id."""
        return examples.as_example(self.read(lambda db: acts.live(db, [example]))[0])

    def thumbnail(self, example: int) -> bytes | None:
        """The small picture of an example (JPEG, PNG or WebP), if it has one."""

        return self.read(lambda db: payloads.read_thumbnail(db, *acts.live(db, [example])))

    def find(
        self,
        *,
        label: str | None = None,
        source: str | None = None,
        content: bytes | None = None,
        removed: bool = False,
    ) -> tuple[int, ...]:
        """The ids of the examples with this label, this source and this content (SHA-256), as far as given.

        ``removed`` looks also among those that were taken out and are still in the file."""
        name = None if label is None else examples.checked_label(label)
        where = None if source is None else examples.checked_source(source)
        everything = (
            self.contents.rows
            if not removed
            else self.read(lambda db: sealed.select_all(db, "examples", file_bytes=self._file_bytes()))
        )
        rows = (row for row in everything if name is None or row[1] == name)
        rows = (row for row in rows if where is None or row[2] == where)
        return tuple(row[0] for row in rows if content is None or row[3] == content)

    def vectors(self) -> tuple[Array, Array, Array]:
        """(ids (n,), vectors (n, dim), labels (n,)) of one moment; the vectors are read from the cache."""

        def look(db: sqlite3.Connection) -> tuple[Array, Array, Array]:
            now = self.contents
            if self._vectors is None or self._vectors[0] != now.revision:
                dim, dtype = self._settings.dim, self._settings.dtype
                if len(now) * dim * np.dtype(dtype).itemsize > self._file_bytes():
                    raise FileError(f"'{self.path}' claims more vectors than it can hold; it is damaged.")
                crcs = {row[0]: row[7] for row in now.rows}

                def fetch(ids: Array, out: Array) -> None:
                    payloads.read_vectors(db, ids, crcs, out)

                where, mode = vector_file.cache_path(self.path), os.stat(self.path).st_mode
                self._vectors = (now.revision, vector_file.load(where, now, dim, dtype, fetch, mode=mode))
            return now.ids, self._vectors[1], now.labels

        return self.read(look)

    def feature_state(self) -> dict[str, Any]:
        """The state of the fitted feature, plain values and arrays: what ``kcrc.features.restore`` takes."""
        arrays = self.read(lambda db: settings.read_state(db, file_bytes=self._file_bytes()))
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
    ) -> Added:
        """Add examples: a label each (or one for all), vectors (n, dim), where they came from, their SHA-256.

        ``duplicates`` says what to do with content that is in already: 'skip', 'error' or 'keep'.
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
        batch = acts.Batch(
            labels=[examples.checked_label(name) for name in names],
            vectors=array,
            sources=[""] * n if sources is None else [examples.checked_source(source) for source in sources],
            contents=examples.checked_contents(contents, array),
            thumbnails=[None] * n
            if thumbnails is None
            else [examples.checked_thumbnail(data, position) for position, data in enumerate(thumbnails)],
        )
        return self._act(lambda db, had: acts.add(db, had, batch, duplicates=duplicates))

    def remove(self, ids: Iterable[int], *, erase: bool = False) -> tuple[int, ...]:
        """Take examples out; all of them, or none where one of the ids is unknown.

        They stay in the file, out of use, so that ``undo`` can bring them back; with ``erase`` they do not.
        """
        if erase:
            return self.erase(ids).ids
        return self._act(lambda db, had: acts.remove(db, had, ids))

    def erase(self, ids: Iterable[int]) -> Erased:
        """Take examples, in or removed, out of the file for good: vectors, pictures, names, caches, history.

        ``undo`` cannot bring them back. A class of which nothing is left goes with them."""
        with self._held() as db:
            erased = erasing.erase(self, db, ids)
            self._contents = self._vectors = None
        return erased

    def relabel(self, ids: Iterable[int], label: str) -> tuple[int, ...]:
        """Give examples another class; the ids of those that had a different one."""
        name = examples.checked_label(label)
        return self._act(lambda db, had: acts.relabel(db, had, acts.live(db, ids), name))

    def rename_class(self, old: str, new: str) -> tuple[int, ...]:
        """Call a class by another name; where that class exists the two become one."""
        before, after = examples.checked_label(old), examples.checked_label(new)

        def rename(db: sqlite3.Connection, had: Settings) -> tuple[int, ...]:
            rows = acts.of_class(db, before)
            if not rows:
                raise DataError(f"There is no class '{before}' in the gallery. Nothing was changed.")
            return acts.relabel(db, had, rows, after, action="rename")

        return self._act(rename)

    def set_parameters(self, parameters: Mapping[str, Any]) -> None:
        """Fix parameters of the classifier, in place of those fixed before; the others are chosen anew."""
        self._act(lambda db, had: acts.fix(db, had, parameters))

    def keep_tuned(
        self,
        classifier: KCRCClassifier,
        *,
        next_id: int,
        asked: bool = True,
        parameters: Mapping[str, Any] | None = None,
        since: int | None = None,
    ) -> int:
        """Store a classifier fitted on the examples with ids below ``next_id``, and the ``parameters`` that were fixed
        for it (None: those that were before); the number of the act.

        ``since`` is the revision it was fitted on: where examples were erased after it, it is refused."""
        state = tuned.state_of(classifier, next_id)
        chosen = "nothing to choose" if classifier.tuning_ is None else repr(classifier.tuning_)
        told = f"tuned: {chosen.removeprefix('Tuning: ')}"

        def keep(db: sqlite3.Connection, had: Settings) -> int:
            if since is not None:
                erasing.check_none_since(db, since)
            return acts.tune(db, had, told, state, parameters=parameters, asked=asked)

        return self._act(keep)

    def tuned_state(self, act: int) -> tuple[dict[str, Any], dict[str, Array]]:
        """What ``keep_tuned`` stored in the act: what ``kcrc.files.saving.rebuild`` takes."""
        return self.read(lambda db: tuned.read_state(db, act, file_bytes=self._file_bytes()))

    def undo(self, *, past_erase: bool = False) -> history.Entry:
        """Revert the latest act that stands; call again to go further back.

        Where that act erased examples it is an error; ``past_erase`` then reverts the one before it."""
        return self._act(lambda db, had: history.undo(db, had, past_erase=past_erase))

    def history(self, limit: int | None = None) -> list[history.Entry]:
        """The latest acts, newest first."""
        return self.read(lambda db: history.entries(db, limit=limit))

    def compact(self) -> int:
        """Drop removed examples for good and give their space back; how many. Ends what can be undone."""
        dropped = self._act(history.forget_removed)
        with self._held() as db, file.translated(self.path):
            db.execute("VACUUM")
        return dropped

    # The file

    def _let_go(self) -> None:
        super()._let_go()
        self._contents = self._vectors = None

    def __repr__(self) -> str:
        return f"Gallery({str(self.path)!r}, fingerprint={self.fingerprint!r}, dim={self.dim})"
