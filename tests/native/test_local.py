"""The compiled local stage against the formulas written out in float64, query by query."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kcrc.native import native

pytestmark = pytest.mark.skipif(native is None, reason="the compiled module is not built")

KINDS = {"linear": 0, "polynomial": 1, "rbf": 2}
GAMMA, COEF0, DEGREE = 0.05, 1.0, 3


def kernel(kind: str, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    A, B = A.astype(np.float64), B.astype(np.float64)
    if kind == "linear":
        return A @ B.T
    if kind == "polynomial":
        return (GAMMA * A @ B.T + COEF0) ** DEGREE
    return np.exp(-GAMMA * ((A[:, None] - B[None]) ** 2).sum(-1))


def by_the_book(G, k, own, labels, n_classes, *, mu, form, normalize, ratio):
    """x, c, residuals and energy of one query from its G (K, K), k (K,), k(y,y) and class numbers."""
    if form == "gram":
        D = G / np.linalg.norm(G, axis=0) if normalize else G
        H, b, energy = D.T @ D, D.T @ k, k @ k
    else:
        s = 1 / np.sqrt(np.diag(G)) if normalize else np.ones(len(G))
        H, b, energy = G * s[:, None] * s, k * s, own
    x = np.linalg.solve(H + mu * np.eye(len(H)), b)
    c = np.empty_like(x)
    residuals = np.full(n_classes, np.inf)
    for i in np.unique(labels):
        mine = np.flatnonzero(labels == i)
        Hi, xi, bi = H[np.ix_(mine, mine)], x[mine], b[mine]
        c[mine] = xi * (2 * bi - Hi @ xi)
        squared = max(energy - 2 * xi @ bi + xi @ Hi @ xi, 0.0)
        residuals[i] = np.sqrt(squared) / (np.linalg.norm(xi) if ratio else 1.0)
    return x, c, residuals, energy


def solve(**given: Any) -> tuple[np.ndarray, ...]:
    """Coefficients, contributions, residuals, energy, flags; and the winner of the coded is the smallest residual's."""
    batch, K = given["rows"].shape
    out = {
        "coefficients": np.zeros((batch, K)), "contributions": np.zeros((batch, K)),
        "residuals": np.full((batch, given["n_classes"]), np.inf), "energy": np.zeros(batch),
        "winner": np.full(batch, -1),
    }  # fmt: skip
    flags = native.local_stage(**given, **out)
    coded = flags == 0
    np.testing.assert_array_equal(out["winner"][coded], out["residuals"][coded].argmin(axis=1))
    return out["coefficients"], out["contributions"], out["residuals"], out["energy"], flags


