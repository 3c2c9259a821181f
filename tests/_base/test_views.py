"""Samples seen in several ways, cut by rows: what scikit-learn's tools do with them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from problems import given
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import shuffle

import kcrc
from kcrc import Views
from kcrc.errors import DataError, UnknownName
from kcrc.method.distances import Unified


def samples(n=60):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    image = np.eye(3)[y][:, :, None] * 2.0 + rng.normal(size=(n, 3, 2))
    return {"image": image, "sums": image.sum(axis=2) + 0.1 * rng.normal(size=(n, 3))}, y


def classifier(n_neighbors=7):
    return given(n_neighbors, distance=Unified({"image": "manhattan", "sums": "euclidean"}), kernel="exp")


def test_views_are_a_dict_that_can_be_cut():
    X, _ = samples()
    views = Views(X)
    assert views.shape == (60, 9)
    assert len(views) == 60
    assert "image" in views
    assert list(views) == ["image", "sums"]
    np.testing.assert_array_equal(views["image"], X["image"])
    for rows in ([3, 1], np.array([3, 1]), slice(2, 9, 3), np.arange(60) % 7 == 0, 5, np.int64(5)):
        some = views[rows]
        at = np.atleast_1d(np.arange(60)[rows])
        np.testing.assert_array_equal(some["sums"], X["sums"][at])
        np.testing.assert_array_equal(views[rows, ...]["image"], X["image"][at])
        assert len(some) == len(at)
    assert "60 samples" in repr(views)
    assert "image (3, 2)" in repr(views)
    np.testing.assert_array_equal(Views(views)["image"], X["image"])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(views))["sums"], X["sums"])
    assert kcrc.Views is Views


def test_a_classifier_takes_them_as_it_takes_the_dict():
    X, y = samples()
    plain, cut = classifier().fit(X, y), classifier().fit(Views(X), y)
    np.testing.assert_array_equal(plain.explain(X).residuals, cut.explain(Views(X)).residuals)
    np.testing.assert_array_equal(cut.predict(X), cut.predict(Views(X)))
    assert cut.partial_fit(Views(X)[:4], y[:4]).predict(Views(X)[0]).shape == (1,)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_cross_validation_is_what_a_loop_would_do(n_jobs):
    X, y = samples()
    folds = [(np.flatnonzero(np.arange(60) % 4 != f), np.flatnonzero(np.arange(60) % 4 == f)) for f in range(4)]
    expected = []
    for train, test in folds:
        fitted = classifier().fit({name: view[train] for name, view in X.items()}, y[train])
        expected.append(fitted.score({name: view[test] for name, view in X.items()}, y[test]))
    np.testing.assert_allclose(cross_val_score(classifier(), Views(X), y, cv=folds, n_jobs=n_jobs), expected)
    assert cross_val_predict(classifier(), Views(X), y, cv=3).shape == (60,)


def test_searches_pipelines_clones_and_splits():
    X, y = samples()
    found = GridSearchCV(classifier(), {"n_neighbors": [3, 9], "mu": [0.01, 1.0]}, cv=3).fit(Views(X), y)
    assert found.best_params_["n_neighbors"] in (3, 9)
    assert found.predict(Views(X)).shape == (60,)
    halved = FunctionTransformer(lambda views: Views({name: 0.5 * view for name, view in views.items()}))
    line = Pipeline([("halved", halved), ("classifier", classifier())])
    scores = cross_val_score(line, Views(X), y, cv=3)
    assert (scores > 0.5).all()
    assert clone(line).fit(Views(X), y).score(Views(X), y) > 0.5
    train, test, y_train, y_test = train_test_split(Views(X), y, random_state=0, stratify=y)
    assert clone(classifier()).fit(train, y_train).score(test, y_test) > 0.5
    mixed, of_mixed = shuffle(Views(X), y, random_state=1)
    np.testing.assert_array_equal(mixed["image"].argmax(axis=1).shape, (60, 2))
    assert sorted(of_mixed) == sorted(y)


def test_clear_errors():
    X, _ = samples()
    with pytest.raises(DataError, match="empty dict"):
        Views({})
    with pytest.raises(DataError, match="differ in their number of samples: image 60, sums 59"):
        Views({**X, "sums": X["sums"][:-1]})
    with pytest.raises(DataError, match="array of numbers"):
        Views({"words": ["a", "b"]})
    with pytest.raises(UnknownName, match=r"Unknown view 'imag'.*Did you mean 'image'"):
        Views(X)["imag"]
    with pytest.raises(DataError, match="can only be indexed by rows"):
        Views(X)[:, 0]
    with pytest.raises(DataError, match=r"several arrays\. Take one by its name: image, sums"):
        np.asarray(Views(X))
    with pytest.raises(DataError, match="stored examples are plain arrays"):
        given(5).fit(X["sums"], np.arange(60) % 3).predict(Views(X))
