"""What this library is measured against, each as a function from queries to answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.paper import kcrc_rls
from lab.bench.samples import Problem

Answer = Callable[[Array], Any]

# Leave-one-out over MNIST's 60,000 training rows at K = 50 chose 0.87, 0.1 and the plain residual (98.7 % of the 2,500
# it asked). Nothing here is fitted to queries.
GAMMA, MU, DECISION = 1.0, 0.1, "residual"


def ours(split: Problem, k: int | None, **options: Any) -> Any:
    """KCRC-LCD with everything given: RBF on rows as they are."""
    from kcrc.classifier.estimator import KCRCClassifier

    chosen = {
        "scaling": "plain", "kernel": "rbf", "gamma": GAMMA, "mu": MU, "form": "rkhs", "decision": DECISION,
        "locality": "atoms", "verbose": False, "tuning_seconds": 1.0,
    }  # fmt: skip
    return KCRCClassifier(k, **{**chosen, **options}).fit(split.atoms, split.labels)


def scikit_neighbours(split: Problem, k: int, n_jobs: int) -> Any:
    """scikit-learn's k nearest neighbours by brute force."""
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(k, algorithm="brute", n_jobs=n_jobs).fit(split.atoms, split.labels)


def scikit_svc(split: Problem) -> Any:
    """scikit-learn's SVC, RBF with its own default width, C = 10."""
    from sklearn.svm import SVC

    return SVC(C=10.0).fit(split.atoms, split.labels)


def load_faiss() -> Any:
    """faiss at its best, or None where it is not installed."""
    from kcrc.method.neighbours.approximate import LIBRARIES
    from kcrc.method.neighbours.approximate.faiss_library import faiss

    return faiss() if LIBRARIES["ivf"].is_installed else None


def faiss_flat(faiss: Any, split: Problem) -> Any:
    """faiss's exact search over the examples."""
    index = faiss.IndexFlatL2(split.atoms.shape[1])
    index.add(np.ascontiguousarray(split.atoms, np.float32))
    return index


def plain_numpy(split: Problem, k: int, gamma: float = GAMMA, mu: float = MU) -> Answer:
    """The paper's Algorithm 3 with Algorithm 1, query by query in NumPy, as one would write it from the paper."""
    atoms, labels = split.atoms, split.labels

    def one(y: Array) -> Any:
        squared = ((atoms - y) ** 2).sum(axis=1)
        near = np.argsort(squared, kind="stable")[:k]
        classes = labels[near]
        if (classes == classes[0]).all():
            return classes[0]
        D = atoms[near]
        G = np.exp(-gamma * ((D[:, None] - D[None]) ** 2).sum(axis=2))
        _, residuals = kcrc_rls(G, np.exp(-gamma * squared[near]), classes, mu)
        return min(residuals, key=lambda c: (residuals[c], c))

    return lambda queries: np.array([one(y) for y in queries])
