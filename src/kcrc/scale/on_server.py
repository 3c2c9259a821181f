"""A gallery on a server that searches it: the server names the nearest examples, the local problems are solved here.

queries -> the server: some more than the nearest, by single precision -> their records and vectors, checked
        -> measured here; if that does not prove that none is missing, more are fetched -> local problems

From there on it is the pipeline of one process, over a model of the few examples that are near. The server's graph
(``search="hnsw"``) names most of the nearest: how many is estimated on stored examples, each searched by the graph and
exactly, and every answer says it. Otherwise, with u = 2⁻²⁴, R the
longest coordinates and d their width, an example that the server did not name is at least

    far · (1 − (d + 4) u) − u (R + ‖q‖) − tiny

away from the query q, where ``far`` is what the server measured for the last that it named: coordinates and query are
rounded once, and the sum of d squares errs by at most (d + 3) u of itself. So neighbours are those of a search over
all examples.

How sure answers are is learned again from all examples when some came or went, as the gallery itself does; beyond
``CALIBRATED_AGAIN`` examples, which a question should not wait for, only when the gallery is asked or tuned.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.parallel import chunks
from kcrc.classifier.saving import Examples, rebuild_answerer
from kcrc.classifier.stored_parts import encode
from kcrc.confidence.answerer import Answerer
from kcrc.confidence.answers import Answers, answers_of
from kcrc.errors import KCRCError, StateError, UnknownName
from kcrc.gallery import Gallery, stored_choice
from kcrc.gallery.contract import Coordinates, ExampleRecord, SearchingStore, Snapshot
from kcrc.gallery.stored_choice import CurrentAnswerer
from kcrc.method.evidence import Evidence, join_evidence
from kcrc.method.fitted_model import FittedModel
from kcrc.method.neighbours.approximate.recall import UNKNOWN, Recall
from kcrc.method.preparation import Samples
from kcrc.scale.sharded import why_not

AT_ONCE = 16  # queries whose neighbours are fetched together
MORE = 16  # examples that the server names beyond those needed
MOST = 20_000  # examples that a query may take before all are fetched instead
LATER = 256  # examples without coordinates that are measured here before they get some
RECALL_SAMPLE = 50  # examples that the graph's recall is estimated on
STALE = 0.05  # share of examples that may get coordinates before it is estimated again
LONGEST = 100  # examples of the server among which the longest that is still stored is sought
CALIBRATED_AGAIN = 20_000  # examples
_U = 2.0**-24
_TINY = 2e-19  # differences whose squares are lost in single precision


class CannotSearch(Exception):
    """Why the server cannot search; the answer is then computed here, from all examples."""


@dataclass(frozen=True, eq=False)
class ReadState:
    """What is known beside the examples, for one choice of the parameters."""

    key: tuple[int, int | None, int | None]
    tip: Answerer
    """Answers from the longest example alone: method, confidence, and what precision goes by."""
    tip_id: int
    mark: str
    upto: int
    """The server has the coordinates of examples with smaller ids; ``reach`` is how long the longest of them are."""
    reach: float

    def coordinates(self, vectors: Array) -> Array:
        """(n, d) as the method searches them."""
        distance = self.tip.model.method.search_distance
        return np.asarray(Samples(vectors).of(distance)["vectors"])

    @property
    def n_near(self) -> int:
        """How many of the nearest examples a query needs."""
        method = self.tip.model.method
        return max(method.n_candidates or 0, method.n_neighbors or 0)


@dataclass(frozen=True, eq=False)
class Summary:
    """All examples of a revision: the classes, sorted, and how many examples came or went since the parameters were
    chosen."""

    revision: int
    tuned: int
    next_id: int
    classes: Array
    changes: int


class ServerAnswerer:
    """Answers as the gallery's own ``Answerer`` does. If the method needs all examples, or the server cannot search,
    all are fetched and searched here; ``why`` says why, for the latest answer (None: the server searched). ``search``
    is "exact", or "hnsw" for the server's graph."""

    def __init__(self, gallery: Gallery, *, search: str = "exact") -> None:
        if search not in ("exact", "hnsw"):
            raise UnknownName("search on a server", search, ("exact", "hnsw"))
        if not isinstance(gallery.store, SearchingStore):
            raise StateError(f"'{gallery.path}' is not on a server that could search. Ask the gallery itself.")
        self._gallery, self._store = gallery, gallery.store
        self._graph = search == "hnsw"
        self._recall: tuple[str, int, Recall] | None = None
        self._known: ReadState | None = None
        self._calibrated: CurrentAnswerer | None = None
        self._summary: Summary | None = None
        self.why: str | None = None

    @property
    def classes(self) -> Array:
        """The classes, sorted."""
        names = self._gallery.read(lambda reading: self._store.coordinates(reading, "").labels())
        return np.array(sorted(names), dtype=str)

    def answer(
        self,
        vectors: Any,
        *,
        reject: float | None = None,
        unknown: Any = None,
        coverage: float | None = None,
        explain: bool = False,
    ) -> Answers:
        """As ``Answerer.answer``."""
        try:
            known, evidence, later = self._search(vectors, explain)
        except CannotSearch as problem:
            self.why = str(problem)
            here = self._gallery.answering.answerer()
            return here.answer(vectors, reject=reject, unknown=unknown, coverage=coverage, explain=explain)
        self.why = None
        if later > LATER and not self._gallery.readonly:
            with suppress(CannotSearch):  # the answer is there; the next query tries again
                self._extend(known)
        return answers_of(known.tip.confidence, evidence, reject=reject, unknown=unknown, coverage=coverage)

    def nearest_ids(self, vector: Array) -> Array:
        """The ids that the server names as the nearest to one vector (d,), as many as the method needs: the part of an
        answer that the server does."""

        def look(reading: Snapshot) -> Array:
            known = self._prepare(reading)
            there = self._store.coordinates(reading, known.mark)
            return there.nearest(known.coordinates(known.tip.scale_queries(vector[None]))[0], known.n_near)[0]

        return self._gallery.read(look)

    def _search(self, vectors: Any, explain: bool) -> tuple[ReadState, Evidence, int]:
        """The evidence, and how many examples had to be measured for want of coordinates."""
        if self._gallery.read(self._is_outdated):
            self._calibrated = self._gallery.answering.ready()
        known = self._gallery.read(self._prepare)
        if known.upto == 0:
            if self._gallery.readonly:
                raise CannotSearch(
                    "the server has no sound coordinates of the examples, and the gallery is open to read only"
                )
            self._extend(known)
        elif self._graph and not self._gallery.readonly and not self._gallery.read(lambda r: self._has_graph(r, known)):
            self._extend(known)

        def look(reading: Snapshot) -> tuple[ReadState, Evidence, int]:
            now = self._prepare(reading)
            if now.upto == 0:  # no need to wait for the other program
                raise CannotSearch("another program is just storing the coordinates of the examples on the server")
            there = self._store.coordinates(reading, now.mark)
            graph = self._graph and there.has_graph()
            search = _Search(reading, there, now, self._summarise(reading, there, now).classes, graph=graph)
            rows = now.tip.samples.rows(vectors)
            found = join_evidence([search.evidence(rows[piece], explain) for piece in chunks(len(rows), AT_ONCE)])
            if graph:
                found = replace(found, search=f"hnsw on the server, {self._estimate_recall(search).words}")
            return now, found, len(search.later)

        return self._gallery.read(look)

    def _has_graph(self, reading: Snapshot, known: ReadState) -> bool:
        return self._store.coordinates(reading, known.mark).has_graph()

    def _estimate_recall(self, search: _Search) -> Recall:
        """How many of the nearest the graph names; estimated again when a twentieth more examples have coordinates."""
        mark, upto = search.known.mark, search.known.upto
        had = self._recall
        if had is None or had[0] != mark or abs(upto - had[1]) > STALE * upto:
            had = self._recall = (mark, upto, search.recall())
        return had[2]

    def _extend(self, known: ReadState) -> None:
        scaling = known.tip.model.method.scaling
        width = known.coordinates(known.tip.model.vectors).shape[1]
        try:
            self._store.extend_coordinates(
                known.mark, width, lambda raw: known.coordinates(scaling.transform(raw)), graph=self._graph
            )
        except KCRCError as problem:
            raise CannotSearch(f"the server cannot keep coordinates ({problem})") from None

    def _is_outdated(self, reading: Snapshot) -> bool:
        """Whether examples came or went since it was learned how sure answers are."""
        settings, here = reading.settings(), self._calibrated
        learned = stored_choice.learned_at(reading, settings.tuned) if settings.tuned else None
        current = None if here is None else here.contents.revision
        return (
            learned is not None and settings.revision not in (learned, current) and settings.next_id <= CALIBRATED_AGAIN
        )

    def _prepare(self, reading: Snapshot) -> ReadState:
        """What is known of this state; ``upto`` is 0 if the server has no coordinates yet."""
        settings = reading.settings()
        if not settings.tuned:
            raise CannotSearch("the parameters have yet to be chosen")
        here = self._calibrated
        current = here.contents.revision if here is not None and here.contents.revision == settings.revision else None
        key = (settings.tuned, stored_choice.learned_at(reading, settings.tuned), current)
        known = self._known
        if known is None or known.key != key or self._store.coordinates(reading, known.mark).upto() != known.upto:
            self._known = known = self._load(reading, key)
        return known

    def _load(self, reading: Snapshot, key: tuple[int, int | None, int | None]) -> ReadState:
        first = next(reading.find(ExampleRecord, removed_by=None), None)
        if first is None:
            raise CannotSearch("there are no examples")
        if key[2] is not None and self._calibrated is not None:
            tip = self._calibrated.answerer
        else:
            header, arrays = stored_choice.read_state(reading, key[0])
            tip = rebuild_answerer(header, arrays, _examples(reading, [first]), path=self._gallery.path)
        method = tip.model.method
        reason = why_not(method)
        if reason is None and not method.search_distance.orders_like_euclid:
            reason = "a server cannot order by its distance"
        if reason is not None:
            raise CannotSearch(reason)
        mark = _mark(method.scaling, method.search_distance)
        there = self._store.coordinates(reading, mark)
        upto = there.upto() if there.are_whole() else 0  # checked once: they are a cache, and computed again
        if upto == 0:
            return ReadState(key, tip, first.id, mark, 0, 0.0)
        ids, reach = there.longest(LONGEST)
        live = {one.id: one for one in reading.find(ExampleRecord, id=ids.tolist(), removed_by=None)}
        last = next((live[int(one)] for one in ids if int(one) in live), first)
        one = _examples(reading, [last])
        longest = FittedModel.build(method, one.vectors, one.classes, one.labels, one.ids)
        return ReadState(key, Answerer(longest, tip.confidence, tip.samples), last.id, mark, upto, reach)

    def _summarise(self, reading: Snapshot, there: Coordinates, known: ReadState) -> Summary:
        """The summary of all examples: that of before with what was added since, or by reading them all."""
        settings, had = reading.settings(), self._summary
        if had is not None and (had.revision, had.tuned) == (settings.revision, settings.tuned):
            return had
        facts = stored_choice.read_facts(reading, settings.tuned)
        if had is not None and had.tuned == settings.tuned and _only_added(reading, since=had.revision):
            new = [one for one in there.from_id(had.next_id) if one.removed_by is None]
            names, changes = {*had.classes.tolist(), *(one.label for one in new)}, had.changes + len(new)
        else:
            old, later = there.counts(facts.next_id)
            names, changes = there.labels(), facts.examples - old + later
        if facts.outgrown_by(changes):
            raise CannotSearch("the parameters were chosen on too few of the examples, and are chosen again")
        classes = np.array(sorted(names), dtype=str)
        self._summary = Summary(settings.revision, settings.tuned, settings.next_id, classes, changes)
        return self._summary


