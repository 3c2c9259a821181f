"""What lies beside a gallery does no harm: foreign journals and logs are refused before SQLite sees them."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from journals import PAGE, interrupted, journal_bytes, plant

from kcrc.cli import main
from kcrc.errors import FileError, WriteNeeded
from kcrc.gallery import Gallery, building, verify
from kcrc.gallery.stores.records import RecordTransaction

PRECIOUS = b"\0precious"


@pytest.fixture
def closed(gallery: Gallery, path: Path) -> Path:
    gallery.close()
    return path


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """Someone's file, in another folder; SQLite takes what begins with zero for a journal it may write over."""
    (tmp_path / "elsewhere").mkdir()
    made = tmp_path / "elsewhere" / "precious.txt"
    made.write_bytes(PRECIOUS)
    return made


def first_page(path: Path) -> bytes:
    return path.read_bytes()[:PAGE]


def pages_of(path: Path) -> int:
    return path.stat().st_size // PAGE


WAYS: dict[str, Callable[[Path], object]] = {
    "open": lambda path: Gallery.open(path),
    "open to read": lambda path: Gallery.open(path, readonly=True),
    "open to read, put in order": lambda path: Gallery.open(path, readonly=True, recover=True),
    "backup": lambda path: Gallery.open(path).backup(path.with_name("copy.kcrc")),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["played back", "not a journal", "left over"])
def test_a_journal_that_names_a_file_deletes_nothing(closed: Path, victim: Path, way: str, kind: str) -> None:
    record, pages = (1, first_page(closed)), pages_of(closed)
    data = {
        "played back": journal_bytes([record], pages=pages, names=victim),
        "not a journal": journal_bytes([record], pages=pages, names=victim, head=b"not one;"),
        "left over": journal_bytes([record] * 50, pages=pages, names=victim, head=bytes(8)),
    }[kind]
    journal, before = plant(closed, data), closed.read_bytes()
    with pytest.raises(FileError, match=r"birds\.kcrc-journal'.*names one more file.*Nothing was opened"):
        WAYS[way](closed)
    assert victim.read_bytes() == PRECIOUS
    assert (closed.read_bytes(), journal.read_bytes()) == (before, data)


def test_a_journal_left_over_deletes_nothing_when_an_act_fails(gallery: Gallery, path: Path, victim: Path) -> None:
    # SQLite writes over the beginning of such a file, and reads its old end when it rolls back.
    plant(path, journal_bytes([(1, first_page(path))] * 50, pages=pages_of(path), names=victim, head=bytes(8)))

    def broken(writing: RecordTransaction) -> None:
        writing.driver.db.execute(  # type: ignore[attr-defined]
            "UPDATE history SET summary = 'x'"
        )
        raise KeyboardInterrupt

    with pytest.raises((FileError, KeyboardInterrupt)):
        gallery.store.write(broken)
    assert victim.read_bytes() == PRECIOUS


