"""A gallery goes from a file to a server and back, and is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from photos import small_picture

from kcrc.cli import main
from kcrc.errors import FileError
from kcrc.gallery import Gallery, stores
from kcrc.gallery.check import problems
from kcrc.gallery.contract import ActRecord, ExampleRecord, LabelRecord, Snapshot, TunedRecord
from kcrc.gallery.stores.copying import copy_gallery
from kcrc.gallery.stores.postgres.address import parse


def everything(reading: Snapshot) -> object:
    examples = reading.all(ExampleRecord)
    return (
        reading.settings(),
        examples,
        reading.all(ActRecord),
        reading.all(LabelRecord),
        reading.all(TunedRecord),
        reading.vectors(examples).tobytes(),
        [reading.thumbnail(one) for one in examples],
        {name: array.tobytes() for name, array in reading.feature_state().items()},
    )


@pytest.fixture
def birds(tmp_path: Path) -> Path:
    """Tuned, with removed, relabelled and undone examples, some with pictures."""
    path = tmp_path / "birds.kcrc"
    rng = np.random.default_rng(0)
    with Gallery.create(path, dim=3) as made:
        made.add("wren", rng.normal(0, 1, (20, 3)), thumbnails=[small_picture(i) for i in range(5)] + [None] * 15)
        made.add("robin", rng.normal(3, 1, (20, 3)))
        made.classifier()
        made.relabel([1, 2], "heron")
        made.remove([7, 8])
        made.undo()
        made.remove([9])
    return path


def test_there_and_back_again(birds: Path, postgres_address: str, tmp_path: Path) -> None:
    shares: list[float] = []
    back = tmp_path / "back.kcrc"
    queries = np.random.default_rng(1).normal(1.5, 2, (30, 3))
    with Gallery.open(birds, readonly=True) as file:
        assert copy_gallery(file.store, postgres_address, check=problems, report=shares.append) == 40
        with Gallery.open(postgres_address) as server:
            assert server.read(everything) == file.read(everything)
            assert copy_gallery(server.store, back, check=problems) == 40
            np.testing.assert_array_equal(server.classifier().predict(queries), file.classifier().predict(queries))
            told = server.classifier().explain(queries), file.classifier().explain(queries)
            np.testing.assert_array_equal(told[0].rows, told[1].rows)
            np.testing.assert_allclose(told[0].residuals, told[1].residuals)
            with Gallery.open(back) as again:
                assert again.read(everything) == file.read(everything)
                assert again.undo().summary == server.undo().summary
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.parametrize("error", [FileError("broken"), KeyboardInterrupt()])
@pytest.mark.parametrize("goal", ["file", "server"])
def test_what_goes_wrong_midway_leaves_nothing(
    birds: Path, postgres_address: str, tmp_path: Path, goal: str, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = str(tmp_path / "new" / "copy.kcrc") if goal == "file" else postgres_address
    (tmp_path / "new").mkdir()
    monkeypatch.setattr("kcrc.gallery.stores.copying._MOST_AT_ONCE", 10)

    def told(share: float) -> None:
        if share > 0.3:
            raise error

    with Gallery.open(birds) as opened, pytest.raises(type(error)):
        copy_gallery(opened.store, where, check=problems, report=told)
    assert not stores.kind_of(where).exists(where)
    assert list((tmp_path / "new").iterdir()) == []


def test_a_damaged_gallery_is_not_copied(birds: Path, postgres_address: str, tmp_path: Path) -> None:
    with Gallery.open(birds) as opened:
        copy_gallery(opened.store, postgres_address, check=problems)
    where = parse(postgres_address)
    with psycopg.connect(**where.connection) as db:  # type: ignore[arg-type]
        db.execute(f"UPDATE {where.schema}.vectors SET data = set_byte(data, 1, 9) WHERE id = 30")  # type: ignore[arg-type]
    with Gallery.open(postgres_address) as opened, pytest.raises(FileError, match="vector of example 30 is damaged"):
        copy_gallery(opened.store, tmp_path / "copy.kcrc", check=problems)
    assert not (tmp_path / "copy.kcrc").exists()


def test_a_copy_that_differs_is_not_kept(birds: Path, postgres_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from kcrc.gallery.stores.records import RecordTransaction

    real = RecordTransaction.insert

    def losing(self: RecordTransaction, records: Any) -> None:
        real(self, records[1:] if records and isinstance(records[0], LabelRecord) else records)

    monkeypatch.setattr(RecordTransaction, "insert", losing)
    with Gallery.open(birds) as opened, pytest.raises(FileError, match="not what it was copied from"):
        copy_gallery(opened.store, postgres_address, check=problems)
    assert not stores.kind_of(postgres_address).exists(postgres_address)


def test_the_command_copies_says_so_and_overwrites_nothing(
    birds: Path, postgres_address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["copy", str(birds), postgres_address]) == 0
    assert "40 examples, compared with" in capsys.readouterr().out
    assert main(["copy", str(birds), postgres_address]) == 1
    assert "exists already" in capsys.readouterr().err
    assert main(["copy", postgres_address, str(birds)]) == 1
    assert "exists already" in capsys.readouterr().err
    assert main(["copy", postgres_address, str(tmp_path / "copy.kcrc")]) == 0
    assert main(["copy", f"{postgres_address}_no", str(tmp_path / "other.kcrc")]) == 1
    assert "There is no gallery" in capsys.readouterr().err
    assert not (tmp_path / "other.kcrc").exists()
