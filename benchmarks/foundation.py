"""The foundation's claims, measured: `python benchmarks/foundation.py` (data from $KCRC_DATA or ../shared/data).

Accuracy is the claim; times are printed beside scikit-learn's nearest neighbours measured in the same run.
"""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from kcrc import KCRCClassifier

DATA = Path(os.environ.get("KCRC_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
# The paper's setting for MNIST with 20 a class: RBF on unit rows, K = 50. It gives no gamma and mu: 1 and 0.01 are the
# round values that served all of MNIST (60,000 examples), not fitted to these draws.
MNIST = {"n_neighbors": 50, "metric": "unit", "kernel": "rbf", "gamma": 1.0, "mu": 0.01}


def timed(call):
    best, value = np.inf, None
    for _ in range(3):
        start = time.perf_counter()
        value = call()
        best = min(best, time.perf_counter() - start)
    return best, value


def digits() -> None:
    X, y = load_digits(return_X_y=True)
    Xa, Xb, ya, yb = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    clf = KCRCClassifier(50, n_jobs=1).fit(Xa, ya)
    seconds, got = timed(lambda: clf.predict(Xb))
    knn = KNeighborsClassifier(50, algorithm="brute", n_jobs=1).fit(Xa, ya)
    base, _ = timed(lambda: knn.predict(Xb))
    print(
        f"digits, K=50, one thread: {1e3 * seconds / len(Xb):.4f} ms a query "
        f"({seconds / base:.2f} x scikit-learn's 50-NN), accuracy {np.mean(got == yb):.4f}"
    )


def mnist() -> None:
    path = DATA / "mnist.npz"
    if not path.exists():
        print("mnist.npz is not here; set KCRC_DATA")
        return
    stored = np.load(path, allow_pickle=False)
    images = stored["images"].reshape(70000, -1).astype(np.float32) / 255
    labels, split = stored["labels"], stored["split"]
    train, test = np.flatnonzero(split == 0), np.flatnonzero(split == 1)

    def accuracy(rows, **options):
        clf = KCRCClassifier(**{**MNIST, **options}).fit(images[rows], labels[rows])
        return float(np.mean(clf.predict(images[test]) == labels[test]))

    draws = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        rows = np.concatenate([rng.choice(train[labels[train] == c], 20, replace=False) for c in range(10)])
        draws.append(accuracy(rows))
    print(f"MNIST 20 a class, K=50: {100 * np.mean(draws):.2f} ± {100 * np.std(draws):.2f} (paper 85.31)")
    for form in ("rkhs", "gram"):
        print(f"MNIST author500_train, {form}: {100 * accuracy(stored['author500_train'], form=form):.2f}")
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.choice(train[labels[train] == c], 200, replace=False) for c in range(10)])
    start = time.perf_counter()
    got = accuracy(rows, n_neighbors=100)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"MNIST 2,000 atoms, K=100, 10,000 queries: {seconds:.1f} s, {100 * got:.2f} %, peak {peak:.2f} GiB in all")


if __name__ == "__main__":
    digits()
    mnist()
