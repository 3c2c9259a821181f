"""Work spread by Ray: beside two bare processes, with an actor and a node lost midway, and by shards and nodes.

Times of Ray do not count its start, nor what a worker does once (opening the gallery). It is what the second half of
``docs/scale.md`` is made of: see ``lab.bench.scale.page``.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.confidence.answerer import Answerer
from kcrc.method.fitted_model import FittedModel
from kcrc.report.tables import text_table
from kcrc.scale import engines
from kcrc.scale.engines import Engine
from kcrc.scale.scoring.inputs import Input, Piece
from kcrc.scale.scoring.scorer import Question, Scorer
from kcrc.scale.sharded import ShardedAnswerer, shards_of_answerer
from lab.bench import ray_nodes
from lab.bench.cost_model import CostModel, CostPoint, fitted
from lab.bench.parts import PartRun
from lab.bench.results import Requirement
from lab.bench.scale.projected import projected
from lab.bench.scale.record import Record

WIDTH, CLASSES, NEIGHBOURS, AT_ONCE = 64, 20, 25, 250
FIT = [(n, shards) for n in (20_000, 80_000, 160_000) for shards in (1, 2, 4)]
HELD_OUT = [(40_000, 3), (320_000, 2)]
QUICK_FIT, QUICK_HELD_OUT = [(200, 1), (200, 2), (400, 1), (400, 2)], [(300, 2)]
CHOSEN: dict[str, Any] = {
    "scaling": "plain", "kernel": "rbf", "gamma": 1.0 / WIDTH, "mu": 0.1, "form": "rkhs", "decision": "ratio",
    "locality": "atoms", "verbose": False,
}  # fmt: skip


def measure(run: PartRun) -> None:
    record = Record.begun("python -m lab bench --part engines")
    with tempfile.TemporaryDirectory() as place:
        record.measured["beside"] = beside_bare_processes(run, Path(place))
    record.measured["lost"] = with_losses(run)
    record.measured["slopes"] = slopes = by_shards_and_nodes(run)
    queries = 2000 if run.quick else 200_000
    record.measured["projected"] = projected(
        CostModel(*slopes["model"]), width=WIDTH, neighbours=NEIGHBOURS, queries=queries
    )
    run.results.scale["engines"] = record


def problem(n: int) -> tuple[Array, Array]:
    """Examples around the centres of their classes, and the number of the class of each."""
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, CLASSES, n)
    centres = rng.standard_normal((CLASSES, WIDTH), np.float32)
    return centres[numbers] + 1.5 * rng.standard_normal((n, WIDTH), np.float32), numbers


# Two workers beside two bare processes


def beside_bare_processes(run: PartRun, place: Path) -> dict[str, Any]:
    """The same pieces by two workers of Ray and by two processes that were given half of them each."""
    from kcrc.gallery import Gallery
    from kcrc.scale.sharded import fingerprint

    n, queries, rounds = (300, 9000, 1) if run.quick else (20_000, 32_768, 8)
    X, numbers = problem(n + queries)
    with Gallery.create(place / "g.kcrc", dim=WIDTH) as gallery:
        gallery.add([f"class {c}" for c in numbers[:n]], X[:n])
        gallery.answering.use_default_parameters()
        known = fingerprint(gallery)
    np.save(place / "q.npy", X[n:])
    scorer = Scorer(str(place / "g.kcrc"), known, Question("answers.csv"), os.getcwd(), 1)
    pieces = list(Input(tables=(str(place / "q.npy"),)).pieces())
    took: dict[str, list[float]] = {"bare": [], "ray": []}
    with Bare(scorer, pieces) as bare, engines.make("ray", workers=2) as engine:
        _warm(engine, scorer, pieces)
        for _ in range(rounds):
            took["bare"].append(bare.run())
            begun = time.perf_counter()
            answered = sum(one.value.answers for one in engine.map(scorer, pieces, key=lambda piece: piece.number))
            took["ray"].append(time.perf_counter() - begun)
            assert answered == queries
    best = {name: min(times) for name, times in took.items()}  # others on the machine only ever add
    share, rate = best["bare"] / best["ray"], queries / best["ray"]
    run.say(
        text_table(
            f"\n{queries:,} queries to {n:,} × {WIDTH}, {len(pieces)} pieces, in {rounds} turns",
            ["", ""],
            [
                ["queries a second, two bare processes", f"{queries / best['bare']:,.0f}"],
                ["queries a second, two workers of Ray", f"{rate:,.0f}"],
                ["Ray / bare", f"{share:.2f}"],
            ],
        )
    )
    run.results.ratios["two bare processes / two workers of Ray"] = 1 / share
    run.results.claims.append(Requirement("two workers of Ray / two bare processes", share, 0.85, at_least=True))
    return {"examples": n, "queries": queries, "share": share, "rate": rate, "took": took}


class Bare:
    """Two processes with half of the pieces each, which wait to be told to begin."""

    def __init__(self, scorer: Scorer, pieces: list[Piece]) -> None:
        context = multiprocessing.get_context("spawn")
        self._ends: list[Connection] = []
        self._processes = []
        for number in range(2):
            ours, theirs = context.Pipe()
            process = context.Process(target=_bare, args=(theirs, scorer, pieces[number::2]), daemon=True)
            process.start()
            theirs.close()  # else nobody would notice that the process ended
            self._ends.append(ours)
            self._processes.append(process)
        for end in self._ends:
            end.recv()  # ready: the gallery is open

    def run(self) -> float:
        """Seconds until both are done."""
        begun = time.perf_counter()
        for end in self._ends:
            end.send("go")
        for end in self._ends:
            end.recv()
        return time.perf_counter() - begun

    def __enter__(self) -> Bare:
        return self

    def __exit__(self, *_: object) -> None:
        for end, process in zip(self._ends, self._processes, strict=True):
            end.send("end")
            process.join(10)
            end.close()


def _bare(end: Connection, scorer: Scorer, pieces: list[Piece]) -> None:
    scorer(pieces[0])
    end.send("ready")
    while end.recv() == "go":
        end.send(sum(len(scorer(piece).content) for piece in pieces))


def _warm(engine: Engine, scorer: Scorer, pieces: list[Piece]) -> None:
    """Until every worker has opened the gallery."""
    for _ in range(2):
        for _result in engine.map(scorer, pieces[: 4 * engine.workers], key=lambda piece: piece.number):
            pass


# Losses


@dataclass(frozen=True, eq=False)
class AnswerStretch:
    """Work on a stretch of the queries: their labels and neighbours, and what it took, in seconds of a core."""

    answerer: ShardedAnswerer
    queries: Array

    def __call__(self, start: int) -> Stretch:
        before = time.process_time()
        evidence = self.answerer.evidence(np.array(self.queries[start : start + AT_ONCE]))
        return evidence.labels, evidence.rows, time.process_time() - before


def with_losses(run: PartRun) -> dict[str, Any]:
    """Two nodes, two shards: an actor is killed after a third of the answers and a node after two thirds."""
    n, queries = (400, 1500) if run.quick else (20_000, 20_000)
    X, numbers = problem(n + queries)
    answerer = _answerer(X[:n], numbers[:n])
    expected = answerer.explain(X[n:]) if run.quick else answerer.answer(X[n:]).evidence
    with ray_nodes.running(2) as nodes:
        split = shards_of_answerer(nodes.engine, answerer, 2)
        work = AnswerStretch(split, X[n:])
        _answered(nodes.engine, work, queries)  # workers are there from now on
        calm, found = _answered(nodes.engine, work, queries)
        third = queries // AT_ONCE // 3
        events = {third: lambda: nodes.lose_actor(split.shards), 2 * third: nodes.lose_one}
        took, lost = _answered(nodes.engine, work, queries, events)
    wrong = sum(_wrong(one, expected.labels, expected.rows, queries) for one in (found, lost))
    twice = sum(len(values) != 1 for one in (found, lost) for values in one.values())
    missing = sum(-(-queries // AT_ONCE) - len(one) for one in (found, lost))
    rows = [
        ["undisturbed, s", f"{calm:.1f}"],
        ["with an actor and a node lost, s", f"{took:.1f}"],
        ["lost, s", f"{took - calm:.1f}"],
        ["answers that are missing, wrong, twice", f"{missing}, {wrong}, {twice}"],
    ]
    run.say(text_table(f"\n{queries:,} queries to {n:,} × {WIDTH} in two shards on two nodes", ["", ""], rows))
    run.results.claims.append(Requirement("answers missing, wrong or twice", float(missing + wrong + twice), 0.0))
    return {"examples": n, "queries": queries, "calm": calm, "took": took, "faults": missing + wrong + twice}


def _answerer(X: Array, numbers: Array) -> Answerer:
    """What answers from all of X; how sure it is was learned from some of it, which is enough for a measurement."""
    from kcrc.classifier.estimator import KCRCClassifier

    some = KCRCClassifier(NEIGHBOURS, **CHOSEN).fit(X[:1000], numbers[:1000])
    classes, labels = np.unique(numbers, return_inverse=True)
    model = FittedModel.build(some.model_.method, X, classes, labels, np.arange(len(X)))
    return Answerer(model, some.answerer_.confidence, some.answerer_.samples)


Stretch = tuple[Array, Array, float]
Found = dict[int, list[Stretch]]


def _answered(
    engine: Engine, work: AnswerStretch, queries: int, events: dict[int, Callable[[], None]] | None = None
) -> tuple[float, Found]:
    """Seconds, and the answers by the stretch they are of; ``events`` happen after so many stretches."""
    found: Found = {}
    begun = time.perf_counter()
    for count, one in enumerate(engine.map(work, range(0, queries, AT_ONCE), key=lambda start: start), 1):
        assert isinstance(one.key, int)
        found.setdefault(one.key, []).append(one.value)
        if events and count in events:
            events[count]()
    return time.perf_counter() - begun, found


def _wrong(found: Found, labels: Array, rows: Array, queries: int) -> int:
    """Answers whose label or neighbours are not those of one process."""
    wrong = 0
    for start, values in found.items():
        here = slice(start, min(queries, start + AT_ONCE))
        for got_labels, got_rows, _ in values:
            wrong += int(((got_labels != labels[here]) | (got_rows != rows[here]).any(axis=1)).sum())
    return wrong


# By shards and nodes


def by_shards_and_nodes(run: PartRun) -> dict[str, Any]:
    """Core-seconds a query by examples and shards, a model of them checked on sizes it was not fitted to, and queries a
    second by nodes."""
    fit, held_out = (QUICK_FIT, QUICK_HELD_OUT) if run.quick else (FIT, HELD_OUT)
    queries = 500 if run.quick else 3000
    X, numbers = problem(max(n for n, _ in fit + held_out) + queries)
    asked = X[-queries:]
    rates = {}
    for count in (1, 2):
        with ray_nodes.running(count) as nodes:
            answerer = _answerer(X[: fit[-1][0]], numbers[: fit[-1][0]])
            rates[count] = queries / _best(nodes.engine, shards_of_answerer(nodes.engine, answerer, 2), asked)
            if count == 2:
                points = [_point(nodes.engine, X, numbers, asked, *size) for size in fit + held_out]
    model = fitted(points[: len(fit)])
    checked = [(point, model.seconds(point.examples, point.shards)) for point in points]
    rows = [
        [f"{p.examples:,} in {p.shards}{'' if i < len(fit) else ', not fitted'}", f"{1e3 * p.seconds:.3f}",
         f"{1e3 * said:.3f}", f"{said / p.seconds - 1:+.0%}"]
        for i, (p, said) in enumerate(checked)
    ]  # fmt: skip
    run.say(text_table("\nCore-milliseconds a query", ["examples in shards", "measured", "by the model", ""], rows))
    run.say(f"\nqueries a second on one node {rates[1]:,.0f}, on two {rates[2]:,.0f}")
    run.results.ratios["queries a second, one node / two"] = rates[1] / rates[2]
    return {
        "width": WIDTH,
        "neighbours": NEIGHBOURS,
        "points": [[p.examples, p.shards, p.seconds] for p in points],
        "fitted": len(fit),
        "model": [model.per_example, model.per_shard, model.per_query],
        "nodes": {str(count): rate for count, rate in rates.items()},
        "nodes_examples": fit[-1][0],
    }


def _point(engine: Engine, X: Array, numbers: Array, asked: Array, n: int, shards: int) -> CostPoint:
    split = shards_of_answerer(engine, _answerer(X[:n], numbers[:n]), shards)
    work = AnswerStretch(split, asked)
    spent = []
    _answered(engine, work, len(asked))  # shards are there from now on
    for _ in range(2):
        before = sum(split.shards.ask("cpu_seconds", [()] * shards))
        _, found = _answered(engine, work, len(asked))
        coding = sum(took for values in found.values() for _, _, took in values)
        spent.append(coding + sum(split.shards.ask("cpu_seconds", [()] * shards)) - before)
    return CostPoint(n, shards, min(spent) / len(asked))


def _best(engine: Engine, split: ShardedAnswerer, asked: Array) -> float:
    """Seconds for all that is asked, the best of three times: others on the machine only ever add."""
    work = AnswerStretch(split, asked)
    return min(_answered(engine, work, len(asked))[0] for _ in range(3))
