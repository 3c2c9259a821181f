from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from kcrc import KCRCClassifier
from kcrc.errors import DataError, FileError, KCRCError, StateError
from kcrc.files.archive import read_archive, write_archive


def problem(rng, n=60, d=6):
    X = rng.standard_normal((n, d))
    y = np.array(["wren", "robin", "owl"])[rng.integers(0, 3, n)]
    return X, y


# All given, so that fit has nothing to choose: these tests are about files.
GIVEN = {
    "n_neighbors": 8,
    "scaling": "plain",
    "kernel": "rbf",
    "gamma": "scale",
    "mu": 0.01,
    "form": "rkhs",
    "decision": "ratio",
    "locality": "atoms",
}


def same_answers(a: KCRCClassifier, b: KCRCClassifier, X) -> None:
    one, two = a.explain(X), b.explain(X)
    np.testing.assert_array_equal(one.labels, two.labels)
    np.testing.assert_array_equal(one.rows, two.rows)
    np.testing.assert_allclose(one.residuals, two.residuals, rtol=1e-9)
    np.testing.assert_allclose(one.contributions, two.contributions, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_neighbors": None, "kernel": "linear"},
        {"n_neighbors": 10, "distance": "mahalanobis", "kernel": "exp"},
        {"n_neighbors": 5, "n_candidates": 20, "distance": "manhattan", "scaling": "unit"},
        {"n_neighbors": 2, "locality": "classes", "form": "gram", "mu": 0.3},
        {"form": "raw", "decision": "residual"},
        {"kernel": "polynomial", "degree": 2, "gamma": 0.5, "random_state": np.int64(3)},
    ],
)
def test_a_loaded_classifier_gives_the_same_answers(rng, tmp_path: Path, parameters) -> None:
    X, y = problem(rng)
    fitted = KCRCClassifier(**{**GIVEN, **parameters}).fit(X, y)
    fitted.save(tmp_path / "c.kcrcmodel")
    loaded = KCRCClassifier.load(tmp_path / "c.kcrcmodel")
    assert loaded.get_params() == fitted.get_params()
    same_answers(fitted, loaded, rng.standard_normal((20, 6)))
    assert loaded.classes_.tolist() == fitted.classes_.tolist()


@pytest.mark.parametrize("metric", ["auto", "standard", "within"])
def test_a_tuned_classifier_is_kept_with_what_was_tried(rng, tmp_path: Path, metric) -> None:
    X, y = problem(rng)
    fitted = KCRCClassifier(scaling=metric, form="rkhs", locality="atoms", n_neighbors=12).fit(X, y)
    fitted.partial_fit(X[:3] + 1, ["wren", "owl", "tit"])
    fitted.save(tmp_path / "c")
    loaded = KCRCClassifier.load(tmp_path / "c")
    queries = rng.standard_normal((15, 6))
    same_answers(fitted, loaded, queries)
    assert loaded.tuning_ is not None
    assert loaded.tuning_.table == fitted.tuning_.table
    assert repr(loaded.tuning_) == repr(fitted.tuning_)
    for each in (fitted, loaded):
        each.partial_fit(X[3:16] * 2, y[3:16])
    assert fitted.retune_due_ is not None
    assert loaded.retune_due_ == fitted.retune_due_
    for each in (fitted, loaded):
        each.retune()
        assert each.retune_due_ is None
    same_answers(fitted, loaded, queries)


def test_what_came_after_fit_is_kept(rng, tmp_path: Path) -> None:
    X, y = problem(rng)
    fitted = KCRCClassifier(**GIVEN, distance="mahalanobis").fit(X, y)
    fitted.partial_fit(X[:4] * 3 + 1, ["heron"] * 4).forget([1, 2, 60])
    fitted.save(tmp_path / "c")
    loaded = KCRCClassifier.load(tmp_path / "c")
    queries = rng.standard_normal((15, 6))
    same_answers(fitted, loaded, queries)
    for each in (fitted, loaded):  # and both go on alike
        each.partial_fit(X[:3] - 2, ["wren", "owl", "tit"]).forget([61])
    same_answers(fitted, loaded, queries)


