"""A mapped dictionary under a hard limit, in a process of its own: `python -m lab.bench.scale.limited`.

The limit is RLIMIT_DATA: all memory that is the process's own, counted when it is asked for and not when it is used.
Pages of mapped files are not in it; the system takes those back when it needs them. In a memory cgroup, where one can
be made, pages of files count too: ``systemd-run --scope -p MemoryMax=1500M python -m lab bench --part mapped``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from kcrc._base.arrays import Array, blocks
from lab.bench.scale.point import CHOSEN, STATUS, AnonymousMemory

T = TypeVar("T")
ADDED = 1000


def measure(
    folder: Path, k: int, *, budget: int, limit: int | None = None, beyond: int | None = None, mapped: bool = True
) -> dict[str, Any]:
    """What each step took over the data in ``folder`` (see ``point.make_data``), and what was answered, in a fresh
    process that may have ``limit`` bytes of its own, or ``beyond`` what it has before it looks at the data; temporary
    files are made in ``folder`` too."""
    options = {"limit": limit, "beyond": beyond, "budget": budget, "mapped": mapped}
    told = json.dumps({"folder": str(folder), "k": k, **options})
    done = subprocess.run(
        [sys.executable, "-m", "lab.bench.scale.limited", told],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    if done.returncode:
        raise RuntimeError(f"The steps under a limit failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def nearest_by_all(folder: Path, k: int, count: int) -> list[list[int]]:
    """The rows of the k nearest examples of the first ``count`` queries: every example measured, in double precision,
    by nothing of the search that is to be checked."""
    X, queries = np.load(folder / "X.npy", mmap_mode="r"), np.load(folder / "queries.npy")[:count].astype(np.float64)
    far, rows = np.empty((len(queries), 0)), np.empty((len(queries), 0), np.intp)
    for block in blocks(*X.shape):
        some = X[block].astype(np.float64)
        new = np.stack([np.einsum("ij,ij->i", some - query, some - query) for query in queries])
        here = np.broadcast_to(np.arange(block.start, block.stop), new.shape)
        far, rows = np.concatenate([far, new], axis=1), np.concatenate([rows, here], axis=1)
        order = np.lexsort((rows, far), axis=-1)[:, :k]
        far, rows = np.take_along_axis(far, order, 1), np.take_along_axis(rows, order, 1)
    nearest: list[list[int]] = rows.tolist()
    return nearest


class Steps:
    """Seconds and the most memory of its own, for one step after the other."""

    def __init__(self) -> None:
        self.taken: list[dict[str, Any]] = []

    def __call__(self, name: str, step: Callable[[], T]) -> T:
        begun = time.perf_counter()
        with AnonymousMemory() as memory:
            done = step()
        self.taken.append({"step": name, "seconds": time.perf_counter() - begun, "memory": memory.most})
        return done


def _read(X: Array) -> float:
    return float(sum(np.einsum("ij->", X[block], dtype=np.float32) for block in blocks(*X.shape)))


def _limit(size: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def _in_this_process(
    folder: Path, k: int, limit: int | None, beyond: int | None, budget: int, mapped: bool
) -> dict[str, Any]:
    if limit is not None:
        _limit(limit)
    from kcrc.classifier.estimator import KCRCClassifier

    y, queries = np.load(folder / "y.npy"), np.load(folder / "queries.npy")
    options = {**CHOSEN, "gamma": 1.0 / queries.shape[1], "memory_budget": budget, "verbose": False}
    warm = KCRCClassifier(5, **options).fit(queries[:50], np.arange(50) % 2)
    warm.predict_proba(queries[:2])  # imports are no part of it
    steps = Steps()
    base = AnonymousMemory.now()
    if beyond is not None:
        limit = beyond + 1024 * int(STATUS.read_text().split("VmData:")[1].split()[0])
        _limit(limit)
    X = np.load(folder / "X.npy", mmap_mode="r" if mapped else None)
    clf = KCRCClassifier(k, **options)
    steps("read the examples once", lambda: _read(X))
    steps("fit", lambda: clf.fit(X, y))
    steps("first question", lambda: clf.predict(queries[:1]))
    steps("one question", lambda: clf.predict(queries[1:2]))
    first = steps(f"{len(queries)} questions, explained", lambda: clf.explain(queries))
    added = (queries[:1] + np.linspace(0.1, 1.0, ADDED)[:, None]).astype(X.dtype)
    steps(f"add {ADDED:,} examples", lambda: clf.partial_fit(added, np.repeat(y[:1], ADDED)))
    grown = steps("questions after it", lambda: clf.explain(queries))
    gone = grown.rows[0, :5]
    steps("forget 5 examples", lambda: clf.forget(gone))
    less = steps("questions after that", lambda: clf.explain(queries))
    steps("forget 1 more", lambda: clf.forget(less.rows[1, :1]))
    fewer = steps("questions after that again", lambda: clf.explain(queries))
    sure = steps("probabilities of one", lambda: clf.predict_proba(queries[:1]))
    return {
        "n": len(X),
        "width": X.shape[1],
        "dtype": X.dtype.name,
        "k": k,
        "data": X.nbytes,
        "limit": limit,
        "budget": budget,
        "base": base,
        "steps": steps.taken,
        "rows": first.rows.tolist(),
        "labels": [evidence.labels.tolist() for evidence in (first, grown, less, fewer)],
        "found_again": int(np.isin(gone, np.concatenate([less.rows, fewer.rows])).sum()),
        "sums_to_one": bool(np.allclose(sure.sum(axis=1), 1.0)),
    }


if __name__ == "__main__":
    told = json.loads(sys.argv[1])
    print(json.dumps(_in_this_process(Path(told.pop("folder")), **told)))
