"""Two classifiers compared on the examples both were asked, and on no others."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from kcrc import KCRCClassifier, errors

X, y = load_digits(return_X_y=True)
FIXED = {"scaling": "plain", "kernel": "rbf", "gamma": "scale", "mu": 0.1, "form": "rkhs", "decision": "residual"}


def fitted(n, **options):
    return KCRCClassifier(**{**FIXED, "locality": "atoms", **options}).fit(X[:n], y[:n])


def test_only_common_examples_count_and_example_by_example():
    good, poor = fitted(60, n_neighbors=20), fitted(60, n_neighbors=1)
    poor.forget([0, 1, 2])
    told = good.compare(poor)
    assert len(told.rows) == 57
    rights = []
    for one in (good, poor):
        left = one.confidence_.left_out
        by_row = dict(zip(left.rows.tolist(), left.right.tolist(), strict=True))
        rights.append(np.array([by_row[row] for row in told.rows.tolist()], float))
    assert told.gain == pytest.approx((rights[0] - rights[1]).mean())
    assert told.error == pytest.approx((rights[0] - rights[1]).std() / np.sqrt(57))
    assert "57 common examples" in repr(told)
    assert poor.compare(good).gain == pytest.approx(-told.gain)


def test_where_nothing_can_be_compared_it_says_so():
    few = KCRCClassifier().fit(X[:4], y[:4])
    with pytest.raises(errors.StateError, match="nothing to compare"):
        few.compare(fitted(60, n_neighbors=5))
    late = fitted(60, n_neighbors=5).partial_fit(X[60:90], y[60:90]).forget(np.arange(60))
    with pytest.raises(errors.StateError, match="no common example"):
        late.compare(fitted(60, n_neighbors=5))
