"""ImageClassifier: what goes in, the verbs of a classifier, and that they agree with one another."""

from __future__ import annotations

import io

import numpy as np
import pytest
from photos import photo
from PIL import Image
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from images.looks.drawings import SHAPES, drawing, drawings
from kcrc import ImageClassifier, KCRCClassifier, errors, looks
from kcrc.files.archive import read_archive, write_archive
from kcrc.images.looks.choice import Choice, LookScore

NEW, TRUTH = drawings(4, first=100)


def small(**options):
    return ImageClassifier(**{"looks": ["pixels"], "tuning_seconds": 1, "verbose": False, **options})


def test_it_answers_right_and_says_what_it_chose(fitted):
    assert np.mean(fitted.predict(NEW) == TRUTH) >= 0.9
    choice = fitted.choice_
    assert set(choice.weights) <= {line["look"] for line in choice.table}
    assert choice.asked == 36
    assert f"{choice.right} of 36 examples are answered right when left out" in choice.sentence
    assert {line["look"] for line in choice.table} == {"pixels", "hog", "tangent", "join of hog + pixels"}
    assert choice.sentence in repr(choice)
    assert "behind 0.0 ± 0.0 points" in repr(choice)


def test_the_columns_hold_names_of_joins():
    names = ["hog", "join of hog + pixels + colour", "join of " + " + ".join(["coarse pyramid"] * 6)]
    choice = Choice({"hog": 1.0}, tuple(LookScore(name, right=3, asked=4) for name in names), "single", 3, 4)
    short, join, long = repr(choice).splitlines()[1:]
    assert short.index("3 of 4 right") == join.index("3 of 4 right") == 2 + 48 + 1 + 5 + 2
    assert long.startswith(f"  {names[2]} ")
    narrow = repr(Choice({"hog": 1.0}, (LookScore("hog", right=3, asked=4),), "single", 3, 4)).splitlines()[1]
    assert narrow.index("3 of 4 right") == 2 + 16 + 1 + 5 + 2


def test_all_looks_are_judged_on_the_same_examples(fitted):
    assert {line["asked"] for line in fitted.choice_.table} == {36}


def test_verbs_agree(fitted):
    probability, labels = fitted.predict_proba(NEW), fitted.predict(NEW)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(fitted.classes_[probability.argmax(axis=1)], labels)
    np.testing.assert_array_equal(fitted.classes_[fitted.decision_function(NEW).argmax(axis=1)], labels)
    evidence = fitted.explain(NEW)
    np.testing.assert_array_equal(evidence.labels, labels)
    np.testing.assert_allclose(np.abs(evidence.shares).sum(axis=1), 1.0)
    assert set(evidence.rows.ravel()) <= {-1, *range(36)}
    members = fitted.predict_set(NEW, coverage=0.8)
    assert members.shape == probability.shape
    assert fitted.predict(NEW, reject=0.05).shape == labels.shape
    assert np.isfinite(fitted.unknown_score(NEW)).all()
    assert "Audit of 36 examples" in str(fitted.audit())
    assert str(fitted.advise(NEW, count=2))
    assert str(fitted.likeness(np.concatenate([NEW] * 3)))


def test_an_answer_does_not_depend_on_the_batch(fitted):
    together = fitted.explain(NEW)
    for at in range(3):
        alone = fitted.explain(NEW[at : at + 1])
        np.testing.assert_allclose(alone.residuals[0], together.residuals[at], rtol=1e-6)


def test_a_second_fit_chooses_the_same(fitted):
    images, labels = drawings(12)
    again = clone(fitted).fit(images, labels)
    assert again.choice_.weights == fitted.choice_.weights
    np.testing.assert_array_equal(again.predict_proba(NEW), fitted.predict_proba(NEW))


def test_examples_that_come_and_go_leave_no_trace(fitted):
    images, labels = drawings(12)
    made = clone(fitted).fit(images, labels)
    before = made.predict_proba(NEW)
    made.partial_fit(np.stack([drawing("ring", 500), drawing("bar", 501)]), ["disc", "bar"])
    assert "disc" in made.classes_
    made.forget([36, 37])
    assert list(made.classes_) == sorted(SHAPES)
    assert made.verify(made.receipt_)
    np.testing.assert_array_equal(made.predict_proba(NEW), before)
    made.forget_class("ring")
    assert "ring" not in made.predict(NEW)