@pytest.mark.parametrize("labels", [[0, 1], [True, False], ["a", "b"], np.array(["a", "bc"], object)])
def test_labels_keep_their_type(tmp_path: Path, labels) -> None:
    fitted = KCRCClassifier().fit([[0.0], [1.0]], labels)
    fitted.save(tmp_path / "c")
    loaded = KCRCClassifier.load(tmp_path / "c")
    assert loaded.predict([[0.1]]).dtype == fitted.predict([[0.1]]).dtype
    assert loaded.predict([[0.9]])[0] == labels[1]


def test_the_width_is_remembered(tmp_path: Path) -> None:
    KCRCClassifier().fit(np.eye(3), [0, 1, 2]).save(tmp_path / "c")
    with pytest.raises(ValueError, match="3 features"):
        KCRCClassifier.load(tmp_path / "c").predict([[1.0, 2.0]])


@pytest.mark.filterwarnings("ignore::kcrc.method.distances.custom.SlowDistanceWarning")
def test_code_is_not_saved(rng, tmp_path: Path) -> None:
    X, y = problem(rng)
    fitted = KCRCClassifier(**GIVEN, distance=lambda a, b: float(abs(a - b).sum())).fit(X, y)
    with pytest.raises(DataError, match="parameter 'distance' cannot be saved"):
        fitted.save(tmp_path / "c")
    with pytest.raises(StateError, match="not fitted"):
        KCRCClassifier().save(tmp_path / "c")
    assert not list(tmp_path.iterdir())


def test_the_file_holds_arrays_and_one_json(rng, tmp_path: Path) -> None:
    KCRCClassifier(**GIVEN).fit(*problem(rng)).save(tmp_path / "c")
    with zipfile.ZipFile(tmp_path / "c") as archive:
        kinds = {name.rpartition(".")[2] for name in archive.namelist()}
        assert kinds == {"json", "npy"}
        json.loads(archive.read("header.json"))


@pytest.mark.parametrize(
    "forge",
    [
        lambda h, a: h.update(version=3),
        lambda h, a: h.update(version="2"),
        lambda h, a: h.pop("method"),
        lambda h, a: h["method"].update(part="os.system"),
        lambda h, a: h["method"]["fields"]["kernel"].update(part="subprocess.Popen"),
        lambda h, a: h["method"]["fields"]["kernel"].update(part="kernels.CallableKernel", fields={}),
        lambda h, a: h.update(method={"part": "kernels.Linear", "fields": {}}),
        lambda h, a: h["method"].update(version=0),
        lambda h, a: h["growth"].update(next_row=-1),
        lambda h, a: h["samples"].update(shape={"tuple": []}),
        lambda h, a: h.update(confidence=None),
        lambda h, a: h["confidence"]["fields"].update(asked=None),
        lambda h, a: h["confidence"]["fields"].update(usual=h["confidence"]["fields"]["asked"]),
        lambda h, a: h.update(tuning={"part": "kernel/linear", "version": 1, "fields": {}}),
        lambda h, a: h.update(parameters=7),
        lambda h, a: a.update(labels=a["labels"] + 7),
        lambda h, a: a.update(labels=a["labels"][:-1]),
        lambda h, a: a.update(ids=a["ids"] * 0),
        lambda h, a: a.update(vectors=a["vectors"] * np.nan),
        lambda h, a: a.pop("vectors"),
    ],
)
def test_forged_files_are_refused(rng, tmp_path: Path, forge) -> None:
    KCRCClassifier(**GIVEN).fit(*problem(rng)).save(tmp_path / "c")
    header, arrays = read_archive(tmp_path / "c", "kcrc-classifier")
    forge(header, arrays)
    write_archive(tmp_path / "c", "kcrc-classifier", header, arrays)
    with pytest.raises(KCRCError):
        KCRCClassifier.load(tmp_path / "c")


def array_of(value, arrays):
    """The name of the array that a description names."""
    (name,) = [name for name in arrays if name == value.get("array")]
    return name


