"""The local stage, all included (gather, kernel, factor, solve, contributions, class residuals), against bare potrf."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kcrc.method import pipeline
from kcrc.method.compiled_plan import Stage, plan
from kcrc.method.evidence import UNANIMOUS
from kcrc.method.preparation import Samples
from lab.bench.limits import Potrf
from lab.bench.rivals import ours
from lab.bench.samples import clusters
from lab.bench.timing import race, threads


@dataclass(frozen=True)
class StageTime:
    """µs a query on one core: the compiled stage, one potrf of size K, and the stages in NumPy and SciPy that the
    compiled one replaces (the kernel among neighbours from their vectors)."""

    dtype: str
    K: int
    form: str
    stage: float
    potrf: float
    staged: float

    @property
    def ratio(self) -> float:
        return self.stage / self.potrf


def measure(K: int, dtype: Any, *, form: str = "rkhs", n: int = 2000, seconds: float = 1.5) -> StageTime:
    """One core, the kernel matrix of all ``n`` examples stored; every query is coded, none is unanimous.

    A turn is a few milliseconds of the thread's own clock, so that on a busy machine some turns are undisturbed. The
    call's own cost, that of a matrix of one entry, is taken off potrf.
    """
    batch = int(np.clip(600_000_000 // K**3, 32, 256)) // 8 * 8
    split = clusters(n, 32, 4 * batch, dtype=dtype, seed=1)
    mu = 0.01 * max(1, K / 100)  # single precision is taken only where it is enough
    fitted = ours(split, 5, form=form, mu=mu, n_jobs=1).model_
    model = replace(fitted, method=replace(fitted.method, n_neighbors=K))  # what else fit learns is not needed here
    stage = plan(model)
    if not isinstance(stage, Stage):
        raise RuntimeError("The compiled stage is not built: run `pip install .` with a C++ compiler.")
    stage.store_matrix()
    queries = Samples(split.queries)
    near = pipeline.neighbours(model, queries)
    mixed = np.flatnonzero(~pipeline.unanimous(model.labels[near.rows]))[:batch]
    queries, near = queries.take(mixed), near.take(mixed)
    queries.of(model.method.kernel)

    def coded() -> Any:
        return pipeline.decide(model, near, _never, lambda verdict: stage(queries, near, verdict))

    def in_numpy() -> Any:
        return pipeline.decide(model, near, pipeline.local_problems(model, queries, near))

    assert not (coded().how == UNANIMOUS).any()
    bare, call = Potrf(K, dtype), Potrf(1, dtype)
    with threads(1):
        best = race({"stage": coded, "potrf": bare, "call": call}, rounds=400, seconds=seconds, clock=time.thread_time)
        slow = race({"staged": in_numpy}, rounds=3, seconds=0.2 * seconds, clock=time.thread_time)["staged"]
    factor = best["potrf"] / bare.count - best["call"] / call.count
    working = "float64" if stage.wide else "float32"
    return StageTime(working, K, form, 1e6 * best["stage"] / len(mixed), 1e6 * factor, 1e6 * slow / len(mixed))


def _never(open_: Any) -> Any:
    raise AssertionError(f"{len(open_)} queries were left to the staged pipeline")
