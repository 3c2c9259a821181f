from __future__ import annotations

import copy
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from kcrc import KCRCClassifier
from kcrc.classifier.saving import wrap_as_estimator
from kcrc.errors import FileError, ParameterError, StateError, UnreadableTuning
from kcrc.gallery import Gallery, acts, stored_choice
from kcrc.gallery.contract import TunedRecord
from kcrc.gallery.stores.sqlite import schema

# The schema of version 2, kept here as it was: not taken from the library, so that it cannot drift with it.
VERSION_2_TABLES = {
    "settings",
    "feature_state",
    "examples",
    "vectors",
    "thumbnails",
    "history",
    "changes",
    "seals",
}


def blobs(rng, n=60, d=8, classes=("heron", "robin", "wren")):
    labels = np.array(classes)[np.arange(n) % len(classes)]
    centres = {name: rng.standard_normal(d) * 2 for name in classes}
    return np.array([centres[label] + rng.standard_normal(d) for label in labels], np.float32), labels


@pytest.fixture
def many(rng, path: Path):
    X, labels = blobs(rng)
    with Gallery.create(path, dim=8) as made:
        made.add(labels, X)
        yield made


@pytest.fixture
def count_fits(monkeypatch: pytest.MonkeyPatch):
    fits: list[int] = []
    fit = KCRCClassifier.fit

    def counted(self, X, *more, **options):
        fits.append(len(X))
        return fit(self, X, *more, **options)

    monkeypatch.setattr(KCRCClassifier, "fit", counted)
    return fits


def same(a: KCRCClassifier, b: KCRCClassifier, X) -> None:
    one, two = a.explain(X), b.explain(X)
    np.testing.assert_array_equal(one.labels, two.labels)
    np.testing.assert_array_equal(one.rows, two.rows)
    np.testing.assert_allclose(one.residuals, two.residuals, rtol=2e-4)


def test_the_choice_is_made_once_and_answers_alike_after_opening(many: Gallery, path: Path, rng, count_fits) -> None:
    queries = rng.standard_normal((20, 8)).astype(np.float32)
    first = many.classifier()
    assert first.tuning_ is not None
    assert many.classifier() is first
    many.close()
    for readonly in (False, True):
        with Gallery.open(path, readonly=readonly) as again:
            same(first, again.classifier(), queries)
            assert again.classifier().tuning_.best == first.tuning_.best
            assert again.verify().sound
    assert count_fits == [60]


def test_a_gallery_that_cannot_be_written_is_tuned_in_memory(many: Gallery, path: Path, count_fits) -> None:
    many.close()
    before = path.read_bytes()
    with Gallery.open(path, readonly=True) as closed:
        assert closed.classifier() is closed.classifier()
        with pytest.raises(StateError, match="reading only"):
            closed.tune()
    assert path.read_bytes() == before
    assert count_fits == [60]


def test_adding_and_removing_follow_without_another_choice(many: Gallery, path: Path, rng, count_fits) -> None:
    held = many.classifier()
    labels_held = held.model_.labels.copy()
    more = (rng.standard_normal((4, 8)) + 9).astype(np.float32)
    many.add(["owl"] * 4, more)
    many.remove([3, 61])
    queries = np.concatenate([more, rng.standard_normal((10, 8))]).astype(np.float32)
    followed = many.classifier()
    assert followed.predict(more[2:3]).tolist() == ["owl"]
    assert {3, 61}.isdisjoint(followed.explain(queries).rows.ravel().tolist())
    np.testing.assert_array_equal(held.model_.labels, labels_held)  # what was handed out is left as it was
    many.close()
    with Gallery.open(path) as again:
        same(followed, again.classifier(), queries)
    assert count_fits == [60]


def test_relabelling_and_undo_are_seen(many: Gallery, rng, count_fits) -> None:
    queries = rng.standard_normal((10, 8)).astype(np.float32)
    before = many.classifier()
    many.relabel([1, 4, 7], "robin")
    assert np.isin([1, 4, 7], many.classifier().model_.ids[many.classifier().model_.labels == 1]).all()
    many.undo()
    same(before, many.classifier(), queries)
    assert count_fits == [60]


def test_a_first_question_is_not_there_to_be_undone(many: Gallery) -> None:
    many.add(["owl"], np.ones((1, 8), np.float32))
    many.classifier()
    assert many.undo().summary == "added 1 example of owl"


