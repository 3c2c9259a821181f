"""How sure a gallery is, without asking its examples again."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from photos import folder, photo
from PIL import Image

from kcrc import KCRCClassifier
from kcrc.confidence.answers import answers_of
from kcrc.errors import ParameterError, StateError, UnreadableTuning
from kcrc.gallery import Gallery
from kcrc.images.features import make
from kcrc.tuning.left_out.answers import LeftOut


@pytest.fixture
def made(tmp_path: Path) -> Gallery:
    with Gallery.from_folder(folder(tmp_path / "photos", 10), tmp_path / "birds.kcrc", feature="pixels") as gallery:
        yield gallery


@pytest.fixture
def queries(tmp_path: Path) -> list[Path]:
    known = [photo(tmp_path / "q" / f"{k}{i}.jpg", k, 60 + i) for k in ("heron", "robin", "wren") for i in range(4)]
    return [*known, photo(tmp_path / "q" / "owl.jpg", "owl", 60)]


@pytest.fixture
def no_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking an example as if it were not stored, or choosing parameters, is an error from here on."""

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("the examples were asked again")

    monkeypatch.setattr(LeftOut, "of", refused)
    monkeypatch.setattr(KCRCClassifier, "fit", refused)


def test_the_gallery_says_what_its_classifier_says(made: Gallery, queries: list[Path]) -> None:
    classifier = made.classifier()
    X = made.answering.feature().transform(queries)
    np.testing.assert_allclose(made.predict_proba(queries), classifier.predict_proba(X.astype(np.float64)), rtol=1e-9)
    for reject in (0.05, 0.3):
        assert made.predict(queries, reject=reject).tolist() == classifier.predict(X, reject=reject).tolist()
    inside = classifier.predict_set(X, coverage=0.8)
    for names, row in zip(made.predict_set(queries, coverage=0.8), inside, strict=True):
        assert set(names) == set(classifier.classes_[row])


def test_it_is_stored_and_asking_asks_no_example(
    made: Gallery, queries: list[Path], tmp_path: Path, no_questions: None
) -> None:
    before = made.predict_proba(queries)
    labels = made.predict(queries, reject=0.1)
    made.close()
    with Gallery.open(tmp_path / "birds.kcrc", readonly=True) as again:
        np.testing.assert_allclose(again.predict_proba(queries), before, rtol=1e-6)
        assert again.predict(queries, reject=0.1).tolist() == labels.tolist()


def test_it_follows_the_examples(made: Gallery, queries: list[Path], tmp_path: Path, request) -> None:
    made.close()
    with Gallery.open(tmp_path / "birds.kcrc") as again:
        again.add_images("owl", [photo(tmp_path / "owls" / f"{i}.jpg", "owl", i) for i in range(3)])
        again.predict(queries[:1])
    with Gallery.open(tmp_path / "birds.kcrc", readonly=True) as again:
        request.getfixturevalue("no_questions")  # what the first question learned is kept
        p = again.predict_proba(queries)
        assert p.shape == (13, 4)
        assert again.classes[p[-1].argmax()] == "owl"
        assert again.predict_set(queries[-1:], coverage=0.9)[0] in {("owl",), ()}


def test_a_stranger_is_unknown_under_the_mark_asked_for(made: Gallery, queries: list[Path]) -> None:
    assert made.predict(queries[-1:], reject=0.2).tolist() == ["unknown"]
    assert made.predict(queries[-1:], reject=0.2, unknown="none of these").tolist() == ["none of these"]
    assert "unknown" not in made.predict(queries)
    made.rename_class("wren", "unknown")
    with pytest.raises(ParameterError, match="also a class"):
        made.predict(queries, reject=0.2)
    assert made.predict(queries[-1:], reject=0.2, unknown="?").tolist() == ["?"]


def odd_pictures() -> list[np.ndarray]:
    """One colour, and noise."""
    return [np.full((48, 64, 3), 90, np.uint8), np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)]


