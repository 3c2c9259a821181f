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

import numpy as np
import pytest

from kcrc import KCRCClassifier, learning_sample, metrics, standing, storage
from kcrc._fused.native import native
from kcrc.bench.scale.limited import measure, nearest_by_all
from kcrc.bench.scale.point import make_data
from kcrc.errors import DataError, FileError, ParameterError
from kcrc.neighbours.passing import PassingIndex
from problems import problem

compiled = pytest.mark.skipif(native is None, reason="the compiled module is not built")
GIVEN = {
    "metric": "plain", "kernel": "rbf", "gamma": 0.05, "mu": 0.05, "form": "rkhs", "decision": "ratio",
    "locality": "atoms",
}  # fmt: skip


def pair(folder: Path, **options) -> tuple[KCRCClassifier, KCRCClassifier]:
    """One in memory, one in ``folder``."""
    chosen = {"n_neighbors": 12, **GIVEN, **options}
    return KCRCClassifier(**chosen), KCRCClassifier(**chosen, storage=folder)


def assert_same(one: KCRCClassifier, other: KCRCClassifier, queries: np.ndarray) -> None:
    ours, theirs = one.explain(queries), other.explain(queries)
    for name in ("rows", "distances", "residuals", "contributions", "winner"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    "options",
    [{}, {"metric": "unit"}, {"form": "raw"}, {"distance": "manhattan", "kernel": "exp"}, {"n_candidates": 40}],
    ids=str,
)
def test_answers_are_those_of_examples_in_memory(tmp_path, monkeypatch, dtype, options):
    monkeypatch.setattr(storage, "BLOCK", 8 * 10 * 64)  # so that these few are several blocks
    X, y, queries = problem(0, n=500, d=10, classes=4, queries=30)
    X, queries = X.astype(dtype), queries.astype(np.float32)
    one, other = pair(tmp_path, **options)
    for clf in (one, other):
        clf.fit(X[:400], y[:400])
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
    assert_same(one, other, queries)
    assert other.verify(other.receipt_)


@compiled
def test_codes_of_mapped_examples_are_mapped_and_grow(tmp_path):
    X, y, queries = problem(0, n=9000, d=64, classes=4, queries=20)
    one, other = pair(tmp_path, memory_budget=2**20)  # too little for codes in memory
    one.set_params(memory_budget="512MB")
    for clf in (one, other):
        clf.fit(X[:8900].astype(np.float16), y[:8900])
    assert_same(one, other, queries.astype(np.float32))
    codes = other.model_.index.scan.codes
    assert codes is not None
    for clf in (one, other):
        clf.partial_fit(X[8900:].astype(np.float16), y[8900:])
    assert_same(one, other, queries.astype(np.float32))
    assert np.shares_memory(other.model_.index.scan.codes.codes, codes.codes)  # there was room


@compiled
def test_what_is_forgotten_is_passed_over_and_then_gone(tmp_path, monkeypatch):
    monkeypatch.setattr(standing, "PASSED_OVER", 4)
    X, y, queries = problem(0, n=300, d=10, classes=4, queries=30)
    one, other = pair(tmp_path)
    for clf in (one, other):
        clf.fit(X, y).predict(queries)
    file, gone = other.model_.vectors, []
    for rows in ([3], [5, 7], [8]):
        for clf in (one, other):
            clf.forget(rows)
        assert_same(one, other, queries)
        gone += rows
        assert not np.isin(other.explain(queries).rows, gone).any()
        assert np.shares_memory(other._standing._model.vectors, file)  # nothing was written anew
    for clf in (one, other):
        clf.forget([9])
    assert_same(one, other, queries)
    assert not np.shares_memory(other._standing._model.vectors, file)
    assert len(other._standing._model) == 295


@compiled
def test_whoever_wants_the_model_gets_one_without_what_is_forgotten(tmp_path):
    X, y, queries = problem(0, n=300, d=10, classes=4)
    other = pair(tmp_path)[1].fit(X, y)
    other.predict(queries)
    other.forget([3, 5])
    other.predict(queries)
    assert isinstance(other._standing.asked(other._renewed).index, PassingIndex)
    assert not np.isin([3, 5], other.model_.ids).any()
    assert len(other.model_.vectors) == 298


def test_a_class_that_is_forgotten_is_no_answer(tmp_path):
    X, y, queries = problem(0, n=300, d=10, classes=4, queries=30)
    one, other = pair(tmp_path)
    for clf in (one, other):
        clf.fit(X, y).predict(queries)
        clf.forget_class(y[0])
    assert y[0] not in other.classes_
    assert_same(one, other, queries)


