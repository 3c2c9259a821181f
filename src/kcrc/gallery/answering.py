"""What answers in a gallery: its examples in a classifier, as they are now, with evidence by example id."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kcrc.confidence.answerer import Answerer
from kcrc.errors import FileError, KCRCError, ParameterError, StateError, UnreadableTuning
from kcrc.gallery import acts, tuned
from kcrc.gallery.asking import Asking
from kcrc.gallery.contract import Snapshot
from kcrc.gallery.examples import Contents
from kcrc.gallery.tuned import Facts, Moment, Ready, followed, renewed

if TYPE_CHECKING:
    from kcrc.classifier.estimator import KCRCClassifier
    from kcrc.gallery.gallery import Gallery
    from kcrc.tuning import Tuning


class Answering(Asking):
    """What answers in one gallery, made when first needed and brought up to date when it changed."""

    def __init__(self, gallery: Gallery) -> None:
        super().__init__(gallery)
        self._ready: Ready | None = None
        self._replacing = threading.Lock()

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
        self._ready = Ready(contents, 0, made.answerer_, made)
        self.keep(self._gallery, chosen=tuned.NOT_CHOSEN)

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

    def keep(
        self,
        gallery: Gallery,
        *,
        asked: bool = False,
        parameters: Mapping[str, Any] | None = None,
        chosen: str | None = None,
    ) -> None:
        """Store what was chosen here in ``gallery``: this one, or the same file opened for writing. ``chosen`` says it
        in words where nothing was tried."""
        ready = self._ready
        if ready is None or ready.classifier is None:
            raise StateError("Nothing has been chosen here that could be stored.")
        self._kept(gallery, ready, asked=asked, parameters=parameters, chosen=chosen)

    def _kept(
        self,
        gallery: Gallery,
        ready: Ready,
        *,
        asked: bool,
        parameters: Mapping[str, Any] | None,
        chosen: str | None = None,
    ) -> Ready:
        """What is ready once it is stored: as it was, or of the revision that storing it made."""
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
    def tuning(self) -> Tuning | None:
        """What was tried when the parameters were chosen; None where there was nothing to choose."""
        return self.classifier().tuning_

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