def test_a_failed_change_leaves_everything_as_it_was(fitted):
    before = fitted.predict_proba(NEW)
    with pytest.raises(errors.ParameterError, match="No stored example has row number 999"):
        fitted.forget([0, 999])
    with pytest.raises(errors.DataError):
        fitted.partial_fit(NEW, TRUTH[:-1])
    np.testing.assert_array_equal(fitted.predict_proba(NEW), before)


def test_images_come_in_many_forms(tmp_path):
    images, labels = drawings(6, colour=True)
    paths = []
    for number, image in enumerate(images):
        paths.append(tmp_path / f"{number}.png")
        Image.fromarray(image).save(paths[-1])
    by_array = small().fit(images, labels).predict_proba(images)
    for given in (
        list(images), paths, [str(path) for path in paths], [path.read_bytes() for path in paths],
        [Image.fromarray(image) for image in images],
    ):  # fmt: skip
        np.testing.assert_array_equal(small().fit(given, labels).predict_proba(given), by_array)


def test_pictures_may_differ_in_size_and_be_grey_or_in_colour():
    images = [drawing(shape, seed, 16 + 3 * (seed % 4), colour=seed % 2 == 0) for seed in range(8) for shape in SHAPES]
    labels = np.array(SHAPES * 8)
    made = small(looks=["pixels", "hog"]).fit(images, labels)
    assert np.mean(made.predict(images) == labels) > 0.9


def test_the_range_of_numbers_does_not_matter():
    images, labels = drawings(6)
    grey = images / 255.0
    usual = small().fit(grey, labels).predict_proba(grey)
    shifted = small().fit(2.0 * grey - 1.0, labels)
    np.testing.assert_allclose(shifted.predict_proba(2.0 * grey - 1.0), usual, atol=1e-4)
    whole = small().fit(images.astype(np.int32), labels)
    assert whole.form_.high == images.max()


@pytest.mark.parametrize(
    ("images", "said"),
    [
        (np.zeros((4, 9)), "For vectors use KCRCClassifier"),
        ("one.png", "Give a list of images"),
        (Image.new("L", (4, 4)), "Give a list of images"),
        ([np.zeros((3, 3, 5))] * 4, r"A picture is an array \(h, w\) or \(h, w, 3\)"),
        (np.full((4, 3, 3), np.nan), "finite numbers"),
        ([b"nonsense"] * 4, "not an image"),
        (7, "or a list; got"),
    ],
)
def test_what_is_no_image_is_refused(images, said):
    with pytest.raises(errors.DataError, match=said):
        small().fit(images, ["a", "b", "a", "b"])


def test_wrong_options_are_refused():
    images, labels = drawings(3)
    with pytest.raises(errors.UnknownName, match=r"Unknown look 'hogg'.*Did you mean 'hog'"):
        small(looks=["hogg"]).fit(images, labels)
    with pytest.raises(errors.ParameterError, match="makes no sense for these pictures"):
        small(looks=["colour"]).fit(images, labels)
    with pytest.raises(errors.ParameterError, match="tuning_seconds must be a positive number"):
        small(tuning_seconds=0).fit(images, labels)
    with pytest.raises(errors.DataError, match="one label per image"):
        small().fit(images, labels[:-1])
    with pytest.raises(errors.DataError, match="got 2 entries"):
        small().fit(images, labels, groups=[1, 2])


def test_scikit_learns_tools_take_it():
    images, labels = drawings(8)
    scores = cross_val_score(small(), images, labels, cv=3)
    assert scores.shape == (3,)
    assert clone(small()).get_params()["looks"] == ["pixels"]


def test_a_file_answers_the_same(fitted, tmp_path):
    fitted.save(tmp_path / "shapes.kcrc")
    loaded = ImageClassifier.load(tmp_path / "shapes.kcrc")
    np.testing.assert_array_equal(loaded.predict_proba(NEW), fitted.predict_proba(NEW))
    assert loaded.choice_.sentence == fitted.choice_.sentence
    loaded.partial_fit(NEW, TRUTH)
    assert len(loaded.model_) == 48


