"""Codes of eight bits bound what they stand for, and a search over them finds what brute force in float64 finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcrc import KCRCClassifier
from kcrc.method.neighbours import scan
from kcrc.method.neighbours.scan import Codes, Scan

pytestmark = pytest.mark.skipif(scan.native is None, reason="the compiled module is not built")
SHAPES = ["plain", "tied", "doubled", "constant", "outlier", "tight", "sparse", "same"]


def drawn(rng: np.random.Generator, shape: str, n: int, d: int) -> np.ndarray:
    """Vectors that are hard on a bound in one way each."""
    X = rng.normal(size=(n, d))
    if shape == "tied":
        X = rng.integers(0, 2, (n, d)).astype(float)
    if shape == "doubled":
        X = X[rng.integers(0, max(1, n // 5), n)]
    if shape == "constant":
        X[:, ::2] = 7.0
    if shape == "outlier":
        X[rng.integers(n)] *= 1e6
    if shape == "tight":  # as far from each other as the codes are coarse, or less
        X = X[rng.integers(0, min(n, 3), n)] + 1e-4 * rng.normal(size=(n, d))
    if shape == "sparse":
        X = np.where(rng.random((n, d)) < 0.05, 100.0 * X, 0.0)
    if shape == "same":
        X[:] = X[0]
    return X


def coded(vectors: np.ndarray, *, leading: bool = False) -> Any:
    """A scan that has codes, though so few examples would get none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "CODES_PAY_FROM", 0)
        patch.setattr(scan, "PRUNING_PAYS_FROM", 0 if leading else 10**12)
        patch.setattr(scan, "MEASURING", 0.0)
        made = Scan.over(vectors, budget=10**9)
    assert made is not None
    assert made.codes is not None
    return made


def assert_nearest(made: Scan, atoms: np.ndarray, queries: np.ndarray, k: int) -> None:
    """The very rows and distances of measuring every pair."""
    rows, squared = made.nearest(atoms, queries, k)
    true_rows, true_squared = scan.native.nearest_measured(vectors=atoms, queries=queries, k=k)
    np.testing.assert_array_equal(rows, true_rows)
    np.testing.assert_array_equal(squared, true_squared)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6), shape=st.sampled_from(SHAPES), n=st.integers(1, 60), d=st.integers(1, 40),
    power=st.integers(-35, 14),
)  # fmt: skip
def test_what_is_kept_bounds_what_is_left(seed, shape, n, d, power):
    rng = np.random.default_rng(seed)
    a = (10.0**power * drawn(rng, shape, n, d)).astype(np.float32)
    kept = Codes(n, d)
    assert kept.claim(0, n)
    assert not kept.claim(0, n)
    kept.fill(0, a, np.arange(n))
    steps = kept.codes.transpose(0, 2, 1, 3).reshape(len(kept.rows), -1)[:n, :d]
    scale, rest, length, half = kept.facts.transpose(1, 0, 2).reshape(4, -1)[:, :n].astype(np.float64)
    exact = a.astype(np.float64)
    approximate = scale[:, None] * (steps.astype(np.float64) - 128.0)
    assert steps.min() >= 1
    assert (np.linalg.norm(exact - approximate, axis=1) <= rest).all()
    assert (np.linalg.norm(approximate, axis=1) <= length).all()
    assert (half <= 0.5 * (exact**2).sum(axis=1)).all()


@settings(deadline=None, max_examples=80)
@given(
    seed=st.integers(0, 10**6), shape=st.sampled_from(SHAPES), n=st.integers(2, 900), d=st.integers(1, 70),
    batch=st.integers(1, 9), k=st.integers(1, 1000), power=st.integers(-12, 12), leading=st.booleans(),
    kind=st.sampled_from([np.float16, np.float32, np.float64]),
)  # fmt: skip
def test_the_search_is_exact(seed, shape, n, d, batch, k, power, leading, kind):
    rng = np.random.default_rng(seed)
    unit = 1.0 if kind == np.float16 else 10.0**power
    atoms = np.clip(unit * drawn(rng, shape, n, d), -6e4 * unit, 6e4 * unit).astype(kind)
    own = atoms[rng.integers(0, n, batch)].astype(np.promote_types(kind, np.float32))
    queries = own + (rng.random((batch, 1)) < 0.5) * (unit * rng.normal(size=(batch, d))).astype(own.dtype)
    assert_nearest(coded(atoms, leading=leading), atoms, queries, min(k, n))


