"""Settings that another version left out or put in cost no example."""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from gallery.forging import reseal
from kcrc.errors import FileError
from kcrc.gallery import Gallery, verify
from kcrc.gallery.settings import Settings


@pytest.fixture
def filled(path: Path) -> Path:
    with Gallery.create(path, dim=3) as made:
        made.add(["wren", "owl", "wren"], np.arange(9.0).reshape(3, 3))
        made.remove([2])
        made.add(["robin"], [[7, 8, 9]])
    return path


def forged(path: Path, statement: str, values: tuple[str, ...]) -> None:
    db = sqlite3.connect(path)
    db.execute(statement, values)
    reseal(db)
    db.commit()
    db.close()


@pytest.mark.parametrize("key", [field.name for field in fields(Settings)])
def test_no_setting_that_is_missing_costs_an_example(filled: Path, key: str) -> None:
    forged(filled, "DELETE FROM settings WHERE key = ?", (key,))
    with Gallery.open(filled) as gallery:
        ids, vectors, labels = gallery.vectors()
        assert ids.tolist() == [1, 3, 4]
        assert labels.tolist() == ["wren", "wren", "robin"]
        assert vectors.tolist() == [[0, 1, 2], [6, 7, 8], [7, 8, 9]]
        assert gallery.add(["tit"], [[1, 1, 1]]).ids == (5,)  # and it goes on, with numbers that were not given
        gallery.undo()
        assert gallery.verify().problems == ()
    with Gallery.open(filled) as again:
        assert len(again) == 3


def test_a_setting_of_a_later_version_is_passed_over_and_stays(filled: Path) -> None:
    forged(filled, "INSERT INTO settings VALUES ('flavour', '\"sweet\"', 0)", ())
    with Gallery.open(filled) as gallery:
        gallery.add(["tit"], [[1, 1, 1]])
        assert gallery.verify().problems == ()
    db = sqlite3.connect(filled)
    assert db.execute("SELECT value FROM settings WHERE key = 'flavour'").fetchone() == ('"sweet"',)
    db.close()


@pytest.mark.parametrize("value", ['"x"', "null", "[1]", "{}", "-1", "1e400", "true" * 1000, "9" * 30])
@pytest.mark.parametrize("key", [field.name for field in fields(Settings)])
def test_no_value_of_a_setting_is_a_traceback(filled: Path, key: str, value: str) -> None:
    forged(filled, "UPDATE settings SET value = ? WHERE key = ?", (value, key))
    told = verify(filled)
    assert told.sound or all(len(problem) < 600 for problem in told.problems)
    with contextlib.suppress(FileError), Gallery.open(filled) as gallery:
        assert len(gallery) == 3
