"""Gallery: a folder of photographs in, answers with evidence out, corrections at any time.

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

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from kcrc.arrays import Array
from kcrc.gallery import stores
from kcrc.gallery.adding import Added, Duplicates
from kcrc.gallery.answering import Answering
from kcrc.gallery.collection import Collection
from kcrc.gallery.contract import Store
from kcrc.gallery.correcting import Corrected
from kcrc.gallery.erasing import Erased
from kcrc.gallery.history import Entry

if TYPE_CHECKING:
    from kcrc.classifier import KCRCClassifier
    from kcrc.confidence.advice import Advice
    from kcrc.confidence.audit import Audit
    from kcrc.confidence.likeness import Likeness
    from kcrc.evidence import Evidence
    from kcrc.gallery.check import Verdict
    from kcrc.gallery.pictures import Intake
    from kcrc.tuning import Tuning


class Gallery(Collection):
    """Labelled images or vectors, and the classifier they make.

    Open one with ``Gallery.open``; make one with ``Gallery.from_folder`` or, for ready vectors, ``Gallery.create``.
    One program writes at a time, many read; what ``add``, ``remove``, ``relabel`` … return has reached the disk,
    and ``undo`` takes it back.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.answering = Answering(self)
        self._changing = 0

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Inside the block the gallery is changed, in one step or many; at its end what was learned from the examples
        is learned from those there are then, so that whoever asks next is told what is true of them."""
        self._changing += 1
        try:
            yield
        finally:
            self._changing -= 1
        if not self._changing:
            self.answering.bring_up_to_date()

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
        not built."""
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
        """A new empty gallery for the vectors of ``feature``, or for ready vectors of ``dim`` numbers."""
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
        """
        from kcrc.gallery.pictures import build_from_folder

        where = Path(folder).absolute().with_name(f"{Path(folder).absolute().name}.kcrc") if path is None else path
        build_from_folder(folder, where, feature=feature, overwrite=overwrite, on_error=on_error, duplicates=duplicates)
        made = cls.open(where)
        made.classifier()  # chooses the parameters, and stores them
        return made

    # Answers

    def classifier(self, **parameters: Any) -> KCRCClassifier:
        """A classifier with these examples and the tuned parameters; its evidence names examples by their ids.

        The parameters are chosen by leave-one-out the first time, and stored; those given here are used this once."""
        return self.answering.classifier(**parameters)

    def tune(self, *, parameters: Mapping[str, Any] | None = None, seconds: float = 60.0) -> Tuning | None:
        """Choose the parameters anew by leave-one-out over the examples, and store them; what was tried.

        ``parameters`` are fixed and not chosen (None: those fixed before). None where there was nothing to choose.
        """
        return self.answering.tune(parameters=parameters, tuning_seconds=seconds).tuning_

    @property
    def retune_due(self) -> str | None:
        """Why ``tune`` is due since examples came or went, or None."""
        return self.answering.retune_due

    def predict(self, images: Sequence[Any], *, reject: float | None = None, unknown: str | None = None) -> Array:
        """The label of each image (n,): files, bytes of files, or arrays; "unknown" where nothing can be said: on an
        image of one colour or of noise, unless examples are such, and where there is only one class.

        With ``reject``, an image that resembles none of the classes is called "unknown" (or as ``unknown`` says);
        ``reject`` is the share of images of these classes that may be called so by mistake (0.05: one in 20).
        """
        return self.answering.predict(images, reject=reject, unknown=unknown)

    def predict_proba(self, images: Sequence[Any]) -> Array:
        """The probability of each class (n, classes), columns as in ``classes``."""
        found = self.answering.answers(images)
        return np.concatenate([a.probabilities for a in found]) if found else np.zeros((0, len(self.classes)))

    def predict_set(self, images: Sequence[Any], *, coverage: float = 0.95) -> list[tuple[str, ...]]:
        """The classes each image may be of, the likeliest first: the true one is among them for a share ``coverage``
        of images that are like the examples. None are, where nothing fits as well as it fits that share of them."""
        return [some.set_of(i) for some in self.answering.answers(images, coverage=coverage) for i in range(len(some))]

    def audit(self, ids: Sequence[int] | None = None) -> Audit:
        """Examples that deserve a second look, ranked, with evidence: likely mislabelled, (almost) the same picture
        under two labels, never of use. ``rows`` in it are example ids; ``ids`` asks only about those."""
        return self.answering.audit(ids)

    def advise(self, images: Sequence[Any] | None = None, *, count: int = 10) -> Advice:
        """Whether there are examples enough: how often each class is right and what it is taken for, how accuracy grew
        with examples, and what more are likely to bring; of unlabelled ``images``, the ``count`` to label next."""
        vectors = None if images is None else self.answering.feature().transform(images)
        return self.classifier().advise(vectors, count=count)

    def likeness(self, images: Sequence[Any], *, level: float = 0.02) -> Likeness:
        """Whether these images are like the examples, for which alone probabilities, sets and ``reject`` keep their
        promise; if not, by how much those may be off and which images show it. ``level``: the share of false alarms."""
        return self.classifier().likeness(self.answering.feature().transform(images), level=level)

    def explain(self, images: Sequence[Any]) -> Evidence:
        """The evidence for each image; ``rows`` are example ids."""
        return self.answering.explain(images)

    def add_images(
        self,
        labels: str | Sequence[str],
        images: Sequence[str | os.PathLike[str]],
        *,
        on_error: Literal["raise", "skip"] = "raise",
        duplicates: Duplicates = "skip",
    ) -> Intake:
        """Add image files, with a label each or one for all, through the gallery's own feature."""
        from kcrc.gallery.pictures import add_images

        names = [labels] * len(images) if isinstance(labels, str) else list(labels)
        feature = self.answering.feature()
        return add_images(self, feature, images, names, on_error=on_error, duplicates=duplicates)

    def add(self, labels: str | Sequence[str] | Array, vectors: Any, **more: Any) -> Added:
        """Add examples; ``more`` as in ``Collection.add``."""
        with self.changing():
            return super().add(labels, vectors, **more)

    def remove(self, ids: Iterable[int], *, erase: bool = False) -> tuple[int, ...]:
        """Take examples out, for ``undo`` to bring back or (``erase``) for good: as ``Collection.remove``."""
        with self.changing():
            return super().remove(ids, erase=erase)

    def relabel(self, ids: Iterable[int], label: str) -> tuple[int, ...]:
        """Give examples another class; the ids of those that had a different one."""
        with self.changing():
            return super().relabel(ids, label)

    def rename_class(self, old: str, new: str) -> tuple[int, ...]:
        """Call a class by another name; where that class exists the two become one."""
        with self.changing():
            return super().rename_class(old, new)

    def correct(self, labels: Mapping[int, str], **more: Any) -> Corrected:
        """Give examples other classes and take others out, as one change: as ``Collection.correct``."""
        with self.changing():
            return super().correct(labels, **more)

    def undo(self, *, to: int | None = None, past_erase: bool = False) -> Entry:
        """Revert the latest change that stands, or all after entry ``to`` of the history: as ``Collection.undo``."""
        with self.changing():
            return super().undo(to=to, past_erase=past_erase)

    def redo(self) -> Entry:
        """Do again what the latest ``undo`` reverted, if nothing was changed since; the change."""
        with self.changing():
            return super().redo()

    def erase(self, ids: Iterable[int]) -> Erased:
        """Take examples, in or removed, out of the file for good: vectors, pictures, names, caches, history.

        ``undo`` cannot bring them back. A class of which nothing is left goes with them. Where parameters were chosen
        with them, they are chosen anew at the next question."""
        erased = super().erase(ids)
        self.answering.let_go()
        return erased

    # Out, in, and whether it is whole

    def export(self, path: str | os.PathLike[str], *, file_names: bool = False) -> int:
        """Write all examples, vectors and settings to one plain file of arrays; how many examples.

        With ``file_names``, where each example came from is told without its folders."""
        from kcrc.gallery.transfer import export

        return export(self, path, file_names=file_names)

    def import_(self, path: str | os.PathLike[str], *, duplicates: Duplicates = "skip") -> Added:
        """Add the examples of an export, or of another gallery, of the same fingerprint."""
        from kcrc.gallery.transfer import import_

        return import_(self, path, duplicates=duplicates)

    def backup(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> int:
        """Copy the gallery as it is at this moment to another file, which is a gallery too; its size in bytes.

        Others may go on using it. What is there under ``path`` when this returns is whole, checked, and on the disk."""
        return self.store.backup(Path(path), overwrite=overwrite)

    def verify(self) -> Verdict:
        """Read everything and compare it with its checksums."""
        from kcrc.gallery.check import verify

        return verify(self)