@pytest.mark.parametrize("shape", SHAPES)
def test_an_answer_does_not_depend_on_its_batch(shape):
    rng = np.random.default_rng(1)
    atoms = drawn(rng, shape, 6000, 33).astype(np.float32)
    queries = drawn(rng, shape, 40, 33).astype(np.float32)
    made = coded(atoms)
    rows, squared = made.nearest(atoms, queries, 20)
    for part in (slice(0, 1), slice(3, 5), slice(7, 40)):
        some_rows, some_squared = made.nearest(atoms, queries[part], 20)
        np.testing.assert_array_equal(some_rows, rows[part])
        np.testing.assert_array_equal(some_squared, squared[part])
    assert_nearest(made, atoms, queries, 20)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_more_may_wait_than_there_is_room_for(kind):
    """All examples are equally far, so none is ruled out; the lowest rows are the nearest."""
    atoms = np.ones((30_000, 5), kind)
    rows, squared = coded(atoms).nearest(atoms, np.zeros((3, 5), kind), 7)
    np.testing.assert_array_equal(rows, np.broadcast_to(np.arange(7), (3, 7)))
    np.testing.assert_array_equal(squared, 5.0)


@pytest.mark.parametrize("leading", [False, True])
def test_examples_come_and_go(leading):
    """New ones are coded behind the old, which are not looked at again; an older scan still answers as it did."""
    rng = np.random.default_rng(3)
    atoms, queries = drawn(rng, "plain", 500, 24), drawn(rng, "plain", 6, 24)
    first = made = coded(atoms, leading=leading)
    first_atoms = atoms
    for step in range(8):
        if step % 3 < 2:
            new = drawn(rng, SHAPES[step], int(rng.integers(1, 90)), 24) * 10.0 ** (step - 3)
            atoms, grown = np.concatenate([atoms, new]), made.append(new)
            assert grown is not None
            np.testing.assert_array_equal(grown.codes.rows[: made.count], made.codes.rows[: made.count])
            made = grown
        else:
            keep = rng.random(len(atoms)) < 0.6
            atoms, made = atoms[keep], made.keep(keep)
        assert_nearest(made, atoms, queries, 15)
        assert_nearest(first, first_atoms, queries, 15)


def test_codes_are_kept_where_they_pay_and_fit_the_budget():
    rng = np.random.default_rng(0)
    many, few = rng.normal(size=(8000, 64)).astype(np.float32), rng.normal(size=(800, 64)).astype(np.float32)
    assert Scan.over(many, budget=10**9).codes is not None
    assert Scan.over(many, budget=len(many) * 64).codes is None
    assert Scan.over(few, budget=10**9).codes is None
    blurred = many[0] + 1e-6 * many  # a few codes apart at most, once one that is far away has set the unit
    blurred += 100.0 * rng.normal(size=(2, 64))[rng.integers(0, 2, len(many))].astype(np.float32)
    assert Scan.over(blurred, budget=10**9).codes is None


def test_labels_are_those_of_the_readable_path():
    from kcrc.method.pipeline import classify

    rng = np.random.default_rng(4)
    centres = rng.normal(size=(8, 70))
    labels = rng.integers(0, 8, 9000)
    X = (centres[labels] + 2.0 * rng.normal(size=(9000, 70))).astype(np.float32)
    queries = (centres[rng.integers(0, 8, 60)] + 2.0 * rng.normal(size=(60, 70))).astype(np.float32)
    classifier = KCRCClassifier(n_neighbors=20, kernel="rbf", gamma=0.01, mu=0.1, scaling="plain").fit(X, labels)
    model = classifier.model_
    assert model.index.scan.codes is not None
    readable = classify(model, queries, compiled=False)
    np.testing.assert_array_equal(classifier.predict(queries), readable.classes[readable.winner])
