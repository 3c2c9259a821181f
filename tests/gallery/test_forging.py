"""Forged galleries, exports and classifiers, whose checksums fit: an error of the library's own or some answer."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import os
import sqlite3
import subprocess
import sys
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from gallery.forged_files import FIXED, GOLDEN, ForgedArchive, ForgedGallery, reseal
from gallery.forging import PARTS, VALUES, cases
from kcrc import Gallery, KCRCClassifier
from kcrc.cli import main
from kcrc.errors import FileError, KCRCError
from kcrc.files.archive import to_npy
from kcrc.gallery import restore, verify

pytest.importorskip("resource", reason="memory limits are set the POSIX way")
CHILD = Path(__file__).with_name("forged_use.py")
CLASSIFIERS = GOLDEN / "gallery3-classifier1"


@pytest.fixture(scope="module")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small gallery with something of everything in it."""
    path = tmp_path_factory.mktemp("fixed") / "fixed.kcrc"
    with Gallery.create(path, dim=3) as made:
        made.add([f"c{i % 3}" for i in range(9)], np.random.default_rng(0).standard_normal((9, 3)))
        made.set_parameters(FIXED)
        made.relabel([3], "c1")
        made.remove([5])
        made.classifier()
    return path


def _settings(path: Path) -> list[str]:
    return [name for name in ForgedGallery(path).documents if name.startswith("settings ")]


@pytest.mark.filterwarnings("ignore::kcrc.errors.UnreadableTuning")
def test_no_value_of_a_setting_is_a_fault(fixed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused = 0
    path = tmp_path / "forged.kcrc"
    for name in _settings(fixed):
        for value in VALUES:
            forgery = ForgedGallery(fixed)
            forgery.documents[name] = value
            forgery.save(path)
            assert main(["info", str(path)]) in (0, 1), (name, value)
            sound = verify(path).sound
            try:
                with Gallery.open(path) as gallery:
                    gallery.history()
                    len(gallery)
            except FileError:
                refused += 1
                assert not sound, (name, value)
    capsys.readouterr()
    assert refused > 300


@pytest.mark.parametrize("kind", ["info", "history", "verify"])
def test_a_wrong_revision_is_one_sentence(
    fixed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    for value in ({}, "x", None, 1.5, [1], True, -1, 1 << 62):
        forgery = ForgedGallery(fixed)
        (name,) = (name for name in forgery.documents if name.endswith(" revision"))
        forgery.documents[name] = value
        forgery.save(tmp_path / "forged.kcrc")
        assert main([kind, str(tmp_path / "forged.kcrc")]) == 1
        err = capsys.readouterr().err
        assert "'revision' cannot be" in err
        assert len(err.splitlines()) == (2 if kind == "verify" else 1)  # and what to do


def test_a_counter_of_thousands_of_millions_of_acts_costs_no_memory(fixed: Path, tmp_path: Path) -> None:
    forgery = ForgedGallery(fixed)
    (name,) = (name for name in forgery.documents if name.endswith(" revision"))
    forgery.documents[name] = 10_000_000
    forgery.save(tmp_path / "forged.kcrc")
    tracemalloc.start()
    verdict = verify(tmp_path / "forged.kcrc")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert any("the counter says 10000000" in problem for problem in verdict.problems)
    assert peak < 50 << 20


def test_the_same_seed_forges_the_same(tmp_path: Path) -> None:
    def told(folder: Path) -> list[tuple[str, str]]:
        (folder / "originals").mkdir(parents=True)
        return [
            (
                name.replace(str(folder), ""),
                hashlib.sha256(path.read_bytes()).hexdigest() if path.suffix != ".kcrc" else "",
            )
            for name, path in cases(folder, seed=3, count=40)
        ]

    one, two = told(tmp_path / "a"), told(tmp_path / "b")
    assert [name for name, _ in one] == [name for name, _ in two]
    assert len({name for name, _ in one}) == 40
    assert {p.name for p in (tmp_path / "a").iterdir()} == {"originals"}


def _use(folder: Path, first: int, last: int, seconds: int) -> str:
    done = subprocess.run(
        [sys.executable, str(CHILD), str(folder), str(first), str(last)],
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        timeout=seconds,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return done.stdout.splitlines()[-1]


def test_seventy_forged_files(tmp_path: Path) -> None:
    assert _use(tmp_path, 0, 70, 600).startswith("70 cases, 0 faults")


@pytest.mark.slow
def test_five_thousand_forged_files(tmp_path: Path) -> None:
    print(_use(tmp_path, 10_000, 15_000, 7200))


@pytest.mark.parametrize("field", ["kernel", "distance", "metric", "coder", "projection", "space"])
def test_a_part_in_the_wrong_place_or_of_wild_options_is_refused_or_answers(field: str, tmp_path: Path) -> None:
    path = tmp_path / "forged.kcrcmodel"
    sentences = []
    for original in ("plain", "tangent", "global"):
        for tag, fields in PARTS:
            forgery = ForgedArchive(CLASSIFIERS / f"{original}.kcrcmodel")
            method = forgery.documents["header"]["method"]["fields"]
            method[field] = {"part": tag, "version": 1, "fields": copy.deepcopy(fields)}
            forgery.save(path)
            try:
                loaded = KCRCClassifier.load(path)
            except FileError as problem:
                sentences.append(str(problem))
            else:
                loaded.explain(np.array(loaded.model_.raw[:2]))
    assert len(sentences) > 2 * len(PARTS)
    assert not any("\n" in sentence or len(sentence) > 500 + len(str(path)) for sentence in sentences)


def test_one_array_named_a_thousand_times_is_held_once(tmp_path: Path) -> None:
    path = tmp_path / "c.kcrcmodel"
    forgery = ForgedArchive(CLASSIFIERS / "plain.kcrcmodel")
    forgery.arrays["large"] = np.zeros(1 << 20)
    forgery.documents["header"]["parameters"]["n_jobs"] = {"list": [{"array": "large"}] * 1000}
    forgery.save(path)
    tracemalloc.start()
    with pytest.raises(FileError):
        KCRCClassifier.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 << 20


@pytest.mark.parametrize("text", ["NaN", '{"kind": "kcrc-classifier", "version": NaN}', "[" * 5000])
def test_a_header_that_is_no_json_is_refused(tmp_path: Path, text: str) -> None:
    with zipfile.ZipFile(tmp_path / "x", "w") as archive:
        archive.writestr("header.json", text)
        archive.writestr("vectors.npy", to_npy(np.zeros((1, 1))))
    with pytest.raises(FileError, match="header"):
        KCRCClassifier.load(tmp_path / "x")


def test_a_classifier_of_a_machine_of_the_other_byte_order_answers_the_same(tmp_path: Path) -> None:
    path = tmp_path / "c.kcrcmodel"
    forgery = ForgedArchive(CLASSIFIERS / "within.kcrcmodel")
    forgery.arrays = {name: a.astype(a.dtype.newbyteorder(">")) for name, a in forgery.arrays.items()}
    forgery.save(path)
    here, there = KCRCClassifier.load(CLASSIFIERS / "within.kcrcmodel"), KCRCClassifier.load(path)
    X = np.array(here.model_.raw[:5]) + 0.1
    np.testing.assert_array_equal(here.predict_proba(X), there.predict_proba(X))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("size", value) for value in (128, "x", [0, 0], [1], [16384, 16384], [1.5, 2], ["a", "b"], None)),
        *(("cell", value) for value in (0, -1, "x", 1.5, 1 << 40)),
        *(("orientations", value) for value in (1, 10**6, [3])),
        *(("fit_to", value) for value in ("inside", "x", 3)),
        *(("colour", value) for value in ("x", 2, None)),
        *(("block", value) for value in (0, 99, {})),
        ("other", 1),
    ],
)
def test_a_feature_with_wrong_options_is_refused(tmp_path: Path, name: str, value: object) -> None:
    path = tmp_path / "forged.kcrc"
    forgery = ForgedGallery(CLASSIFIERS / "photographs.kcrc")
    (values,) = (document for where, document in forgery.documents.items() if where.endswith(" values"))
    values["options"][name] = value
    forgery.save(path)
    with Gallery.open(path) as gallery, pytest.raises(KCRCError):
        gallery.answering.feature()


