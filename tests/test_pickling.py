"""Fitted classifiers go through pickle and joblib, as those of scikit-learn do, and answer as before."""

from __future__ import annotations

import pickle
import subprocess
import sys

import joblib
import numpy as np
import pytest

from kcrc import KCRCClassifier, metrics
from kcrc.distances import Unified
from problems import given, problem

VARIANTS = {
    "tuned": KCRCClassifier(tuning_seconds=1),
    "plain": given(10),
    "global": given(None),
    "gram": given(10, form="gram"),
    "classes": given(2, locality="classes"),
    "candidates": given(5, n_candidates=20, distance="manhattan", kernel="exp"),
    "unified": given(8, distance=Unified(["euclidean", "manhattan"]), kernel="exp"),
    "whitened": given(8, metric=metrics.Within(first=metrics.Standard())),
    "projected": given(20, form="gram", projection="random"),
    "sparse": given(20, form="gram", coder="lasso"),
}


def same(one: KCRCClassifier, other: KCRCClassifier, Q: np.ndarray) -> None:
    np.testing.assert_array_equal(one.predict(Q), other.predict(Q))
    np.testing.assert_array_equal(one.predict_proba(Q), other.predict_proba(Q))
    np.testing.assert_array_equal(one.explain(Q).rows, other.explain(Q).rows)


@pytest.mark.parametrize("name", VARIANTS)
def test_the_answers_are_the_same_and_more_can_be_learned(name, tmp_path):
    X, y, Q = problem(1, n=60)
    fitted = VARIANTS[name].fit(X[:50], y[:50])
    joblib.dump(fitted, tmp_path / "kept.joblib")
    for again in (pickle.loads(pickle.dumps(fitted)), joblib.load(tmp_path / "kept.joblib")):
        same(fitted, again, Q)
        assert str(again.tuning_) == str(fitted.tuning_)
        grown, expected = again.partial_fit(X[50:], y[50:]), pickle.loads(pickle.dumps(fitted))
        expected.partial_fit(X[50:], y[50:])
        same(grown.forget([3, 51]), expected.forget([3, 51]), Q)


def test_examples_may_stay_in_the_file(tmp_path):
    """joblib can map arrays, which cannot be written to then."""
    X, y, Q = problem(2, n=60)
    fitted = given(10).fit(X, y)
    joblib.dump(fitted, tmp_path / "kept.joblib")
    mapped = joblib.load(tmp_path / "kept.joblib", mmap_mode="r")
    same(fitted, mapped, Q)
    same(pickle.loads(pickle.dumps(fitted)).forget([1]), mapped.forget([1]), Q)


def test_another_process_gives_the_same_answers(tmp_path):
    X, y, Q = problem(3)
    fitted = given(10).fit(X, y)
    (tmp_path / "kept.pickle").write_bytes(pickle.dumps((fitted, Q)))
    ask = "import pickle, sys; clf, Q = pickle.load(open(sys.argv[1], 'rb')); print(*clf.predict(Q))"
    command = [sys.executable, "-c", ask, str(tmp_path / "kept.pickle")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == [str(label) for label in fitted.predict(Q)], done.stderr
