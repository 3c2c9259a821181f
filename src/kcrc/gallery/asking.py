"""Images asked in a gallery: through its feature, a chunk at a time, and what is said of those that show nothing."""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc.confidence.answerer import Answerer
from kcrc.confidence.answers import Answers
from kcrc.confidence.open_set import UNKNOWN
from kcrc.errors import DataError, KCRCError, StateError
from kcrc.gallery.seeing import looks_of, own_feature
from kcrc.images.nearness import Near, near_by
from kcrc.images.stream import Answered, stream
from kcrc.method.evidence import Evidence, joined

if TYPE_CHECKING:
    from kcrc.classifier.estimator import KCRCClassifier
    from kcrc.confidence.audit import Audit
    from kcrc.gallery.gallery import Gallery
    from kcrc.images.decoding.reading import OnError
    from kcrc.images.features.base import Feature
    from kcrc.scale.on_server import ServerAnswerer
    from kcrc.scale.sharded import ShardedAnswerer

T = TypeVar("T")
LOOKED_AT = 5  # examples near an image on which there is nothing to make out


class Asking(ABC):
    """What images are asked, of whatever ``answerer`` and ``classifier`` there are."""

    def __init__(self, gallery: Gallery) -> None:
        self._gallery = gallery
        self._feature: Feature | None = None
        self.model: str | os.PathLike[str] | None = None
        """The network file that the user named for this gallery."""

    @abstractmethod
    def answerer(self) -> Answerer: ...

    @abstractmethod
    def classifier(self) -> KCRCClassifier: ...

    def feature(self) -> Feature:
        """The feature that made the gallery's vectors, fitted as it was then."""
        if self._feature is None:
            self._feature = own_feature(self._gallery, self.model)
        return self._feature

    @property
    def several_looks(self) -> bool:
        """Whether the gallery sees by more than one look."""
        return len(looks_of(self._gallery.settings)) > 1

    def near(self, vector: Array, ids: Sequence[int]) -> dict[int, Near]:
        """By which looks each of these examples is near to a query's ``vector`` (d,); nothing where there is one."""
        return near_by(self.feature(), self.answerer().model, vector, ids) if self.several_looks else {}

    def stream(
        self, images: Sequence[Any], answer: Callable[[Array], T], *, on_error: OnError = "raise"
    ) -> Iterator[Answered[T]]:
        """``answer`` of the vectors of the images, a chunk at a time: see ``kcrc.images.stream``."""
        return stream(_as_list(images), self.feature(), answer, on_error=on_error)

    def explain(self, images: Sequence[Any]) -> Evidence:
        """The evidence for each image: files, bytes or arrays."""
        parts = self._all(images, self.answerer().explain)
        if not parts:
            raise DataError("There is no image to explain; give at least one.")
        return joined(parts)

    def predict(self, images: Sequence[Any], *, reject: float | None = None, unknown: str | None = None) -> Array:
        """The label of each image (n,); with ``reject`` the mark ``unknown`` where it resembles no class."""
        if len(_as_list(images)) == 0:
            return np.zeros(0, self.answerer().classes.dtype)
        return np.concatenate([a.labels for a in self.answers(images, reject=reject, unknown=unknown)])

    def answers(self, images: Sequence[Any], **asked: Any) -> list[Answers]:
        """All that ``asked`` can say of each image, a chunk after the other."""
        chunks = self.stream(images, self.asked(**asked))
        return [self.told(chunk.answers, chunk.empty) for chunk in chunks if chunk.answers is not None]

    def told(self, answers: Answers, empty: Sequence[str | None]) -> Answers:
        """What is said of images that are answered: unknown where there is nothing to make out on one (``empty`` says
        why), unless such pictures are among the examples near it."""
        why: list[str | None] = [None] * len(answers)
        for i, reason in enumerate(empty):
            if reason is not None and reason not in self._emptiness_near(answers.evidence[i]):
                why[i] = f"it resembles no example: {reason}"
        return answers.but_unknown(why)

    def _emptiness_near(self, evidence: Evidence) -> set[str | None]:
        """What keeps the examples nearest to one image, of any class and of the one answered, from being made out, as
        far as they have a picture."""
        from kcrc.images.decoding.reading import decode
        from kcrc.images.emptiness import emptiness

        found: set[str | None] = set()
        order = np.argsort(evidence.distances[0], kind="stable")
        answered = order[evidence.neighbour_labels[0, order] == evidence.winner[0]]
        for place in {*order[:LOOKED_AT].tolist(), *answered[:LOOKED_AT].tolist()}:
            example = int(evidence.rows[0, place])
            with contextlib.suppress(KCRCError):  # a damaged picture is no reason not to answer
                picture = self._gallery.thumbnail(example) if example >= 0 else None
                if picture is not None:
                    found.add(emptiness(decode(picture).pixels))
        return found

    def asked(
        self,
        *,
        reject: float | None = None,
        unknown: str | None = None,
        coverage: float | None = None,
        explain: bool = False,
        answerer: Answerer | ShardedAnswerer | ServerAnswerer | None = None,
    ) -> Callable[[Array], Answers]:
        """What answers to vectors of images, by ``answerer`` where one is given; ``reject`` and ``coverage`` as in
        ``predict`` and ``predict_set``, with ``explain`` the evidence is that of ``explain``. Without ``reject`` it is
        unknown what nothing can be said of, under a mark that no class has."""
        answerer = answerer or self.answerer()
        mark = UNKNOWN if unknown is None else unknown
        while unknown is None and reject is None and mark in answerer.classes:
            mark += "?"

        def answer(vectors: Array) -> Answers:
            try:
                found = answerer.answer(vectors, reject=reject, unknown=mark, coverage=coverage, explain=explain)
                return found.but_unknown(found.why)
            except StateError:
                if reject is None and coverage is None:  # then nothing was promised: a server may be away
                    raise
                raise StateError(
                    "How strange an image is, and which sets keep a promise, is learned from the examples when the "
                    "parameters are chosen, and 8 examples are the fewest. Add more, then choose anew: gallery.tune(), "
                    "kcrc tune."
                ) from None

        return answer

    def _all(self, images: Sequence[Any], answer: Callable[[Array], T]) -> list[T]:
        """What was answered to each chunk; an image that cannot be read is an error."""
        return [chunk.answers for chunk in self.stream(images, answer) if chunk.answers is not None]

    def audit(self, ids: Any = None) -> Audit:
        """The examples (or those with these ids) that deserve a second look."""
        from kcrc.images.look_alikes import with_look_alikes

        classifier = self.classifier()
        model = classifier.model_
        found = classifier.audit(ids)
        return with_look_alikes(found, model.ids, model.classes[model.labels], self._gallery.thumbnail, ids)


def _as_list(images: Any) -> Any:
    return [images] if isinstance(images, str | bytes | os.PathLike) else images