def test_it_is_unknown_what_is_on_a_picture_with_nothing_on_it(made: Gallery, queries: list[Path]) -> None:
    odd = odd_pictures()
    assert made.predict(odd).tolist() == ["unknown", "unknown"]
    (found,) = made.answering.answers(odd)
    assert [why.partition(": ")[2] for why in found.why] == ["it is all one colour", "it looks like noise"]
    assert made.predict(odd, unknown="?").tolist() == ["?", "?"]
    made.rename_class("wren", "unknown")
    assert made.predict(odd).tolist() == ["unknown?", "unknown?"]  # a mark that no class has
    assert set(made.predict(queries)) == {"heron", "robin", "unknown"}
    with pytest.raises(ParameterError, match="also a class"):
        made.predict(odd, unknown="heron")


def test_unless_examples_are_such_pictures(tmp_path: Path) -> None:
    """A gallery of colours and of noise answers, by a feature that tells them."""
    rng, photos = np.random.default_rng(1), folder(tmp_path / "photos", 6)
    for number in range(6):
        for label, pixels in (
            ("plain", np.full((48, 64, 3), 84 + 2 * number, np.uint8)),
            ("static", rng.integers(0, 256, (48, 64, 3), np.uint8)),
        ):
            (photos / label).mkdir(exist_ok=True)
            Image.fromarray(pixels).save(photos / label / f"{number}.png")
    with Gallery.from_folder(photos, tmp_path / "odd.kcrc", feature=make("lbp", grid=(2, 2))) as gallery:
        assert gallery.predict(odd_pictures()).tolist() == ["plain", "static"]
        gallery.remove([row.id for row in gallery.contents.rows if row.label == "static"])
        assert gallery.predict(odd_pictures()).tolist() == ["plain", "unknown"]


def test_one_class_alone_is_unknown_until_somebody_asks_whether_it_is_like_it(tmp_path: Path) -> None:
    for i in range(10):
        photo(tmp_path / "photos" / "wren" / f"{i}.jpg", "wren", i)
    with Gallery.from_folder(tmp_path / "photos", tmp_path / "one.kcrc", feature="pixels") as gallery:
        asked = [photo(tmp_path / "q.jpg", "wren", 60), photo(tmp_path / "o.jpg", "owl", 60)]
        assert gallery.predict(asked).tolist() == ["unknown", "unknown"]
        assert gallery.predict(asked, reject=0.1).tolist() == ["wren", "unknown"]
        assert gallery.classifier().predict(gallery.answering.feature().transform(asked)).tolist() == ["wren", "wren"]


def test_sets_are_ordered_and_grow_with_the_coverage(made: Gallery, queries: list[Path]) -> None:
    classifier = made.classifier()
    evidence = made.explain(queries)
    sizes = []
    for coverage in (0.5, 0.9, 0.96):
        found = answers_of(classifier.confidence_, evidence, coverage=coverage)
        for i in range(len(found)):
            likely = found.likely(i)
            assert list(likely.values()) == sorted(likely.values(), reverse=True)
            assert list(found.set_of(i)) == [name for name in likely if name in found.set_of(i)]
        sizes.append(int(found.members.sum()))
    assert sizes == sorted(sizes)


def test_too_few_examples_say_what_to_do(tmp_path: Path) -> None:
    with Gallery.from_folder(folder(tmp_path / "photos", 1), tmp_path / "few.kcrc", feature="pixels") as gallery:
        query = [tmp_path / "photos" / "wren" / "0.jpg"]
        assert gallery.predict_proba(query).shape == (1, 3)
        with pytest.raises(StateError, match="kcrc tune"):
            gallery.predict(query, reject=0.1)
        with pytest.raises(StateError, match="kcrc tune"):
            gallery.predict_set(query)


def test_no_images_have_no_labels(made: Gallery) -> None:
    assert made.predict([], reject=0.1).shape == (0,)


