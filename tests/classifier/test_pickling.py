"""Fitted classifiers go through pickle and joblib, as those of scikit-learn do, and answer as before."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import zipfile

import joblib
import numpy as np
import pytest
from problems import given, problem

from kcrc import ImageClassifier, KCRCClassifier, scaling
from kcrc.method.distances import Unified

VARIANTS = {
    "tuned": KCRCClassifier(tuning_seconds=1),
    "plain": given(10),
    "global": given(None),
    "gram": given(10, form="gram"),
    "classes": given(2, locality="classes"),
    "candidates": given(5, n_candidates=20, distance="manhattan", kernel="exp"),
    "unified": given(8, distance=Unified(["euclidean", "manhattan"]), kernel="exp"),
    "whitened": given(8, scaling=scaling.Within(first=scaling.Standard())),
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


FORGETTERS = {
    "exact": {},
    "global": {"n_neighbors": None},
    "whole classes": {"n_neighbors": 2, "locality": "classes"},
    "whitened": {"scaling": "within", "gamma": "scale"},
    "cells": {"search": "cells"},
    "ivf": {"search": "ivf"},
    "hnsw": {"search": "hnsw"},
    "usearch": {"search": "usearch"},
}


def traces(clf: KCRCClassifier, vector: np.ndarray) -> set[bytes]:
    """What is made of a vector and could be found again in a file: as given, scaled, in the unit of the search."""
    model = clf.model_
    scaled = model.method.scaling.transform(vector[None])
    found = {vector.tobytes(), scaled.tobytes()}
    if model.index is not None:
        scan = getattr(model.index, "exact", model.index).scan  # of cells, the index of the scan
        found.add(getattr(scan, "scan", scan).coordinates(scaled).tobytes())
    return found


@pytest.mark.parametrize("asked", [(), ("predict",), ("predict", "predict_proba")])
@pytest.mark.parametrize("name", FORGETTERS)
def test_nothing_of_a_forgotten_example_is_in_a_pickle(name, asked):
    X, y, Q = problem(4, n=400)
    fitted = given(**{"n_neighbors": 10, "n_jobs": 1, **FORGETTERS[name]}).fit(X, y)
    fitted.predict_proba(Q)
    before = traces(fitted, X[7])
    assert any(trace in pickle.dumps(fitted) for trace in before)
    fitted.forget([7])
    for verb in asked:
        getattr(fitted, verb)(Q)
    content = pickle.dumps(fitted)
    assert not [trace for trace in before if trace in content]
    again = pickle.loads(content)
    assert again.verify(fitted.receipt_)
    rest = np.arange(len(X)) != 7
    anew = given(**fitted.get_params()).fit(X[rest], y[rest], rows=np.flatnonzero(rest))
    np.testing.assert_array_equal(again.explain(Q).rows, anew.explain(Q).rows)
    close = 1e-9 if again.model_.search == "exact" else 1e-2  # how sure: may have been learned before it was built anew
    np.testing.assert_allclose(again.predict_proba(Q), anew.predict_proba(Q), atol=close)


def test_what_waits_for_a_question_is_learned_before_a_pickle_and_not_before_a_copy():
    X, y, _ = problem(5, n=60)
    fitted = given(10, scaling="within").fit(X, y).forget([3])
    assert copy.copy(fitted).renewal_due_ is not None
    assert fitted.renewal_due_ is not None
    assert pickle.loads(pickle.dumps(fitted)).renewal_due_ is None


def test_the_centre_of_the_search_is_of_the_examples_that_are_there():
    """All others and the mean would tell the one that is missing."""
    X, y, Q = problem(6, n=60)
    fitted = given(10).fit(X, y)
    fitted.predict(Q)
    fitted.forget([3]).predict(Q)
    again = pickle.loads(pickle.dumps(fitted))
    centre = np.delete(X, 3, axis=0).mean(axis=0)
    np.testing.assert_allclose(again.model_.index.scan.centre, centre, rtol=1e-6, atol=1e-7)


def test_an_example_that_a_copy_was_given_is_not_in_the_pickle():
    X, y, Q = problem(7, n=60)
    fitted = given(10).fit(X[:50], y[:50]).partial_fit(X[50:59], y[50:59])
    grown = copy.copy(fitted).partial_fit(X[59:], y[59:])
    assert X[59].tobytes() in pickle.dumps(grown)
    assert X[59].tobytes() not in pickle.dumps(fitted)
    same(fitted, pickle.loads(pickle.dumps(fitted)), Q)


def test_files_and_image_classifiers_let_go_as_well(tmp_path):
    rng = np.random.default_rng(8)
    y = np.arange(40) % 2
    pictures = (0.5 * rng.random((40, 8, 8)) + 0.5 * y[:, None, None]).astype(np.float32)
    fitted = ImageClassifier(looks=["pixels"], tuning_seconds=0.1, n_jobs=1).fit(pictures, y)
    fitted.predict_proba(pictures[:2])
    expert = fitted.ensemble_.leader
    seen = expert.model_.raw[7].tobytes()
    assert seen in pickle.dumps(fitted)
    fitted.forget([7])
    assert seen not in pickle.dumps(fitted)
    fitted.save(tmp_path / "images.kcrc")
    fitted.ensemble_.leader.save(tmp_path / "vectors.npz")
    for name in ("images.kcrc", "vectors.npz"):
        members = zipfile.ZipFile(tmp_path / name)
        assert not [one for one in members.namelist() if seen in members.read(one)]
