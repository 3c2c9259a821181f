"""The exact search alone, on one core: batches beside the matrix product they stand for, single queries beside faiss.

Random vectors around 1,000 centres (as much variance between centres as around them) and around none. A single query is
limited by memory: the share of the bandwidth is what it reads in a second over what a plain maximum of an array does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.neighbours.scan import Scan
from kcrc.native import native
from kcrc.report.tables import text_table
from lab.bench.limits import product
from lab.bench.parts import PartRun
from lab.bench.results import Requirement
from lab.bench.rivals import load_faiss
from lab.bench.timing import race, threads

AGAINST_PRODUCT = 1.3
AGAINST_FAISS = 0.2
K = 50
CENTRES = 1000
BUDGET = 512 * 10**6  # as a classifier has it
SIZES = ((10_000, 128), (100_000, 128), (1_000_000, 256))
QUICK = ((700, 16), (9000, 64))
READ = 1 << 28  # bytes whose maximum tells the bandwidth


def measure(run: PartRun) -> None:
    if native is None:
        run.say("The compiled module is not built: its search is not measured.")
        return
    faiss = load_faiss()
    if faiss is None:
        run.say("faiss is not installed (pip install kcrc[faiss]): its search is left out.")
    lines = []
    with threads(1):
        for n, width in QUICK if run.quick else SIZES:
            for centres in (CENTRES, 0):
                lines.append(contest(run, faiss, *vectors(n, width, centres), centres=centres))
    head = ["examples", "scan / product", "one query", "of the bandwidth", "faiss", "kcrc / faiss"]
    run.say(text_table(f"\nExact search for {K} nearest, one core", head, lines))


def vectors(n: int, width: int, centres: int, queries: int = 1000) -> tuple[Array, Array]:
    """Examples (n, width) and queries, float32, variance 1 around each centre and between them."""
    rng = np.random.default_rng(0)
    made = rng.standard_normal((n + queries, width), dtype=np.float32)
    if centres:
        made += rng.standard_normal((centres, width), dtype=np.float32)[rng.integers(0, centres, len(made))]
    return made[:n], made[n:]


def contest(run: PartRun, faiss: Any, atoms: Array, queries: Array, *, centres: int) -> list[str]:
    """A line of the table."""
    name = f"{len(atoms):,} × {atoms.shape[1]}, {'around centres' if centres else 'around none'}"
    scan = Scan.over(atoms, budget=BUDGET)
    assert scan is not None
    search = partial(scan.nearest, atoms, k=K)
    batch = race(
        {"scan": partial(search, queries), "product": product(atoms, queries)}, seconds=3.0, clock=time.thread_time
    )
    block = np.ones(READ // 4 if not run.quick else 1000, np.float32)
    one: dict[str, Callable[[], Any]] = {"kcrc": partial(search, queries[:1]), "memory": block.max}
    if faiss is not None:
        index = faiss.IndexFlatL2(atoms.shape[1])
        index.add(atoms)
        one["faiss"] = partial(index.search, queries[:1], K)
    alone = race(one, rounds=15, seconds=4.0)
    read = atoms.nbytes if scan.codes is None else scan.codes.codes.nbytes + scan.codes.facts.nbytes
    share = read / alone["kcrc"] / (block.nbytes / alone["memory"])
    ratio = batch["scan"] / batch["product"]
    run.results.ratios[f"scan / matrix product, {name}"] = ratio
    run.results.claims.append(Requirement(f"scan / matrix product, {name}", ratio, AGAINST_PRODUCT))
    line = [name, f"{ratio:.2f}", f"{1e3 * alone['kcrc']:.2f} ms", f"{100 * share:.0f} %"]
    if faiss is None:
        return [*line, "–", "–"]
    beside = alone["kcrc"] / alone["faiss"]
    run.results.ratios[f"one query, kcrc / faiss flat, {name}"] = beside
    if len(atoms) >= 1_000_000:
        run.results.claims.append(Requirement(f"one query, kcrc / faiss flat, {name}", beside, AGAINST_FAISS))
    return [*line, f"{1e3 * alone['faiss']:.2f} ms", f"{beside:.2f}"]
