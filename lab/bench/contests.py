"""Side by side on the same data and threads: whole classification, single queries, global dictionaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.local_problem import single_will_do
from kcrc.report.tables import text_table
from lab.bench.limits import product
from lab.bench.results import Requirement, Results
from lab.bench.rivals import faiss_flat, ours, plain_numpy, scikit_neighbours, scikit_svc
from lab.bench.samples import Problem
from lab.bench.tables import short
from lab.bench.timing import each_alone, race, threads

K = 50
PLAIN_QUERIES = 16  # the plain version is timed on so many: it takes the same for each
SLOW_QUERIES = 2000  # and scikit-learn and the bare product on so many at most
ACCURATE = 0.984  # on MNIST
AGAINST_FAISS, AGAINST_PLAIN = 1.25, 30.0
LIMIT = "matrix product (limit)"
NEAREST = "scikit-learn neighbours, k=1"
AGAINST_NEAREST = {"kcrc, the answerer's label": 0.15, "kcrc": 0.25, "kcrc, explain": 0.5}  # single queries


class Contest(Protocol):
    """What a contest needs of the run it is part of."""

    @property
    def cores(self) -> int: ...
    @property
    def faiss(self) -> Any: ...
    @property
    def results(self) -> Results: ...
    @property
    def say(self) -> Callable[[str], None]: ...


def classification(run: Contest, split: Problem, *, svc: bool, main: bool = False) -> Array:
    """All queries at once; the labels given. ``main``: this is the one the claims are about."""
    n_queries, results = len(split.queries), run.results
    clf = ours(split, K, n_jobs=run.cores)
    knn = scikit_neighbours(split, K, run.cores)
    plain = plain_numpy(split, K)
    some = split.queries[:PLAIN_QUERIES]
    labels: Array = clf.predict(split.queries)
    runners: dict[str, Callable[[], Any]] = {"kcrc": lambda: clf.predict(split.queries)}
    if run.faiss is not None:
        index = faiss_flat(run.faiss, split)
        runners["faiss flat search"] = lambda: index.search(split.queries, K)
    fewer = split.queries[:SLOW_QUERIES]
    accuracy = {"kcrc": labels}

    def answered(name: str, model: Any) -> Callable[[], None]:
        def run_it() -> None:
            accuracy[name] = model.predict(fewer)

        return run_it

    slow = {
        LIMIT: product(split.atoms, fewer),
        "scikit-learn neighbours": answered("scikit-learn neighbours", knn),
    }
    if svc:
        slow["scikit-learn SVC"] = answered("scikit-learn SVC", scikit_svc(split))
    with threads(run.cores):
        best = race(runners, rounds=9, seconds=25.0 if main else 4.0)
        rest = race(slow, rounds=3, seconds=4.0)
    per_query = {name: seconds / n_queries for name, seconds in best.items()}
    per_query |= {name: seconds / len(fewer) for name, seconds in rest.items()}
    per_query["plain NumPy, the paper's way"] = min(_plain(plain, some, 1), _plain(plain, some, run.cores))
    size = f"{split.name}, {len(split.atoms):,} examples"
    mine = per_query["kcrc"]
    lines = []
    for name, seconds in sorted(per_query.items(), key=lambda item: item[1]):
        right = accuracy.get(name)
        share = "" if right is None else f"{np.mean(right == split.truth[: len(right)]):.2%}"
        lines.append([name, short(1e6 * seconds), f"{seconds / mine:.3g}", share])
        if name != "kcrc":
            results.ratios[f"kcrc / {name}, {size}, K={K}"] = mine / seconds
    for name, right in accuracy.items():
        results.accuracy[f"{name}, {size}"] = float(np.mean(right == split.truth[: len(right)]))
    title = f"\n{size}, {n_queries:,} queries, K = {K}, {run.cores} threads"
    run.say(text_table(title, ["", "a query", "times kcrc", "accuracy"], lines))
    if main:
        _claim(run, split, per_query, float(np.mean(labels == split.truth)))
    return labels


def _claim(run: Contest, split: Problem, per_query: dict[str, float], accuracy: float) -> None:
    mine, claims = per_query["kcrc"], run.results.claims
    if "faiss flat search" in per_query:
        text = f"whole classification / faiss search alone, {split.name}"
        claims.append(Requirement(text, mine / per_query["faiss flat search"], AGAINST_FAISS))
    faster = per_query["plain NumPy, the paper's way"] / mine
    claims.append(Requirement(f"times as fast as plain NumPy, {split.name}", faster, AGAINST_PLAIN, at_least=True))
    if split.name == "mnist":
        claims.append(Requirement("accuracy on MNIST", accuracy, ACCURATE, at_least=True))


def _plain(plain: Callable[[Array], Any], queries: Array, count: int) -> float:
    with threads(count):
        return race({"plain": lambda: plain(queries)}, rounds=2, seconds=2.0)["plain"] / len(queries)


def single_queries(run: Contest, split: Problem, *, queries: int = 400, turns: int = 8) -> None:
    """One query a call, as a service gets them; the median of each turn, the best of the turns."""
    gamma = 5e-4  # these rows are as they come, 0 to 16 a pixel
    clf = ours(split, K, gamma=gamma, n_jobs=run.cores)
    models = {"kcrc": clf, NEAREST: scikit_neighbours(split, 1, run.cores),
              f"scikit-learn neighbours, k={K}": scikit_neighbours(split, K, run.cores),
              "scikit-learn SVC": scikit_svc(split)}  # fmt: skip
    right = {name: float(np.mean(model.predict(split.queries) == split.truth)) for name, model in models.items()}
    answerer = clf.answerer_
    answerer.answer(split.queries[:1])  # how sure answers are is learned when first asked for
    contestants: dict[str, Callable[[Array], Any]] = {
        **{name: model.predict for name, model in models.items()},
        "kcrc, the answerer's label": answerer.labels,
        "kcrc, predict_proba": clf.predict_proba,
        "kcrc, explain": clf.explain,
        "plain NumPy, the paper's way": plain_numpy(split, K, gamma),
    }
    some = split.queries[:queries]
    if run.faiss is not None:
        index, single = faiss_flat(run.faiss, split), some.astype(np.float32)
        contestants["faiss flat search"] = lambda query: index.search(query, K)
    # One thread: a pool started for one small query helps none of them, and idles in the way of the next.
    best = dict.fromkeys(contestants, np.inf)
    with threads(1):
        for _ in range(turns):
            for name, answer in contestants.items():
                asked = single if name.startswith("faiss") else some[:20] if name.startswith("plain") else some
                best[name] = min(best[name], each_alone(answer, asked))
    lines = [
        [name, short(1e6 * s), f"{s / best[NEAREST]:.3g}", f"{right[name]:.2%}" if name in right else ""]
        for name, s in sorted(best.items(), key=lambda item: item[1])
    ]
    title = f"\nOne query a call, {split.name}, {len(split.atoms):,} examples, K = {K}"
    run.say(text_table(title, ["", "a query", "times nearest neighbour", "accuracy"], lines))
    for name, seconds in best.items():
        ours_too = name.startswith("kcrc,")
        ratio = seconds / best[NEAREST] if ours_too else best["kcrc"] / seconds
        pair = f"{name} / {NEAREST}" if ours_too else f"kcrc / {name}"
        if name != "kcrc":
            run.results.ratios[f"{pair}, single query, {split.name}"] = ratio
    run.results.accuracy |= {f"{name}, {split.name}": share for name, share in right.items()}
    for name, bound in AGAINST_NEAREST.items():
        text = f"single query of {split.name} / {NEAREST}: {name}"
        run.results.claims.append(Requirement(text, best[name] / best[NEAREST], bound))


def global_dictionary(run: Contest, split: Problem) -> None:
    """All examples are the dictionary: a batch against the two matrix products it is made of, in its own precision."""
    clf = ours(split, None, n_jobs=run.cores)
    clf.predict(split.queries)
    kind = np.float32 if single_will_do(clf.model_) else np.float64
    inverse = np.asarray(np.random.default_rng(0).standard_normal((len(split.atoms),) * 2), kind)
    kernel, coded = product(split.atoms, split.queries), np.empty((len(split.queries), len(split.atoms)), kind)

    def limit() -> None:
        kernel()
        np.matmul(coded, inverse, out=np.empty_like(coded))  # the two triangular solves are as much work

    coded[:] = 1.0
    with threads(run.cores):
        best = race({"kcrc": lambda: clf.predict(split.queries), "limit": limit}, rounds=6, seconds=4.0)
    micro = 1e6 / len(split.queries)
    ratio = best["kcrc"] / best["limit"]
    run.results.ratios[f"global dictionary / its matrix products, {len(split.atoms):,} examples"] = ratio
    lines = [["kcrc, global dictionary", short(micro * best["kcrc"]), f"{ratio:.2f}"],
             ["its matrix products (limit)", short(micro * best["limit"]), "1"]]  # fmt: skip
    run.say(text_table(f"\nA global dictionary of {len(split.atoms):,} examples", ["", "a query", "ratio"], lines))
