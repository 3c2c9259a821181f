"""SRC over 1216 atoms of 504 dimensions: our lasso for a batch of targets against celer called in a loop.

Extended Yale B with random faces where the data are at hand, random unit vectors otherwise. One thread, the same run,
CPU time; the Gram matrix counts for us (it is made once); both stop at the same relative duality gap, and the worst
objective of each over the better of the two is printed.

    OPENBLAS_NUM_THREADS=1 python benchmarks/sparse.py
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np

from kcrc import coding
from kcrc.coding import Dictionary, Target

DATA = Path(os.environ.get("KCRC_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "yaleb.npz"


def faces(n_queries: int) -> tuple[str, np.ndarray, np.ndarray]:
    """(name, atoms (1216, 504), queries) with unit rows."""
    rng = np.random.default_rng(0)
    if DATA.exists():
        with np.load(DATA, allow_pickle=False) as stored:
            images, labels = stored["images"], stored["labels"]
        order = [rng.permutation(np.flatnonzero(labels == person)) for person in range(38)]
        atoms = np.concatenate([rows[:32] for rows in order])
        queries = rng.permutation(np.concatenate([rows[32:] for rows in order]))[:n_queries]
        flat = images.reshape(len(images), -1)[np.concatenate([atoms, queries])].astype(np.float32)
        X = (flat @ rng.normal(size=(flat.shape[1], 504)).astype(np.float32)).astype(np.float64)
        name = "Extended Yale B, 504 random faces"
    else:
        centres = rng.normal(size=(38, 504))
        X = centres[rng.integers(38, size=1216 + n_queries)] + rng.normal(size=(1216 + n_queries, 504))
        name = "random vectors around 38 centres"
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return name, X[:1216], X[1216:]


def main() -> None:
    from celer import Lasso

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--celer-queries", type=int, default=10)
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--mu", type=float, nargs="+", default=[0.1, 0.01, 0.001])
    options = parser.parse_args()
    name, A, Y = faces(options.queries)
    print(name)
    D = np.asfortranarray(A.T)

    def objective(x: np.ndarray, y: np.ndarray, mu: float) -> float:
        return float(0.5 * ((y - D @ x) ** 2).sum() + mu * np.abs(x).sum())

    for mu in options.mu:
        coder = coding.make("lasso", mu=mu, tol=options.tol)
        start = time.process_time()
        dictionary = Dictionary((A @ A.T)[None], None, np.ones((1, len(A)), bool))
        state = coder.factorise(dictionary)
        ready = time.process_time()
        code = coder.solve(state, Target(Y @ A.T, (Y * Y).sum(axis=1), None))
        ours = (time.process_time() - ready) / len(Y)
        theirs, excess = [], [0.0, 0.0]
        for x, y in zip(code.coefficients[: options.celer_queries], Y, strict=False):
            start_one = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                other = Lasso(mu / len(y), fit_intercept=False, tol=options.tol).fit(D, y).coef_
            theirs.append(time.process_time() - start_one)
            both = objective(x, y, mu), objective(other, y, mu)
            excess = [max(e, p / min(both) - 1) for e, p in zip(excess, both, strict=True)]
        print(
            f"mu {mu:<6g} ours {ours * 1e3:7.2f} ms a query (+ {(ready - start) * 1e3:.0f} ms once), celer"
            f" {np.mean(theirs) * 1e3:7.2f}: {np.mean(theirs) / ours:5.1f} times as fast; "
            f"{np.count_nonzero(code.coefficients, axis=1).mean():.0f} atoms used,"
            f" {code.converged.mean():.0%} converged,"
            f" objective over the better one: ours {excess[0]:.0e}, celer {excess[1]:.0e}"
        )


if __name__ == "__main__":
    main()
