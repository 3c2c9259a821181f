"""Nearest-neighbour accuracy and cost of the distances that look at images: `python benchmarks/distances_shape.py`.

Data come from $KCRC_DATA or ../shared/data; what is absent is skipped. Nothing is chosen on the queries: options are
the defaults, and the smoothing of LBP is chosen by leaving one out among the examples. Times are CPU time of one
thread; the ratio is to the Euclidean distance measured in the same run.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from kcrc import distances

DATA = Path(os.environ.get("KCRC_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
QUICK = ("euclidean", "sift", "geometric-blur", "texton-chi2", "marginal")
COSTLY = ("shape-context",)


def stored(name: str) -> dict[str, np.ndarray] | None:
    path = DATA / f"{name}.npz"
    if not path.exists():
        print(f"{name}.npz is not here; set KCRC_DATA to the folder that has it")
        return None
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


def nearest(name, X, y, Q, *, candidates=None, **options):
    """Labels of the nearest example of each query, and CPU ms a prepared image and µs a pair."""
    X, Q = (Z.astype(np.float32) for Z in (X, Q))
    flat, queries = X.reshape(len(X), -1), Q.reshape(len(Q), -1)
    distance = distances.make(name, **options).fit(flat, y, sample_shape=X.shape[1:])
    start = time.process_time()
    b, a = distance.prepare(flat), distance.prepare(queries)
    prepared = time.process_time() - start
    start = time.process_time()
    if candidates is None:
        values = distance.pairwise(a, b)
        found = values.argmin(axis=1)
    else:
        values = distance.selected(a, b, candidates)
        found = np.take_along_axis(candidates, values.argmin(axis=1)[:, None], 1)[:, 0]
    seconds = time.process_time() - start
    return y[found], 1e3 * prepared / (len(X) + len(Q)), 1e6 * seconds / values.size


def coarse(X, Q, count):
    flat, queries = (Z.reshape(len(Z), -1).astype(np.float64) for Z in (X, Q))
    squared = (queries**2).sum(1)[:, None] + (flat**2).sum(1) - 2 * queries @ flat.T
    return np.argsort(squared, axis=1, kind="stable")[:, :count]


def table(title, X, y, Q, truth):
    print(f"\n{title}: {len(X)} examples, {len(Q)} queries of {X.shape[1]} x {X.shape[2]}")
    base = None
    rows = [(name, None, {}) for name in QUICK]
    rows += [("texton-chi2", None, {"grid": (3, 3)}), ("marginal", None, {"grid": (3, 3)})]
    near = coarse(X, Q, 50)
    rows += [(name, near, {}) for name in COSTLY] + [(name, near, {"iterations": 1}) for name in COSTLY]
    for name, candidates, options in rows:
        got, prepare, pair = nearest(name, X, y, Q, candidates=candidates, **options)
        base = base or pair
        said = f"{name} {options or ''}" + (" among the 50 nearest pixels" if candidates is not None else "")
        print(
            f"  {said:62} 1-NN {100 * np.mean(got == truth):5.1f} %  prepare {prepare:6.2f} ms  "
            f"{pair:8.1f} us a pair ({pair / base:.0f} x euclidean)",
            flush=True,
        )


def digits(n_queries):
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order].reshape(-1, 8, 8), y[order]
    table("digits", X[:600], y[:600], X[600 : 600 + n_queries], y[600 : 600 + n_queries])


def usps(n_queries):
    data = stored("usps")
    if data is None:
        return
    images, labels, split = data["images_x1000"] / 1000.0, data["labels"], data["split"]
    rng = np.random.default_rng(0)
    train = rng.permutation(np.flatnonzero(split == 0))[:1000]
    test = rng.permutation(np.flatnonzero(split == 1))[:n_queries]
    table("USPS", images[train], labels[train], images[test], labels[test])


def yale(n_queries):
    data = stored("yaleb")
    if data is None:
        return
    images, labels = data["images"], data["labels"]
    rng = np.random.default_rng(0)
    train = np.concatenate([rng.permutation(np.flatnonzero(labels == c))[:32] for c in np.unique(labels)])
    rest = rng.permutation(np.setdiff1d(np.arange(len(labels)), train))[:n_queries]
    print(f"\nYale B, LBP-chi2: 32 a class, {len(rest)} queries of 192 x 168")
    left_out = rng.permutation(len(train))[:n_queries]
    for smoothing in (0.0, 1.0):
        distance = distances.make("lbp-chi2", image_shape=(192, 168), smoothing=smoothing)
        start = time.process_time()
        b = distance.prepare(images[train].reshape(len(train), -1).astype(np.float32))
        prepared = time.process_time() - start
        a = distance.prepare(images[rest].reshape(len(rest), -1).astype(np.float32))
        own = distance.pairwise(b.take(left_out), b)
        own[np.arange(len(left_out)), left_out] = np.inf
        start = time.process_time()
        values = distance.pairwise(a, b)
        seconds = time.process_time() - start
        chosen_on = np.mean(labels[train][own.argmin(axis=1)] == labels[train][left_out])
        accuracy = np.mean(labels[train][values.argmin(axis=1)] == labels[rest])
        print(
            f"  smoothing {smoothing}: leave-one-out on {len(left_out)} examples {100 * chosen_on:5.1f} %, "
            f"1-NN {100 * accuracy:5.1f} %, prepare {1e3 * prepared / len(train):.2f} ms an image, "
            f"{1e6 * seconds / values.size:.1f} us a pair",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=200)
    chosen = parser.parse_args()
    digits(chosen.queries)
    usps(chosen.queries)
    yale(chosen.queries)
