"""Galleries made with a network of somebody's own: which file is opened is for the user to say, not for the gallery."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import sys
from pathlib import Path

import numpy as np
import photos
import pytest

from kcrc import Gallery, features
from kcrc.cli import main
from kcrc.errors import DataError, FileError, ParameterError, StateError
from kcrc.gallery import restore
from kcrc.gallery.settings import to_json
from kcrc.gallery.stores.records import RecordTransaction
from kcrc.gallery.stores.sqlite.driver import SQLiteDriver

pytest.importorskip("onnxruntime")
GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("*/network.kcrc"))
TINY = GOLDEN[0].with_name("tiny.onnx")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KCRC_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("KCRC_MODEL", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


@pytest.fixture
def asked(tmp_path: Path) -> list[str]:
    return [str(p) for p in sorted(photos.folder(tmp_path / "asked", 2, first=20).rglob("*.jpg"))]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A gallery of before: its file has the path of its network, which is not there."""
    return Path(shutil.copy(GOLDEN[0], tmp_path))


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """Built here, with a network that has gone since."""
    model = Path(shutil.copy(TINY, tmp_path / "gone.onnx"))
    feature = features.make("onnx", path=model, size=(8, 8))
    Gallery.from_folder(photos.folder(tmp_path / "photos", 3), tmp_path / "built.kcrc", feature=feature).close()
    model.unlink()
    return tmp_path / "built.kcrc"


def forge(gallery_file: Path, /, **changes: object) -> None:
    """Write other values into the state of the feature, with seals that fit."""
    with Gallery.open(gallery_file) as gallery:  # for writing: an older file is brought up to date
        values = dict(gallery.settings.values)
    options = {**values["options"], **changes.pop("options", {})}  # type: ignore[dict-item]
    new = {**values, **changes, "options": options}
    with contextlib.closing(sqlite3.connect(gallery_file)) as db, db:
        writing = RecordTransaction(SQLiteDriver(db))
        writing.replace_rows("settings", [("values", to_json(values))], [("values", to_json(new))])


# ---------------------------------------------------------------------------------------------- which file


def test_a_gallery_built_here_goes_on_without_its_network_being_named(built: Path, cache: Path, asked: list[str]):
    with Gallery.open(built) as gallery:
        assert [str(label) for label in gallery.predict(asked)] == [Path(p).parent.name for p in asked]
    (kept,) = (cache / "models").iterdir()
    assert kept.read_bytes() == TINY.read_bytes()


def test_the_gallery_tells_the_name_of_the_file_and_not_its_folder(built: Path):
    with Gallery.open(built) as gallery:
        values = dict(gallery.settings.values)
    assert values["file"] == "gone.onnx"
    assert "path" not in values
    assert str(built.parent).encode() not in built.read_bytes().replace(str(built.parent / "photos").encode(), b"")


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.parent.name)
def test_a_gallery_of_before_answers_as_then_once_its_network_is_named(golden: Path, tmp_path: Path, asked: list[str]):
    path = Path(shutil.copy(golden, tmp_path))
    then = json.loads(golden.with_name("network.json").read_text("utf-8"))
    with Gallery.open(path) as gallery:
        assert gallery.verify().problems == ()
        assert gallery.counts == then["counts"]
        with pytest.raises(StateError, match=r"'tiny\.onnx' \(SHA-256 c0542587a496…\).*--model FILE"):
            gallery.predict(asked)
    with Gallery.open(path, model=golden.with_name("tiny.onnx")) as gallery:
        evidence = gallery.explain(asked)
        assert [str(label) for label in evidence.labels] == then["labels"]
        assert np.asarray(evidence.rows).tolist() == then["rows"]
        np.testing.assert_allclose(gallery.predict_proba(asked), then["probabilities"], atol=1e-6)
    with Gallery.open(path) as gallery:  # it was named once, and is found now
        assert [str(label) for label in gallery.predict(asked)] == then["labels"]