class Problem:
    """Random examples and queries, with all that the compiled stage may be given."""

    def __init__(self, *, K: int, kind: str = "rbf", queries: int = 13, n: int = 0, d: int = 19, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        n = n or 2 * K + 30
        self.n_classes = 5
        self.labels = rng.integers(0, self.n_classes, n).astype(np.int32)
        centres = rng.normal(size=(self.n_classes, d))
        self.atoms = centres[self.labels] + rng.normal(size=(n, d))
        self.queries = centres[rng.integers(0, self.n_classes, queries)] + rng.normal(size=(queries, d))
        self.rows = np.stack([rng.permutation(n)[:K] for _ in range(queries)]).astype(np.int64)
        self.kind = kind

    def stored(self, dtype: Any) -> dict[str, Any]:
        return {"kernel": kernel(self.kind, self.atoms, self.atoms).astype(dtype), **self.cross(dtype)}

    def cross(self, dtype: Any) -> dict[str, Any]:
        k = kernel(self.kind, self.queries, self.atoms)
        return {"cross": np.take_along_axis(k, np.maximum(self.rows, 0), 1).astype(dtype)}

    def vectors(self, dtype: Any, storage: Any) -> dict[str, Any]:
        atoms = self.atoms.astype(storage)
        squares = (atoms.astype(np.float64) ** 2).sum(1).astype(dtype)
        return {
            "vectors": atoms, "squares": squares, "queries": self.queries.astype(dtype),
            "kind": KINDS[self.kind], "gamma": GAMMA, "coef0": COEF0, "degree": DEGREE,
        }  # fmt: skip

    def self_values(self) -> np.ndarray:
        return np.array([kernel(self.kind, q[None], q[None])[0, 0] for q in self.queries])

    def run(self, source: dict[str, Any], which: Any = slice(None), **options: Any) -> tuple[np.ndarray, ...]:
        source = {k: v[which] if k in ("cross", "queries", "squared") else v for k, v in source.items()}
        working = source.get("cross", source.get("queries"))
        wide = options.pop("wide") if "wide" in options else working.dtype == np.float64
        rows = np.ascontiguousarray(self.rows[which])
        return solve(
            rows=rows, labels=self.labels, n_classes=self.n_classes, self=self.self_values()[which], wide=bool(wide),
            **source, **options,
        )  # fmt: skip

    def expected(self, i: int, **options: Any) -> tuple[Any, ...]:
        rows = self.rows[i][self.rows[i] >= 0]
        G = kernel(self.kind, self.atoms[rows], self.atoms[rows])
        k = kernel(self.kind, self.queries[i : i + 1], self.atoms[rows])[0]
        return by_the_book(G, k, self.self_values()[i], self.labels[rows], self.n_classes, **options)


def check(problem: Problem, answers: tuple[np.ndarray, ...], tolerance: float, **options: Any) -> None:
    coefficients, contributions, residuals, energy, flags = answers
    assert (flags == 0).all()
    for i in range(len(flags)):
        real = problem.rows[i] >= 0
        x, c, r, t = problem.expected(i, **options)
        scale = np.abs(x).max()
        np.testing.assert_allclose(coefficients[i][real], x, atol=tolerance * scale, rtol=tolerance)
        np.testing.assert_allclose(contributions[i][real], c, atol=tolerance * max(np.abs(c).max(), t), rtol=tolerance)
        assert not coefficients[i][~real].any()
        assert not contributions[i][~real].any()
        # A residual is a difference of squares: its rounding is relative to the energy.
        np.testing.assert_array_equal(np.isinf(residuals[i]), np.isinf(r))
        there = np.isfinite(r)
        np.testing.assert_allclose(residuals[i][there], r[there], rtol=20 * np.sqrt(tolerance))
        np.testing.assert_allclose(energy[i], t, rtol=tolerance)


SIZES = [1, 2, 3, 4, 7, 23, 24, 25, 50, 63, 64, 65, 96, 97, 121, 200]


@pytest.mark.parametrize("K", SIZES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 3e-3)])
def test_stored_kernel(K, dtype, tolerance):
    problem = Problem(K=K)
    options = {"mu": 0.05, "normalize": True, "ratio": True}
    answers = problem.run(problem.stored(dtype), **options)
    if K == 1:
        assert (answers[4] == 1).all()
        return
    keep = np.flatnonzero(answers[4] == 0)
    problem.rows, problem.queries = problem.rows[keep], problem.queries[keep]
    check(problem, tuple(a[keep] for a in answers), tolerance, form="rkhs", **options)


@pytest.mark.parametrize("K", [20, 80])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["rkhs", "gram"])
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("ratio", [True, False])
def test_forms_kernels_and_decisions_in_double(K, kind, form, normalize, ratio):
    problem = Problem(K=K, kind=kind, d=40)
    options = {"mu": 0.3, "normalize": normalize, "ratio": ratio}
    for source in (problem.stored(np.float64), problem.vectors(np.float64, np.float64)):
        answers = problem.run(source, gram_form=form == "gram", **options)
        check(problem, answers, 1e-8, form=form, **options)


@pytest.mark.parametrize("K", [20, 80])
@pytest.mark.parametrize("storage", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-8), (np.float32, 3e-3)])
@pytest.mark.parametrize("kind", KINDS)
def test_vectors_in_any_storage(K, storage, dtype, tolerance, kind):
    problem = Problem(K=K, kind=kind, d=37)
    problem.atoms = problem.atoms.astype(storage).astype(np.float64)
    if np.dtype(dtype) == np.float32:
        problem.atoms = problem.atoms.astype(np.float32).astype(np.float64)
        problem.queries = problem.queries.astype(np.float32).astype(np.float64)
    options = {"mu": 0.5, "normalize": True, "ratio": True}
    check(problem, problem.run(problem.vectors(dtype, storage), **options), tolerance, form="rkhs", **options)


