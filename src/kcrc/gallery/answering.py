"""What answers in a gallery: its examples in a classifier, as they are now, with evidence by example id.

Images are asked through the gallery's feature, a chunk at a time; nothing is said of those that show nothing.
"""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc.confidence.answerer import Answerer
from kcrc.confidence.answers import Answers
from kcrc.confidence.open_set import UNKNOWN
from kcrc.errors import FileError, KCRCError, ParameterError, StateError, UnreadableTuning
from kcrc.gallery import acts, tuned
from kcrc.gallery.contract import Snapshot
from kcrc.gallery.examples import Contents
from kcrc.gallery.seeing import looks_of, own_feature
from kcrc.gallery.tuned import Facts, Moment, Ready, followed, renewed
from kcrc.images.nearness import Near, near_by
from kcrc.images.stream import Answered, stream
from kcrc.method.evidence import Evidence

if TYPE_CHECKING:
    from kcrc.classifier.estimator import KCRCClassifier
    from kcrc.gallery.gallery import Gallery
    from kcrc.images.decoding.reading import OnError
    from kcrc.images.features.base import Feature
    from kcrc.scale.on_server import ServerAnswerer
    from kcrc.scale.sharded import ShardedAnswerer

T = TypeVar("T")
LOOKED_AT = 5  # examples near an image on which there is nothing to make out


