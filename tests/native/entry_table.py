"""Right arguments for every entry of the compiled module, by name: one row an entry, or one for each way to call it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Arguments = dict[str, Any]
Entry = Callable[[np.random.Generator, Any], Arguments]
ENTRIES: dict[str, Entry] = {}
N, D, B, K, CLASSES = 40, 9, 5, 6, 3


def entry(make: Entry) -> Entry:
    """A row of the table: a function of the entry's name, with an ending where there are several."""
    ENTRIES[make.__name__.removeprefix("_")] = make
    return make


def name_of(row: str) -> str:
    """The entry that a row calls."""
    return row.partition("__")[0]


def _rows(rng: np.random.Generator, *shape: int) -> Array:
    return rng.integers(0, N, shape)


@entry
def _cpu_has_avx2(rng: np.random.Generator, kind: Any) -> Arguments:
    return {}


@entry
def _nearest_measured(rng: np.random.Generator, kind: Any) -> Arguments:
    return {"vectors": rng.normal(size=(N, D)).astype(kind), "queries": rng.normal(size=(B, D)).astype(kind), "k": K}


@entry
def _nearest__made(rng: np.random.Generator, kind: Any) -> Arguments:
    vectors, queries = rng.normal(size=(N, D)).astype(kind), rng.normal(size=(B, D)).astype(kind)
    return {
        "vectors": vectors, "queries": queries, "k": K, "coordinates": queries.astype(np.float32) / 8,
        "square": np.ones(B), "rounding": np.zeros(B), "slack": np.zeros(B), "scale": 8.0, "centre": np.zeros(D, kind),
    }  # fmt: skip


