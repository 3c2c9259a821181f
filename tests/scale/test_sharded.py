"""Examples in shards answer as they do in one process, over every engine and every store."""

from __future__ import annotations

import memory_store
import numpy as np
import pytest
from engine_work import Answered

from kcrc import KCRCClassifier
from kcrc.errors import ParameterError, StateError
from kcrc.gallery import Gallery, stores
from kcrc.scale.engines.local import Local
from kcrc.scale.sharded import shards_of_answerer, shards_of_gallery

FIXED = {
    "scaling": "plain",
    "kernel": "rbf",
    "gamma": 0.2,
    "mu": 0.1,
    "form": "rkhs",
    "decision": "ratio",
    "locality": "atoms",
    "verbose": False,
}


def problem(n: int = 240, queries: int = 40, d: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Examples on a coarse grid, many of them alike: ties everywhere, across the seams of shards too."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (n, d)).astype(np.float32)
    X[n // 2 :: 7] = X[5]
    return X, np.array([f"class {c}" for c in rng.integers(0, 4, n)]), rng.integers(0, 3, (queries, d)) + np.float32(0)


def assert_same(one, other) -> None:
    """The same labels and neighbours, and numbers to rounding."""
    assert (one.labels == other.labels).all()
    np.testing.assert_array_equal(one.evidence.rows, other.evidence.rows)
    np.testing.assert_array_equal(one.evidence.how, other.evidence.how)
    for name in ("distances", "residuals", "coefficients", "contributions", "energy"):
        np.testing.assert_allclose(
            getattr(one.evidence, name), getattr(other.evidence, name), rtol=1e-6, atol=1e-9, err_msg=name
        )
    np.testing.assert_allclose(one.probabilities, other.probabilities, rtol=1e-6, atol=1e-9)


METHODS = {
    "nearest": {"n_neighbors": 9},
    "all of them": {"n_neighbors": 240},
    "one": {"n_neighbors": 1},
    "another distance": {"n_neighbors": 9, "distance": "manhattan", "kernel": "exp"},
    "coarse to fine": {"n_neighbors": 7, "n_candidates": 30, "distance": "manhattan", "kernel": "exp"},
    "Gram form": {"n_neighbors": 9, "form": "gram", "kernel": "polynomial"},
    "a coder that iterates": {"n_neighbors": 9, "coder": "lasso"},
    "standardised": {"n_neighbors": 9, "scaling": "standard"},
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("shards", [1, 3])
def test_shards_answer_as_one_process_does(name, shards) -> None:
    X, y, queries = problem()
    clf = KCRCClassifier(**{**FIXED, **METHODS[name]}).fit(X, y)
    split = shards_of_answerer(Local(), clf.answerer_, shards)
    assert_same(split.answer(queries), clf.answerer_.answer(queries))
    assert_same(split.answer(queries[:1]), clf.answerer_.answer(queries[:1]))
    assert_same(split.answer(queries[:5], explain=True), clf.answerer_.answer(queries[:5], explain=True))


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"n_neighbors": None}, "its dictionary is made of all examples at once"),
        ({"n_neighbors": 2, "locality": "classes"}, "its dictionaries are whole classes"),
    ],
)
def test_forms_that_need_all_examples_say_so(parameters, reason) -> None:
    X, y, _ = problem()
    clf = KCRCClassifier(**{**FIXED, **parameters}).fit(X, y)
    with pytest.raises(StateError, match=rf"^This classifier cannot answer from shards: {reason}\.$"):
        shards_of_answerer(Local(), clf.answerer_, 2)


def test_there_are_no_more_shards_than_examples() -> None:
    X, y, _ = problem()
    clf = KCRCClassifier(n_neighbors=9, **FIXED).fit(X, y)
    for wrong in (0, 241):
        with pytest.raises(ParameterError, match=f"must be 1 to 240, the number of examples; got {wrong}"):
            shards_of_answerer(Local(), clf.answerer_, wrong)


@pytest.fixture(scope="module")
def galleries(tmp_path_factory: pytest.TempPathFactory, postgres_server):
    """The same gallery in every store, and its address, by the name of the store."""
    addresses = {
        "sqlite": tmp_path_factory.mktemp("galleries") / "a.kcrc",
        "memory": "memory://a",
        "postgres": postgres_server.address(gallery="shards"),
    }
    X, y, _ = problem()
    made = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(stores.KINDS, "memory", memory_store)
        patch.setattr(memory_store, "PLACES", {})
        for name, address in addresses.items():
            gallery = Gallery.create(address, dim=X.shape[1])
            gallery.add(list(y), X)
            gallery.answering.use_default_parameters()
            made[name] = address, gallery
        yield made
        for _, gallery in made.values():
            gallery.close()


@pytest.mark.parametrize("store", ["sqlite", "memory", "postgres"])
def test_every_store_and_every_engine_give_the_same_answers(engine, galleries, store) -> None:
    _, _, queries = problem()
    address, gallery = galleries[store]
    alone = galleries["sqlite"][1].answering.answerer().answer(queries)
    assert_same(gallery.answering.answerer().answer(queries), alone)
    held_here = store == "memory"  # no other process can open it
    split = (
        shards_of_answerer(engine, gallery.answering.answerer(), 3)
        if held_here
        else shards_of_gallery(engine, address, 3)
    )
    assert_same(split.answer(queries), alone)
    pieces = [(0, 25), (25, 40)]
    found = engine.map(Answered(split, queries), pieces, key=lambda piece: piece[0])
    labels = {one.key: one.value for one in found}
    assert (np.concatenate([labels[0], labels[25]]) == alone.labels).all()
