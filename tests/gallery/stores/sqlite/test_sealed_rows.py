"""Checksums over bytes that are spelled out: the same on every machine, in every Python, for good."""

from __future__ import annotations

import sqlite3
import zlib
from pathlib import Path

import pytest

from kcrc.errors import FileError
from kcrc.gallery import Gallery
from kcrc.gallery.stores import records


def test_the_bytes_of_a_row_are_those_of_the_format() -> None:
    row = (7, "Zaunkönig", "a\U0001fae9.jpg", b"\0:1", -3, 1, None, 12, None)
    spelled = b"t8:examplesi1:7t10:Zaunk\xc3\xb6nigt9:a\xf0\x9f\xab\xa9.jpgb3:\0:1i2:-3i1:1n0:i2:12n0:"
    assert records.checksum("examples", row) == zlib.crc32(spelled)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((1, "a", "bc"), (1, "ab", "c")),
        ((1, "1", ""), (1, 1, "")),
        ((1, "", None), (1, "", "")),
        ((1, "a", b"x"), (1, "a", "x")),
        ((11, "", ""), (1, "1", "")),
    ],
)
def test_rows_that_differ_have_other_bytes(one, other) -> None:
    assert records.as_bytes("changes", one) != records.as_bytes("changes", other)


def as_version_3_wrote(path: Path) -> None:
    db = sqlite3.connect(path)
    for table, columns in records.COLUMNS.items():
        keys = columns[: 2 if table in ("changes", "tuned") else 1]
        total = 0
        for row in db.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall():
            crc = zlib.crc32(repr((table, *row)).encode("utf-8", "backslashreplace"))
            where = " AND ".join(f"{key} = ?" for key in keys)
            db.execute(f"UPDATE {table} SET checksum = ? WHERE {where}", (crc, *row[: len(keys)]))
            total += crc
        db.execute("UPDATE seals SET total = ? WHERE name = ?", (total % (1 << 62), table))
    db.execute("PRAGMA user_version = 3")
    db.commit()
    db.close()


def test_a_file_of_version_3_is_brought_up(path: Path) -> None:
    with Gallery.create(path, dim=2) as made:
        made.add(["wren", "Zaunkönig", "\U0001fae9"], [[1, 0], [0, 1], [1, 1]])
        made.relabel([2], "owl")
    as_version_3_wrote(path)
    for _ in range(2):
        with Gallery.open(path) as brought:
            assert brought.verify().problems == ()
            assert brought.counts == {"owl": 1, "wren": 1, "\U0001fae9": 1}
            assert len(brought.history()) == 2


@pytest.mark.parametrize(
    "damage", ["UPDATE examples SET label = 'tit' WHERE id = 2", "DELETE FROM examples WHERE id = 2"]
)
def test_damage_is_found_before_it_gets_a_new_checksum(path: Path, damage: str) -> None:
    with Gallery.create(path, dim=2) as made:
        made.add(["wren", "owl"], [[1, 0], [0, 1]])
    as_version_3_wrote(path)
    db = sqlite3.connect(path)
    db.execute(damage)
    db.commit()
    db.close()
    with pytest.raises(FileError, match=r"damaged|lost"):
        Gallery.open(path)
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA user_version").fetchone() == (3,)
    db.close()