def _codes(rng: np.random.Generator, depth: int) -> Arguments:
    """Codes of N examples in some order, and their facts."""
    from kcrc.native import native

    assert native is not None
    rows, step = int(native.code_rows), int(native.code_step)
    panels = -(-N // rows)
    slots = np.zeros(panels * rows, np.int32)
    slots[:N] = rng.permutation(N)
    return {
        "codes": rng.integers(1, 256, (panels, -(-depth // step), rows, step)).astype(np.uint8),
        "facts": rng.random((panels, int(native.code_facts), rows)).astype(np.float32), "slots": slots,
    }  # fmt: skip


@entry
def _nearest__coded(rng: np.random.Generator, kind: Any) -> Arguments:
    made, depth = _nearest__made(rng, kind), int(rng.integers(1, 9))
    del made["centre"]
    return made | _codes(rng, depth) | {"coordinates": rng.normal(size=(B, depth)).astype(np.float32)}


@entry
def _encode_rows(rng: np.random.Generator, kind: Any) -> Arguments:
    depth, count = int(rng.integers(1, 9)), int(rng.integers(1, N))
    coordinates = rng.normal(size=(count, depth)).astype(np.float32)
    made = _codes(rng, depth) | {"coordinates": coordinates, "first": int(rng.integers(0, N - count + 1))}
    del made["slots"]
    return made


def _local(rng: np.random.Generator, k: int) -> Arguments:
    return {
        "rows": _rows(rng, B, k), "labels": rng.integers(0, CLASSES, N).astype(np.int32), "n_classes": CLASSES,
        "self": np.ones(B), "mu": 0.1, "gram_form": bool(rng.integers(2)), "normalize": bool(rng.integers(2)),
        "coefficients": np.zeros((B, k)), "contributions": np.zeros((B, k)), "residuals": np.zeros((B, CLASSES)),
        "energy": np.zeros(B), "winner": np.zeros(B, np.int64),
    }  # fmt: skip


@entry
def _local_stage__kernel(rng: np.random.Generator, kind: Any) -> Arguments:
    k, X = int(rng.choice([K, 110])), rng.normal(size=(N, D))
    kernel, cross = (X @ X.T).astype(kind), rng.random((B, k)).astype(kind)
    return _local(rng, k) | {"kernel": kernel, "cross": cross, "wide": kind is np.float64}


@entry
def _local_stage__vectors(rng: np.random.Generator, kind: Any) -> Arguments:
    X, storage = rng.normal(size=(N, D)), rng.choice([np.float16, np.float32, np.float64])
    return _local(rng, int(rng.choice([K, 110]))) | {
        "vectors": X.astype(storage), "squares": (X**2).sum(1).astype(kind), "wide": kind is np.float64,
        "queries": rng.normal(size=(B, D)).astype(kind), "kind": int(rng.integers(3)), "gamma": 0.1, "degree": 3,
    }  # fmt: skip


@entry
def _local_stage__squared(rng: np.random.Generator, kind: Any) -> Arguments:
    made = _local_stage__vectors(rng, kind) | {"kind": 2}
    del made["queries"]
    return made | {"squared": rng.random(made["rows"].shape)}


@entry
def _PreparedSingle__vectors(rng: np.random.Generator, kind: Any) -> Arguments:
    X, wide = rng.normal(size=(N, D)), kind is np.float64
    return {
        "vectors": X.astype(kind), "k": int(rng.choice([1, K, N])), "wide_queries": wide, "wide": wide,
        "labels": rng.integers(0, CLASSES, N).astype(np.int32), "ids": np.arange(N), "n_classes": CLASSES,
        "root": bool(rng.integers(2)), "by_distance": False, "squares": (X**2).sum(1).astype(kind), "mu": 0.1,
        "kind": int(rng.integers(3)), "gamma": 0.1, "degree": 2, "gram_form": bool(rng.integers(2)),
    }  # fmt: skip


@entry
def _PreparedSingle__coded(rng: np.random.Generator, kind: Any) -> Arguments:
    made, leading = _PreparedSingle__vectors(rng, kind), bool(rng.integers(2))
    depth = int(rng.integers(1, 7)) if leading else D
    basis = np.linalg.qr(rng.normal(size=(D, depth - 1)))[0].copy() if leading else None
    return made | _codes(rng, depth) | {
        "kernel": made["vectors"] @ made["vectors"].T, "kind": 2, "by_distance": True, "centre": np.zeros(D),
        "basis": basis, "scale": 8.0, "reach": 1.0, "rounding": 1e-6, "slack": 1e-6, "farthest": 1e15,
    }  # fmt: skip


@entry
def _answer_single(rng: np.random.Generator, kind: Any) -> Arguments:
    from kcrc.native import native

    assert native is not None
    made = [_PreparedSingle__vectors, _PreparedSingle__coded][rng.integers(2)](rng, kind)
    return {
        "prepared": native.PreparedSingle(**made), "query": rng.normal(size=(1, D)).astype(kind),
        "self": float(rng.random()),
    }  # fmt: skip


@entry
def _kernel_rows(rng: np.random.Generator, kind: Any) -> Arguments:
    X, storage = rng.normal(size=(N, D)), rng.choice([np.float16, np.float32, np.float64])
    return {
        "vectors": X.astype(storage), "squares": (X**2).sum(1).astype(kind), "kind": int(rng.integers(3)),
        "degree": 2, "start": 5, "stop": 35, "out": np.zeros((N, N), kind),
    }  # fmt: skip


@entry
def _left_out_products(rng: np.random.Generator, kind: Any) -> Arguments:
    products = bool(rng.integers(2))
    return {
        "values": rng.normal(size=(N, N if products else D)).astype(kind), "products": products,
        "rows": _rows(rng, B, K),
        "along": rng.normal(size=(B, K)).astype(kind), "strength": np.ones(B, kind), "scale": np.ones((B, K), kind),
    }  # fmt: skip


@entry
def _judge(rng: np.random.Generator, kind: Any) -> Arguments:
    X = rng.normal(size=(B, K, D))
    return {
        "G": (X @ X.transpose(0, 2, 1)).astype(kind), "k": rng.random((B, K)).astype(kind), "self": np.ones(B),
        "labels": rng.integers(-1, CLASSES, (B, K)).astype(np.int32),
        "truth": rng.integers(0, CLASSES, B).astype(np.int32), "sizes": np.array([2, K], np.int32),
        "mus": np.array([0.01, 1.0]), "gram_form": bool(rng.integers(2)), "gamma": [None, 0.3][rng.integers(2)],
        "squares": [None, np.ones((B, K), kind)][rng.integers(2)],
    }  # fmt: skip


@entry
def _lasso(rng: np.random.Generator, kind: Any) -> Arguments:
    columns = rng.normal(size=(2, D, K))
    return {
        "gram": (columns.transpose(0, 2, 1) @ columns).astype(kind), "real": np.ones((2, K), np.uint8),
        "which": rng.integers(0, 2, B), "b": rng.normal(size=(B, K)).astype(kind), "energy": np.full(B, 9.0),
        "lam": np.full(B, 0.1), "x": np.zeros((B, K)), "tol": 1e-6, "max_iter": 30,
    }  # fmt: skip


@entry
def _batch_omp(rng: np.random.Generator, kind: Any) -> Arguments:
    atoms = rng.normal(size=(K, D))
    gram, correlations = (atoms @ atoms.T).astype(kind), rng.normal(size=(B, K)).astype(kind)
    return {"gram": gram, "correlations": correlations, "sparsity": 3, "tolerance": 1e-6}


@entry
def _update_atoms(rng: np.random.Generator, kind: Any) -> Arguments:
    return {
        "atoms": rng.normal(size=(K, D)).astype(kind), "residual": rng.normal(size=(B, D)).astype(kind),
        "values": rng.normal(size=(B, 2)).astype(kind), "slots": rng.permutation(2 * B),
        "ends": np.array([0, 2, 2, 5, 7, 8, 10]), "zero": 1e-9,
    }  # fmt: skip


MEASURES = ("manhattan", "chessboard", "sqeuclidean", "chi2", "common_mass")


@entry
def _distances_pairwise(rng: np.random.Generator, kind: Any) -> Arguments:
    a, b = rng.random((B, D)).astype(kind), rng.random((N, D)).astype(kind)
    return {"measure": str(rng.choice(MEASURES)), "a": a, "b": b}


@entry
def _distances_selected(rng: np.random.Generator, kind: Any) -> Arguments:
    return _distances_pairwise(rng, kind) | {"rows": _rows(rng, B, K)}


@entry
def _distances_within(rng: np.random.Generator, kind: Any) -> Arguments:
    made = _distances_selected(rng, kind)
    del made["a"]
    return made


@entry
def _tangent_pairwise(rng: np.random.Generator, kind: Any) -> Arguments:
    a, b = rng.random((B, D, 8)).astype(kind), rng.random((N, D, 8)).astype(kind)
    return {"a": a, "b": b, "ridge": 0.01, "both": bool(rng.integers(2))}


@entry
def _tangent_selected(rng: np.random.Generator, kind: Any) -> Arguments:
    return _tangent_pairwise(rng, kind) | {"rows": _rows(rng, B, K)}


@entry
def _tangent_within(rng: np.random.Generator, kind: Any) -> Arguments:
    made = _tangent_selected(rng, kind)
    del made["a"]
    return made


@entry
def _shape_context(rng: np.random.Generator, kind: Any) -> Arguments:
    made: Arguments = {}
    for side in "ab":
        made |= {
            f"points_{side}": rng.normal(size=(4, 7, 2)), f"contexts_{side}": rng.random((4, 7, 15)),
            f"patches_{side}": rng.random((4, 7, 3)), f"count_{side}": rng.integers(0, 8, 4),
        }  # fmt: skip
    pairs = {"first": rng.integers(0, 4, 3), "second": rng.integers(0, 4, 3)}
    options = (3, 5, 0.125, 2.0, 2, 0.25, 0.25, 1.0)
    return made | pairs | {"options": options, "bending_weight": 0.3, "appearance_weight": 0.1}
