"""The augmented coder where its pursuit takes in as many atoms as there are directions: single precision as double."""

from __future__ import annotations

import numpy as np
import pytest

from kcrc import KCRCClassifier, methods
from kcrc.method.coding.augmented import matching_pursuit


def in_few_directions(seed: int, n: int = 60, d: int = 8) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    D, y = rng.normal(size=(d, n)), rng.normal(size=d)
    return D / np.linalg.norm(D, axis=0), y / np.linalg.norm(y)


@pytest.mark.parametrize("seed", range(8))
def test_the_pursuit_ends_where_all_directions_are_taken(seed):
    D, y = in_few_directions(seed)
    x = matching_pursuit(D.T @ D, D.T @ y, 50)
    np.testing.assert_allclose(D @ x, y, atol=1e-5)
    assert 1 <= np.count_nonzero(x) <= len(D)
    rounded = D.astype(np.float32)
    H, b = rounded.T @ rounded, rounded.T @ y.astype(np.float32)
    single = matching_pursuit(H, b, 50)
    assert np.count_nonzero(single) <= len(D)
    np.testing.assert_allclose(single, x, atol=1e-3 * np.abs(x).max())
    widened = matching_pursuit(H.astype(np.float64), b.astype(np.float64), 50)
    np.testing.assert_allclose(widened, single, atol=1e-9)


def test_an_atom_that_is_a_sum_of_others_does_not_join():
    D = np.array([[1.0, 0.0, 0.6, 1.0], [0.0, 1.0, 0.8, 0.0], [0.0, 0.0, 0.0, 1e-9]])
    y = np.array([0.9, 0.5, 0.4])
    x = matching_pursuit(D.T @ D, D.T @ y, 4)
    assert np.isfinite(x).all()
    assert np.count_nonzero(x) == 2
    np.testing.assert_allclose(D @ x, [0.9, 0.5, 0.0], atol=1e-6)


def test_no_atoms_and_a_query_of_zeros_give_zeros():
    np.testing.assert_array_equal(matching_pursuit(np.zeros((3, 3)), np.ones(3), 2), 0.0)
    np.testing.assert_array_equal(matching_pursuit(np.eye(3), np.zeros(3), 2), 0.0)


def few_directions(seed: int, n: int = 60, d: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centres = 0.8 * rng.normal(size=(5, d))
    y, yq = np.arange(n) % 5, np.arange(40) % 5
    return centres[y] + rng.normal(size=(n, d)), y, centres[yq] + rng.normal(size=(40, d)), yq


def test_single_precision_answers_as_double_does():
    X, y, Q, _ = few_directions(3)
    X, Q = X.astype(np.float32), Q.astype(np.float32)
    single, double = (
        methods.make("SA-CRC-GD", mu=0.01, gamma=1.0).fit(X.astype(kind), y).explain(Q.astype(kind))
        for kind in (np.float32, np.float64)
    )
    np.testing.assert_array_equal(single.labels, double.labels)
    np.testing.assert_allclose(single.coefficients, double.coefficients, atol=1e-3)


def test_tuning_counts_as_many_right_as_classifiers_without_the_example():
    X, y, _, _ = few_directions(4)
    options = {
        "scaling": "unit", "kernel": "linear", "gamma": 1.0, "form": "raw", "decision": "sum", "coder": "augmented",
        "n_neighbors": 30, "locality": "atoms", "n_jobs": 1,
    }  # fmt: skip
    clf = KCRCClassifier(mu="auto", **options).fit(X, y)
    whole = [(setting, score) for setting, score in clf.tuning_.scores.items() if score.share == 1]
    assert whole
    for setting, score in whole[:2]:
        rest = [np.arange(len(X)) != i for i in range(len(X))]
        fitted = (KCRCClassifier(mu=setting.mu, **options).fit(X[left], y[left]) for left in rest)
        right = sum(int(one.predict(X[i : i + 1])[0] == y[i]) for i, one in enumerate(fitted))
        assert score.accuracy * len(X) == pytest.approx(right, abs=0.6)
