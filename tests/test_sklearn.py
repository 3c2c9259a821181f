"""scikit-learn's own estimator checks, with no expected failure."""

from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

from kcrc import KCRCClassifier, methods

VARIANTS = [
    KCRCClassifier(),
    KCRCClassifier(n_neighbors=None),
    KCRCClassifier(form="gram"),
    KCRCClassifier(form="raw"),
    KCRCClassifier(locality="classes", n_neighbors=2),
    KCRCClassifier(n_neighbors=10, n_candidates=30, distance="manhattan", kernel="exp"),
    KCRCClassifier(decision="residual", metric="unit"),
]


@parametrize_with_checks(VARIANTS + [methods.make(name) for name in methods.names()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