@pytest.mark.parametrize("K", [30, 100])
def test_squared_distances_give_the_rbf_row(K):
    problem = Problem(K=K)
    source = problem.vectors(np.float64, np.float64)
    del source["queries"]
    source["squared"] = ((problem.queries[:, None] - problem.atoms[problem.rows]) ** 2).sum(-1)
    options = {"mu": 0.05, "normalize": True, "ratio": True}
    check(problem, problem.run(source, wide=True, **options), 1e-9, form="rkhs", **options)


@pytest.mark.parametrize("K", [30, 64, 65, 150])
@pytest.mark.parametrize("form", ["rkhs", "gram"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_answer_does_not_depend_on_its_batch(K, form, dtype):
    problem = Problem(K=K, queries=21)
    options = {"mu": 0.05, "gram_form": form == "gram"}
    for source in (problem.stored(dtype), problem.vectors(dtype, np.float32)):
        together = problem.run(source, **options)
        for which in (slice(3, 4), slice(5, 18), slice(20, None)):
            for whole, part in zip(together, problem.run(source, which, **options), strict=True):
                np.testing.assert_array_equal(whole[which], part)


@pytest.mark.parametrize("K", [12, 90])
@pytest.mark.parametrize("form", ["rkhs", "gram"])
def test_padding_changes_nothing(K, form):
    problem = Problem(K=K, queries=9)
    rng = np.random.default_rng(1)
    for line in problem.rows:
        line[rng.permutation(K)[: rng.integers(0, K // 2)]] = -1
    options = {"mu": 0.05, "normalize": True, "ratio": True}
    for source in (problem.stored(np.float64), problem.vectors(np.float64, np.float64)):
        check(problem, problem.run(source, gram_form=form == "gram", **options), 1e-9, form=form, **options)


@pytest.mark.parametrize("K", [10, 80])
def test_unanimous_queries_are_left_alone(K):
    problem = Problem(K=K, queries=6, n=800)
    problem.rows[2] = np.flatnonzero(problem.labels == 3)[:K]
    *values, flags = problem.run(problem.stored(np.float64), mu=0.1)
    assert flags.tolist() == [0, 0, 1, 0, 0, 0]
    assert not values[0][2].any()
    assert np.isinf(values[2][2]).all()


@pytest.mark.parametrize("K", [10, 80])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_factor_is_told_and_spares_the_others(K, dtype):
    problem = Problem(K=K, queries=6)
    alone = problem.run(problem.stored(dtype), mu=0.0 + 0.01)
    problem.rows[4, :] = problem.rows[4, 0]  # one atom many times over, no penalty: singular
    problem.labels[problem.rows[4, 0]] = 0
    other = int(np.flatnonzero(problem.labels == 1)[0])
    problem.rows[4, 1] = other
    assert problem.run(problem.stored(dtype), mu=0.0)[4][4] == 3
    again = problem.run(problem.stored(dtype), mu=0.01)
    np.testing.assert_array_equal(np.delete(alone[0], 4, 0), np.delete(again[0], 4, 0))


@pytest.mark.parametrize("K", [10, 80])
def test_a_zero_column_takes_no_part(K):
    problem = Problem(K=K, kind="linear", queries=5, d=60)
    problem.atoms[problem.rows[0, 3]] = 0.0
    coefficients, contributions, residuals, _, flags = problem.run(problem.stored(np.float64), mu=0.1)
    assert (flags == 0).all()
    assert coefficients[0, 3] == 0 == contributions[0, 3]
    assert np.isfinite(residuals).any(axis=1).all()


def test_exp_is_exact_to_rounding():
    """A kernel matrix of two atoms gives exp back through k: compare with NumPy over the whole range."""
    squared = np.concatenate([np.linspace(0, 80, 4001), np.geomspace(1e-12, 1, 500)])
    squared = squared[: len(squared) // 2 * 2].reshape(-1, 2)
    labels = np.array([0, 1], np.int32)
    rows = np.tile(np.array([0, 1], np.int64), (len(squared), 1))
    for dtype, ulp in ((np.float32, 1.2e-7 * 2), (np.float64, 2.3e-16 * 2)):
        x = solve(
            rows=rows, labels=labels, n_classes=2, kernel=np.zeros((2, 2), dtype), squared=squared, kind=2,
            gamma=1.0, self=np.ones(len(rows)), mu=1.0, normalize=False, wide=dtype is np.float64,
        )[0]  # fmt: skip
        np.testing.assert_allclose(x, np.exp(-squared.astype(dtype).astype(np.float64)), rtol=ulp)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": np.array([[0, 999]])}, "outside labels"),
        ({"rows": np.array([[0, 1]], np.int32)}, "int64"),
        ({"n_classes": 1}, "outside the classes"),
        ({"kernel": np.eye(3)}, r"kernel is .* of shape \(4, 4\).*; got float64 \(3, 3\)"),
        ({"cross": np.zeros((2, 2))}, r"cross is .* of shape \(1, 2\)"),
        ({"cross": np.zeros((1, 2), np.float32)}, "cross is float64; got float32"),
    ],
)
def test_wrong_arrays_are_refused(change, message):
    good = {
        "rows": np.array([[0, 1]]), "labels": np.array([0, 1, 0, 1], np.int32), "n_classes": 2,
        "kernel": np.eye(4),
        "cross": np.zeros((1, 2)), "self": np.ones(1), "mu": 0.1, "wide": True,
    }  # fmt: skip
    solve(**good)
    with pytest.raises(ValueError, match=message):
        solve(**{**good, **change})


@pytest.mark.parametrize("K", [10, 80])
def test_a_query_like_nothing_is_given_its_nearest(K):
    problem = Problem(K=K, kind="rbf", queries=4)
    source = problem.stored(np.float64)
    source["cross"][1] = 0.0
    coefficients, _, residuals, energy, flags = problem.run(source, mu=0.1)
    assert flags.tolist() == [0, 2, 0, 0]
    assert not coefficients[1].any()
    assert residuals[1].argmin() == problem.labels[problem.rows[1, 0]]
    assert residuals[1].min() == np.sqrt(energy[1])


@pytest.mark.parametrize("K", [10, 80])
def test_a_kernel_that_overflows_is_not_solved(K):
    problem = Problem(K=K, queries=3)
    source = problem.stored(np.float64)
    source["cross"][1, 0] = np.inf
    assert problem.run(source, mu=0.1)[4].tolist() == [0, 3, 0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("storage", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_stored_kernel_matrix_is_what_the_stage_computes(kind, storage, dtype):
    """Bit for bit, so that an answer does not depend on whether the matrix was stored."""
    for K in (15, 110):
        problem = Problem(K=K, kind=kind, d=101, n=137)
        source = problem.vectors(dtype, storage)
        n = len(problem.atoms)
        matrix = np.full((n, n), np.nan, dtype)
        for start, stop in ((50, 137), (0, 50)):
            native.kernel_rows(
                vectors=source["vectors"], squares=source["squares"], kind=KINDS[kind], gamma=GAMMA, coef0=COEF0,
                degree=DEGREE, start=start, stop=stop, out=matrix,
            )  # fmt: skip
        rough = 1e-12 if dtype is np.float64 else 1e-4
        stored = source["vectors"].astype(np.float64)
        np.testing.assert_allclose(matrix, kernel(kind, stored, stored), rtol=rough, atol=rough)
        for form in (False, True):
            computed = problem.run(source, mu=0.1, gram_form=form)
            gathered = problem.run({**source, "kernel": matrix}, mu=0.1, gram_form=form)
            for one, other in zip(computed, gathered, strict=True):
                np.testing.assert_array_equal(one, other)
