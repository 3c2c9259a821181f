"""scikit-learn's own estimator checks, with no expected failure."""

from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

from kcrc import KCRCClassifier, methods
from problems import given

VARIANTS = [
    KCRCClassifier(),
    given(n_neighbors=None),
    given(form="gram"),
    given(form="raw"),
    given(locality="classes", n_neighbors=2),
    given(n_neighbors=10, n_candidates=30, distance="manhattan", kernel="exp"),
    given(decision="residual", metric="unit"),
]


@parametrize_with_checks(VARIANTS + [methods.make(name) for name in methods.names()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
