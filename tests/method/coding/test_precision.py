"""Coders in single precision, with small penalties and small numbers: what double precision says."""

from __future__ import annotations

import numpy as np
import pytest
from problems import given, problem

from kcrc import methods
from kcrc.method.coding.base import Dictionary, Target
from kcrc.method.coding.nonnegative import NonNegative
from kcrc.method.coding.ridge import Ridge
from kcrc.method.evidence import CODED

FAMILY = ["ProCRC-GD", "ProCRC-LCD", "CRT-GD", "CRT-LCD", "NRS-GD", "NRC-GD", "NRC-LCD", "SA-CRC-GD"]


@pytest.mark.parametrize("mu", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("name", FAMILY)
def test_data_in_single_precision_are_coded_as_in_double(name, mu):
    X, y, Q = problem(5, n=60, d=12, queries=20)
    X, Q = X.astype(np.float32), Q.astype(np.float32)
    local = {"n_neighbors": 25} if name.endswith("LCD") else {}
    single, double = (
        methods.make(name, mu=mu, gamma=1.0, **local).fit(X.astype(kind), y).explain(Q.astype(kind))
        for kind in (np.float32, np.float64)
    )
    np.testing.assert_array_equal(single.labels, double.labels)
    np.testing.assert_array_equal(single.rows, double.rows)
    np.testing.assert_allclose(single.coefficients, double.coefficients, atol=1e-4 * np.abs(double.coefficients).max())


@pytest.mark.parametrize("unit", [1.0, 1e-4, 1e-6, 1e5])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["CRT-GD", "NRS-GD"])
def test_the_unit_of_the_data_does_not_matter(name, kind, unit):
    """Their penalty is in the unit of the data."""
    X, y, Q = problem(6, n=60, d=12, queries=20)
    options = {"mu": 0.01, "gamma": 1.0, "scaling": "plain", "normalize_columns": False}
    due = methods.make(name, **options).fit(X, y).explain(Q)
    found = methods.make(name, **options).fit((unit * X).astype(kind), y).explain((unit * Q).astype(kind))
    np.testing.assert_array_equal(found.how, CODED)
    np.testing.assert_array_equal(found.labels, due.labels)
    np.testing.assert_allclose(found.coefficients, due.coefficients, atol=1e-4)


@pytest.mark.parametrize("unit", [1e-8, 1e-4, 1.0, 1e6])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("coder", [Ridge(mu=0.0), NonNegative(mu=0.0)])
@pytest.mark.parametrize("dependent", [False, True])
def test_without_a_penalty_pivots_are_small_beside_the_longest_atom(coder, kind, unit, dependent):
    rng = np.random.default_rng(0)
    D = np.abs(rng.normal(size=(6, 4)))
    if dependent:
        D[:, 3] = D[:, 0]
    y = D @ np.array([0.4, 0.3, 0.2, 0.1])
    D, y = unit * D, unit * y
    padded = np.zeros((1, 5, 5))
    padded[0, :4, :4] = D.T @ D
    real = np.arange(5)[None] < 4
    target = Target(np.append(D.T @ y, 0.0)[None].astype(kind), np.array([y @ y]), None)
    x = coder.code(Dictionary(padded.astype(kind), None, real), target).coefficients[0]
    np.testing.assert_allclose(D @ x[:4], y, atol=1e-3 * unit)
    assert x[4] == 0
    assert np.abs(x).max() < 1.0


@pytest.mark.parametrize("unit", [1e-5, 1.0, 1e5])
def test_a_query_alone_and_many_agree_where_nothing_is_penalised(unit):
    """Dependent atoms, of any length: the compiled path leaves them to the coder."""
    X, y, Q = problem(7, n=40, d=5)
    clf = given(12, form="rkhs", kernel="linear", scaling="plain", mu=0.0, normalize_columns=False, decision="residual")
    clf.fit(unit * X, y)
    whole = clf.explain(unit * Q)
    assert (whole.how == CODED).any()
    for i in range(len(Q)):
        np.testing.assert_array_equal(clf.predict(unit * Q[i : i + 1]), whole.labels[i])
        D = unit * X[whole.rows[i]].T
        if whole.how[i] == CODED:
            due = np.linalg.lstsq(D, unit * Q[i], rcond=None)[0]
            np.testing.assert_allclose(whole.coefficients[i], due, atol=1e-5)