class _Search:
    """Queries in one state of the gallery."""

    def __init__(
        self, reading: Snapshot, there: Coordinates, known: ReadState, classes: Array, *, graph: bool = False
    ) -> None:
        self.reading, self.there, self.known, self.classes, self.graph = reading, there, known, classes, graph
        self.later = [one for one in there.from_id(there.upto()) if one.removed_by is None]

    def evidence(self, vectors: Array, explain: bool) -> Evidence:
        """The evidence for some queries, as they were given."""
        known = self.known
        queries = known.coordinates(known.tip.scale_queries(vectors))
        asked = np.full(len(queries), known.n_near + MORE)
        named = [self.there.nearest(query, int(asked[i]), graph=self.graph) for i, query in enumerate(queries)]
        while True:
            model = self._model({int(one) for ids, _ in named for one in ids})
            short = [i for i, query in enumerate(queries) if not self._proven(model, query, named[i], int(asked[i]))]
            if not short:
                small = Answerer(model, known.tip.known, known.tip.samples)
                return join_evidence(small.read(vectors, lambda one: one, explain=True, code_all=explain))
            for i in short:
                asked[i] *= 4
                if asked[i] > MOST:
                    raise CannotSearch("the server's single precision does not tell who is near")
                named[i] = self.there.nearest(queries[i], int(asked[i]))  # exactly: a graph may end early

    def _model(self, ids: set[int]) -> FittedModel:
        """A model of these examples as far as they are in, of those without coordinates, and of the longest."""
        wanted = ids | {self.known.tip_id}
        records = {one.id: one for one in self.reading.find(ExampleRecord, id=sorted(wanted), removed_by=None)}
        records |= {one.id: one for one in self.later}
        some = _examples(self.reading, [records[one] for one in sorted(records)], self.classes)
        return FittedModel.build(self.known.tip.model.method, some.vectors, some.classes, some.labels, some.ids)

    def _proven(self, model: FittedModel, query: Array, named: tuple[Array, Array], asked: int) -> bool:
        """Whether no example beyond those of the model is among the wanted nearest."""
        ids, far = named
        if self.graph and asked == self.known.n_near + MORE:
            enough = int(np.isin(ids, model.ids).sum()) >= self.known.n_near
            return len(ids) == asked and enough  # a graph proves nothing, but must not end early
        if len(ids) < asked:  # all of them
            return True
        atoms = model.examples(model.method.search_distance)["vectors"].astype(np.float64)
        exact = np.sort(np.sqrt(((atoms - query.astype(np.float64)) ** 2).sum(axis=1)))
        if len(exact) < self.known.n_near or not np.isfinite(far[-1]):
            return False
        width = len(query)
        length = float(np.sqrt((query.astype(np.float64) ** 2).sum()))
        slack = _U * (self.known.reach * (1 + width * _U) + length) + _TINY * sqrt(width)
        return bool(exact[self.known.n_near - 1] < far[-1] * (1 - (width + 4) * _U) - slack)

    def recall(self) -> Recall:
        """Estimated on stored examples, each searched by the graph and exactly, without itself."""
        live = [one for one in self.reading.all(ExampleRecord) if one.removed_by is None and one.id < self.known.upto]
        asked = [live[i] for i in np.unique(np.linspace(0, len(live) - 1, RECALL_SAMPLE).astype(int))]
        k = min(self.known.n_near, len(live) - 1)
        if k < 1:
            return UNKNOWN
        given = self.known.tip.scale_queries(_examples(self.reading, asked).vectors)
        found = []
        for query in self.known.coordinates(given):
            reach = self.there.nearest(query, k + 1)[1][-1]
            near = self.there.nearest(query, k + 1, graph=True)[1]
            found.append(max(0, int((near <= reach * (1 + 1e-6)).sum()) - 1) / k)
        return Recall(float(np.mean(found)), len(asked))


def _only_added(reading: Snapshot, *, since: int) -> bool:
    """Whether examples were added after a revision, and nothing else was done."""
    return all(act.action == "add" for act in itertools.takewhile(lambda act: act.id > since, reading.acts()))


def _examples(reading: Snapshot, records: Sequence[ExampleRecord], classes: Array | None = None) -> Examples:
    """Examples by rising id, with their vectors as the classifier takes them."""
    labels = np.array([one.label for one in records], dtype=str)
    names = np.unique(labels) if classes is None else classes
    vectors = reading.vectors(records)
    native = vectors.astype(vectors.dtype.newbyteorder("="), copy=False)
    return Examples(names, native, np.searchsorted(names, labels), _ids(records))


def _ids(records: Sequence[ExampleRecord]) -> Array:
    return np.array([one.id for one in records], np.int64)


def _mark(*parts: Any) -> str:
    """A digest of these parts and all that they learned."""
    arrays: dict[str, Array] = {}
    text = json.dumps([encode(part, "part", arrays) for part in parts], sort_keys=True)
    digest = hashlib.sha256(text.encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name}\0{array.dtype.str}\0{array.shape}\0".encode() + array.tobytes())
    return digest.hexdigest()[:24]