def test_audit_finds_the_planted_mistakes_by_id(made: Gallery, tmp_path: Path) -> None:
    wrong = made.find(source=str(tmp_path / "photos" / "wren" / "3.jpg"))
    made.relabel(wrong, "robin")
    found = made.audit()
    assert (found.examples, found.asked) == (30, 30)
    assert found.rows[0] == wrong[0]
    first = found.mislabelled[0]
    assert (first.label, first.answer) == ("robin", "wren")
    assert all(made.example(row).label == "wren" for row, _ in first.because)
    assert made.audit([1, 2]).asked == 2
    with pytest.raises(ParameterError, match="99"):
        made.audit([99])


def _rows(confidence, **parts):
    return {"exclusion": dataclasses.replace(confidence.exclusion, **parts)}


@pytest.mark.parametrize(
    "damage",
    [
        lambda c: {"exclusion": None},
        lambda c: {"calibration": 3},
        lambda c: {"open_set": "x"},
        lambda c: _rows(c, ids=c.exclusion.ids[:3]),
        lambda c: _rows(c, groups=-1 - c.exclusion.groups),
        lambda c: _rows(c, means=np.ones((2, 2)), weights=np.ones(30)),
        lambda c: {"calibration": type(c.calibration)(temperature=0.0)},
        lambda c: {"open_set": None},
    ],
)
def test_what_does_not_fit_together_is_learned_anew(made: Gallery, damage) -> None:
    """A file whose checksums were made to match, but with other parts in it."""
    classifier = made.classifier()
    kept = classifier.confidence_
    classifier.confidence_ = dataclasses.replace(kept, **damage(kept))
    made.keep_tuned(classifier, next_id=31)
    made.close()
    with Gallery.open(made.path) as again:
        with pytest.warns(UnreadableTuning, match="does not fit together|cannot have"):
            again.classifier()
        assert again.predict_proba([made.path.parent / "photos" / "wren" / "0.jpg"]).shape == (1, 3)


GIVEN = {"n_neighbors": 9, "scaling": "within", "kernel": "rbf", "gamma": "scale", "form": "rkhs",
         "decision": "residual", "locality": "atoms", "random_state": 0}  # fmt: skip


