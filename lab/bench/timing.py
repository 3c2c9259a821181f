"""Times that can be set beside each other: taken in turns, the best of several, on as many threads as said.

Other work on the machine only ever adds time, so the least of several is nearest to what the code takes; and taking
turns lets a slow minute fall on all alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np


def race(
    runners: Mapping[str, Callable[[], Any]],
    *,
    rounds: int = 5,
    seconds: float = 2.0,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """The least seconds of each, over ``rounds`` turns; after two turns it stops where ``seconds`` are used up.

    A runner with an attribute ``prepare`` has it called before each turn, untimed. What runs on one thread may be
    timed by ``time.thread_time``, which stands still while others have the core.
    """
    best = dict.fromkeys(runners, np.inf)
    start = time.perf_counter()
    for turn in range(rounds):
        if turn >= 2 and time.perf_counter() - start > seconds:
            break
        for name, run in runners.items():
            getattr(run, "prepare", _nothing)()
            before = clock()
            run()
            best[name] = min(best[name], clock() - before)
    return best


def _nothing() -> None:
    pass


def each_alone(answer: Callable[[Any], Any], queries: Any) -> float:
    """Median seconds of one call with one query (a row of ``queries`` as a batch of one)."""
    spent = np.empty(len(queries))
    for i in range(len(queries)):
        query = queries[i : i + 1]
        before = time.perf_counter()
        answer(query)
        spent[i] = time.perf_counter() - before
    return float(np.median(spent))


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Inside, every library's own threads (BLAS, OpenMP) are at most ``count``."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=count):
        yield


def slope(sizes: Any, times: Any) -> float:
    """The power p of time ~ size^p, by least squares on the upper half of the sizes."""
    x, y = np.log(np.asarray(sizes, float)), np.log(np.asarray(times, float))
    half = len(x) // 2 if len(x) > 3 else 0
    return float(np.polyfit(x[half:], y[half:], 1)[0])
