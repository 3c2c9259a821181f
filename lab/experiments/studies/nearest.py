"""Nearest-neighbour accuracy and cost of the distances that look at images.

What is absent is skipped. Nothing is chosen on the queries: options are the defaults, and the smoothing of LBP is
chosen by leaving one out among the examples. Times are CPU time of one thread; the ratio is to the Euclidean distance
measured in the same run. The tangent distance looks at the nearest by Euclidean distance among whole USPS and 10,000
of MNIST.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method import distances
from kcrc.report.terminal import say
from lab.experiments.studies import command
from lab.experiments.studies.samples import at_hand, dataset, unit, vectors

QUICK = ("euclidean", "sift", "geometric-blur", "texton-chi2", "marginal")
COSTLY = ("shape-context",)


def nearest(
    name: str, X: Array, y: Array, Q: Array, *, candidates: Array | None = None, **options: Any
) -> tuple[Array, float, float]:
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
        values = distance.rowwise(a, b, candidates)
        found = np.take_along_axis(candidates, values.argmin(axis=1)[:, None], 1)[:, 0]
    seconds = time.process_time() - start
    return y[found], 1e3 * prepared / (len(X) + len(Q)), 1e6 * seconds / values.size


def coarse(X: Array, Q: Array, count: int) -> Array:
    """The ``count`` nearest examples of each query by Euclidean distance, in no order."""
    flat, queries = (Z.reshape(len(Z), -1) for Z in (X, Q))
    squared = (flat**2).sum(axis=1) - 2.0 * queries @ flat.T
    return np.asarray(np.argpartition(squared, count, axis=1)[:, :count])


def table(title: str, X: Array, y: Array, Q: Array, truth: Array) -> None:
    say(f"\n{title}: {len(X)} examples, {len(Q)} queries of {X.shape[1]} x {X.shape[2]}")
    near = coarse(X, Q, 50)
    rows: list[tuple[str, Array | None, dict[str, Any]]] = [(name, None, {}) for name in QUICK]
    rows += [("texton-chi2", None, {"grid": (3, 3)}), ("marginal", None, {"grid": (3, 3)})]
    rows += [(name, near, {}) for name in COSTLY] + [(name, near, {"iterations": 1}) for name in COSTLY]
    base = None
    for name, candidates, options in rows:
        got, prepare, pair = nearest(name, X, y, Q, candidates=candidates, **options)
        base = base or pair
        said = f"{name} {options or ''}" + (" among the 50 nearest pixels" if candidates is not None else "")
        say(
            f"  {said:62} 1-NN {100 * np.mean(got == truth):5.1f} %  prepare {prepare:6.2f} ms  "
            f"{pair:8.1f} us a pair ({pair / base:.0f} x euclidean)"
        )


def digits(n_queries: int, data: Path | None) -> None:
    X, y = vectors("digits")
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order].reshape(-1, 8, 8), y[order]
    table("digits", X[:600], y[:600], X[600 : 600 + n_queries], y[600 : 600 + n_queries])


def usps(n_queries: int, data: Path | None) -> None:
    found = dataset("usps", data)
    images, labels = np.asarray(found.images), found.labels
    rng = np.random.default_rng(0)
    train = rng.permutation(found.train)[:1000]
    test = rng.permutation(found.test)[:n_queries]
    table("USPS", images[train], labels[train], images[test], labels[test])


def yaleb(n_queries: int, data: Path | None) -> None:
    found = dataset("yaleb", data)
    images, labels = np.asarray(found.images), found.labels
    rng = np.random.default_rng(0)
    train = np.concatenate([rng.permutation(np.flatnonzero(labels == c))[:32] for c in np.unique(labels)])
    rest = rng.permutation(np.setdiff1d(np.arange(len(labels)), train))[:n_queries]
    say(f"\nYale B, LBP-chi2: 32 a class, {len(rest)} queries of 192 x 168")
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
        say(
            f"  smoothing {smoothing}: leave-one-out on {len(left_out)} examples {100 * chosen_on:5.1f} %, "
            f"1-NN {100 * accuracy:5.1f} %, prepare {1e3 * prepared / len(train):.2f} ms an image, "
            f"{1e6 * seconds / values.size:.1f} us a pair"
        )


def usps_tangent(n_queries: int, data: Path | None) -> None:
    """All of USPS, whatever ``n_queries``: one-sided and two-sided."""
    found = dataset("usps", data)
    # Ink on a background of 0, then unit length: better than −1..1 by leave-one-out on the examples.
    X, y = unit(np.asarray(found.images) + 1.0).astype(np.float64), found.labels
    stored, queries = X[found.train], X[found.test]
    near = coarse(stored, queries, 200)
    for two_sided in (True, False):
        distance = distances.make("tangent", two_sided=two_sided).fit(stored, y, sample_shape=(16, 16))
        a, b = distance.prepare(queries), distance.prepare(stored)
        start = time.thread_time()
        first = distance.rowwise(a, b, near).argmin(axis=1)
        spent = time.thread_time() - start
        right = y[found.train][near[np.arange(len(near)), first]] == y[found.test]
        say(
            f"\nUSPS 7291/2007, tangent, two_sided={two_sided}: {100 * right.mean():.2f} % of {len(queries)} right, "
            f"{1e6 * spent / near.size:.2f} µs a pair"
        )


def mnist_tangent(n_queries: int, data: Path | None, *, most: int = 5000, count: int = 100, workers: int = 2) -> None:
    """10,000 examples of MNIST and 5,000 queries, whatever ``n_queries``."""
    found = dataset("mnist", data)
    rows, asked = found.train[:10000], found.test[:most]
    stored, queries = found.vectors(rows), found.vectors(asked)
    labels, truth = found.labels[rows], found.labels[asked]
    near = coarse(stored, queries, count)
    start = time.perf_counter()
    distance = distances.make("tangent").fit(stored, labels, sample_shape=(28, 28))
    with ThreadPoolExecutor(workers) as pool:
        parts = np.array_split(np.arange(len(queries)), 4 * workers)
        a, b = distance.prepare(queries), distance.prepare(stored)
        prepared = time.perf_counter()
        measured = np.vstack(list(pool.map(lambda part: distance.rowwise(a.take(part), b, near[part]), parts)))
    done = time.perf_counter()
    right = labels[near[np.arange(len(near)), measured.argmin(axis=1)]] == truth
    say(
        f"\nMNIST, tangent, {len(queries)} queries × {count} of {len(stored)} examples, {workers} threads, float32: "
        f"{100 * right.mean():.2f} % right, prepared in {prepared - start:.1f} s, "
        f"measured in {done - prepared:.1f} s"
    )


PARTS = {
    "digits": (digits, "digits"), "usps": (usps, "usps"), "yaleb": (yaleb, "yaleb"),
    "usps-tangent": (usps_tangent, "usps"), "mnist-tangent": (mnist_tangent, "mnist"),
}  # fmt: skip


def study(given: argparse.Namespace) -> None:
    for name in given.parts or PARTS:
        part, source = PARTS[name]
        if at_hand(source, given.data):
            part(given.queries, given.data)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command.options("nearest", __doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--queries", type=int, default=200)
    return command.run(study, parser, arguments)


if __name__ == "__main__":
    sys.exit(main())