@pytest.fixture
def vectors(tmp_path: Path) -> Gallery:
    """A gallery of vectors, tuned."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = (3.0 * rng.normal(size=(3, 6))[y] + rng.normal(size=(60, 6))).astype(np.float32)
    gallery = Gallery.create(tmp_path / "v.kcrc", dim=6)
    gallery.add(np.array(["heron", "robin", "wren"])[y], X)
    gallery.tune(parameters=GIVEN)
    return gallery


def check_true_of_examples(path: Path, queries, *, given=GIVEN) -> None:
    """What a reader is told is what a fit of the examples there are says."""
    with Gallery.open(path, readonly=True) as gallery:
        ids, X, y = gallery.vectors()
        stored = gallery.answering.answerer()
        fresh = KCRCClassifier(**given, mu=stored.model.method.coder.mu).fit(X, y, rows=ids)
        np.testing.assert_array_equal(stored.model.ids, ids)
        np.testing.assert_allclose(stored.answer(queries).probabilities, fresh.predict_proba(queries), rtol=1e-5)
        np.testing.assert_allclose(
            stored.explain(queries).residuals, fresh.explain(queries).residuals, rtol=1e-4, atol=1e-5
        )


MORE = np.random.default_rng(2).normal(size=(3, 6)).astype(np.float32)
CHANGES = (
    lambda g: g.remove([59, 60]),  # the last ids
    lambda g: g.undo(),
    lambda g: g.remove([1]),
    lambda g: g.add(["owl"] * 2, MORE[:2]),
    lambda g: g.relabel([2], "wren"),
    lambda g: g.undo(),
    lambda g: g.undo(),
    lambda g: g.redo(),
    lambda g: g.rename_class("owl", "tawny owl"),
    lambda g: g.rename_class("tawny owl", "heron"),
)


@pytest.mark.parametrize("asked_between", ["no", "here", "elsewhere"])
def test_after_every_edit_answers_and_their_calibration_are_those_of_the_examples(
    vectors: Gallery, asked_between: str
) -> None:
    path = vectors.path
    given = {**GIVEN, "scaling": "unit", "gamma": 0.5}  # which learn nothing
    queries = np.random.default_rng(1).normal(size=(12, 6)).astype(np.float32)
    vectors.tune(parameters=given)
    for change in CHANGES:
        if asked_between == "here":
            vectors.classifier()
        change(vectors)
        if asked_between == "elsewhere":
            with Gallery.open(path) as other:
                other.classifier()
        check_true_of_examples(path, queries, given=given)
    vectors.close()


def test_a_learned_scaling_stays_until_more_than_a_twentieth_of_the_examples_changed(vectors: Gallery) -> None:
    path, queries = vectors.path, np.random.default_rng(1).normal(size=(12, 6)).astype(np.float32)
    check_true_of_examples(path, queries)
    before = vectors.classifier().model_.method
    vectors.remove([1])
    vectors.relabel([2], "wren")
    now = vectors.classifier()
    assert now.model_.method is before
    assert len(now.confidence_.left_out) == 59
    vectors.close()
    with Gallery.open(path) as again:
        same_answers = again.classifier().predict_proba(queries)
        np.testing.assert_allclose(same_answers, now.predict_proba(queries), rtol=1e-5)
        again.relabel([3], "robin")  # the third of 59
        assert again.classifier().model_.method.scaling is not before.scaling
    check_true_of_examples(path, queries)


def count_questions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many examples are asked, from now on, each time that some are."""
    asked: list[int] = []
    real = LeftOut._compute.__func__

    def counted(cls: type, model: object, exclusion: object, order: np.ndarray) -> LeftOut:
        asked.append(len(order))
        return real(cls, model, exclusion, order)

    monkeypatch.setattr(LeftOut, "_compute", classmethod(counted))
    return asked


def test_an_edit_asks_no_example_and_the_next_question_asks_those_it_touches_once(
    vectors: Gallery, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors.classifier()
    asked = count_questions(monkeypatch)
    vectors.relabel([1], "owl")
    vectors.undo()
    vectors.redo()
    vectors.remove([2])
    assert not asked
    vectors.classifier()
    assert 0 < sum(asked) < 2 * 59  # known queries and strangers
    asked.clear()
    vectors.close()
    with Gallery.open(vectors.path, readonly=True) as again:
        again.classifier()
        assert not asked  # it was kept
    with Gallery.open(vectors.path) as writer:
        writer.rename_class("owl", "tawny owl")
        confidence = writer.classifier().confidence_
        assert not asked  # another name changes no answer
        assert "tawny owl" in confidence.sets.names.tolist()
        assert "owl" not in confidence.sets.names.tolist()


def test_what_was_learned_from_an_erased_example_goes_though_the_parameters_were_chosen_before(
    vectors: Gallery,
) -> None:
    tuned_by = vectors.settings.tuned
    vectors.add(["owl"], MORE[:1])
    vectors.remove([61])
    vectors.classifier()  # it was never learned from
    vectors.erase([61])
    assert vectors.settings.tuned == tuned_by
    (late,) = vectors.add(["owl"], MORE[1:2]).ids
    vectors.classifier()
    vectors.remove([late])
    vectors.classifier()
    vectors.erase([late])
    assert vectors.settings.tuned == 0


def test_what_cannot_be_learned_leaves_the_change_as_it_is(vectors: Gallery, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise StateError("no")

    monkeypatch.setattr(LeftOut, "of", broken)
    assert vectors.remove([1]) == (1,)
    assert 1 not in vectors.contents.ids
    assert vectors.classifier().predict(np.zeros((1, 6), np.float32)).shape == (1,)