def test_tuning_that_was_asked_for_is_undone(many: Gallery) -> None:
    many.classifier()
    chosen = many.settings.tuned
    tuning = many.tune(parameters={"n_neighbors": 5}, seconds=5)
    assert tuning is not None
    assert tuning.best.n_neighbors == 5
    assert many.parameters == {"n_neighbors": 5}
    assert many.classifier().model_.method.n_neighbors == 5
    many.undo()
    assert (many.parameters, many.settings.tuned) == ({}, chosen)
    assert many.classifier().n_neighbors == "auto"
    many.tune()
    assert many.compact() == 0
    db = sqlite3.connect(many.path)
    assert db.execute("SELECT DISTINCT act FROM tuned").fetchall() == [(many.settings.tuned,)]
    db.close()
    assert many.verify().sound


def test_fixed_parameters_are_kept_and_the_rest_chosen(many: Gallery) -> None:
    many.classifier()
    many.set_parameters({"mu": 0.5, "n_neighbors": 7})
    made = many.classifier()
    assert (made.model_.method.coder.mu, made.model_.method.n_neighbors) == (0.5, 7)
    many.set_parameters({"nonsense": 1})
    with pytest.raises(ParameterError, match="nonsense"):
        many.classifier()


def test_it_says_when_tuning_again_is_due_and_does_so_when_outgrown(many: Gallery, rng, count_fits) -> None:
    many.classifier()
    X, labels = blobs(rng, 100)
    many.add(labels[:5], X[:5])
    assert many.retune_due is None
    many.add(labels[5:20], X[5:20])
    assert many.retune_due == "20 examples came or went since the settings were chosen on 60"
    assert many.classifier().retune_due_ is not None
    assert count_fits == [60]
    many.add(labels[20:], X[20:])
    assert many.classifier().retune_due_ is None
    assert many.retune_due is None
    assert count_fits == [60, 160]


def test_too_few_to_choose_is_chosen_again_when_more_came(path: Path, count_fits) -> None:
    with Gallery.create(path, dim=2) as made:
        made.add(["a", "b"], [[1, 0], [0, 1]])
        assert made.classifier().tuning_ is None
    with Gallery.open(path) as again:
        again.classifier()
        assert count_fits == [2]
        again.add(["a"], [[1, 0.2]])
        again.classifier()
        assert count_fits == [2, 3]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE tuned SET data = x'00' WHERE name = 'facts'",
        "UPDATE tuned SET data = zeroblob(5) WHERE name LIKE 'array%'",
        "DELETE FROM tuned WHERE name = 'facts'",
        "DELETE FROM tuned",
        "UPDATE tuned SET data = replace(data, 'metric/', 'os/')",
    ],
)
def test_damage_to_what_was_tuned_is_noticed(many: Gallery, path: Path, damage: str) -> None:
    many.classifier()
    many.close()
    db = sqlite3.connect(path)
    db.execute(damage)
    db.commit()
    db.close()
    with Gallery.open(path) as again:
        assert not again.verify().sound
        with pytest.warns(UnreadableTuning, match="chosen again"):
            again.classifier()
        again.classifier()  # the examples are whole: choosing anew mended it


def fields_of(value, path=()):
    """Where every field of every part in a stored header is."""
    if isinstance(value, dict):
        for key, item in value.items():
            if path and path[-1] == "fields":
                yield (*path, key)
            yield from fields_of(item, (*path, key))
    elif isinstance(value, list):
        for at, item in enumerate(value[:1]):
            yield from fields_of(item, (*path, at))


def at(value, path):
    for step in path:
        value = value[step]
    return value


def test_no_field_taken_from_or_put_into_the_tuned_state_costs_an_example(many: Gallery, path: Path, rng) -> None:
    many.tune(
        parameters={"n_neighbors": 5, "scaling": "within", "kernel": "rbf", "gamma": 0.1, "form": "rkhs"}, seconds=1
    )
    header, arrays = many.tuned_state(many.settings.tuned)
    ids, X, labels = many.vectors()
    queries = rng.standard_normal((5, 8))
    before = many.classifier().predict(queries).tolist()
    places = [*fields_of(header), *((name,) for name in header)]
    assert len(places) > 60
    changed = 0
    for place in places:
        spoiled = copy.deepcopy(header)
        at(spoiled, place[:-1]).pop(place[-1])
        wider = copy.deepcopy(header)
        at(wider, place[:-1])["of a later version"] = {"list": [1]}
        for other in (wider, spoiled):
            try:
                answerer = stored_choice.answerer_from(other, arrays, ids, labels, X, path="x")
                made = wrap_as_estimator(other, arrays, answerer, path="x")
            except FileError:
                assert other is spoiled, place
                changed += 1
                continue
            assert len(made.model_) == 60
            if other is wider:
                assert made.predict(queries).tolist() == before
    assert changed > 0


