"""A gallery on a PostgreSQL server: a query beside the bare SQL search, then writers and readers, each a process of its
own, while the server is killed and started again; and queries by the server's graph."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.queues import Queue
from typing import Any, NamedTuple

import numpy as np

from kcrc._base.arrays import Array
from kcrc.confidence.answers import Answers
from kcrc.gallery import Gallery, building, stores
from kcrc.gallery.adding import Add, checked_examples
from kcrc.report.tables import text_table
from kcrc.scale.on_server import ServerAnswerer
from lab.bench.parts import PartRun
from lab.bench.parts.serving import clusters
from lab.bench.postgres_server import PostgresServer, running
from lab.bench.results import Requirement

CLIENTS = 4  # writers, and as many readers
PAUSE = 0.02  # seconds of a writer between two acts: few examples must not outgrow what was tuned meanwhile
TOGETHER = 10  # examples in one change
_AT_ONCE = 20_000  # examples in one change while the gallery is made


@dataclass
class Heard:
    """What one client did: examples that were acknowledged (or questions that were answered), what went wrong, and the
    longest that it waited for one answer, in seconds."""

    ids: list[int] = field(default_factory=list)
    answers: int = 0
    problems: list[str] = field(default_factory=list)
    waited: float = 0.0


class TimedAnswers(NamedTuple):
    """The answer to one query, and how long it took."""

    answers: Answers
    seconds: float


def measure(run: PartRun) -> None:
    n, d, seconds, queries, clients = (2_000, 16, 4.0, 5, 2) if run.quick else (200_000, 128, 60.0, 40, CLIENTS)
    with running(maintenance_work_mem="1GB") as server:  # a graph that does not fit takes three times as long to make
        address = server.address(gallery="bench")
        vectors, labels = clusters(n + 500, d)
        _make(address, vectors[:n], labels[:n])
        _cost(run, address, vectors[n:], queries, f"{n:,} × {d}")
        _traffic(run, server, address, vectors[n:], n, seconds, clients)
        address = server.address(gallery="graph")
        _make(address, vectors[:n], labels[:n])
        _graph(run, address, vectors[n:], queries, f"{n:,} × {d}")


def _make(address: str, vectors: Array, labels: list[str]) -> None:
    with building(address, dim=vectors.shape[1]) as made:
        for start in range(0, len(vectors), _AT_ONCE):
            made.add(labels[start : start + _AT_ONCE], vectors[start : start + _AT_ONCE])
    with Gallery.open(address) as made:
        made.answering.use_default_parameters()


def _cost(run: PartRun, address: str, queries: Array, times: int, size: str) -> None:
    """Our query and the bare search in turns."""
    with Gallery.open(address) as gallery:
        answerer = ServerAnswerer(gallery)
        answerer.answer(queries[:1])  # the coordinates are made
        assert answerer.why is None, answerer.why
        ours, bare = [], []
        for query in queries[:times]:
            ours.append(_seconds(lambda query=query: answerer.answer(query[None])))  # type: ignore[misc]
            bare.append(_seconds(lambda query=query: answerer.nearest_ids(query)))  # type: ignore[misc]
        here = gallery.answering.answerer()
        same = [
            (answerer.answer(query[None]).evidence.rows == here.answer(query[None]).evidence.rows).all()
            for query in queries[:times]
        ]
    mine, theirs = float(np.median(ours)), float(np.median(bare))
    rows = [["a query", f"{1e3 * mine:.1f}"], ["the bare SQL search", f"{1e3 * theirs:.1f}"]]
    run.say(text_table(f"\n{size} on a PostgreSQL server, ms", ["", ""], rows))
    run.results.ratios["a query / the bare SQL search"] = mine / theirs
    run.results.claims.append(Requirement("a query / the bare SQL search", mine / theirs, 2.0))
    run.results.claims.append(
        Requirement("queries with the neighbours of all examples", float(np.mean(same)), 1.0, at_least=True)
    )


def _graph(run: PartRun, address: str, queries: Array, times: int, size: str) -> None:
    """Our query by the server's graph, and by its exact search, in turns."""
    with Gallery.open(address) as gallery:
        exact, graph = ServerAnswerer(gallery), ServerAnswerer(gallery, search="hnsw")
        exact.answer(queries[:1])  # the coordinates are made
        making = _seconds(lambda: graph.answer(queries[:1]))
        assert graph.why is None, graph.why
        asked = [(_timed(graph, query), _timed(exact, query)) for query in queries[:times]]
    by_graph, by_all = np.median([(one.seconds, other.seconds) for one, other in asked], axis=0)
    found = [np.isin(other.answers.evidence.rows, one.answers.evidence.rows).mean() for one, other in asked]
    alike = [one.answers.labels[0] == other.answers.labels[0] for one, other in asked]
    rows = [
        ["a query by the graph, ms", f"{1e3 * by_graph:.1f}"],
        ["a query by exact search, ms", f"{1e3 * by_all:.1f}"],
        ["to make the graph and ask how much it finds, s", f"{making:.1f}"],
        ["neighbours found", f"{np.mean(found):.1%}"],
        ["labels as by exact search", f"{np.mean(alike):.1%}"],
    ]
    run.say(text_table(f"\n{size} on a PostgreSQL server by its HNSW graph", ["", ""], rows))
    run.say(f"It says of itself: {asked[0][0].answers.evidence.search}.")
    run.results.ratios["a query by the server's graph / by its exact search"] = float(by_graph / by_all)


