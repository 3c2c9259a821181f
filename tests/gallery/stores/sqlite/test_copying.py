"""A backup is the gallery of one moment, whole or not there; the other way round it restores."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from journals import interrupted

from kcrc.cli import main
from kcrc.errors import FileError, LeftOver, StateError
from kcrc.gallery import Gallery, verify
from kcrc.gallery.check import problems
from kcrc.gallery.stores.sqlite.copying import backup

CHILD = Path(__file__).with_name("write_child.py")


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if p.name != ".kcrc-cache")


def everything(path: Path) -> list[object]:
    with Gallery.open(path, readonly=True) as gallery:
        ids, vectors, labels = gallery.vectors()
        pictures = [gallery.thumbnail(i) for i in ids.tolist()]
        return [ids.tolist(), vectors.tolist(), labels.tolist(), pictures, gallery.history(), gallery.settings]


def test_a_backup_is_the_gallery_and_goes_on_being_one(gallery: Gallery, path: Path, tmp_path: Path) -> None:
    gallery.remove([2])
    gallery.relabel([1], "owl")
    size = gallery.backup(tmp_path / "copy.kcrc")
    assert size == (tmp_path / "copy.kcrc").stat().st_size
    assert verify(tmp_path / "copy.kcrc").problems == ()
    assert everything(tmp_path / "copy.kcrc") == everything(path)
    assert names(tmp_path) == ["birds.kcrc", "copy.kcrc"]
    gallery.add("heron", np.ones(4))
    with Gallery.open(tmp_path / "copy.kcrc") as copy:
        assert copy.undo().action == "relabel"
        assert copy.undo().action == "remove"
        assert copy.counts == {"heron": 2, "robin": 2, "wren": 2}


def test_a_private_gallery_has_a_private_copy(gallery: Gallery, path: Path, tmp_path: Path) -> None:
    path.chmod(0o600)
    gallery.backup(tmp_path / "copy.kcrc")
    assert (tmp_path / "copy.kcrc").stat().st_mode & 0o777 == 0o600


def test_nothing_is_run_over_unless_told(gallery: Gallery, path: Path, tmp_path: Path) -> None:
    (tmp_path / "copy.kcrc").write_bytes(b"mine")
    with pytest.raises(FileError, match="exists already"):
        gallery.backup(tmp_path / "copy.kcrc")
    assert (tmp_path / "copy.kcrc").read_bytes() == b"mine"
    gallery.backup(tmp_path / "copy.kcrc", overwrite=True)
    assert everything(tmp_path / "copy.kcrc") == everything(path)


def test_not_onto_itself(gallery: Gallery, path: Path, tmp_path: Path) -> None:
    (tmp_path / "link.kcrc").symlink_to(path)
    for goal in (path, tmp_path / "link.kcrc"):
        with pytest.raises(FileError, match="is the gallery itself"):
            gallery.backup(goal, overwrite=True)
    with pytest.raises(FileError, match="no folder"):
        gallery.backup(tmp_path / "none" / "copy.kcrc")
    with pytest.raises(FileError, match="no gallery"):
        backup(tmp_path / "none.kcrc", tmp_path / "copy.kcrc", check=problems)
    assert len(gallery) == 6


def test_a_damaged_gallery_does_not_take_the_place_of_a_good_copy(gallery: Gallery, path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.kcrc"
    gallery.backup(copy)
    before = copy.read_bytes()
    gallery.close()
    db = sqlite3.connect(path)
    db.execute("UPDATE vectors SET data = zeroblob(16) WHERE id = 3")
    db.commit()
    db.close()
    with pytest.raises(FileError, match=r"birds\.kcrc' is damaged and was not copied.*3"):
        backup(path, copy, check=problems, overwrite=True)
    assert copy.read_bytes() == before
    assert names(tmp_path) == ["birds.kcrc", "copy.kcrc"]


def test_a_write_that_was_interrupted_is_not_in_it(gallery: Gallery, path: Path, tmp_path: Path) -> None:
    expected = everything(path)
    gallery.close()
    backup(interrupted(path, tmp_path / "halfway.kcrc"), tmp_path / "copy.kcrc", check=problems)
    assert everything(tmp_path / "copy.kcrc") == expected


def test_what_a_killed_backup_left_is_cleared(gallery: Gallery, path: Path, tmp_path: Path) -> None:
    (tmp_path / ".copy.kcrc.copying").write_bytes(b"half" * 5000)
    gallery.backup(tmp_path / "copy.kcrc")
    assert names(tmp_path) == ["birds.kcrc", "copy.kcrc"]


KILLED = """
import os, sys
from pathlib import Path
from kcrc.gallery.check import problems
from kcrc.gallery.stores.sqlite import copying