def test_the_environment_names_it_too(old: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("KCRC_MODEL", str(TINY))
    with Gallery.open(old) as gallery:
        assert len(gallery.predict(asked)) == len(asked)
    monkeypatch.setenv("KCRC_MODEL", "nowhere.onnx")
    with Gallery.open(old) as gallery, pytest.raises(FileError, match=r"nowhere\.onnx cannot be read"):
        gallery.predict(asked)


def test_another_network_is_refused(old: Path, asked: list[str], tmp_path: Path):
    (tmp_path / "other.onnx").write_bytes(TINY.read_bytes()[:-1] + b"x")
    with Gallery.open(old, model="other.onnx") as gallery, pytest.raises(DataError, match="not the file these vectors"):
        gallery.predict(asked)


def test_a_gallery_without_a_network_refuses_one(tmp_path: Path, asked: list[str]):
    hog = Path(shutil.copy(GOLDEN[0].parents[1] / "gallery3-classifier1" / "photographs.kcrc", tmp_path))
    with Gallery.open(hog, model=TINY) as gallery, pytest.raises(ParameterError, match="needs no network file"):
        gallery.predict(asked)


def test_the_command_takes_it(old: Path, asked: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(["predict", str(old), asked[0]]) == 1
    told = capsys.readouterr().err
    assert "--model FILE" in told
    assert len(told.splitlines()) == 1
    assert main(["predict", str(old), asked[0], "--model", str(TINY)]) == 0
    shutil.rmtree(os.environ["KCRC_CACHE"])
    assert main(["explain", str(old), asked[0], "--model", str(TINY)]) == 0
    shutil.rmtree(os.environ["KCRC_CACHE"])
    assert main(["evaluate", str(old), str(Path(asked[0]).parents[1]), "--model", str(TINY)]) == 0
    shutil.rmtree(os.environ["KCRC_CACHE"])
    assert main(["add", str(old), asked[0], "--label", "wren", "--model", str(TINY)]) == 0
    assert main(["predict", str(old), asked[0]]) == 0


def test_a_copy_in_the_cache_that_is_another_file_is_not_used(built: Path, cache: Path, asked: list[str]):
    (kept,) = (cache / "models").iterdir()
    for spoil in (lambda: kept.write_bytes(b"x"), lambda: os.mkfifo(kept), lambda: kept.symlink_to(TINY)):
        kept.unlink()
        spoil()
        with Gallery.open(built) as gallery, pytest.raises(StateError, match="not in the cache"):
            gallery.predict(asked)


def test_a_cache_that_cannot_be_written_is_no_obstacle(old: Path, cache: Path, asked: list[str]):
    cache.write_bytes(b"a file where the folder should be")
    with Gallery.open(old, model=TINY) as gallery:
        assert len(gallery.predict(asked)) == len(asked)


def test_an_export_brings_no_path_either(built: Path, tmp_path: Path, asked: list[str]):
    with Gallery.open(built) as gallery:
        gallery.export("out.npz")
    with restore("out.npz", "again.kcrc") as gallery:
        assert gallery.settings.values["file"] == "gone.onnx"
        assert len(gallery.predict(asked)) == len(asked)


# ------------------------------------------------------------------------------------------------- forged


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch):
    """The names of all files that Python opens in the test from here on."""
    heard: list[str] = []
    active = [True]

    def listen(event: str, arguments: tuple[object, ...]) -> None:
        if active[0] and event == "open":
            heard.append(os.fsdecode(arguments[0]) if isinstance(arguments[0], str | bytes) else str(arguments[0]))

    sys.addaudithook(listen)
    yield heard
    active[0] = False


@pytest.mark.parametrize("key", ["path", "file"])
@pytest.mark.parametrize("name", ["/dev/zero", "pipe", "secret.txt", "/proc/self/environ", "https://localhost/x"])
def test_a_path_in_a_gallery_is_never_opened(old: Path, asked: list[str], opened: list[str], key: str, name: str):
    os.mkfifo("pipe")
    Path("secret.txt").write_text("secret")
    forge(old, **{key: name})
    opened.clear()
    with Gallery.open(old) as gallery:
        assert len(gallery) == 15
        with pytest.raises(StateError, match="not in the cache"):
            gallery.predict(asked)
    assert not [one for one in opened if one.endswith(name)]


@pytest.mark.parametrize("due", ["../../../secret", "", "c0542587", "C" * 64, 7, None])
def test_a_forged_checksum_leads_nowhere(old: Path, asked: list[str], due: object):
    forge(old, options={"sha256": due})
    with Gallery.open(old, model=TINY) as gallery, pytest.raises(DataError, match="damaged"):
        gallery.predict(asked)


def test_a_name_is_shown_harmless(old: Path, asked: list[str]):
    forge(old, path="a/\x1b[2Jevil\n" + "x" * 5000)
    with Gallery.open(old) as gallery, pytest.raises(StateError) as raised:
        gallery.predict(asked)
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 600
