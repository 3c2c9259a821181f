from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from older_galleries import AT, version_1

from kcrc.cli import main
from kcrc.errors import FileError, WriteNeeded
from kcrc.gallery import Gallery, verify
from kcrc.gallery.stores.sqlite import schema

PICTURE = b"\xff\xd8\xffpicture"


@pytest.fixture
def old(path: Path) -> Path:
    """A version 1 gallery: three examples added, one of them removed, one relabelled."""
    examples = [(label, f"{i}.jpg", (i, -i)) for i, label in enumerate(["wren", "robin", "owl"], start=1)]
    version_1(path, examples, parameters={"k": 5})
    db = sqlite3.connect(path)
    db.execute("INSERT INTO thumbnails VALUES (2, ?)", (PICTURE,))
    db.execute("UPDATE examples SET removed_by = 2 WHERE id = 3")
    for i, action in ((2, "remove"), (3, "relabel")):
        db.execute("INSERT INTO history VALUES (?, ?, ?, ?, 'null', NULL)", (i, AT, action, f"did {action}"))
    db.execute("INSERT INTO changes VALUES (3, 2, 'wren')")
    db.execute("UPDATE settings SET value = '3' WHERE key = 'revision'")
    db.commit()
    db.close()
    return path


def test_an_older_file_is_brought_up_with_all_it_holds(old: Path) -> None:
    for _ in range(2):  # the second time it is of the present version
        with Gallery.open(old) as gallery:
            assert gallery.verify().problems == ()
            ids, vectors, labels = gallery.vectors()
            assert (ids.tolist(), labels.tolist()) == ([1, 2], ["wren", "robin"])
            assert vectors.tolist() == [[1, -1], [2, -2]]
            assert gallery.thumbnail(2) == PICTURE
            assert gallery.thumbnail(1) is None
            assert gallery.parameters == {"k": 5}
            assert gallery.feature_state()["mean"].tolist() == [0, 1, 2]
    with Gallery.open(old) as gallery:
        gallery.undo()
        assert gallery.counts == {"wren": 2}
        gallery.undo()
        assert gallery.counts == {"owl": 1, "wren": 2}
        assert gallery.verify().problems == ()


def test_a_reader_of_an_older_file_is_told_what_to_do(old: Path) -> None:
    before = old.read_bytes()
    with pytest.raises(WriteNeeded, match="open it once for writing"):
        Gallery.open(old, readonly=True)
    assert [p.name for p in old.parent.iterdir()] == ["birds.kcrc"]
    assert old.read_bytes() == before


def as_it_was(path: Path) -> None:
    """The gallery of version 1 is all there."""
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA user_version").fetchone() == (1,)
    assert db.execute("SELECT id, label, removed_by FROM examples").fetchall() == [
        (1, "wren", None),
        (2, "robin", None),
        (3, "owl", 2),
    ]
    assert db.execute("SELECT count(*) FROM vectors").fetchone() == (3,)
    db.close()


def test_a_copy_is_put_beside_it_first(old: Path) -> None:
    old.chmod(0o600)
    Gallery.open(old).close()
    copy = old.with_name("birds.kcrc.v1")
    assert sorted(p.name for p in old.parent.iterdir()) == ["birds.kcrc", "birds.kcrc.v1"]
    as_it_was(copy)
    assert copy.stat().st_mode & 0o777 == 0o600
    Gallery.open(old).close()  # of this version now: no second copy
    assert sorted(p.name for p in old.parent.iterdir()) == ["birds.kcrc", "birds.kcrc.v1"]


def test_the_copy_runs_over_nothing(old: Path) -> None:
    old.with_name("birds.kcrc.v1").write_bytes(b"mine")
    old.with_name("birds.kcrc.v1-2").symlink_to("nowhere")
    Gallery.open(old).close()
    assert old.with_name("birds.kcrc.v1").read_bytes() == b"mine"
    assert old.with_name("birds.kcrc.v1-2").is_symlink()
    as_it_was(old.with_name("birds.kcrc.v1-3"))


def test_without_a_copy_nothing_is_changed(old: Path) -> None:
    before = old.read_bytes()
    old.with_name(".birds.kcrc.v1.copying").mkdir()  # where the copy would pass
    with pytest.raises(FileError, match=r"older version \(1\) and was left as it is: a copy.*failed"):
        Gallery.open(old)
    assert old.read_bytes() == before
    old.with_name(".birds.kcrc.v1.copying").rmdir()
    Gallery.open(old).close()