copying._PAGES = 20
copying.backup(sys.argv[1], sys.argv[2], check=problems, report=lambda share: share > 0.5 and os.kill(os.getpid(), 9))
"""


@pytest.mark.parametrize("way", ["erase", "open"])
def test_a_killed_backup_does_not_keep_what_is_erased_later(
    way: str, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Gallery.create(path, dim=2000) as made:
        made.add("wren", np.random.default_rng(0).random((1500, 2000)), duplicates="keep")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", KILLED, str(path), str(tmp_path / "copy.bak")], env=environment, check=False)
    left = tmp_path / ".copy.bak.copying"
    assert left.stat().st_size > 1_000_000  # with examples in it
    foreign = tmp_path / ".other.copying"
    db = sqlite3.connect(foreign)
    db.execute("CREATE TABLE mine (x)")
    db.close()
    with Gallery.open(path) as opened:  # just written to: it may be in the making
        assert left.exists()
        if way == "erase":
            with pytest.warns(LeftOver, match=r"\.copy\.bak\.copying.*was deleted"):
                opened.erase([1])
    if way == "open":
        monkeypatch.setattr("kcrc.gallery.stores.sqlite.placing._OLD", -1.0)
        Gallery.open(path, readonly=True).close()
        assert left.exists()
        with pytest.warns(LeftOver, match=r"\.copy\.bak\.copying.*was deleted"):
            Gallery.open(path).close()
    assert not left.exists()
    assert foreign.exists()


def test_two_backups_to_one_name_do_not_mix(gallery: Gallery, path: Path, tmp_path: Path) -> None:
    def second(share: float) -> None:
        with pytest.raises(StateError, match="Another program"):
            backup(path, tmp_path / "copy.kcrc", check=problems)

    backup(path, tmp_path / "copy.kcrc", check=problems, report=second)
    assert verify(tmp_path / "copy.kcrc").problems == ()


def test_it_says_how_far_it_is(gallery: Gallery, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcrc.gallery.stores.sqlite.copying._PAGES", 2)
    told: list[float] = []
    backup(path, tmp_path / "copy.kcrc", check=problems, report=told.append)
    assert len(told) > 3
    assert told == sorted(told)
    assert told[-1] == 1


def test_an_error_on_the_way_leaves_nothing(gallery: Gallery, path: Path, tmp_path: Path) -> None:
    def interrupt(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backup(path, tmp_path / "copy.kcrc", check=problems, report=interrupt)
    assert names(tmp_path) == ["birds.kcrc"]
    gallery.remove([1])  # and the lock is gone


def test_it_does_not_wait_for_ever(
    gallery: Gallery, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kcrc.gallery.stores.sqlite.file.WAIT_SECONDS", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StateError, match="Another program"):
        gallery.backup(tmp_path / "copy.kcrc")
    other.close()
    assert names(tmp_path) == ["birds.kcrc"]


def test_a_restored_gallery_takes_its_place_between_two_acts(
    gallery: Gallery, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy.kcrc"
    gallery.backup(copy)
    gallery.remove([1, 2])
    monkeypatch.setattr("kcrc.gallery.stores.sqlite.file.WAIT_SECONDS", 0.05)
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    with pytest.raises(StateError, match="Another program"):
        backup(copy, path, check=problems, overwrite=True)
    writer.close()
    assert len(gallery) == 4
    backup(copy, path, check=problems, overwrite=True)
    assert everything(path)[:4] == everything(copy)[:4]
    with pytest.raises(StateError, match="replaced"):
        gallery.remove([3])
    with pytest.raises(StateError, match="replaced"):
        gallery.erase([3])
    assert names(tmp_path) == ["birds.kcrc", "copy.kcrc"]
    assert verify(path).problems == ()


def test_commands(gallery: Gallery, path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = str(tmp_path / "copy.kcrc")
    assert main(["backup", str(path), copy]) == 0
    said = capsys.readouterr()
    assert said.out == f"{copy}: {os.stat(copy).st_size / 1e6:.1f} MB, checked\n"
    assert main(["backup", str(path), copy]) == 1
    assert "say --force" in capsys.readouterr().err
    assert main(["remove", str(path), "--label", "wren"]) == 0
    gallery.close()
    assert main(["backup", copy, str(path), "--force"]) == 0
    assert main(["verify", str(path)]) == 0
    assert everything(path) == everything(Path(copy))
    assert main(["backup", str(tmp_path / "none.kcrc"), copy, "--force"]) == 1
    assert "There is no gallery" in capsys.readouterr().err


@pytest.fixture
def written(tmp_path: Path) -> Iterator[tuple[Path, list[int]]]:
    """(a gallery that another process writes to all the time, the examples it has acknowledged)."""
    path = tmp_path / "busy.kcrc"
    with Gallery.create(path, dim=256) as gallery:
        rows = np.repeat(np.arange(1.0, 2001)[:, None], 256, axis=1)
        gallery.add("wren", rows, sources=[str(i) for i in range(1, 2001)])
    child = subprocess.Popen(
        [sys.executable, str(CHILD), str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert child.stdout is not None
    assert child.stderr is not None
    said: list[int] = []
    begun = threading.Event()

    def listen() -> None:
        for line in child.stdout:  # type: ignore[union-attr]
            said.append(int(line))
            begun.set()

    listener = threading.Thread(target=listen)
    listener.start()
    assert begun.wait(60)
    yield path, said
    alive = child.poll() is None
    child.kill()
    listener.join()
    errors = child.stderr.read()
    child.communicate()
    assert alive, errors.decode()


def test_while_another_process_writes(written: tuple[Path, list[int]], tmp_path: Path) -> None:
    path, said = written
    for number in range(3):
        copy = tmp_path / f"copy-{number}.kcrc"
        before = said[-1]
        backup(path, copy, check=problems)
        after = said[-1] + 1  # one more may have been written than was heard
        assert verify(copy).problems == ()
        with Gallery.open(copy) as gallery:  # which writes to it, and may
            ids, vectors, _ = gallery.vectors()
            assert before <= len(ids) <= after
            assert ids.tolist() == list(range(1, len(ids) + 1))
            assert vectors[:, 0].tolist() == ids.tolist()
            assert gallery.settings.revision == 1 + len(ids) - 2000
            gallery.remove([1])
        copy.unlink()
    assert said[-1] > 2001