def _timed(answerer: ServerAnswerer, query: Array) -> TimedAnswers:
    begun = time.perf_counter()
    answers = answerer.answer(query[None])
    return TimedAnswers(answers, time.perf_counter() - begun)


def _traffic(
    run: PartRun, server: PostgresServer, address: str, queries: Array, n: int, seconds: float, each: int
) -> None:
    """So many writers and as many readers, and a kill in the middle."""
    spawning = multiprocessing.get_context("spawn")
    told: Queue[tuple[str, Heard]] = spawning.Queue()
    work: list[tuple[Callable[..., None], Any]] = [(_write, number) for number in range(each)]
    work += [(_read, queries)] * each
    clients = [spawning.Process(target=kind, args=(address, given, seconds, told)) for kind, given in work]
    for client in clients:
        client.start()
    for _ in clients:
        told.get(timeout=120)  # each says that it has begun
    time.sleep(seconds / 2)
    server.kill()
    begun = time.perf_counter()
    server.start()
    away = time.perf_counter() - begun
    heard = [told.get(timeout=seconds + 120) for _ in clients]
    for client in clients:
        client.join()
    writers = [one for kind, one in heard if kind == "writer"]
    readers = [one for kind, one in heard if kind == "reader"]
    acknowledged = [example for one in writers for example in one.ids]
    with Gallery.open(address, readonly=True) as gallery:
        kept = set(gallery.contents.ids.tolist())
        sound = gallery.verify().sound
    lost, more = len(set(acknowledged) - kept), len(kept) - n - len(acknowledged)
    problems = [problem for _, one in heard for problem in one.problems]
    rows = [
        ["examples written a second", f"{len(acknowledged) / seconds:.0f}"],
        ["questions answered a second", f"{sum(one.answers for one in readers) / seconds:.1f}"],
        ["the server was away, s", f"{away:.1f}"],
        ["longest wait of a writer, s", f"{max(one.waited for one in writers):.1f}"],
        ["longest wait of a reader, s", f"{max(one.waited for one in readers):.1f}"],
        ["acknowledged examples lost", str(lost)],
        ["examples kept twice", str(more)],
        ["clients that gave up", str(len(problems))],
    ]
    title = f"\n{each} writers and {each} readers for {seconds:g} s, the server killed midway"
    run.say(text_table(title, ["", ""], rows))
    for problem in problems[:3]:
        run.say(f"A client gave up: {problem}")
    run.results.notes += problems[:3]
    claims = run.results.claims
    claims.append(Requirement("acknowledged examples lost", float(lost), 0.0))
    claims.append(Requirement("examples kept twice", float(more), 0.0))
    claims.append(Requirement("clients that gave up", float(len(problems)), 0.0))
    claims.append(
        Requirement("clients that wrote or were answered", float(_busy(heard)), float(len(heard)), at_least=True)
    )
    claims.append(Requirement("damage after it", float(not sound), 0.0))


def _busy(heard: list[tuple[str, Heard]]) -> int:
    return sum(bool(one.ids or one.answers) for _, one in heard)


def _write(address: str, number: int, seconds: float, told: Queue[tuple[str, Heard]]) -> None:
    heard, rng = Heard(), np.random.default_rng(1000 + number)
    store = stores.kind_of(address).open(address, readonly=False, recover=False)
    settings = store.read(lambda reading: reading.settings())

    def add() -> None:
        vectors = rng.standard_normal((TOGETHER, settings.dim), np.float32)
        heard.ids += store.write(Add(checked_examples(settings, f"class {number}", vectors))).ids
        time.sleep(PAUSE)

    told.put(("begun", heard))
    _until(seconds, add, heard)
    store.close()
    told.put(("writer", heard))


def _read(address: str, queries: Array, seconds: float, told: Queue[tuple[str, Heard]]) -> None:
    heard = Heard()
    with Gallery.open(address) as gallery:
        answerer = ServerAnswerer(gallery)

        def ask() -> None:
            answerer.answer(queries[heard.answers % len(queries)][None])
            heard.answers += 1

        told.put(("begun", heard))
        _until(seconds, ask, heard)
    told.put(("reader", heard))


def _until(seconds: float, work: Callable[[], None], heard: Heard) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        try:
            heard.waited = max(heard.waited, _seconds(work))
        except Exception as problem:  # whatever it is, the client gave up, which is what is counted
            heard.problems.append(f"{type(problem).__name__}: {problem}")
            return


def _seconds(work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
