"""One way of searching at one size, in a process of its own: `python -m lab.bench.scale.point`.

Examples and queries come from files, so that all ways at a size are given the same, and a way that maps them can. A
process of its own, because memory that was used once is seldom given back.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.neighbours.searches import available
from lab.bench.rivals import load_faiss
from lab.bench.timing import race, threads

STATUS = Path("/proc/self/status")
CENTRES, CLASSES, QUERIES, BLOCK = 1000, 50, 200, 65_536
CHOSEN = {"scaling": "plain", "kernel": "rbf", "mu": 0.1, "form": "rkhs", "decision": "residual", "locality": "atoms"}
WAYS: dict[str, dict[str, Any]] = {
    "exact": {},
    "mapped": {},
    "ivf": {"search": "ivf"},
    "hnsw": {"search": "hnsw"},
    "usearch": {"search": "usearch"},
}
"""What the classifier is given, by the name of the way; a mapped one is given mapped examples."""
FLAT = "faiss flat"


def installed() -> list[str]:
    """The ways there are, what they are measured against first."""
    there = [way for way, told in WAYS.items() if available(told.get("search", "exact")) == told.get("search", "exact")]
    return there if load_faiss() is None else [FLAT, *there]


def make_data(folder: Path, n: int, width: int, dtype: str = "float32") -> None:
    """Write examples around centres (as much variance between them as around them), labels and queries, by blocks."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((CENTRES, width), dtype=np.float32)
    of_centre = rng.integers(0, CLASSES, CENTRES)
    folder.mkdir(parents=True, exist_ok=True)
    out = np.lib.format.open_memmap(folder / "X.npy", "w+", dtype, (n, width))
    labels = np.empty(n, np.int64)
    for start in range(0, n, BLOCK):
        whose = rng.integers(0, CENTRES, min(BLOCK, n - start))
        out[start : start + BLOCK] = centres[whose] + rng.standard_normal((len(whose), width), dtype=np.float32)
        labels[start : start + BLOCK] = of_centre[whose]
    out.flush()
    whose = rng.integers(0, CENTRES, QUERIES)
    np.save(folder / "y.npy", labels)
    np.save(folder / "queries.npy", centres[whose] + rng.standard_normal((QUERIES, width), dtype=np.float32))


def measure(way: str, folder: Path, k: int) -> dict[str, Any]:
    """Seconds and bytes of a way over the data in ``folder``, from a fresh process."""
    done = subprocess.run(
        [sys.executable, "-m", "lab.bench.scale.point", way, str(folder), str(k)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"The measurement of {way!r} failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


class AnonymousMemory:
    """The most memory of its own (not pages of files) a process had while it was watched, in bytes."""

    def __init__(self) -> None:
        self.most = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> AnonymousMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self.most = max(self.most, self.now())

    def _watch(self) -> None:
        while not self._done.wait(0.005):
            self.most = max(self.most, self.now())

    @staticmethod
    def now() -> int:
        """0 where the system does not tell."""
        return 1024 * int(STATUS.read_text().split("RssAnon:")[1].split()[0]) if STATUS.exists() else 0


def _flat(X: Array, k: int) -> Callable[[Array], Any]:
    index = load_faiss().IndexFlatL2(X.shape[1])
    index.add(np.asarray(X, np.float32))
    return lambda queries: index.search(queries, k)


def _ours(options: Mapping[str, Any], X: Array, y: Array, k: int) -> Callable[[Array], Any]:
    from kcrc.classifier.estimator import KCRCClassifier

    clf = KCRCClassifier(k, **{**CHOSEN, "gamma": 1.0 / X.shape[1], "verbose": False, **options}).fit(X, y)
    clf.predict(X[:1].astype(np.float32))  # what searches is made at the first question
    predict: Callable[[Array], Any] = clf.predict
    return predict


def _in_this_process(way: str, folder: Path, k: int) -> dict[str, Any]:
    queries, y = np.load(folder / "queries.npy"), np.load(folder / "y.npy")
    told = WAYS.get(way, {})
    _ours(told, queries, np.arange(len(queries)) % 2, 5)  # imports are no part of it
    base = AnonymousMemory.now()
    with AnonymousMemory() as memory:
        X = np.load(folder / "X.npy", mmap_mode="r" if way == "mapped" else None)
        begun = time.perf_counter()
        ask = _flat(X, k) if way == FLAT else _ours(told, X, y, k)
        built = time.perf_counter() - begun
        batch = race({"batch": lambda: ask(queries)}, rounds=3, seconds=2.0)["batch"]
        with threads(1):  # of one query more threads make little, and on a busy machine less
            one = race({"one": lambda: ask(queries[:1])}, rounds=20, seconds=3.0)["one"]
    labels = [] if way == FLAT else ask(queries).tolist()
    took = {"build": built, "batch": batch / len(queries), "one": one, "memory": memory.most - base}
    return {**took, "data": X.nbytes, "labels": labels}


if __name__ == "__main__":
    print(json.dumps(_in_this_process(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))))
