"""
No vectors at all: a kernel between graphs
==========================================

Graphs are compared by what surrounds their nodes (Weisfeiler and Lehman). At first a node is called by its number of
neighbours, then three times by its name so far and those of its neighbours; the kernel is how many names two graphs
share. Orange: new graphs. Behind each are the five of 36 examples that count most for its answer, with their shares.
"""

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.csgraph import shortest_path

from kcrc import KCRCClassifier

plt.style.use("kcrc.files.style")
rng = np.random.default_rng(1)


def graph(kind):
    """Which nodes are joined, (n, n): a tree, two rings or a ladder of any length, and three nodes hung on anywhere."""
    n = 2 * int(rng.integers(5, 8))
    edges = {"tree": [(i, rng.integers(max(0, i - 3), i)) for i in range(1, n)],
             "rings": [(i, (i + 1) % n) for i in range(n)] + [(0, n // 2)],
             "ladder": [(i, i + 2) for i in range(n - 2)] + [(i, i + 1) for i in range(0, n, 2)]}[kind]  # fmt: skip
    joined = np.zeros((n + 3, n + 3), bool)
    joined[tuple(np.transpose(edges + [(n + i, rng.integers(n)) for i in range(3)]))] = True
    return joined | joined.T


def names(joined):
    called, found = [int(row.sum()) for row in joined], Counter()
    for _ in range(4):
        found.update(called)
        called = [(called[i], *sorted(called[j] for j in np.flatnonzero(row))) for i, row in enumerate(joined)]
    return found


def kernel(a, b):
    """1 for a graph with itself."""
    return (names(a) & names(b)).total() / np.sqrt(len(a) * len(b)) / 4


def draw(axis, joined, colour, title):
    """Nodes as far apart as there are steps between them, as well as a plane allows."""
    steps = shortest_path(joined, unweighted=True)
    at = rng.normal(size=(len(steps), 2)) + np.linalg.eigh(steps)[1][:, :2] * 20
    for _ in range(300):
        gaps = at[:, None] - at
        at = np.mean(gaps * (steps / (np.linalg.norm(gaps, axis=2) + np.eye(len(at))))[..., None], axis=1)
    axis.plot(*at.T[:, np.argwhere(joined).T], color="0.6", linewidth=1, zorder=0)
    axis.scatter(*at.T, s=16, color=colour)
    axis.set(title=title, aspect="equal", adjustable="datalim")
    axis.axis("off")


labels = np.repeat(["tree", "rings", "ladder"], 12)
examples, new = [graph(kind) for kind in labels], [graph(kind) for kind in labels[::12]]
K = [[kernel(a, b) for b in examples] for a in examples + new]
clf = KCRCClassifier(kernel="precomputed", n_neighbors=8, mu=1.0).fit(K[:36], labels)
figure, axes = plt.subplots(3, 6, figsize=(8, 4.4))
for line, query, evidence in zip(axes, new, clf.explain(K[36:]), strict=True):
    draw(line[0], query, "C1", f"{evidence.labels[0]}")
    best = np.argsort(-evidence.shares[0])[:5]
    for axis, row, share in zip(line[1:], evidence.rows[0, best], evidence.shares[0, best], strict=True):
        draw(axis, examples[row], "C0", f"{labels[row]}, {share:.0%}")
plt.show()
