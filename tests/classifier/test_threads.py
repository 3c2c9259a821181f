"""Threads that share one classifier: no change is lost, and each answer is of one state of the examples."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from problems import given, problem

from kcrc import ImageClassifier


@pytest.fixture(autouse=True)
def often_interrupted():
    """Threads take turns a thousand times as often as usual, so that few calls show what many would."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(before)


def run_together(*works):
    """Run all works at once, from one starting signal; their results in order."""
    barrier = threading.Barrier(len(works))

    def started(work):
        barrier.wait()
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result() for future in [pool.submit(started, work) for work in works]]


def test_no_change_is_lost_and_every_answer_is_whole():
    X, y, Q = problem(1, n=200)
    classifier = given(10).fit(X, y)
    adders, forgetters, calls = 3, 3, 20

    def add(number):
        rng = np.random.default_rng(number)
        for _ in range(calls):  # each adder has a class of its own, so that the classes change too
            classifier.partial_fit(rng.normal(size=(3, X.shape[1])), [10 + number] * 3)

    def forget(number):
        for row in range(number, adders * calls, adders):  # rows that no other thread forgets
            classifier.forget([row])

    def ask(number):
        for _ in range(4):
            probabilities = classifier.predict_proba(Q)
            np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-6)
            assert len(classifier.explain(Q)) == len(classifier.decision_function(Q)) == len(Q)
        return "asked"

    def keep(number):
        for _ in range(4):
            for kept in (pickle.loads(pickle.dumps(classifier)), copy.deepcopy(classifier)):
                model = kept.model_
                assert len(model.ids) == len(model.raw) == len(model.labels)
                assert kept.growth_.next_row > model.ids[-1]
                assert kept.predict(Q).shape == (len(Q),)
        return "kept"

    kinds = [(ask, 8), (add, adders), (forget, forgetters), (keep, 2)]
    run_together(*[lambda do=do, i=i: do(i) for do, count in kinds for i in range(count)])

    model = classifier.model_
    expected = np.arange(forgetters * calls, 200 + 3 * adders * calls)
    np.testing.assert_array_equal(model.ids, expected)
    new = model.labels[model.ids >= 200]
    assert np.bincount(new, minlength=7)[-3:].tolist() == [3 * calls] * 3
    again = given(10).fit(model.raw, model.classes[model.labels])
    np.testing.assert_array_equal(again.predict(Q), classifier.predict(Q))
    np.testing.assert_allclose(again.predict_proba(Q), classifier.predict_proba(Q))


def test_a_classifier_is_not_changed_where_a_change_fails_beside_others():
    X, y, Q = problem(2)
    classifier = given(10).fit(X, y)
    expected = classifier.predict(Q)

    def ask():
        for _ in range(50):
            np.testing.assert_array_equal(classifier.predict(Q), expected)
        return "asked"

    def fail_to_forget():
        for _ in range(20):
            with pytest.raises(ValueError, match="row number 999"):
                classifier.forget([999])
        return "failed"

    def fail_to_fit():
        for _ in range(20):
            with pytest.raises(ValueError, match="inconsistent"):
                classifier.fit(X, y[:-1])
        return "failed"

    assert run_together(fail_to_forget, fail_to_fit, ask, ask) == ["failed", "failed", "asked", "asked"]


def test_copies_that_share_examples_grow_on_their_own():
    X, y, _ = problem(3, n=100)
    first = given(10).fit(X[:50], y[:50]).partial_fit(X[50:51], y[50:51])  # a place with room to grow
    copies = [copy.copy(first) for _ in range(4)]

    def grow(number):
        for at in range(30):
            copies[number].partial_fit(np.full((1, X.shape[1]), 100.0 * number + at), [number])

    run_together(*[lambda i=i: grow(i) for i in range(4)])
    for number, grown in enumerate(copies):
        np.testing.assert_array_equal(grown.model_.raw[51:, 0], 100.0 * number + np.arange(30))
    assert len(first.model_) == 51


def test_each_copy_has_a_lock_of_its_own():
    X, y, _ = problem(4)
    classifier = given(10).fit(X, y)
    others = [copy.copy(classifier), copy.deepcopy(classifier), *(
        pickle.loads(pickle.dumps(classifier, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    )]  # fmt: skip
    with classifier._change():  # held by this thread
        for other in others:
            ThreadPoolExecutor(1).submit(other.forget, [0]).result(timeout=30)
            assert len(other.model_) == len(X) - 1
    assert len(classifier.model_) == len(X)
    assert "_lock" not in classifier.__getstate__()


def test_asking_does_not_wait_for_a_change():
    X, y, Q = problem(5)
    classifier = given(10).fit(X, y)
    expected = classifier.predict(Q)
    with classifier._change() as made:
        made.forget_class(0)
        answers = ThreadPoolExecutor(1).submit(classifier.predict, Q).result(timeout=30)
        np.testing.assert_array_equal(answers, expected)
    assert 0 not in classifier.predict(Q)


def test_threads_share_an_image_classifier():
    rng = np.random.default_rng(6)
    y = np.arange(40) % 4
    images = rng.normal(0.0, 0.1, size=(40, 8, 8)) + y[:, None, None] / 4
    classifier = ImageClassifier(looks=["pixels"], tuning_seconds=1).fit(images, y)

    def add(number):
        for _ in range(8):
            classifier.partial_fit(images[:2], [10 + number] * 2)

    def forget(number):
        for row in range(number, 16, 2):
            classifier.forget([row])

    def ask(number):
        for _ in range(3):
            assert len(classifier.predict_proba(images[:3])) == 3

    run_together(*[lambda do=do, i=i: do(i) for do in (add, forget, ask) for i in range(2)])
    np.testing.assert_array_equal(classifier.model_.ids, np.arange(16, 72))