def test_a_value_stays_what_it_was(tmp_path):
    X, y, queries = problem(0, n=300, d=10, classes=4, queries=30)
    other = pair(tmp_path)[1].fit(X, y)
    before, vectors = other.model_, np.array(other.model_.vectors)
    other.partial_fit(queries, y[:30]).forget([0, 1, 2])
    other.predict(queries)
    np.testing.assert_array_equal(before.vectors, vectors)
    assert len(before) == 300


@compiled
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_process_adds_to_files_of_its_own(tmp_path):
    X, y, queries = problem(0, n=9000, d=64, classes=4, queries=20)
    one, other = pair(tmp_path)
    for clf in (one, other):
        clf.fit(X[:8900], y[:8900]).predict(queries)
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


def test_what_is_learned_comes_from_a_sample(tmp_path, monkeypatch):
    monkeypatch.setattr(learning_sample, "MOST", 120)
    X, y, queries = problem(0, n=400, d=10, classes=3, queries=30)
    clf = KCRCClassifier(12, **{**GIVEN, "metric": "standard"}, storage=tmp_path).fit(X, y)
    rows = learning_sample.sample_rows(np.arange(400), 120, 0)
    np.testing.assert_allclose(clf.model_.method.metric.mean, X[rows].mean(axis=0))
    outside = np.setdiff1d(np.arange(400), rows)[:3]
    clf.forget(outside)
    assert clf.renewal_due_ is None
    clf.forget(rows[:3])
    assert clf.renewal_due_ is not None
    left = np.delete(np.arange(400), np.concatenate([outside, rows[:3]]))
    anew = KCRCClassifier(12, **{**GIVEN, "metric": "standard"}, storage=tmp_path).fit(X[left], y[left], rows=left)
    assert_same(clf, anew, queries)
    np.testing.assert_array_equal(clf.predict_proba(queries), anew.predict_proba(queries))
    assert len(clf.confidence_.exclusion.ids) == 120
    assert clf.verify(clf.receipt_)


