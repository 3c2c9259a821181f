"""Vectors in single precision far from the origin: distances between them are differences of large squares."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from kcrc import Gallery, KCRCClassifier, paper
from kcrc.method import pipeline
from kcrc.method.scaling import far_out

MU = 0.01


def clusters(seed, offset, spread=1.0, d=4, n=30, dtype=np.float32):
    """X, y, Q and the classes of Q: three clusters, ``offset`` away from the origin."""
    rng = np.random.default_rng(seed)

    def drawn(labels):
        values = spread * (0.5 * rng.normal(size=(len(labels), d)) + 3.0 * labels[:, None])
        return (values + offset).astype(dtype)

    y, asked = np.arange(n) % 3, np.arange(12) % 3
    return drawn(y), y, drawn(asked), asked


def settled(form="gram", kernel="rbf", gamma=0.125, n_neighbors=30, **options):
    return KCRCClassifier(
        n_neighbors, scaling="plain", kernel=kernel, gamma=gamma, mu=MU, form=form, decision="ratio", locality="atoms",
        **options,
    )  # fmt: skip


def by_the_paper(X, y, Q, gamma=0.125, form="gram"):
    X, Q = X.astype(np.float64), Q.astype(np.float64)
    euclidean = lambda a, b: float(np.linalg.norm(a - b))  # noqa: E731
    return np.array([paper.naive_kcrc_lcd(X, y, q, euclidean, 30, paper.rbf(gamma), MU, form) for q in Q])


@pytest.mark.parametrize("form", ["gram", "rkhs"])
@pytest.mark.parametrize(("offset", "spread", "d"), [(1e4, 1, 1), (1e5, 1, 4), (1e5, 10, 4), (4e6, 10, 4)])
def test_the_answers_are_those_of_the_paper_on_the_very_numbers(offset, spread, d, form):
    for seed in range(4):
        X, y, Q, _ = clusters(seed, offset, spread, d)
        gamma = 1 / (2 * spread**2 * d)
        classifier = settled(form, gamma=gamma).fit(X, y)
        expected = by_the_paper(X, y, Q, gamma, form)
        np.testing.assert_array_equal(classifier.predict(Q), expected)
        np.testing.assert_array_equal([classifier.predict(q[None])[0] for q in Q], expected)
        answerer = classifier.answerer_
        staged = pipeline.classify(answerer.model, answerer.scale_queries(Q), compiled=False)
        np.testing.assert_array_equal(staged.labels, expected)


@pytest.mark.parametrize("options", [{"kernel": "exp"}, {"kernel": "rbf", "gamma": "scale"}, {"n_neighbors": None}])
def test_other_kernels_and_the_global_dictionary_answer_as_in_double(options):
    X, y, Q, _ = clusters(1, 1e5)
    single, double = (
        settled(**options).fit(X.astype(dtype), y).explain(Q.astype(dtype)) for dtype in (np.float32, np.float64)
    )
    np.testing.assert_array_equal(single.labels, double.labels)
    np.testing.assert_allclose(single.residuals, double.residuals)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_what_is_chosen_is_chosen_in_double(dtype):
    X, y, Q, asked = clusters(2, 5e3, spread=6.0, n=90, dtype=dtype)
    classifier = KCRCClassifier(scaling="plain", kernel="rbf", tuning_seconds=1).fit(X, y)
    double = KCRCClassifier(scaling="plain", kernel="rbf", tuning_seconds=1).fit(X.astype(np.float64), y)
    assert classifier.tuning_.best == double.tuning_.best
    np.testing.assert_array_equal(classifier.predict(Q), double.predict(Q))
    assert (classifier.predict(Q) == asked).mean() > 0.8


def test_examples_come_go_and_are_kept(tmp_path):
    X, y, Q, _ = clusters(3, 1e5, n=60)
    whole = settled().fit(X[:40], y[:40])
    expected = whole.explain(Q)
    changed = settled().fit(X[:30], y[:30]).partial_fit(X[35:40], y[35:40], rows=range(35, 40))
    changed.partial_fit(X[40:], y[40:]).forget(range(40, 60))  # what came and went again
    np.testing.assert_array_equal(
        changed.explain(Q).labels, settled().fit(np.delete(X[:40], range(30, 35), 0), np.delete(y[:40], range(30, 35)))
        .explain(Q).labels,
    )  # fmt: skip
    whole.partial_fit(X[40:], y[40:]).forget(range(40, 60))
    whole.save(tmp_path / "far.npz")
    for kept in (whole, KCRCClassifier.load(tmp_path / "far.npz"), pickle.loads(pickle.dumps(whole))):
        np.testing.assert_array_equal(kept.explain(Q).residuals, expected.residuals)
        np.testing.assert_array_equal(kept.explain(Q).rows, expected.rows)


def test_a_gallery_answers_so_too(tmp_path):
    X, y, Q, _ = clusters(4, 1e5)
    expected = by_the_paper(X, y, Q).astype(str)
    with Gallery.create(tmp_path / "far.kcrc", dim=4) as gallery:
        gallery.add(y[:20].astype(str), X[:20])
        given = settled().get_params(deep=False)
        names = ("n_neighbors", "scaling", "kernel", "gamma", "mu", "form", "decision", "locality")
        gallery.tune(parameters={name: given[name] for name in names})
        gallery.add(y[20:].astype(str), X[20:])
        np.testing.assert_array_equal(gallery.classifier().predict(Q), expected)
        np.testing.assert_array_equal(gallery.answering.answerer().labels(Q), expected)
    with Gallery.open(tmp_path / "far.kcrc", readonly=True) as gallery:
        np.testing.assert_array_equal(gallery.classifier().predict(Q), expected)
        np.testing.assert_array_equal(gallery.answering.answerer().labels(Q), expected)


def test_ordinary_examples_stay_in_single_precision():
    rng = np.random.default_rng(5)
    y = np.arange(30) % 3
    images = rng.integers(0, 256, size=(30, 64)).astype(np.float32)
    white = np.where(rng.random((30, 64)) < 0.1, 0.0, 255.0).astype(np.float32)  # mostly background
    ordinary = images, white, images - 128.0, np.ones((30, 4), np.float32), clusters(5, 50.0)[0]
    assert not any(far_out(X) for X in (*ordinary, images[:1], clusters(5, 1e6, dtype=np.float64)[0]))
    for X in ordinary:
        assert settled().fit(X, y).model_.vectors.dtype == np.float32


def unaligned(X):
    """The same numbers one byte beside where the processor expects them."""
    bytes_ = np.empty(X.nbytes + 1, np.uint8)
    moved = bytes_[1:].view(X.dtype).reshape(X.shape)
    moved[...] = X
    assert not moved.flags.aligned
    return moved


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_unaligned_arrays_are_arrays(dtype, tmp_path):
    X, y, Q, _ = clusters(6, 0.0, n=60, dtype=dtype)
    expected = settled(n_neighbors=10).fit(X[:40], y[:40]).partial_fit(X[40:], y[40:])
    classifier = settled(n_neighbors=10).fit(unaligned(X[:40]), y[:40]).partial_fit(unaligned(X[40:]), y[40:])
    np.testing.assert_array_equal(classifier.predict_proba(unaligned(Q)), expected.predict_proba(Q))
    np.testing.assert_array_equal(classifier.predict(unaligned(Q[:1])), expected.predict(Q[:1]))
    np.testing.assert_array_equal(classifier.answerer_.labels(unaligned(Q)), expected.predict(Q))
    with Gallery.create(tmp_path / "odd.kcrc", dim=4) as gallery:
        gallery.add(y.astype(str), unaligned(X))
        np.testing.assert_array_equal(gallery.vectors()[1], X.astype(np.float32))
        assert len(gallery.answering.answerer().labels(unaligned(Q))) == len(Q)
