"""The parameter ``search``: what it takes, what answers say of it, and that files keep it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from problems import given

from kcrc import Gallery, KCRCClassifier
from kcrc.classifier.saving import load_answerer
from kcrc.errors import FileError, ParameterError
from kcrc.method.distances import Unified
from kcrc.method.neighbours import approximate
from kcrc.method.neighbours.approximate import LIBRARIES
from kcrc.method.neighbours.approximate.approximate import native
from kcrc.scale.sharded import why_not

INSTALLED = [
    pytest.param(
        search,
        marks=pytest.mark.skipif(
            not library.is_installed or native is None, reason=f"what search={search!r} needs is not installed"
        ),
    )
    for search, library in LIBRARIES.items()
]


@pytest.fixture(scope="module")
def examples():
    """Four classes of 200, and queries."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(5), 200)[:840] % 4
    X = rng.normal(size=(len(y), 12)) + 1.2 * rng.normal(size=(4, 12))[y]
    return X[:800], y[:800], X[800:]


@pytest.fixture
def nothing_installed(monkeypatch):
    monkeypatch.setattr(approximate, "find_spec", lambda _: None)


def test_a_name_that_is_none(examples):
    X, y, _ = examples
    with pytest.raises(ParameterError, match=r"Unknown search 'hsnw'. Known: .* Did you mean 'hnsw'"):
        given(9, search="hsnw").fit(X, y)
    with pytest.raises(ParameterError, match="Unknown search '3'"):
        given(9, search=3).fit(X, y)


@pytest.mark.usefixtures("nothing_installed")
@pytest.mark.parametrize(("search", "extra"), [("hnsw", "faiss"), ("ivf", "faiss"), ("usearch", "usearch")])
def test_without_the_package_the_error_says_how_to_install_it(examples, search, extra):
    X, y, _ = examples
    with pytest.raises(ParameterError, match=rf"needs {extra}, .* pip install 'kcrc\[{extra}\]'"):
        given(9, search=search).fit(X, y)


@pytest.mark.parametrize("search", INSTALLED)
@pytest.mark.parametrize("distance", ["manhattan", Unified(["euclidean", "manhattan"])])
def test_distances_that_order_otherwise_are_refused(examples, search, distance):
    X, y, _ = examples
    with pytest.raises(ParameterError, match=r'Manhattan does not. Use search="exact"'):
        given(9, search=search, distance=distance, kernel="exp").fit(X, y)


@pytest.mark.parametrize("search", INSTALLED)
def test_answers_are_those_of_exact_search_and_say_how_they_were_found(examples, search):
    X, y, Q = examples
    exact, fitted = given(9).fit(X, y), given(9, search=search).fit(X, y)
    assert np.mean(fitted.predict(Q) == exact.predict(Q)) >= 0.97
    evidence = fitted.explain(Q)
    assert np.mean(evidence.rows == exact.explain(Q).rows) >= 0.9
    assert evidence.search.startswith(f"{search}, finds ")
    assert evidence[3].search == evidence.search == fitted.explain(Q[:1]).search
    assert evidence.to_dict()[0]["search"] == evidence.search
    assert json.dumps(evidence.to_dict())
    assert f"found by approximate search: {search}, finds" in repr(evidence)
    assert evidence.sentences[0].endswith(f" Approximate search: {evidence.search}.")
    said = exact.explain(Q)
    assert (said.search, said.to_dict()[0]["search"]) == ("exact", "exact")
    assert "search" not in repr(said)


@pytest.mark.parametrize("search", INSTALLED)
def test_coarse_to_fine_and_unions_say_it_too(examples, search):
    X, y, Q = examples
    coarse = given(9, n_candidates=30, search=search, distance="manhattan", kernel="exp").fit(X, y).explain(Q)
    assert coarse.search.startswith(search)
    both = given(9, search=search, distance=Unified(["euclidean", "cosine"]), kernel="exp").fit(X, y).explain(Q)
    assert both.search.startswith("euclidean: " + search)
    assert given(None, search=search).fit(X, y).explain(Q).search == "exact"  # a global dictionary: nothing is searched


@pytest.mark.parametrize("search", INSTALLED)
def test_examples_come_and_go(examples, search):
    X, y, Q = examples
    fitted = given(9, search=search).fit(X[:500], y[:500]).partial_fit(X[500:], y[500:]).forget(range(0, 800, 3))
    exact = given(9).fit(X[:500], y[:500]).partial_fit(X[500:], y[500:]).forget(range(0, 800, 3))
    assert np.mean(fitted.explain(Q).rows == exact.explain(Q).rows) >= 0.9
    assert fitted.explain(Q).search.startswith(search)


@pytest.mark.parametrize("search", INSTALLED)
def test_a_file_keeps_it(examples, search, tmp_path, monkeypatch):
    X, y, Q = examples
    fitted = given(9, search=search).fit(X, y)
    fitted.save(tmp_path / "a.kcrcmodel")
    again = KCRCClassifier.load(tmp_path / "a.kcrcmodel")
    assert again.search == search
    assert again.explain(Q).search.startswith(search)
    monkeypatch.setattr(approximate, "find_spec", lambda _: None)
    elsewhere = load_answerer(tmp_path / "a.kcrcmodel")  # where the package is not installed: all of the nearest
    assert elsewhere.model.search == "exact"
    np.testing.assert_array_equal(elsewhere.labels(Q), given(9).fit(X, y).predict(Q))


@pytest.mark.parametrize(("search", "why"), [("quick", "there is no search 'quick'"), ("hnsw", "Manhattan does not")])
def test_a_file_that_names_what_cannot_be(examples, search, why, tmp_path):
    X, y, _ = examples
    fitted = given(9, distance="manhattan", kernel="exp").fit(X, y)
    fitted.model_ = replace(fitted.model_, method=replace(fitted.model_.method, search=search))
    fitted.save(tmp_path / "a.kcrcmodel")
    with pytest.raises(FileError, match=why):
        KCRCClassifier.load(tmp_path / "a.kcrcmodel")


@pytest.mark.parametrize("search", INSTALLED)
def test_a_gallery_is_asked_by_it(examples, search, tmp_path):
    X, y, Q = examples
    with Gallery.create(tmp_path / "a.kcrc", dim=X.shape[1]) as gallery:
        gallery.add([f"class {label}" for label in y], X)
        gallery.tune(parameters={"n_neighbors": 9, "search": search}, seconds=1)
    with Gallery.open(tmp_path / "a.kcrc", readonly=True) as gallery:
        assert gallery.classifier().explain(Q).search.startswith(search)


@pytest.mark.parametrize("search", INSTALLED)
def test_shards_merge_what_is_exact(examples, search):
    X, y, _ = examples
    assert "approximate" in str(why_not(given(9, search=search).fit(X, y).model_.method))
    assert why_not(given(9).fit(X, y).model_.method) is None