def test_parameters_are_chosen_on_the_sample(tmp_path, monkeypatch):
    monkeypatch.setattr(learning_sample, "MOST", 150)
    X, y, _ = problem(0, n=600, d=10, classes=3)
    clf = KCRCClassifier(storage=tmp_path, tuning_seconds=0.5).fit(X, y, groups=np.arange(600) // 2)
    rows = learning_sample.sample_rows(np.arange(600), 150, 0)
    few = KCRCClassifier(locality="atoms", tuning_seconds=0.5).fit(X[rows], y[rows], groups=rows // 2)
    assert clf.tuning_.best == few.tuning_.best
    assert clf.retune().tuning_.best is not None
    assert len(clf.model_) == 600


def test_the_folder_has_no_file_in_it_and_an_end_leaves_none(tmp_path):
    code = (
        "import numpy as np, sys, time\n"
        "from kcrc import KCRCClassifier\n"
        "X = np.random.default_rng(0).random((2000, 8))\n"
        "clf = KCRCClassifier(5, metric='plain', kernel='rbf', gamma=1.0, mu=0.1, form='rkhs', decision='ratio',\n"
        "                     locality='atoms', storage=sys.argv[1]).fit(X, np.arange(2000) % 3)\n"
        "print('ready', flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        assert list(tmp_path.iterdir()) == []
        child.send_signal(signal.SIGKILL)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="blocks are taken by writing here")
def test_a_full_disk_is_an_error_in_words_and_changes_nothing(tmp_path, monkeypatch):
    X, y, queries = problem(0, n=300, d=10, classes=4, queries=30)
    other = pair(tmp_path)[1].fit(X, y)
    before = other.predict(queries)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(FileError, match=r"cannot hold [\d,]+ bytes of examples: No space left on device"):
        other.fit(X[:200], y[:200])
    with pytest.raises(FileError, match="No space left on device"):
        other.partial_fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    np.testing.assert_array_equal(other.predict(queries), before)
    assert len(other.model_) == 300


@pytest.mark.parametrize(
    ("value", "words"), [(np.nan, "contains NaN: row 333"), (np.inf, "contains infinity: row 333")]
)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_what_is_no_number_is_found_in_the_stream(tmp_path, monkeypatch, value, words, dtype):
    monkeypatch.setattr(storage, "BLOCK", 8 * 10 * 64)
    X, y, _ = problem(0, n=400, d=10)
    X = X.astype(dtype)
    X[333, 4] = value
    with pytest.raises(DataError, match=words):
        pair(tmp_path)[1].fit(X, y)


@pytest.mark.parametrize("mapped", [False, True])
def test_what_is_too_large_is_found_in_the_stream(tmp_path, monkeypatch, mapped):
    monkeypatch.setattr(storage, "BLOCK", 8 * 10 * 64)
    X, y, _ = problem(0, n=400, d=10)
    X = X.astype(np.float32)
    X[333] *= 1e20
    with pytest.raises(DataError, match="Row 333 of X has the length"):
        pair(tmp_path)[mapped].fit(X, y)


@pytest.mark.parametrize("mapped", [False, True])
def test_what_the_metric_makes_too_large_is_named_by_its_row(tmp_path, monkeypatch, mapped):
    monkeypatch.setattr(storage, "BLOCK", 8 * 10 * 64)
    X, y, _ = problem(0, n=400, d=10)
    X = X.astype(np.float32)
    fitted = metrics.make("standard").fit(1e-8 * X, y)
    X[333] *= 1e9
    with pytest.raises(DataError, match=r"Row 333 of X has the length .* under the metric Standard"):
        pair(tmp_path, metric=fitted)[mapped].fit(X, y)


@pytest.mark.parametrize(
    "options",
    [{"n_neighbors": None}, {"locality": "classes"}, {"metric": "precomputed", "kernel": "exp"}],
    ids=str,
)
def test_dictionaries_as_large_as_the_examples_are_refused(tmp_path, options):
    X, y, _ = problem(0, n=40, d=40)
    with pytest.raises(ParameterError, match="storage is for local dictionaries"):
        pair(tmp_path, **options)[1].fit(np.abs(X @ X.T), y)


def test_a_search_that_copies_the_examples_is_refused(tmp_path):
    pytest.importorskip("faiss")
    X, y, _ = problem(0, n=40, d=10)
    with pytest.raises(ParameterError, match='search="ivf" keeps a copy of the examples in memory'):
        pair(tmp_path, search="ivf")[1].fit(X, y)


def test_it_is_saved_and_loaded_in_a_stream(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "BLOCK", 8 * 10 * 64)
    X, y, queries = problem(0, n=400, d=10, classes=4, queries=30)
    one, other = pair(tmp_path)
    one.fit(X, y).forget([7])
    other.fit(X, y).predict(queries)
    other.forget([7])
    path = tmp_path / "saved.kcrc"
    other.save(path)
    assert str(tmp_path) not in zipfile.ZipFile(path).read("header.json").decode()
    for loaded in (KCRCClassifier.load(path), KCRCClassifier.load(path, storage=tmp_path)):
        assert_same(one, loaded, queries)
        np.testing.assert_array_equal(loaded.predict_proba(queries), other.predict_proba(queries))
    assert loaded.model_.storage.mapped
    assert loaded.storage == tmp_path
    with pytest.raises(ParameterError, match="storage is a folder that is there"):
        KCRCClassifier.load(path, storage=tmp_path / "nowhere")


def test_no_file_says_where_to_write_and_a_damaged_one_is_refused(tmp_path):
    X, y, _ = problem(0, n=60, d=10)
    path, forged, damaged = (tmp_path / name for name in ("saved", "forged", "damaged"))
    pair(tmp_path)[0].fit(X, y).save(path)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(forged, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "header.json":
                header = json.loads(content)
                assert "storage" not in header["parameters"]
                header["parameters"]["storage"] = str(tmp_path)
                content = json.dumps(header).encode()
            new.writestr(name, content)
    assert KCRCClassifier.load(forged).storage is None
    content = bytearray(path.read_bytes())
    content[content.index(b"vectors.npy") + 1000] ^= 1
    damaged.write_bytes(content)
    with pytest.raises(FileError, match="is damaged"):
        KCRCClassifier.load(damaged, storage=tmp_path)


@compiled
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs RLIMIT_DATA over all memory")
def test_memory_is_bounded_with_examples_several_times_larger(tmp_path):
    """77 MB of examples in a process that may have 56 MB beyond what it began with; in memory they do not fit."""
    make_data(tmp_path, 150_000, 256, "float16")
    found = measure(tmp_path, 20, beyond=56_000_000, budget=16_000_000)
    assert found["data"] == 76_800_000
    assert [line[:20] for line in found["rows"][:2]] == nearest_by_all(tmp_path, 20, 2)
    assert found["found_again"] == 0
    assert found["same_after_writing"]
    assert found["sums_to_one"]
    with pytest.raises(RuntimeError, match="Unable to allocate"):
        measure(tmp_path, 20, beyond=56_000_000, budget=16_000_000, mapped=False)