def test_commands_say_it_in_one_line(closed: Path, victim: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plant(closed, journal_bytes([(1, first_page(closed))], pages=pages_of(closed), names=victim))
    for command in (["info"], ["history"], ["compact"], ["undo"], ["remove", "1"], ["backup", str(victim) + "2"]):
        assert main([command[0], str(closed), *command[1:]]) == 1
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert "names one more file" in said
    assert main(["verify", str(closed)]) == 1
    assert "names one more file" in capsys.readouterr().err
    with Gallery.create(closed.with_name("other.kcrc"), dim=4) as other, pytest.raises(FileError, match="names one"):
        other.import_(closed)
    assert victim.read_bytes() == PRECIOUS


def test_through_a_link_the_journal_of_the_file_is_looked_at(closed: Path, victim: Path, tmp_path: Path) -> None:
    plant(closed, journal_bytes([(1, first_page(closed))], pages=pages_of(closed), names=victim))
    (tmp_path / "link.kcrc").symlink_to(closed)
    with pytest.raises(FileError, match="names one more file"):
        Gallery.open(tmp_path / "link.kcrc")
    assert victim.read_bytes() == PRECIOUS


def test_building_over_it_deletes_only_what_is_beside(closed: Path, victim: Path) -> None:
    data = journal_bytes([(1, first_page(closed))], pages=pages_of(closed), names=victim)
    plant(closed, data)
    passing = closed.with_name(".birds.kcrc.building")
    passing.write_bytes(closed.read_bytes())
    plant(passing, data)
    with building(closed, dim=2, overwrite=True) as made:
        made.add("a", [1, 2])
    assert victim.read_bytes() == PRECIOUS
    assert sorted(p.name for p in closed.parent.iterdir()) == ["birds.kcrc", "elsewhere"]
    assert verify(closed).problems == ()


def test_something_else_than_a_file_where_a_build_passes(closed: Path) -> None:
    passing = closed.with_name(".new.kcrc.building")
    os.mkfifo(passing)
    Gallery.create(closed.with_name("new.kcrc"), dim=2).close()
    (closed.with_name(".newer.kcrc.building")).mkdir()
    with pytest.raises(FileError, match="cannot be made there"):
        Gallery.create(closed.with_name("newer.kcrc"), dim=2)


def make_link(journal: Path, victim: Path) -> None:
    journal.symlink_to(victim)


def make_dangling_link(journal: Path, victim: Path) -> None:
    journal.symlink_to(victim.with_name("not-there-yet"))


def make_second_name(journal: Path, victim: Path) -> None:
    os.link(victim, journal)


def make_folder(journal: Path, victim: Path) -> None:
    journal.mkdir()


def make_pipe(journal: Path, victim: Path) -> None:
    os.mkfifo(journal)


@pytest.mark.parametrize("make", [make_link, make_dangling_link, make_second_name, make_folder, make_pipe])
@pytest.mark.parametrize("readonly", [False, True])
def test_a_journal_that_is_no_plain_file_is_refused(
    closed: Path, victim: Path, make: Callable[[Path, Path], None], readonly: bool
) -> None:
    make(Path(f"{closed}-journal"), victim)
    with pytest.raises(FileError, match="not a journal that kcrc wrote"), Gallery.open(closed, readonly=readonly) as g:
        g.remove([1])
    assert os.path.lexists(f"{closed}-journal")
    assert victim.read_bytes() == PRECIOUS
    assert [p.name for p in victim.parent.iterdir()] == ["precious.txt"]


@pytest.mark.parametrize(
    "options",
    [{"pages": 2**31}, {"page": 65536}, {"page": 1000}, {"page": 2**31}, {"sector": 3}, {"sector": 2**31}, {"page": 0}],
)
def test_a_journal_of_impossible_sizes_is_refused(closed: Path, options: dict[str, int]) -> None:
    before = closed.read_bytes()
    data = journal_bytes([(1, first_page(closed))], **{"pages": pages_of(closed), **options})  # type: ignore[arg-type]
    journal = plant(closed, data)
    with pytest.raises(FileError, match="claims sizes that cannot be"):
        Gallery.open(closed)
    assert closed.stat().st_size == len(before)
    assert (closed.read_bytes(), journal.read_bytes()) == (before, data)


@pytest.mark.parametrize("data", [b"dear diary", b"\0" * 4 + b"dear diary", b"\xd9\xd5dear diary" * 100])
def test_what_is_no_journal_is_not_deleted_for_one(closed: Path, data: bytes) -> None:
    journal = plant(closed, data)
    with pytest.raises(FileError, match="is not a journal"), Gallery.open(closed) as opened:
        opened.remove([1])
    assert journal.read_bytes() == data


def test_a_sound_journal_changes_nothing_but_the_gallery_and_is_caught_there(closed: Path) -> None:
    damaged = bytearray(first_page(closed))
    damaged[60:64] = b"\0\0\0\x63"  # another version in the header
    plant(closed, journal_bytes([(1, bytes(damaged))], pages=pages_of(closed)))
    with pytest.raises(FileError, match="newer kcrc"):
        Gallery.open(closed)
    assert [p.name for p in closed.parent.iterdir()] == ["birds.kcrc"]


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize("end", ["-wal", "-shm"])
@pytest.mark.parametrize("link", [False, True])
def test_a_log_beside_the_gallery_is_refused(closed: Path, victim: Path, end: str, link: bool, readonly: bool) -> None:
    db = sqlite3.connect(closed)
    db.execute("PRAGMA journal_mode = WAL")
    db.close()
    beside = Path(f"{closed}{end}")
    if link:
        beside.symlink_to(victim)
    else:
        beside.write_bytes(b"x" * 100)
    with (
        pytest.raises(FileError, match=f"birds.kcrc{end}'.*write-ahead log"),
        Gallery.open(closed, readonly=readonly) as g,
    ):
        g.remove([1])
    assert victim.read_bytes() == PRECIOUS
    assert os.path.lexists(beside)


@pytest.mark.parametrize("readonly", [False, True])
def test_a_gallery_that_asks_for_a_log_is_refused_and_gets_none(closed: Path, readonly: bool) -> None:
    db = sqlite3.connect(closed)
    db.execute("PRAGMA journal_mode = WAL")
    db.close()
    before = closed.read_bytes()
    with pytest.raises(FileError, match="write-ahead log"):
        Gallery.open(closed, readonly=readonly)
    assert [p.name for p in closed.parent.iterdir()] == ["birds.kcrc"]
    assert closed.read_bytes() == before


def test_a_journal_that_makes_it_ask_for_a_log_leaves_none(closed: Path) -> None:
    logged = bytearray(first_page(closed))
    logged[18:20] = b"\2\2"
    plant(closed, journal_bytes([(1, bytes(logged))], pages=pages_of(closed)))
    with pytest.raises(FileError, match="write-ahead log"):
        Gallery.open(closed)
    assert [p.name for p in closed.parent.iterdir()] == ["birds.kcrc"]


def test_what_is_planted_while_it_is_open_is_refused_too(gallery: Gallery, path: Path, victim: Path) -> None:
    journal = plant(path, journal_bytes([(1, first_page(path))], pages=pages_of(path), names=victim))
    for use in (lambda: len(gallery), lambda: gallery.remove([1]), gallery.history):
        with pytest.raises(FileError, match="names one more file"):
            use()
    assert victim.read_bytes() == PRECIOUS
    journal.unlink()
    assert len(gallery) == 6


# What a killed or busy writer of our own leaves


@pytest.fixture
def halfway(gallery: Gallery, path: Path, tmp_path: Path) -> Path:
    gallery.close()
    return interrupted(path, tmp_path / "halfway.kcrc")


def test_an_interrupted_write_is_taken_back(halfway: Path, tmp_path: Path) -> None:
    (tmp_path / "link.kcrc").symlink_to(halfway)
    with Gallery.open(tmp_path / "link.kcrc") as gallery:
        assert gallery.counts == {"heron": 2, "robin": 2, "wren": 2}
        assert gallery.verify().problems == ()
    assert not Path(f"{halfway}-journal").exists()


def test_a_reader_does_not_take_it_back_and_says_what_to_do(halfway: Path) -> None:
    before = halfway.read_bytes(), Path(f"{halfway}-journal").read_bytes()
    with pytest.raises(WriteNeeded, match=r"was interrupted.*open it once for writing.*'halfway\.kcrc-journal'"):
        Gallery.open(halfway, readonly=True)
    assert (halfway.read_bytes(), Path(f"{halfway}-journal").read_bytes()) == before


def test_a_reader_that_may_put_it_in_order_does(halfway: Path) -> None:
    with Gallery.open(halfway, readonly=True, recover=True) as gallery:
        assert gallery.readonly
        assert gallery.verify().problems == ()


def test_a_writer_killed_while_a_reader_has_it_open(gallery: Gallery, path: Path, tmp_path: Path) -> None:
    left = interrupted(path, tmp_path / "halfway.kcrc")
    with Gallery.open(path, readonly=True) as reader:
        data, journal = left.read_bytes(), Path(f"{left}-journal").read_bytes()
        descriptor = os.open(path, os.O_WRONLY)
        os.write(descriptor, data)
        plant(path, journal)
        with pytest.raises(WriteNeeded, match="was interrupted"):
            len(reader)
        Gallery.open(path).close()
        assert len(reader) == 6
    os.close(descriptor)


def test_the_journal_of_a_writer_at_work_is_no_fault(gallery: Gallery, path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    with contextlib.closing(other):
        other.execute("BEGIN")
        other.execute("UPDATE history SET summary = 'x'")
        assert Path(f"{path}-journal").exists()
        for readonly in (False, True):
            with Gallery.open(path, readonly=readonly) as opened:
                assert len(opened) == 6
        assert len(gallery) == 6
        other.execute("ROLLBACK")
