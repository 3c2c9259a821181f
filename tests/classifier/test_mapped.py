"""Examples in mapped files: the answers of examples in memory, bounded memory, and nothing left of what is gone."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pytest
from problems import problem

from kcrc import KCRCClassifier, scaling
from kcrc._base import arrays, mapped
from kcrc._base.mapped import is_mapped
from kcrc.errors import DataError, FileError, ParameterError
from kcrc.native import native
from kcrc.updates import pending
from lab.bench.scale.limited import measure, nearest_by_all
from lab.bench.scale.point import make_data

compiled = pytest.mark.skipif(native is None, reason="the compiled module is not built")
GIVEN = {
    "scaling": "plain", "kernel": "rbf", "gamma": 0.05, "mu": 0.05, "form": "rkhs", "decision": "ratio",
    "locality": "atoms",
}  # fmt: skip


def given(**options) -> KCRCClassifier:
    return KCRCClassifier(**{"n_neighbors": 12, **GIVEN, **options})


def on_disk(folder: Path, X: np.ndarray, name: str = "X.npy") -> np.ndarray:
    np.save(folder / name, X)
    return np.load(folder / name, mmap_mode="r")


def pair(folder: Path, X: np.ndarray, y: np.ndarray, **options) -> tuple[KCRCClassifier, KCRCClassifier]:
    """One in memory, one of a mapped array."""
    return given(**options).fit(X, y), given(**options).fit(on_disk(folder, X), y)


def assert_same(one: KCRCClassifier, other: KCRCClassifier, queries: np.ndarray) -> None:
    ours, theirs = one.explain(queries), other.explain(queries)
    for name in ("rows", "distances", "residuals", "contributions", "winner"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


@pytest.fixture
def small_blocks(monkeypatch):
    """A few examples are several blocks."""
    monkeypatch.setattr(arrays, "BLOCK", 8 * 10 * 64)


@pytest.fixture
def larger_than_memory(monkeypatch):
    """A few examples in a mapped file are larger than any budget."""
    size = pending.sample_size
    monkeypatch.setattr(pending, "sample_size", lambda X, n, budget: size(X, n, 0))
    monkeypatch.setattr("kcrc.classifier.incremental.sample_size", lambda X, n, budget: size(X, n, 0))
    monkeypatch.setitem(pending.SAMPLE, "fewest", 120)


def test_whether_an_array_is_mapped(tmp_path):
    X = np.arange(60.0).reshape(20, 3)
    there = on_disk(tmp_path, X)
    for one in (there, np.asarray(there), there[2:, :2], there.T, np.frombuffer(there.data, float)):
        assert is_mapped(one)
    for one in (X, there[[1, 2]], there + 1, np.array(there), X[3:]):
        assert not is_mapped(one)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_mapped_array_stays_where_it_is(tmp_path, dtype):
    X, y, queries = problem(0, n=300, d=10, classes=4, queries=30)
    there = on_disk(tmp_path, X.astype(dtype))
    clf = given().fit(there, y)
    clf.predict(queries)
    assert np.shares_memory(clf.model_.raw, there) == (dtype != np.float16 or native is not None)
    assert is_mapped(clf.model_.raw)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    "options",
    [{}, {"scaling": "unit"}, {"form": "raw"}, {"distance": "manhattan", "kernel": "exp"}, {"n_candidates": 40},
     {"distance": "correlation", "kernel": "exp"}, {"scaling": "within"}, {"n_neighbors": None},
     {"locality": "classes", "n_neighbors": 2}],
    ids=str,
)  # fmt: skip
def test_answers_are_those_of_examples_in_memory(tmp_path, dtype, options):
    X, y, queries = problem(0, n=500, d=10, classes=4, queries=30)
    X, queries = X.astype(dtype), queries.astype(np.float32)
    one, other = pair(tmp_path, X[:400], y[:400], **options)
    assert_same(one, other, queries)
    gone = one.explain(queries).rows[:2, :3].ravel()
    for clf in (one, other):
        clf.forget(np.unique(gone)).partial_fit(X[400:], y[400:])
    assert one.receipt_ == other.receipt_
    assert_same(one, other, queries)
    for clf in (one, other):
        clf.forget([399, 401])
    assert_same(one, other, queries)
    np.testing.assert_array_equal(one.model_.raw, other.model_.raw)
    assert is_mapped(other.model_.raw)
    assert other.verify(other.receipt_)
    np.testing.assert_array_equal(np.load(tmp_path / "X.npy"), X[:400])  # the caller's file is the caller's


@pytest.mark.usefixtures("small_blocks", "larger_than_memory")
@pytest.mark.parametrize(
    "options", [{}, {"scaling": "unit"}, {"distance": "correlation", "kernel": "exp"}, {"form": "raw"}], ids=str
)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_all_that_is_made_of_examples_larger_than_memory_is_mapped(tmp_path, dtype, options):
    X, y, queries = problem(0, n=500, d=10, classes=4, queries=30)
    one, other = pair(tmp_path, X.astype(dtype), y, **options)
    for clf in (one, other):
        clf.partial_fit(X[:5] + 1, y[:5]).forget([3, 501])
    assert_same(one, other, queries.astype(np.float32))
    arrays_kept = [part for store in other.model_.stores.values() for part in store.content.parts.values()]
    assert all(is_mapped(part) for part in arrays_kept if part.ndim > 1)


def test_choices_are_those_of_examples_in_memory_where_they_fit(tmp_path):
    X, y, queries = problem(0, n=150, d=10, classes=3)
    one, other = (KCRCClassifier(tuning_seconds=0.5).fit(some, y) for some in (X, on_disk(tmp_path, X)))
    assert one.tuning_.best == other.tuning_.best
    np.testing.assert_array_equal(one.predict_proba(queries), other.predict_proba(queries))


@compiled
def test_codes_of_mapped_examples_are_mapped_and_grow(tmp_path):
    X, y, queries = problem(0, n=9000, d=64, classes=4, queries=20)
    X = X.astype(np.float16)
    other = given(memory_budget=2**20).fit(on_disk(tmp_path, X[:8900]), y[:8900])  # too little for codes in memory
    one = given().fit(X[:8900], y[:8900])
    assert_same(one, other, queries.astype(np.float32))
    assert is_mapped(other.model_.index.scan.codes.codes)
    for clf in (one, other):
        clf.partial_fit(X[8900:8950], y[8900:8950])
    assert_same(one, other, queries.astype(np.float32))
    codes, vectors = other.model_.index.scan.codes, other.model_.vectors
    for clf in (one, other):
        clf.partial_fit(X[8950:], y[8950:])
    assert_same(one, other, queries.astype(np.float32))
    assert np.shares_memory(other.model_.index.scan.codes.codes, codes.codes)  # there was room
    assert np.shares_memory(other.model_.vectors, vectors)
    assert is_mapped(codes.codes)


def test_a_class_that_is_forgotten_is_no_answer(tmp_path):
    X, y, queries = problem(0, n=300, d=10, classes=4, queries=30)
    one, other = pair(tmp_path, X, y)
    for clf in (one, other):
        clf.forget_class(y[0])
    assert y[0] not in other.classes_
    assert_same(one, other, queries)


def test_a_class_may_be_announced(tmp_path):
    X, y, queries = problem(0, n=300, d=10, classes=4, queries=30)
    clf = given().partial_fit(on_disk(tmp_path, X), y, classes=[99])
    assert 99 in clf.classes_
    assert_same(given().partial_fit(X, y, classes=[99]), clf, queries)


def test_a_value_stays_what_it_was(tmp_path):
    X, y, queries = problem(0, n=300, d=10, classes=4, queries=30)
    other = pair(tmp_path, X, y)[1]
    before, vectors = other.model_, np.array(other.model_.vectors)
    other.partial_fit(queries, y[:30]).forget([0, 1, 2])
    other.predict(queries)
    np.testing.assert_array_equal(before.vectors, vectors)
    assert len(before) == 300


@compiled
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_process_adds_to_files_of_its_own(tmp_path):
    X, y, queries = problem(0, n=9000, d=64, classes=4, queries=20)
    one, other = pair(tmp_path, X[:8800], y[:8800])
    for clf in (one, other):
        clf.partial_fit(X[8800:8900], y[8800:8900]).predict(queries)  # now there is room behind them
    wait, go = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.read(wait, 1)
            other.partial_fit(-X[8900:], y[8900:])
        finally:
            os._exit(0)
    for clf in (one, other):
        clf.partial_fit(X[8900:], y[8900:]).predict(queries)
    os.write(go, b"!")
    assert os.waitpid(child, 0) == (child, 0)
    assert_same(one, other, queries)
    np.testing.assert_array_equal(one.model_.vectors, other.model_.vectors)


@pytest.mark.usefixtures("larger_than_memory")
def test_what_is_learned_comes_from_a_sample(tmp_path):
    X, y, queries = problem(0, n=400, d=10, classes=3, queries=30)
    clf = given(scaling="standard").fit(on_disk(tmp_path, X), y)
    rows = pending.sample_rows(np.arange(400), 120, 0)
    np.testing.assert_allclose(clf.model_.method.scaling.mean, X[rows].mean(axis=0))
    outside = np.setdiff1d(np.arange(400), rows)[:3]
    clf.forget(outside)
    assert clf.renewal_due_ is None
    clf.forget(rows[:3])
    assert clf.renewal_due_ is not None
    left = np.delete(np.arange(400), np.concatenate([outside, rows[:3]]))
    anew = given(scaling="standard").fit(on_disk(tmp_path, X[left], "left.npy"), y[left], rows=left)
    assert_same(clf, anew, queries)
    np.testing.assert_array_equal(clf.predict_proba(queries), anew.predict_proba(queries))
    assert len(clf.confidence_.exclusion.ids) == 120
    assert clf.verify(clf.receipt_)


@pytest.mark.usefixtures("larger_than_memory")
def test_parameters_are_chosen_on_the_sample(tmp_path):
    X, y, _ = problem(0, n=600, d=10, classes=3)
    clf = KCRCClassifier(tuning_seconds=0.5).fit(on_disk(tmp_path, X), y, groups=np.arange(600) // 2)
    rows = pending.sample_rows(np.arange(600), 120, 0)
    few = KCRCClassifier(locality="atoms", tuning_seconds=0.5).fit(X[rows], y[rows], groups=rows // 2)
    assert clf.tuning_.best == few.tuning_.best
    assert clf.retune().tuning_.best is not None
    assert len(clf.model_) == 600


def test_only_what_is_larger_than_the_budget_is_sampled(tmp_path):
    X = on_disk(tmp_path, np.zeros((2000, 100), np.float32))
    assert pending.sample_size(X, 2000, 800_000) == 2000
    assert pending.sample_size(X, 2000, 799_999) == pending.SAMPLE["fewest"]
    assert pending.sample_size(np.array(X), 2000, 799_999) == 2000


def test_a_temporary_file_has_no_name_and_an_end_leaves_none(tmp_path):
    code = (
        "import numpy as np, sys, time\n"
        "from kcrc import KCRCClassifier\n"
        "np.save(sys.argv[1], np.random.default_rng(0).random((2000, 8)))\n"
        "clf = KCRCClassifier(5, scaling='unit', kernel='rbf', gamma=1.0, mu=0.1, form='rkhs', decision='ratio',\n"
        "                     locality='atoms', memory_budget=2**20)\n"
        "X = np.load(sys.argv[1], mmap_mode='r')\n"
        "clf.fit(X, np.arange(2000) % 3).partial_fit(X[:1], [0]).predict(X[:1])\n"
        "print('ready', flush=True); time.sleep(60)\n"
    )
    files = tmp_path / "temporary"
    files.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "X.npy")],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(files)},
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        assert list(files.iterdir()) == []
        child.send_signal(signal.SIGKILL)
    assert list(files.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="blocks are taken by writing here")
def test_a_full_disk_is_an_error_in_words_and_changes_nothing(tmp_path, monkeypatch):
    X, y, queries = problem(0, n=300, d=10, classes=4, queries=30)
    other = pair(tmp_path, X, y)[1]
    before = other.predict(queries)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(FileError, match=r"cannot hold [\d,]+ bytes of examples: No space left on device"):
        other.partial_fit(X, y)
    np.testing.assert_array_equal(other.predict(queries), before)
    assert len(other.model_) == 300


def test_without_a_way_to_take_blocks_they_are_written(monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    monkeypatch.setattr(mapped, "BLOCK", 1000)
    made = mapped.allocate((70, 9), np.float64, mapped=True)
    assert is_mapped(made)
    assert not made.any()


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    ("value", "words"), [(np.nan, "contains NaN in row 333"), (np.inf, "contains infinity in row 333")]
)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_what_is_no_number_is_found_in_the_stream(tmp_path, value, words, dtype):
    X, y, _ = problem(0, n=400, d=10)
    X = X.astype(dtype)
    X[333, 4] = value
    for some in (X, on_disk(tmp_path, X)):
        with pytest.raises(DataError, match=words):
            given().fit(some, y)
    kept = given().fit(X[:300], y[:300])
    with pytest.raises(DataError, match=words.replace("333", "33")):
        kept.partial_fit(X[300:], y[300:])
    assert len(kept.model_) == 300


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("there", [np.array, None])
def test_what_is_too_large_is_found_in_the_stream(tmp_path, there):
    X, y, _ = problem(0, n=400, d=10)
    X = X.astype(np.float32)
    X[333] *= 1e20
    with pytest.raises(DataError, match="Row 333 of X has the length"):
        given().fit(X if there else on_disk(tmp_path, X), y)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("there", [np.array, None])
def test_what_the_metric_makes_too_large_is_named_by_its_row(tmp_path, there):
    X, y, _ = problem(0, n=400, d=10)
    X = X.astype(np.float32)
    fitted = scaling.make("standard").fit(1e-8 * X, y)
    X[333] *= 1e9
    with pytest.raises(DataError, match=r"Row 333 of X has the length .* under the scaling Standard"):
        given(scaling=fitted).fit(X if there else on_disk(tmp_path, X), y)


@pytest.mark.usefixtures("larger_than_memory")
@pytest.mark.parametrize(
    "options",
    [{"n_neighbors": None}, {"locality": "classes"}, {"distance": "precomputed", "kernel": "exp"}, {"search": "cells"}],
    ids=str,
)
def test_what_needs_all_examples_in_memory_is_refused_where_they_are_larger(tmp_path, options):
    X, y, _ = problem(0, n=200, d=40)
    X = np.abs(X @ X.T)
    with pytest.raises(ParameterError, match="X is a mapped array larger than memory_budget='512MB', and "):
        given(**options).fit(on_disk(tmp_path, X), y)
    assert given(**options).fit(X, y).predict(X[:3]).shape == (3,)


@pytest.mark.usefixtures("small_blocks")
def test_it_is_saved_and_loaded_in_a_stream(tmp_path):
    X, y, queries = problem(0, n=400, d=10, classes=4, queries=30)
    one, other = pair(tmp_path, X, y)
    one.forget([7])
    other.forget([7])
    path = tmp_path / "saved.kcrc"
    other.save(path)
    for loaded in (KCRCClassifier.load(path), KCRCClassifier.load(path, mmap_mode="r")):
        assert_same(one, loaded, queries)
        np.testing.assert_array_equal(loaded.predict_proba(queries), other.predict_proba(queries))
    assert is_mapped(loaded.model_.raw)
    with pytest.raises(ParameterError, match="mmap_mode must be \"r\" or None; got 'w'"):
        KCRCClassifier.load(path, mmap_mode="w")


def test_a_file_that_names_a_storage_opens_and_a_damaged_one_is_refused(tmp_path):
    """Earlier versions had a parameter of that name."""
    X, y, queries = problem(0, n=60, d=10)
    path, earlier, damaged = (tmp_path / name for name in ("saved", "earlier", "damaged"))
    clf = given().fit(X, y)
    clf.save(path)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(earlier, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "header.json":
                header = json.loads(content)
                header["parameters"]["storage"] = str(tmp_path)
                content = json.dumps(header).encode()
            new.writestr(name, content)
    loaded = KCRCClassifier.load(earlier)
    assert "storage" not in loaded.get_params()
    assert_same(clf, loaded, queries)
    content = bytearray(path.read_bytes())
    content[content.index(b"vectors.npy") + 1000] ^= 1
    damaged.write_bytes(content)
    with pytest.raises(FileError, match="is damaged"):
        KCRCClassifier.load(damaged, mmap_mode="r")


def test_what_joblib_maps_answers_as_it_did(tmp_path):
    X, y, queries = problem(0, n=300, d=10, classes=4, queries=30)
    one = given().fit(X, y)
    joblib.dump(one, tmp_path / "kept.joblib")
    other = joblib.load(tmp_path / "kept.joblib", mmap_mode="r")
    for clf in (one, other):
        clf.partial_fit(queries, y[:30]).forget([0, 1, 2])
    assert_same(one, other, queries)


@compiled
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs RLIMIT_DATA over all memory")
def test_memory_is_bounded_with_examples_larger_than_it(tmp_path):
    """77 MB of examples in a process that may have 64 MB beyond what it began with; in memory they do not fit.

    It takes 54 MB, of which 20 are the sample of 10,000 in which groups are looked for, in single precision."""
    make_data(tmp_path, 150_000, 256, "float16")
    found = measure(tmp_path, 20, beyond=64_000_000, budget=16_000_000)
    assert found["data"] == 76_800_000
    assert [line[:20] for line in found["rows"][:2]] == nearest_by_all(tmp_path, 20, 2)
    assert found["found_again"] == 0
    assert found["sums_to_one"]
    with pytest.raises(RuntimeError, match="Unable to allocate"):
        measure(tmp_path, 20, beyond=64_000_000, budget=16_000_000, mapped=False)
