"""Every search over very many examples, each in a process of its own: time of one query beside faiss's flat index, how
many of the nearest it finds, labels beside those of exact search, time to build, and the most memory in use.

Random vectors around 1,000 centres (as much variance between centres as around them; classes are centres) and around
none (where no index is of much help; classes are by the sign of a few coordinates). The number of the seed is not one
that anything was tuned by.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from functools import partial
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.neighbours.searches import SEARCHES
from kcrc.method.preparation import Samples
from kcrc.native import native
from kcrc.report.tables import text_table
from lab.bench import memory
from lab.bench.parts import PartRun
from lab.bench.results import Requirement
from lab.bench.rivals import load_faiss, ours
from lab.bench.samples import Problem
from lab.bench.timing import each_alone, race

K, CLASSES, CENTRES = 50, 20, 1000
FULL, QUICK = (1_000_000, 256), (3000, 16)
ASKED, ALONE = 400, 40  # queries; of them one by one
OWN_BUILD = 5  # of so many examples one is in the contest of building HNSW
BLOCK = 1 << 14
BOUNDS = {"exact": 1 / 5, "cells": 1 / 5}  # of faiss flat's time for one query; the others:
APPROXIMATE = 1 / 20
RECALL, AGREEMENT = 0.95, 0.995
RESIDENT = 3.0  # times the data
STORE, HNSW = 3.0, 1.2  # times X.copy(), times faiss's own build
SECONDS = 3600


def measure(run: PartRun) -> None:
    if native is None or load_faiss() is None:
        run.say("Searches are measured beside faiss (pip install 'kcrc[faiss]'), and with the compiled module.")
        return
    n, width = QUICK if run.quick else FULL
    lines = []
    for centres in (CENTRES, 0):
        for search in SEARCHES[1:]:
            found = apart(search, n, width, centres)
            lines.append(_line(found))
            _claimed(run, found)
    head = ["", "store / copy", "build", "one query", "of faiss flat", "finds", "says", "labels", "resident / data"]
    run.say(text_table(f"\n{n:,} × {width}, {K} nearest", head, lines))
    own = built(n // OWN_BUILD, width)
    run.results.ratios["HNSW build, kcrc / faiss"] = own
    run.results.claims.append(Requirement("HNSW build, kcrc / faiss", own, HNSW))


def apart(search: str, n: int, width: int, centres: int) -> dict[str, Any]:
    """One search, in a fresh process: memory is then its own."""
    told = json.dumps({"search": search, "n": n, "width": width, "centres": centres})
    command = [sys.executable, "-m", "lab.bench.parts.indexes", told]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    if done.returncode:
        raise RuntimeError(f"The measurement of search={search!r} failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def made(n: int, width: int, centres: int, seed: int = 0) -> Problem:
    """Examples and queries, float32, in no more memory than they take."""
    rng = np.random.default_rng(seed)
    middles = rng.standard_normal((max(1, centres), width), dtype=np.float32) * (centres > 0)
    X = np.empty((n + ASKED, width), np.float32)
    place = rng.integers(0, len(middles), len(X))
    for start in range(0, len(X), BLOCK):
        block = X[start : start + BLOCK]
        rng.standard_normal(out=block, dtype=np.float32)
        block += middles[place[start : start + BLOCK]]
    signs = (X[:, :4] > 0) @ np.array([1, 2, 4, 8])[:width]
    labels = place % CLASSES if centres else signs
    return Problem("vectors", X[:n], labels[:n], X[n:], labels[n:])


def one(search: str, n: int, width: int, centres: int) -> dict[str, Any]:
    """All that is measured of one search, in this process."""
    warm = made(200, 8, 4)
    ours(warm, 5, search=search).predict(warm.queries)  # imports and thread pools are no part of it
    split = made(n, width, centres)
    memory.mark()
    store, fitted = _seconds(lambda: ours(split, K, search=search))
    copy = _seconds(split.atoms.copy)[0]  # and the copy is let go: it is no part of what is resident
    build, model = _seconds(lambda: fitted.model_)
    method = model.method

    def near(queries: Array) -> Any:
        assert model.index is not None
        return model.index.query(Samples(queries).of(method.distance), K)

    near(split.queries[:1])
    labels, far = fitted.predict(split.queries), near(split.queries).distances
    resident = memory.highest()
    flat = load_faiss().IndexFlatL2(width)
    flat.add(split.atoms)
    ours_alone = each_alone(near, split.queries[:ALONE])
    flat_alone = each_alone(partial(flat.search, k=K), split.queries[:ALONE])
    true = np.sqrt(np.maximum(flat.search(split.queries, K)[0][:, -1:], 0.0))
    exact = labels if search == "exact" else ours(split, K, search="exact").predict(split.queries)
    return {
        "search": search,
        "centres": centres,
        "store": store / copy,
        "build": build,
        "one": ours_alone,
        "of_flat": ours_alone / flat_alone,
        "recall": float(np.mean(far <= true * (1 + 1e-5))),
        "says": model.search,
        "agreement": float(np.mean(labels == exact)),
        "resident": resident / (split.atoms.nbytes + split.queries.nbytes),
    }


def built(n: int, width: int) -> float:
    """How long HNSW takes to build here, everything included, over faiss's own call."""
    from kcrc.method.neighbours.approximate.faiss_library import BUILDING, LINKS

    split, faiss = made(n, width, CENTRES), load_faiss()

    def theirs() -> None:
        index = faiss.IndexHNSWFlat(width, LINKS)
        index.hnsw.efConstruction = BUILDING
        index.add(split.atoms)

    found = race({"ours": lambda: ours(split, K, search="hnsw").model_, "theirs": theirs}, rounds=2)
    return found["ours"] / found["theirs"]


def _seconds(work: Any) -> tuple[float, Any]:
    before = time.perf_counter()
    result = work()
    return time.perf_counter() - before, result


def _name(found: dict[str, Any]) -> str:
    return f"{found['search']}, {'around centres' if found['centres'] else 'around none'}"


def _line(found: dict[str, Any]) -> list[str]:
    return [
        _name(found),
        f"{found['store']:.1f}",
        f"{found['build']:.1f} s",
        f"{1e3 * found['one']:.2f} ms",
        f"{found['of_flat']:.3f}",
        f"{found['recall']:.2%}",
        found["says"],
        f"{found['agreement']:.2%}",
        f"{found['resident']:.2f}",
    ]


def _claimed(run: PartRun, found: dict[str, Any]) -> None:
    name, claims = _name(found), run.results.claims
    run.results.ratios[f"one query, {name}, kcrc / faiss flat"] = found["of_flat"]
    run.results.accuracy[f"recall, {name}"] = found["recall"]
    run.results.accuracy[f"labels as by exact search, {name}"] = found["agreement"]
    bound = BOUNDS.get(found["search"], APPROXIMATE)
    claims.append(Requirement(f"store / X.copy(), {name}", found["store"], STORE))
    claims.append(Requirement(f"resident / data, {name}", found["resident"], RESIDENT))
    if found["centres"]:
        claims.append(Requirement(f"one query, {name}, kcrc / faiss flat", found["of_flat"], bound))
        claims.append(Requirement(f"recall, {name}", found["recall"], RECALL, at_least=True))
        claims.append(Requirement(f"labels as by exact search, {name}", found["agreement"], AGREEMENT, at_least=True))


if __name__ == "__main__":
    print(json.dumps(one(**json.loads(sys.argv[1]))))