@pytest.mark.parametrize(
    ("parameters", "field", "value"),
    [
        ({"distance": "mahalanobis", "kernel": "exp"}, ("method", "distance", "whitening"), np.inf),
        ({"scaling": "within"}, ("confidence", "exclusion", "weights"), -1.0),
        ({"scaling": "within"}, ("confidence", "exclusion", "weights"), np.nan),
    ],
)
def test_numbers_that_leave_a_query_without_neighbours_are_refused(rng, tmp_path: Path, parameters, field, value):
    KCRCClassifier(**{**GIVEN, **parameters}).fit(*problem(rng)).save(tmp_path / "c")
    header, arrays = read_archive(tmp_path / "c", "kcrc-classifier")
    first, *rest = field
    place = header[first]
    for name in rest:
        place = place["fields"][name]
    name = array_of(place, arrays)
    arrays[name] = np.full_like(arrays[name], value)
    write_archive(tmp_path / "c", "kcrc-classifier", header, arrays)
    with np.errstate(invalid="ignore"), pytest.raises(FileError):
        KCRCClassifier.load(tmp_path / "c")


def test_no_row_number_is_given_twice_whatever_a_file_says_of_the_next(rng, tmp_path: Path) -> None:
    X, y = problem(rng)
    KCRCClassifier(**GIVEN).fit(X, y).save(tmp_path / "c")
    header, arrays = read_archive(tmp_path / "c", "kcrc-classifier")
    header["growth"]["next_row"] = 7
    write_archive(tmp_path / "c", "kcrc-classifier", header, arrays)
    loaded = KCRCClassifier.load(tmp_path / "c").partial_fit(X[:2] + 0.1, y[:2])
    np.testing.assert_array_equal(loaded.model_.ids, np.arange(62))


def test_what_a_reader_does_not_know_is_passed_over(rng, tmp_path: Path) -> None:
    fitted = KCRCClassifier(**GIVEN).fit(*problem(rng))
    fitted.save(tmp_path / "c")
    header, arrays = read_archive(tmp_path / "c", "kcrc-classifier")
    header["parameters"]["nonsense"] = header["growth"]["nonsense"] = header["predict"] = 1
    header["samples"]["__class__"] = header["method"]["fields"]["nonsense"] = "x"
    write_archive(tmp_path / "c", "kcrc-classifier", header, arrays)
    loaded = KCRCClassifier.load(tmp_path / "c")
    assert vars(loaded).keys() == vars(fitted).keys()
    same_answers(fitted, loaded, rng.standard_normal((10, 6)))


@pytest.mark.parametrize("found", [3, 17])
def test_a_file_of_a_newer_version_says_so_whatever_else_is_in_it(rng, tmp_path: Path, found: int) -> None:
    KCRCClassifier(**GIVEN).fit(*problem(rng)).save(tmp_path / "c")
    header, _ = read_archive(tmp_path / "c", "kcrc-classifier")
    with zipfile.ZipFile(tmp_path / "c", "w", zipfile.ZIP_DEFLATED) as archive:  # as no version writes it today
        archive.writestr("parts/of/it.bin", b"x" * 5000)
        plain = zipfile.ZipInfo("header.json")
        archive.writestr(plain, json.dumps({**header, "version": found, "kind": "kcrc-classifier"}))
    with pytest.raises(FileError) as refused:
        KCRCClassifier.load(tmp_path / "c")
    assert str(refused.value) == (
        f"'{tmp_path / 'c'}' was written by a newer kcrc (file version {found}, this one reads up to 2). "
        "Upgrade kcrc to open it."
    )


@pytest.mark.parametrize("found", [0, -1, True, "2", None, 1.0])
def test_a_version_that_never_was_is_damage(rng, tmp_path: Path, found: object) -> None:
    KCRCClassifier(**GIVEN).fit(*problem(rng)).save(tmp_path / "c")
    header, arrays = read_archive(tmp_path / "c", "kcrc-classifier")
    write_archive(tmp_path / "c", "kcrc-classifier", {**header, "version": found}, arrays)
    with pytest.raises(FileError, match=r"unknown file version.*damaged"):
        KCRCClassifier.load(tmp_path / "c")


def test_deep_nesting_is_refused(rng, tmp_path: Path) -> None:
    KCRCClassifier(**GIVEN).fit(*problem(rng)).save(tmp_path / "c")
    header, arrays = read_archive(tmp_path / "c", "kcrc-classifier")
    value: object = 1
    for _ in range(300):
        value = {"list": [value]}
    header["parameters"]["mu"] = value
    write_archive(tmp_path / "c", "kcrc-classifier", header, arrays)
    with pytest.raises(FileError, match="nested"):
        KCRCClassifier.load(tmp_path / "c")


def test_another_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(FileError, match=r"notes\.txt"):
        KCRCClassifier.load(tmp_path / "notes.txt")
