"""The robust coder over K atoms, local and shared dictionaries, one thread, all parts included, beside ``potrf``.

Local: every query alone, the best of five. Shared: the time of the batch over its queries.
"""

from __future__ import annotations

import time

import numpy as np

from kcrc.method import coding
from kcrc.method.coding import Dictionary, Target
from kcrc.report.tables import text_table
from lab.bench.limits import Potrf
from lab.bench.parts import PartRun
from lab.bench.tables import short
from lab.bench.timing import race, threads


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
    assert dictionary.columns is not None
    assert target.vector is not None
    pieces = [slice(i, i + 1) for i in range(len(target.energy))] if local else [slice(None)]
    total = 0.0
    for piece in pieces:
        D = Dictionary(dictionary.gram[piece], dictionary.columns[piece], dictionary.real[piece])
        t = Target(target.correlation[piece], target.energy[piece], target.vector[piece])

        def solved(D: Dictionary = D, t: Target = t) -> None:
            coder.solve(coder.factorise(D), t)

        total += race({"robust": solved}, rounds=5, seconds=np.inf, clock=time.thread_time)["robust"]
    return coder.solve(coder.factorise(dictionary), target), total / len(target.energy)


def measure(run: PartRun) -> None:
    K, queries = (20, 3) if run.quick else (200, 40)
    bare, lines = Potrf(K, np.float64), []
    for local in (True, False):
        for corrupted in (0.0, 0.3):
            dictionary, target = problem(K, queries, corrupted, local=local)
            for mu in (0.001, 0.01, 0.1):
                with threads(1):
                    code, seconds = timed(coding.make("robust", mu=mu), dictionary, target, local=local)
                    limit = race({"potrf": bare}, rounds=50, seconds=2.0, clock=time.thread_time)["potrf"] / bare.count
                assert code.gap is not None
                what = f"{'local' if local else 'shared'}, corrupted {corrupted:.0%}, mu {mu:g}"
                run.results.ratios[f"robust coder / potrf, K={K}, {what}"] = seconds / limit
                said = [short(1e6 * seconds), f"{seconds / limit:.1f}", f"{np.mean(code.n_iter):.1f}"]
                lines.append([what, *said, f"{np.mean(code.converged):.0%}", f"{code.gap.max():.1e}"])
    head = ["", "a query", "potrf", "steps", "converged", "worst gap"]
    run.say(text_table(f"\nThe robust coder, K = {K}, one thread", head, lines))
