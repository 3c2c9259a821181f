"""scikit-learn's own estimator checks, with no expected failure."""

from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

from kcrc import KCRCClassifier, methods
from kcrc.distances import Unified
from problems import Costly, given

VARIANTS = [
    KCRCClassifier(tuning_seconds=0.3),
    given(),
    given(n_neighbors=None),
    given(form="gram"),
    given(form="raw"),
    given(locality="classes", n_neighbors=2),
    given(n_neighbors=10, n_candidates=30, distance="manhattan", kernel="exp"),
    given(decision="residual", metric="unit"),
    given(n_neighbors=8, distance=Unified(["euclidean", "manhattan"]), kernel="exp"),
    given(n_neighbors=8, n_candidates=20, distance=Costly(), kernel="exp"),
]
# The paper's methods with the search bounded: the checks are about behaviour. The learned ones: tests/learned.
METHODS = [
    methods.make(name, tuning_seconds=0.05) for name in methods.names() if not name.startswith(("NN", "D-", "LC-"))
]


@parametrize_with_checks([*VARIANTS, methods.make("NN"), *METHODS])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
