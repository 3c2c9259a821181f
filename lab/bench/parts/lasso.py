"""SRC over 1216 atoms of 504 dimensions: our lasso for a batch of targets beside celer called in a loop.

Extended Yale B with random faces where the data are at hand, random unit vectors otherwise. One thread, the same run,
CPU time; both stop at the same relative duality gap, and the worst objective of each over the better of the two is
told. The Gram matrix is made once and told beside.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method import coding
from kcrc.method.coding import Dictionary, Target
from kcrc.report.tables import text_table
from lab import datasets as published
from lab.bench.parts import PartRun
from lab.bench.tables import short
from lab.bench.timing import threads

TOLERANCE = 1e-6


def faces(n_atoms: int, n_queries: int, folder: Path | None) -> tuple[str, Array, Array]:
    """(name, atoms (n, 504), queries) with unit rows."""
    rng = np.random.default_rng(0)
    if n_atoms == 1216 and published.locate("yaleb", folder) is not None:
        found = published.load("yaleb", folder)
        order = [rng.permutation(np.flatnonzero(found.labels == person)) for person in range(38)]
        atoms = np.concatenate([rows[:32] for rows in order])
        queries = rng.permutation(np.concatenate([rows[32:] for rows in order]))[:n_queries]
        flat = np.asarray(found.images)[np.concatenate([atoms, queries])].reshape(n_atoms + len(queries), -1)
        X = (flat.astype(np.float32) @ rng.normal(size=(flat.shape[1], 504)).astype(np.float32)).astype(np.float64)
        name = "Extended Yale B, 504 random faces"
    else:
        centres = rng.normal(size=(38, 504))
        X = centres[rng.integers(38, size=n_atoms + n_queries)] + rng.normal(size=(n_atoms + n_queries, 504))
        name = "random vectors around 38 centres"
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return name, X[:n_atoms], X[n_atoms:]


def measure(run: PartRun) -> None:
    from celer import Lasso

    n_atoms, n_queries, n_celer = (60, 4, 2) if run.quick else (1216, 60, 10)
    name, A, Y = faces(n_atoms, n_queries, run.folder)
    D = np.asfortranarray(A.T)

    def objective(x: Array, y: Array, mu: float) -> float:
        return float(0.5 * ((y - D @ x) ** 2).sum() + mu * np.abs(x).sum())

    lines = []
    for mu in (0.1,) if run.quick else (0.1, 0.01, 0.001):
        coder = coding.make("lasso", mu=mu, tol=TOLERANCE)
        theirs, excess = [], [0.0, 0.0]
        with threads(1):
            start = time.process_time()
            state = coder.factorise(Dictionary((A @ A.T)[None], None, np.ones((1, len(A)), bool)))
            ready = time.process_time()
            code = coder.solve(state, Target(Y @ A.T, (Y * Y).sum(axis=1), None))
            ours = (time.process_time() - ready) / len(Y)
            for x, y in zip(code.coefficients[:n_celer], Y, strict=False):
                start_one = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    other = Lasso(mu / len(y), fit_intercept=False, tol=TOLERANCE).fit(D, y).coef_
                theirs.append(time.process_time() - start_one)
                both = objective(x, y, mu), objective(other, y, mu)
                excess = [max(e, p / min(both) - 1) for e, p in zip(excess, both, strict=True)]
        ratio = ours / float(np.mean(theirs))
        run.results.ratios[f"lasso / celer, {name}, {n_atoms} atoms, mu {mu:g}"] = ratio
        used = np.count_nonzero(code.coefficients, axis=1).mean()
        times = [short(1e6 * seconds) for seconds in (ours, ready - start, float(np.mean(theirs)))]
        told = [f"{used:.0f}", f"{np.mean(code.converged):.0%}", *(f"{part:.0e}" for part in excess)]
        lines.append([f"mu {mu:g}", *times, f"{ratio:.3g}", *told])
    head = ["", "a query", "once", "celer", "ratio", "atoms used", "converged", "excess", "celer's"]
    run.say(text_table(f"\nLasso, {name}, {n_atoms} atoms, one thread", head, lines))