class Answering:
    """What answers in one gallery, made when first needed and brought up to date when it changed."""

    def __init__(self, gallery: Gallery) -> None:
        self._gallery = gallery
        self._feature: Feature | None = None
        self.model: str | os.PathLike[str] | None = None
        """The network file that the user named for this gallery."""
        self._ready: Ready | None = None
        self._replacing = threading.Lock()

    # Images

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

    def answers(self, images: Sequence[Any], **asked: Any) -> list[Answers]:
        """All that ``asked`` can say of each image, a chunk after the other."""
        chunks = self.stream(images, self.asked(**asked))
        return [self.told(chunk.answers, chunk.empty) for chunk in chunks if chunk.answers is not None]

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

    # What answers

    def let_go(self) -> None:
        """Forget what was made: it holds the examples of its moment."""
        self._ready = None

    def answerer(self) -> Answerer:
        """What answers from the gallery's examples; evidence names them by their ids.

        The parameters are those stored; where none are (or those there are were chosen on less than half of the
        examples) they are chosen, and stored if the gallery may be written.
        """
        return self.ready().answerer

    def ready(self) -> Ready:
        """The same, with the examples it answers from."""
        gallery, ready = self._gallery, self._ready
        if ready is not None and ready.contents.revision == gallery.settings.revision:
            return ready
        moment = self._moment()
        made = None if ready is None or ready.tuned != moment.tuned else followed(ready, moment)
        if made is None and moment.facts is not None and not moment.facts.outgrown(moment.contents):
            made = self._restored(moment)
        if made is None:
            return self._chosen(asked=False)
        with self._replacing:
            if self._ready is ready:  # another thread may have learned more from these examples meanwhile
                self._ready = made
        return made

    def classifier(self, **parameters: Any) -> KCRCClassifier:
        """The same as a scikit-learn classifier; ``parameters`` given here are used in this classifier alone."""
        if parameters:
            return self._fitted(parameters)[0]
        ready = self.ready()
        if ready.classifier is not None:
            return ready.classifier
        made = self._faced(ready)
        if made is None:
            return self.tune(asked=False)
        with self._replacing:
            if self._ready is ready:
                self._ready = replace(ready, classifier=made)
        return made

    def _restored(self, moment: Moment) -> Ready | None:
        """What answers, as it was tuned; None, with a warning, where that cannot be read: the examples can."""
        gallery = self._gallery
        try:
            header, arrays = gallery.tuned_state(moment.tuned)
            made = tuned.answerer_from(header, arrays, moment.contents, moment.vectors, path=gallery.path)
        except FileError as problem:
            tuned.warn_unreadable(problem)
            return None
        return Ready(moment.contents, moment.tuned, made)

    def _faced(self, ready: Ready) -> KCRCClassifier | None:
        """The stored classifier around what answers; None, with a warning, where it cannot be read."""
        from kcrc.classifier.saving import faced

        gallery = self._gallery
        try:
            header, arrays = gallery.tuned_state(ready.tuned)
            made = faced(header, arrays, ready.answerer, path=gallery.path)
            facts = gallery.read(lambda reading: tuned.read_facts(reading, ready.tuned))
        except FileError as problem:
            tuned.warn_unreadable(problem)
            return None
        made.growth_ = facts.growth(ready.contents)
        return made

    def tune(
        self, *, asked: bool = True, parameters: Mapping[str, Any] | None = None, **this_time: Any
    ) -> KCRCClassifier:
        """Choose the parameters anew and store them; where nobody asked, only if that can be done.

        ``parameters`` are fixed, in place of those fixed before.
        """
        made = self._chosen(asked=asked, parameters=parameters, **this_time).classifier
        assert made is not None
        return made

    def _chosen(self, *, asked: bool, parameters: Mapping[str, Any] | None = None, **this_time: Any) -> Ready:
        gallery = self._gallery
        if asked and gallery.readonly:
            raise StateError(f"'{gallery.path}' was opened for reading only; tuning stores what it finds.")
        made, contents = self._fitted(this_time, parameters)
        self._ready = ready = Ready(contents, 0, made.answerer_, made)
        with contextlib.nullcontext() if asked else contextlib.suppress(KCRCError):
            ready = self._kept(gallery, ready, asked=asked, parameters=parameters)
        return ready

    def settle(self) -> None:
        """Take the usual parameters without choosing, and store them; ``tune`` can choose them later."""
        made, contents = self._fitted(tuned.USUAL)
        self._ready = ready = Ready(contents, 0, made.answerer_, made)
        self._kept(self._gallery, ready, chosen=tuned.NOT_CHOSEN)

    def bring_up_to_date(self) -> None:
        """Learn anew, from the examples as they are, all that was learned from them when the parameters were chosen,
        and keep it: how sure answers are, a covariance. For whoever has changed the gallery; what only reads it learns
        nothing. Where that cannot be done, what was learned before stays in use."""
        if self._gallery.readonly or not self._gallery.settings.tuned:
            return
        with warnings.catch_warnings(), contextlib.suppress(KCRCError):
            warnings.simplefilter("ignore", UnreadableTuning)  # whoever asks next is told
            self._renew()

    def _renew(self) -> None:
        gallery, ready = self._gallery, self._ready
        moment = self._moment(vectors=False)
        facts = moment.facts
        if facts is None or not len(moment.contents) or facts.outgrown(moment.contents):
            return
        if gallery.read(lambda reading: tuned.learned_at(reading, moment.tuned)) == moment.contents.revision:
            return
        moment = self._moment()
        made = None if ready is None else renewed(ready, moment)
        if made is None:
            restored = self._restored(moment)
            made = None if restored is None else self._faced(restored)
            if made is not None:
                made.learn_anew()
        if made is not None:
            made.growth_ = facts.growth(moment.contents)
            state = tuned.state_of(made, facts.next_id, facts)
            if gallery.store.write(acts.Renew(moment.tuned, state, moment.contents.revision)):
                self._ready = Ready(moment.contents, moment.tuned, made.answerer_, made)

    @property
    def unstored(self) -> bool:
        """Whether the parameters were chosen here and are not in the file."""
        return self._ready is not None and not self._ready.tuned

    def keep(self, gallery: Gallery) -> None:
        """Store what was chosen here in ``gallery``: this one, or the same file opened for writing."""
        if self._ready is None or self._ready.classifier is None:
            raise StateError("Nothing has been chosen here that could be stored.")
        self._kept(gallery, self._ready)

    def _kept(
        self,
        gallery: Gallery,
        ready: Ready,
        *,
        asked: bool = False,
        parameters: Mapping[str, Any] | None = None,
        chosen: str | None = None,
    ) -> Ready:
        """What is ready once it is stored: as it was, or of the revision that storing it made. ``chosen`` says how the
        parameters came about, where nothing was tried."""
        contents = ready.contents
        assert ready.classifier is not None
        act = gallery.keep_tuned(
            ready.classifier, next_id=int(contents.ids[-1]) + 1, asked=asked, parameters=parameters,
            since=contents.revision, chosen=chosen,
        )  # fmt: skip
        if act == contents.revision + 1:  # nothing else happened meanwhile
            self._ready = ready = replace(ready, contents=Contents(act, contents.rows), tuned=act)
        return ready

    @property
    def choice_due(self) -> str | None:
        """Why the next question chooses the parameters, or None where it takes those that are stored."""
        moment = self._moment(vectors=False)
        if not moment.tuned:
            return "The parameters have yet to be chosen from the examples"
        if moment.facts is not None and moment.facts.outgrown(moment.contents):
            return "The parameters were chosen on less than half of the examples"
        return None

    def facts(self) -> Facts | None:
        """On what the stored choice rests; None where there is none."""
        return self._moment(vectors=False).facts

    @property
    def retune_due(self) -> str | None:
        """Why tuning again is due, or None."""
        moment = self._moment(vectors=False)
        return None if moment.facts is None else moment.facts.due(moment.contents)

    def _moment(self, *, vectors: bool = True, facts: bool = True) -> Moment:
        gallery = self._gallery

        def look(reading: Snapshot) -> Moment:
            act = gallery.settings.tuned
            chosen_on = None
            if act and facts:
                try:
                    chosen_on = tuned.read_facts(reading, act)
                except FileError as problem:
                    tuned.warn_unreadable(problem)
            contents = gallery.contents
            array = gallery.vectors()[1] if vectors and len(contents) else np.empty((0, gallery.dim))
            return Moment(contents, array, act, chosen_on)

        return gallery.read(look)

    def _fitted(
        self, this_time: Mapping[str, Any], fixed: Mapping[str, Any] | None = None
    ) -> tuple[KCRCClassifier, Contents]:
        from kcrc.classifier.estimator import KCRCClassifier

        gallery = self._gallery
        moment = self._moment(facts=False)  # choosing anew mends what was damaged there
        now = moment.contents
        if not len(now):
            raise StateError(f"The gallery '{gallery.path}' has no examples yet. Add some first.")
        if not np.isfinite(moment.vectors).all():
            raise FileError(f"A vector of '{gallery.path}' holds NaN or infinity; the file is damaged.")
        try:
            made = KCRCClassifier(**{**(gallery.parameters if fixed is None else fixed), **this_time})
        except TypeError as problem:
            raise ParameterError(f"The gallery's parameters do not fit a classifier: {problem}.") from None
        return made.fit(moment.vectors, now.labels, rows=now.ids), now


def _as_list(images: Any) -> Any:
    return [images] if isinstance(images, str | bytes | os.PathLike) else images
