"""Queries like the examples pass in silence; others raise an alarm, with what it costs and who shows it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from problems import given

from kcrc import KCRCClassifier
from kcrc.confidence.likeness import VECTORS, Seen, _by_vectors
from kcrc.errors import ParameterError, StateError
from kcrc.gallery import Gallery

CENTRES = 2.0 * np.random.default_rng(99).normal(size=(4, 6))


def blobs(seed, n, spread=1.4):
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=n)
    return CENTRES[y] + spread * rng.normal(size=(n, 6)), y


@pytest.fixture(scope="module")
def fitted():
    return given(n_neighbors=30).fit(*blobs(0, 300))


def test_queries_of_the_same_source_rarely_raise_an_alarm(fitted):
    assert sum(fitted.likeness(blobs(seed, 80)[0]).alarm for seed in range(1, 41)) <= 3


def test_classes_as_large_as_a_dictionary_raise_no_alarm():
    rng = np.random.default_rng(6)
    y = np.arange(160) % 8
    X = 30.0 * np.eye(8)[y] + rng.normal(size=(160, 8))  # 10 of a query's class, 9 of an example's
    clf = given(n_neighbors=10).fit(X[:80], y[:80])
    assert not clf.likeness(X[80:]).alarm


def test_harder_queries_raise_one_and_the_estimate_goes_the_right_way(fitted):
    X, y = blobs(100, 300, spread=2.2)
    found = fitted.likeness(X)
    assert found.alarm
    assert "farther" in found.different or "worse" in found.different
    covered = fitted.predict_set(X)[np.arange(300), y].mean()
    wrong = np.mean(fitted.predict(X) != y)
    assert found.covered.worst <= covered <= found.covered.likely < 0.94
    assert found.wrong.promised < found.wrong.likely <= wrong <= found.wrong.worst
    assert found.unknown > 0.1
    assert "not like the examples" in str(found)


def test_the_odd_rows_are_named(fitted):
    X, _ = blobs(101, 100)
    X[:12] += 9.0
    found = fitted.likeness(X)
    assert found.alarm
    assert set(found.rows) <= set(range(12))


def test_a_shift_that_no_sign_shows_is_seen_in_the_vectors():
    rng = np.random.default_rng(5)
    y = rng.integers(3, size=400)
    X = np.concatenate([8 * np.eye(3)[y], 0.05 * rng.normal(size=(400, 5))], axis=1)
    X[:, :3] += rng.normal(size=(400, 3))
    clf = given(n_neighbors=20).fit(X[:300], y[:300])
    assert not clf.likeness(X[300:]).alarm
    moved = X[300:].copy()
    moved[:, 3:] += 0.04  # hardly a distance, but the same for all
    found = clf.likeness(moved)
    assert found.alarm
    assert "in what is measured" in found.different


def test_other_shares_of_the_classes_are_no_difference_in_the_vectors():
    """Where answers are right, batches of one class alone raise no more alarms by their vectors than others."""
    alarms = 0
    for seed in range(40):
        clf = given(n_neighbors=30).fit(*blobs(300 + seed, 300, spread=0.6))
        X, y = blobs(200 + seed, 400, spread=0.6)
        only = X[y == 2][:80]
        usual, asked = clf.confidence_.needed_usual(), Seen.of(clf.confidence_, clf.explain(only), only)
        alarms += _by_vectors(clf.model_, usual, asked, np.random.default_rng(0))[1].p_value <= 0.05
    assert alarms <= 5  # of 40 at 5 %: 2 are expected


def test_a_sentence_and_plain_values(fitted):
    found = fitted.likeness(blobs(3, 50)[0], level=1e-3)
    assert str(found).startswith("Nothing shows that these 50 are unlike the examples")
    told = json.loads(json.dumps(found.to_dict()))
    assert told["alarm"] is False
    assert told["queries"] == 50
    assert set(told["covered"]) == {"promised", "likely", "worst"}


def test_of_strangers_all_may_be_lost(fitted):
    found = fitted.likeness(blobs(4, 300)[0] + 40.0)
    assert found.alarm
    assert found.unknown > 0.9
    assert found.covered.worst < 0.1
    assert found.wrong.worst > 0.9


@pytest.mark.parametrize("level", [0, 1, True, "0.02"])
def test_a_level_is_a_share(fitted, level):
    with pytest.raises(ParameterError, match="share of false alarms"):
        fitted.likeness(blobs(0, 10)[0], level=level)


def test_too_few_examples_have_nothing_to_compare_with():
    clf = given(n_neighbors=2).fit(np.eye(4), [0, 0, 1, 1])
    with pytest.raises(StateError, match="Comparing queries with the examples needs"):
        clf.likeness(np.eye(4))


def test_forgotten_examples_and_a_precomputed_matrix(fitted):
    X, _ = blobs(8, 60)
    fewer = given(n_neighbors=30).fit(*blobs(0, 300))
    fewer.forget(np.arange(100))
    assert fewer.likeness(X).examples == 200
    stored, labels = blobs(0, 100)
    table = np.linalg.norm(stored[:, None] - stored, axis=2)
    clf = given(distance="precomputed", kernel="exp", n_neighbors=20).fit(table, labels)
    assert not clf.likeness(np.linalg.norm(X[:, None] - stored, axis=2)).alarm


def test_many_queries_are_looked_at_in_part(fitted):
    X, _ = blobs(9, VECTORS + 500)
    found = fitted.likeness(X)
    assert found.queries == VECTORS + 500
    assert not found.alarm


def test_a_gallery_and_a_file_keep_what_is_compared(fitted, tmp_path):
    X, y = blobs(0, 120)
    asked, _ = blobs(1, 60)
    with Gallery.create(tmp_path / "blobs.kcrc", dim=6) as gallery:
        gallery.add([f"c{label}" for label in y], X)
        before = gallery.classifier(tuning_seconds=1)
        before.save(tmp_path / "one.npz")
        assert KCRCClassifier.load(tmp_path / "one.npz").likeness(asked) == before.likeness(asked)
        gallery.tune(seconds=1)
        known = gallery.classifier().likeness(asked)
    with Gallery.open(tmp_path / "blobs.kcrc", readonly=True) as gallery:
        assert gallery.classifier().likeness(asked) == known
