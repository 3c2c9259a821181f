"""KRCRC over K = 200 atoms: milliseconds of CPU a query, local and shared dictionaries, one
thread, all parts included. Local: every query alone, the best of 5. On a machine that others use as well, read the
multiple of one Cholesky factorisation of the same size, timed in between.

    OPENBLAS_NUM_THREADS=1 python benchmarks/robust.py
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.linalg import lapack

from kcrc import coding
from kcrc.coding import Dictionary, Target


def problem(K: int, B: int, corrupted: float, *, local: bool) -> tuple[Dictionary, Target]:
    """Gram form on clusters in 64 dimensions: D = G with unit columns; a share of the entries of y is corrupted."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(10, 64))
    grams, targets = [], []
    atoms = centres[rng.integers(10, size=K)] + 0.7 * rng.normal(size=(K, 64))
    for i in range(B):
        if local and i:
            atoms = centres[rng.integers(10, size=K)] + 0.7 * rng.normal(size=(K, 64))
        query = centres[rng.integers(10)] + 0.7 * rng.normal(size=64)
        squares = ((atoms[:, None] - atoms[None]) ** 2).sum(-1)
        gamma = 1 / np.median(squares)
        y = np.exp(-gamma * ((atoms - query) ** 2).sum(1))
        hit = rng.random(K) < corrupted
        y[hit] = rng.random(hit.sum())
        targets.append(y)
        if local or not i:
            G = np.exp(-gamma * squares)
            grams.append(G / np.linalg.norm(G, axis=0))
    D, y = np.stack(grams), np.stack(targets)
    H = D.transpose(0, 2, 1) @ D
    b = y @ D[0] if len(D) == 1 else np.einsum("bc,bck->bk", y, D)
    return Dictionary(H, D, np.ones(D.shape[::2], bool)), Target(b, (y * y).sum(1), y)


def timed(coder: coding.Coder, dictionary: Dictionary, target: Target, *, local: bool) -> tuple[coding.Code, float]:
    """The code of all, and the seconds a query takes."""
    pieces = [slice(i, i + 1) for i in range(len(target.energy))] if local else [slice(None)]
    total = 0.0
    for piece in pieces:
        D = Dictionary(dictionary.gram[piece], dictionary.columns[piece], dictionary.real[piece])
        t = Target(target.correlation[piece], target.energy[piece], target.vector[piece])
        best = np.inf
        for _ in range(5):
            start = time.thread_time()
            coder.solve(coder.factorise(D), t)
            best = min(best, time.thread_time() - start)
        total += best
    return coder.solve(coder.factorise(dictionary), target), total / len(target.energy)


def cholesky(K: int) -> float:
    """Seconds of one LAPACK Cholesky factorisation: the median of 50."""
    A = np.random.default_rng(0).normal(size=(K, 2 * K))
    H, times = A @ A.T, []
    for _ in range(50):
        start = time.thread_time()
        lapack.dpotrf(H.T, lower=1, clean=0)
        times.append(time.thread_time() - start)
    return float(np.median(times))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--atoms", type=int, default=200)
    parser.add_argument("--queries", type=int, default=40)
    options = parser.parse_args()
    for local in (True, False):
        for corrupted in (0.0, 0.3):
            dictionary, target = problem(options.atoms, options.queries, corrupted, local=local)
            for mu in (0.001, 0.01, 0.1):
                coder = coding.make("robust", mu=mu)
                code, seconds = timed(coder, dictionary, target, local=local)
                yardstick = cholesky(options.atoms)
                print(
                    f"{'local ' if local else 'shared'} corrupted {corrupted:.0%} mu {mu:<6g}"
                    f"{seconds * 1e3:7.2f} ms a query = {seconds / yardstick:5.1f} Cholesky"
                    f" ({yardstick * 1e3:.2f} ms), {code.n_iter.mean():5.1f} steps,"
                    f" {code.converged.mean():.0%} converged, worst gap {code.gap.max():.1e}"
                )


if __name__ == "__main__":
    main()