def test_a_damaged_file_is_refused(fitted, tmp_path):
    path = tmp_path / "shapes.kcrc"
    fitted.save(path)
    with pytest.raises(errors.FileError, match="not a kcrc-classifier file"):
        KCRCClassifier.load(path)
    (tmp_path / "half.kcrc").write_bytes(path.read_bytes()[:2000])
    with pytest.raises(errors.FileError):
        ImageClassifier.load(tmp_path / "half.kcrc")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda header: header["experts"][0].update(weight=-1.0), "must be positive"),
        (lambda header: header["form"].update(side="wide"), "PictureForm must have numbers"),
        (lambda header: header["experts"][0]["look"]["dict"].update(look="python"), "does not describe"),
        (lambda header: header.update(version=9), "newer kcrc"),
        (lambda header: header.pop("choice"), "does not describe"),
    ],
)
def test_a_forged_file_is_refused(fitted, tmp_path, change, said):
    fitted.save(tmp_path / "true.kcrc")
    header, arrays = read_archive(tmp_path / "true.kcrc", "kcrc-image-classifier")
    change(header)
    write_archive(tmp_path / "forged.kcrc", "kcrc-image-classifier", header, arrays)
    with pytest.raises(errors.FileError, match=said):
        ImageClassifier.load(tmp_path / "forged.kcrc")


def test_a_look_made_of_a_function_is_not_saved(tmp_path):
    images, labels = drawings(4)
    own = looks.of_feature("sums", lambda pictures: np.stack([p.sum(axis=(0, 2))[:8] + 1 for p in pictures]))
    made = small(looks=[own]).fit(images, labels)
    with pytest.raises(errors.DataError, match="functions cannot be saved"):
        made.save(tmp_path / "own.kcrc")


def test_retune_chooses_parameters_and_keeps_rows(fitted):
    images, labels = drawings(12)
    made = clone(fitted).fit(images, labels).partial_fit(NEW, TRUTH).forget([3])
    weights = made.choice_.weights
    made.retune()
    assert made.choice_.weights == weights
    assert 3 not in made.model_.ids
    assert np.mean(made.predict(images) == labels) > 0.9


def test_what_is_not_fitted_says_so(tmp_path):
    with pytest.raises(errors.StateError, match="not fitted"):
        small().save(tmp_path / "none.kcrc")


def test_a_pillow_image_opened_from_memory_is_taken():
    images, labels = drawings(3)
    held = io.BytesIO()
    Image.fromarray(images[0]).save(held, "PNG")
    made = small().fit(images, labels)
    assert made.predict([Image.open(io.BytesIO(held.getvalue()))])[0] in SHAPES


def columns(kind, files, labels):
    """The same paths and labels as columns of that kind."""
    if kind == "numpy":
        return np.array(files), np.array(labels)
    if kind == "numpy's own strings":
        return (np.array(texts, np.dtypes.StringDType()) for texts in (files, labels))
    if kind == "pyarrow":
        table = pytest.importorskip("pyarrow").table({"path": files, "label": labels})
        return table["path"], table["label"]
    frame = {"path": files, "label": labels}
    if kind == "polars":
        table = pytest.importorskip("polars").DataFrame(frame)
        return table["path"], table["label"]
    table = pytest.importorskip("pandas").DataFrame(frame, index=range(100, 100 + len(files)))
    return (table["path"], table["label"].astype("category")) if kind == "categories" else (table.path, table.label)


@pytest.mark.parametrize("kind", ["pandas", "categories", "pyarrow", "polars", "numpy", "numpy's own strings"])
def test_columns_of_paths_are_lists_of_paths(tmp_path, kind):
    files = [str(photo(tmp_path / f"{label}{n}.jpg", label, n)) for label in ("wren", "robin") for n in range(4)]
    labels = ["wren"] * 4 + ["robin"] * 4
    expected = small().fit(files, labels).predict_proba(files)
    paths, classes = columns(kind, files, labels)
    fitted = small().fit(paths, classes)
    assert fitted.classes_.tolist() == ["robin", "wren"]
    np.testing.assert_array_equal(fitted.predict_proba(paths), expected)
    assert len(fitted.partial_fit(paths[:2], ["wren", "wren"]).predict(paths)) == 8


def test_a_hole_in_a_column_of_paths_is_named():
    with pytest.raises(errors.DataError, match="a path, the bytes of a file or a Pillow image; got None"):
        small().fit(np.array(["a.jpg", None], object), ["wren", "robin"])


@pytest.mark.parametrize("classifier", [small(), KCRCClassifier(mu=0.01, gamma=1.0)])
def test_weights_are_refused_with_the_reason(classifier):
    images, y = drawings(2)
    examples = images if isinstance(classifier, ImageClassifier) else np.eye(len(y))
    with pytest.raises(errors.ParameterError, match=r"sample_weight must be None; got weights\. A weight of two"):
        classifier.fit(examples, y, sample_weight=np.ones(len(y)))
    with pytest.raises(TypeError, match="unexpected keyword argument 'weights'"):
        classifier.fit(examples, y, weights=np.ones(len(y)))
    assert len(classifier.fit(examples, y, sample_weight=None).classes_) == len(SHAPES)