def test_erasing_names_the_copy_also_through_a_link_and_for_a_hidden_gallery(old: Path, tmp_path: Path) -> None:
    hidden = tmp_path / "here" / ".birds.kcrc"
    hidden.parent.mkdir()
    os.rename(old, hidden)
    (tmp_path / "link.kcrc").symlink_to(hidden)
    with Gallery.open(tmp_path / "link.kcrc") as gallery:
        assert gallery.erase([3]).beside == (hidden.with_name(".birds.kcrc.v1"),)
    with Gallery.open(hidden) as gallery:
        assert gallery.erase([2]).beside == (hidden.with_name(".birds.kcrc.v1"),)


def test_the_copy_can_be_put_back(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Gallery.open(old) as gallery:
        gallery.remove([1, 2])
    copy = old.with_name("birds.kcrc.v1")
    assert main(["backup", str(copy), str(old), "--force"]) == 0
    as_it_was(old)
    as_it_was(copy)
    assert sorted(p.name for p in old.parent.iterdir()) == ["birds.kcrc", "birds.kcrc.v1"]
    assert verify(old).problems == ()
    assert main(["info", str(old)]) == 0
    assert "2 of 2 classes" in capsys.readouterr().out


def test_a_newer_gallery_names_both_versions(gallery: Gallery, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gallery.close()
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 9")
    db.execute("CREATE TABLE of_the_future (x)")
    db.close()
    refused = f"written by a newer kcrc (file version 9, this one reads up to {schema.VERSION}). Upgrade kcrc to"
    for command in (["info"], ["undo"], ["verify"], ["backup", str(path) + ".copy"]):
        assert main([command[0], str(path), *command[1:]]) == 1
        assert refused in capsys.readouterr().err


def test_a_migration_that_fails_leaves_the_older_file(old: Path) -> None:
    db = sqlite3.connect(old)
    db.execute("DELETE FROM vectors WHERE id = 1")
    db.commit()
    db.close()
    with pytest.raises(FileError, match="no vector"):
        Gallery.open(old)
    assert [p.name for p in old.parent.iterdir()] == ["birds.kcrc"]  # nor is a copy left of what was not changed
    db = sqlite3.connect(old)
    assert db.execute("PRAGMA user_version").fetchone() == (1,)
    assert db.execute("SELECT count(*) FROM examples").fetchone() == (3,)
    db.close()


@pytest.mark.parametrize("version", [schema.VERSION + 1, 0, -5])
def test_a_newer_or_unknown_version_is_refused(gallery: Gallery, path: Path, version: int) -> None:
    gallery.close()
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {version}")
    db.close()
    with pytest.raises(FileError, match="newer kcrc" if version > 0 else "unknown file version"):
        Gallery.open(path)


@pytest.mark.parametrize(
    "foreign",
    [
        "CREATE TRIGGER t AFTER INSERT ON examples BEGIN DELETE FROM vectors; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE t (x)",
        "CREATE INDEX i ON examples (label)",
        "CREATE VIRTUAL TABLE f USING fts5(x)",
        "CREATE TABLE g (x, y AS (abs(x)))",
        "DROP TABLE thumbnails",
        "ALTER TABLE thumbnails ADD COLUMN extra",
        "ALTER TABLE thumbnails RENAME TO pictures",
        "DROP INDEX examples_by_content",
    ],
)
def test_anything_but_our_tables_is_refused(gallery: Gallery, path: Path, foreign: str) -> None:
    gallery.close()
    db = sqlite3.connect(path)
    db.execute(foreign)
    db.commit()
    db.close()
    before = path.read_bytes()
    for readonly in (False, True):
        with pytest.raises(FileError, match=r"not part of a kcrc gallery|lacks the table"):
            Gallery.open(path, readonly=readonly)
    assert path.read_bytes() == before


def test_a_view_in_the_place_of_a_table_is_refused(gallery: Gallery, path: Path) -> None:
    gallery.close()
    db = sqlite3.connect(path)
    db.execute("ALTER TABLE vectors RENAME TO real")
    db.execute("CREATE VIEW vectors AS SELECT id, zeroblob(1000000000) AS data FROM real")
    db.commit()
    db.close()
    with pytest.raises(FileError, match="not part of a kcrc gallery"):
        Gallery.open(path)


def test_another_program_s_database_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "browser.db"
    db = sqlite3.connect(other)
    db.execute("CREATE TABLE examples (x)")
    db.commit()
    db.close()
    before = other.read_bytes()
    with pytest.raises(FileError, match="not a kcrc gallery"):
        Gallery.open(other)
    assert other.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["browser.db"]
