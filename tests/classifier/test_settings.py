"""What a fitted classifier says of its settings, and the outputs that scikit-learn's users expect of it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.utils.metadata_routing import get_routing_for_object

from kcrc import KCRCClassifier
from kcrc.method import kernels, scaling

X, y = load_digits(return_X_y=True)
NAMES = ("n_neighbors", "scaling", "kernel", "gamma", "mu", "form", "decision", "locality", "projection")
OPTIONS = {
    "chosen": {"tuning_seconds": 1},
    "given": {"n_neighbors": 9, "kernel": "rbf", "gamma": 0.002, "mu": 0.1, "form": "gram", "scaling": "unit"},
    "global": {"n_neighbors": None, "tuning_seconds": 1},
    "parts": {"kernel": kernels.RBF(0.001), "scaling": scaling.Within(), "tuning_seconds": 1},
    "a coder": {"coder": "lasso", "form": "raw", "tuning_seconds": 1},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_the_settings_given_to_the_constructor_make_the_same_classifier(options):
    clf = KCRCClassifier(**options).fit(X[:200], y[:200])
    values = {name: getattr(clf, f"{name}_") for name in NAMES}
    assert not [name for name, value in values.items() if isinstance(value, str) and value == "auto"]
    again = KCRCClassifier(**{**options, **values}).fit(X[:200], y[:200])
    assert again.tuning_ is None
    np.testing.assert_allclose(again.decision_function(X[200:260]), clf.decision_function(X[200:260]), rtol=1e-9)


def test_settings_are_members_with_weights():
    clf = KCRCClassifier(n_neighbors=7, tuning_seconds=1).fit(X[:200], y[:200])
    (member,) = clf.settings_
    assert member.weight == 1.0
    assert [getattr(member, name) for name in NAMES] == [getattr(clf, f"{name}_") for name in NAMES]
    assert member.n_neighbors == 7


def test_settings_follow_the_examples():
    clf = KCRCClassifier(gamma="scale", kernel="rbf", mu=0.1, n_neighbors=9, scaling="plain", form="rkhs")
    clf.set_params(decision="ratio", locality="atoms").fit(X[:200], y[:200])
    before = clf.gamma_
    clf.forget(range(100))
    assert clf.gamma_ != before
    assert clf.gamma_ == KCRCClassifier(**clf.get_params()).fit(X[100:200], y[100:200]).gamma_


def test_outputs_have_the_precision_of_the_queries():
    clf = KCRCClassifier(n_neighbors=9, tuning_seconds=1).fit(X[:200], y[:200])
    for verb in ("decision_function", "predict_proba", "unknown_score"):
        single, double = (getattr(clf, verb)(X[200:230].astype(kind)) for kind in (np.float32, np.float64))
        assert (single.dtype, double.dtype) == (np.float32, np.float64)
        np.testing.assert_allclose(single, double, rtol=1e-3, atol=1e-5)
    assert clf.predict_log_proba(X[200:230].astype(np.float32)).dtype == np.float64  # all that differ stay different


def test_the_logarithm_of_probabilities():
    clf = KCRCClassifier(n_neighbors=9, tuning_seconds=1).fit(X[:200], y[:200])
    np.testing.assert_array_equal(np.exp(clf.predict_log_proba(X[200:230])) > 0, clf.predict_proba(X[200:230]) > 0)
    np.testing.assert_allclose(np.exp(clf.predict_log_proba(X[200:230])), clf.predict_proba(X[200:230]), rtol=1e-12)


def test_groups_are_routed_to_fit_and_to_the_splitter():
    """``fit`` is given the groups of its part of the examples, because it asked for them."""
    from sklearn import config_context

    seen = []

    class Noting(KCRCClassifier):
        def fit(self, X, y, *, groups=None, rows=None, **more):
            seen.append(groups)
            return super().fit(X, y, groups=groups, rows=rows, **more)

    groups = np.arange(120) // 4
    with config_context(enable_metadata_routing=True):
        clf = Noting(n_neighbors=5, tuning_seconds=1).set_fit_request(groups=True)
        assert get_routing_for_object(clf).fit.requests["groups"] is True
        cross_validate(clf, X[:120], y[:120], cv=GroupKFold(3), params={"groups": groups}, error_score="raise")
    assert [len(part) for part in seen] == [80, 80, 80]
    assert all(len(np.unique(part)) == 20 for part in seen)