@pytest.mark.parametrize("name", ["facts", "classifier"])
def test_a_gallery_whose_tuned_state_lost_a_part_tunes_again(many: Gallery, path: Path, name: str) -> None:
    made = many.classifier()
    state = stored_choice.state_of(made, 61)
    state[name] = b"{}"
    many.store.write(acts.Tune("tuned: by another version", state))
    many.close()
    with Gallery.open(path) as again:
        with pytest.warns(UnreadableTuning):
            assert len(again.classifier().model_) == 60
        assert again.verify().sound
        again.classifier()


def test_a_file_of_version_2_gets_a_place_for_it(many: Gallery, path: Path) -> None:
    many.close()
    db = sqlite3.connect(path)  # back to what version 2 wrote
    (total, count) = db.execute("SELECT total, row_count FROM seals WHERE name = 'settings'").fetchone()
    (gone,) = db.execute("SELECT checksum FROM settings WHERE key = 'tuned'").fetchone()
    db.execute("DELETE FROM settings WHERE key = 'tuned'")
    db.execute("UPDATE seals SET total = ?, row_count = ? WHERE name = 'settings'", (total - gone, count - 1))
    db.execute("DELETE FROM seals WHERE name = 'tuned'")
    db.execute("DROP TABLE tuned")
    db.execute("PRAGMA user_version = 2")
    db.commit()
    assert {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")} == VERSION_2_TABLES
    db.close()
    with Gallery.open(path) as brought:
        assert brought.verify().sound
        assert len(brought) == 60
        assert brought.classifier().tuning_ is not None
        assert brought.settings.tuned > 0
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA user_version").fetchone() == (schema.VERSION,)
    db.close()


def test_the_whitening_of_few_examples_is_stored_as_its_factors(path: Path, rng) -> None:
    X, labels = blobs(rng, n=24, d=120)
    given = {"n_neighbors": 7, "scaling": "within", "kernel": "linear", "mu": 0.1, "form": "rkhs"}
    plain = KCRCClassifier(**given).fit(X, labels)
    with Gallery.create(path, dim=120) as made:
        made.add(labels, X)
        made.tune(parameters=given)
        here = made.classifier().explain(X)
        names = {name for _, name in made.read(lambda reading: list(reading.keys(TunedRecord)))}
        assert any("whitening basis" in name for name in names)
        stored = made.read(lambda reading: sum(len(one.data) for one in reading.all(TunedRecord)))
        assert stored < 120 * 120 * 4  # the matrix alone
        matrix, given_by_fit = made.classifier().model_.method.scaling.whitening, plain.model_.method.scaling.whitening
        np.testing.assert_allclose(matrix @ matrix.T, given_by_fit @ given_by_fit.T, rtol=1e-3, atol=1e-4)
        assert here.labels.tolist() == plain.explain(X).labels.tolist()
    with Gallery.open(path, readonly=True) as again:
        np.testing.assert_array_equal(again.classifier().model_.method.scaling.whitening, matrix)
        assert again.classifier().explain(X).residuals.tolist() == here.residuals.tolist()


def test_a_scaling_that_was_fitted_elsewhere_is_stored_as_it_is(path: Path, rng) -> None:
    X, labels = blobs(rng, n=24, d=120)
    elsewhere = KCRCClassifier(scaling="within", n_neighbors=7, mu=0.1, kernel="linear").fit(X[::-1] * 2 + 1, labels)
    given = elsewhere.model_.method.scaling
    with Gallery.create(path, dim=120) as made:
        made.add(labels, X)
        fitted = KCRCClassifier(scaling=given, n_neighbors=7, mu=0.1, kernel="linear").fit(X, labels, rows=range(1, 25))
        made.keep_tuned(fitted, next_id=25)
    with Gallery.open(path, readonly=True) as again:
        np.testing.assert_array_equal(again.classifier().model_.method.scaling.whitening, given.whitening)
