"""scikit-learn's own estimator checks, with no expected failure."""

from __future__ import annotations

from problems import Costly, given
from sklearn.utils.estimator_checks import parametrize_with_checks

from kcrc import KCRCClassifier, methods, projections
from kcrc.method.distances import Unified

VARIANTS = [
    # What is left to be chosen here is chosen in far less than the time allowed, so that fitting twice chooses twice
    # the same: the checks ask for that.
    KCRCClassifier(scaling="plain", kernel="rbf", form="rkhs", locality="atoms", tuning_seconds=600),
    given(),
    given(n_neighbors=None),
    given(form="gram"),
    given(form="raw"),
    given(locality="classes", n_neighbors=2),
    given(n_neighbors=10, n_candidates=30, distance="manhattan", kernel="exp"),
    given(decision="residual", scaling="unit"),
    given(n_neighbors=8, distance=Unified(["euclidean", "manhattan"]), kernel="exp"),
    given(n_neighbors=8, n_candidates=20, distance=Costly(), kernel="exp"),
]


def _bare(name: str) -> KCRCClassifier:
    """A method with nothing left to search: the checks are about behaviour."""
    local = {"n_neighbors": 10} if name.endswith("LCD") else {}
    method = methods.make(name, mu=0.01, gamma="scale", **local)
    if method.projection != "identity":  # by its name alone, its dimension would be searched
        method.set_params(projection=projections.make(method.projection, n_components=0.5))
    return method


# The learned dictionaries are checked in tests/learned.
# Of these a twin is checked: the same coder with the other dictionary, or without the kernel.
TWINS = ("NRC-GD", "CRT-GD", "ProCRC-GD", "KCRT-LCD", "RCRC-GD", "KRCRC-GD")
METHODS = [_bare(name) for name in methods.names() if not name.startswith(("NN", "D-", "LC-")) and name not in TWINS]


@parametrize_with_checks([*VARIANTS, methods.make("NN"), *METHODS])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
