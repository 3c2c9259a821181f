"""How the time of a query grows: with K, with the number of examples, with their width, with the number of queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from lab.bench import stage
from lab.bench.limits import product
from lab.bench.rivals import faiss_flat, ours, scikit_neighbours
from lab.bench.samples import clusters
from lab.bench.timing import race, slope, threads

K_OF_SEARCH = 50


@dataclass
class Curve:
    """µs a query of each contestant at each size (the slower ones at the first sizes only)."""

    along: str
    sizes: list[int] = field(default_factory=list)
    micros: dict[str, list[float]] = field(default_factory=dict)

    def add(self, size: int, micros: dict[str, float]) -> None:
        self.sizes.append(size)
        for name, value in micros.items():
            self.micros.setdefault(name, []).append(value)

    @property
    def powers(self) -> dict[str, float]:
        """p of time ~ size^p, for each contestant."""
        return {
            name: slope(self.sizes[: len(values)], values) for name, values in self.micros.items() if len(values) > 1
        }


def with_k(sizes: Sequence[int], tick: Callable[[str], None]) -> Curve:
    """The local stage and potrf, one core, single precision."""
    curve = Curve("K")
    for K in sizes:
        tick(f"local stage, K = {K}")
        found = stage.measure(K, np.float32, seconds=0.6)
        curve.add(K, {"local stage": found.stage, "potrf": found.potrf})
    return curve


def with_search(
    along: str, problems: Iterator[tuple[int, Any]], cores: int, faiss: Any, tick: Callable[[str], None]
) -> Curve:
    """The whole classification beside searches for the same neighbours, all cores; sizes of ``along``."""
    curve = Curve(along)
    for size, split in problems:
        tick(f"{along} = {size}")
        clf = ours(split, K_OF_SEARCH, n_jobs=cores)
        runners: dict[str, Callable[[], Any]] = {
            "kcrc, whole": partial(clf.predict, split.queries),
            "matrix product": product(split.atoms, split.queries),
        }
        if len(split.atoms) <= 20_000:
            knn = scikit_neighbours(split, K_OF_SEARCH, cores)
            runners["scikit-learn search"] = partial(knn.kneighbors, split.queries)
        if faiss is not None:
            index = faiss_flat(faiss, split)
            runners["faiss search"] = partial(index.search, split.queries, K_OF_SEARCH)
        with threads(cores):
            best = race(runners, rounds=6, seconds=1.5)
        micro = 1e6 / len(split.queries)
        curve.add(size, {name: micro * seconds for name, seconds in best.items()})
    return curve


def with_n(sizes: Sequence[int], cores: int, faiss: Any, tick: Callable[[str], None], queries: int) -> Curve:
    problems = ((n, clusters(n, 128, queries)) for n in sizes)
    return with_search("n", problems, cores, faiss, tick)


def with_width(
    sizes: Sequence[int], cores: int, faiss: Any, tick: Callable[[str], None], queries: int, n: int
) -> Curve:
    problems = ((width, clusters(n, width, queries)) for width in sizes)
    return with_search("dimension", problems, cores, faiss, tick)


def with_queries(sizes: Sequence[int], cores: int, tick: Callable[[str], None], n: int) -> Curve:
    """Time of a batch over the time of its queries: level where the cost is linear in queries."""
    split = clusters(n, 128, max(sizes))
    clf = ours(split, K_OF_SEARCH, n_jobs=cores)
    clf.predict(split.queries)
    curve = Curve("queries")
    for count in sizes:
        tick(f"queries = {count}")
        with threads(cores):
            best = race({"kcrc, whole": partial(clf.predict, split.queries[:count])}, rounds=6, seconds=1.0)
        curve.add(count, {"kcrc, whole": 1e6 * best["kcrc, whole"] / count})
    return curve