@pytest.mark.parametrize(
    "value", [3, "x", [], None, {"feature": 3}, {"feature": ["hog"]}, {"feature": "hog", "options": 3}]
)
def test_an_export_with_wrong_values_is_refused_or_answers_nothing(tmp_path: Path, value: object) -> None:
    path = tmp_path / "forged.npz"
    forgery = ForgedArchive(CLASSIFIERS / "photographs.export")
    forgery.documents["header"]["values"] = value
    forgery.save(path)
    with pytest.raises(KCRCError), restore(path, tmp_path / "g.kcrc") as gallery:
        gallery.answering.feature()


def test_what_is_forged_in_a_detail_of_the_history_is_refused_by_undo(fixed: Path, tmp_path: Path) -> None:
    path = tmp_path / "forged.kcrc"
    for value in (*VALUES, {"before": 3}, {"before": {}, "tuned": "x"}, {"before": {}, "tuned": True}):
        forgery = ForgedGallery(fixed)
        for name in forgery.documents:
            if name.startswith("history ") and name.endswith(" detail"):
                forgery.documents[name] = copy.deepcopy(value)
        forgery.save(path)
        with Gallery.open(path) as gallery:
            for _ in range(4):
                with contextlib.suppress(KCRCError):
                    gallery.undo()
            assert gallery.counts is not None  # it goes on: only the library's own errors came out
    assert path.exists()


def test_a_vector_of_nan_whose_checksum_fits_is_one_sentence(fixed: Path, tmp_path: Path) -> None:
    path = tmp_path / "forged.kcrc"
    ForgedGallery(fixed).save(path)
    data = np.array([np.nan, 1, 2], "<f4").tobytes()
    db = sqlite3.connect(path)
    with db:
        db.execute("UPDATE vectors SET data = ? WHERE id = 1", (data,))
        db.execute("UPDATE examples SET vector_crc = ? WHERE id = 1", (zlib.crc32(data),))
        db.execute("UPDATE settings SET value = '0' WHERE key = 'tuned'")
        reseal(db)
    db.close()
    with Gallery.open(path) as gallery, pytest.raises(FileError, match="NaN or infinity"):
        gallery.classifier()
