"""What every store has to do, whatever it keeps galleries in: ``kcrc.gallery.contract``.

A new store joins by one more case of the fixture ``address``. That acts mean the same over it: ``test_meaning.py``.
"""

from __future__ import annotations

import re
import threading
import zlib
from pathlib import Path

import numpy as np
import pytest

from kcrc.errors import FileError, StateError
from kcrc.gallery import Gallery, stores
from kcrc.gallery.check import problems
from kcrc.gallery.contract import (
    ActRecord,
    ExampleRecord,
    LabelRecord,
    Snapshot,
    Store,
    StoreKind,
    Transaction,
    TunedRecord,
)
from kcrc.gallery.examples import read_contents
from kcrc.gallery.settings import Settings

Address = Path | str
SETTINGS = Settings("0" * 32, 1, "vectors", {"side": 3}, "vectors-2", 2, "float32", {})
VECTORS = np.arange(6, dtype="<f4").reshape(3, 2)
PICTURE = b"\xff\xd8\xffpicture"


def example(number: int, label: str = "wren", removed_by: int | None = None, picture: bytes | None = None):
    return ExampleRecord(
        number,
        label,
        f"{number}.jpg",
        bytes([number]) * 32,
        added_at=5,
        added_by=1,
        removed_by=removed_by,
        vector_crc=zlib.crc32(VECTORS[number - 1].tobytes()),
        thumbnail_crc=None if picture is None else zlib.crc32(picture),
    )


EXAMPLES = [example(1, picture=PICTURE), example(2, "robin"), example(3, removed_by=2)]
ACTS = [ActRecord(1, 10, "add", "added", "null", None), ActRecord(2, 20, "remove", "removed", "null", None)]
LABELS = [LabelRecord(2, 1, "owl"), LabelRecord(2, 3, "owl")]
TUNED = [TunedRecord(2, "array a", b"1"), TunedRecord(2, "facts", b"{}"), TunedRecord(9, "facts", b"[]")]


def fill(writing: Transaction) -> None:
    writing.insert_examples(EXAMPLES, VECTORS, [PICTURE, None, None])
    for records in (ACTS, LABELS, TUNED):
        writing.insert(records)  # type: ignore[type-var]
    writing.set_settings(SETTINGS.act(next_id=4).act())


def everything(reading: Snapshot) -> object:
    examples = reading.all(ExampleRecord)
    return (
        reading.settings(),
        examples,
        reading.all(ActRecord),
        reading.all(LabelRecord),
        reading.all(TunedRecord),
        reading.vectors(examples).tolist(),
        [reading.thumbnail(one) for one in examples],
        {name: array.tolist() for name, array in reading.feature_state().items()},
    )


@pytest.fixture
def kind(address: Address) -> StoreKind:
    return stores.kind_of(address)


@pytest.fixture
def filled(address: Address, kind: StoreKind) -> Address:
    with kind.making(address, SETTINGS, {"mean": np.array([1.0, 2.0])}, overwrite=False) as made:
        made.write(fill)
    return address


@pytest.fixture
def store(filled: Address, kind: StoreKind):
    opened = kind.open(filled, readonly=False, recover=False)
    yield opened
    opened.close()


def test_what_was_kept_is_found_by_key_by_value_and_newest_first(store: Store) -> None:
    def look(reading: Snapshot) -> int:
        assert reading.settings() == SETTINGS.act(next_id=4).act()
        assert reading.all(ExampleRecord) == EXAMPLES
        assert reading.all(LabelRecord) == LABELS
        assert reading.all(TunedRecord) == TUNED
        assert list(reading.acts()) == ACTS[::-1]
        assert [type(record) for record in reading.all(ActRecord)] == [ActRecord, ActRecord]
        assert list(reading.find(ExampleRecord, label="wren")) == [EXAMPLES[0], EXAMPLES[2]]
        assert list(reading.find(ExampleRecord, label="wren", removed_by=None)) == [EXAMPLES[0]]
        assert sorted(reading.find(ExampleRecord, id=[3, 1, 7])) == [EXAMPLES[0], EXAMPLES[2]]
        assert sorted(reading.find(ExampleRecord, id=list(range(2, 3000)), removed_by=None)) == [EXAMPLES[1]]
        assert list(reading.find(ExampleRecord, content=[EXAMPLES[1].content])) == [EXAMPLES[1]]
        assert list(reading.find(ExampleRecord, id=[])) == []
        assert list(reading.find(TunedRecord, act=2, name="facts")) == [TUNED[1]]
        assert sorted(reading.keys(TunedRecord)) == [(2, "array a"), (2, "facts"), (9, "facts")]
        assert reading.damage() == []
        return reading.settings().revision

    assert store.read(look) == 2


def test_vectors_pictures_and_the_feature_come_back_whole(store: Store) -> None:
    np.testing.assert_array_equal(store.read(lambda reading: reading.vectors(EXAMPLES)), VECTORS)
    assert store.read(lambda reading: [reading.thumbnail(one) for one in EXAMPLES]) == [PICTURE, None, None]
    assert store.read(lambda reading: reading.feature_state())["mean"].tolist() == [1.0, 2.0]
    assert store.read(lambda reading: reading.feature_learned())
    assert store.size() >= VECTORS.nbytes + len(PICTURE)
    array = store.read(lambda reading: store.vectors(read_contents(reading)))
    np.testing.assert_array_equal(array, VECTORS[:2])
    assert array.dtype == np.float32
    assert not array.flags.writeable


def test_a_value_that_is_not_what_its_checksum_says_is_an_error(store: Store) -> None:
    wrong = EXAMPLES[0]._replace(vector_crc=1, thumbnail_crc=2)
    with pytest.raises(FileError):
        store.read(lambda reading: reading.vectors([wrong]))
    with pytest.raises(FileError):
        store.read(lambda reading: reading.thumbnail(wrong))


def test_records_are_replaced_and_deleted_examples_with_their_vectors(store: Store) -> None:
    def change(writing: Transaction) -> None:
        writing.replace(EXAMPLES[:1], [EXAMPLES[0]._replace(label="owl")])
        writing.replace(ACTS, [act._replace(undone_by=2) for act in ACTS])
        writing.delete(EXAMPLES[1:])
        writing.delete(LABELS[:1])
        writing.delete(TUNED)
        assert writing.all(ExampleRecord) == [EXAMPLES[0]._replace(label="owl")]  # a transaction sees what it wrote

    store.write(change)
    assert [one.label for one in store.read(lambda reading: reading.all(ExampleRecord))] == ["owl"]
    assert [act.undone_by for act in store.read(lambda reading: reading.all(ActRecord))] == [2, 2]
    assert store.read(lambda reading: reading.all(LabelRecord)) == LABELS[1:]
    assert store.read(lambda reading: reading.all(TunedRecord)) == []
    assert store.read(lambda reading: reading.damage()) == []
    with pytest.raises(FileError):
        store.read(lambda reading: reading.vectors(EXAMPLES[1:2]))


def test_no_records_are_written_as_easily_as_some(store: Store) -> None:
    before = store.read(everything)

    def change(writing: Transaction) -> None:
        none: list[ActRecord] = []
        writing.insert(none)
        writing.replace(none, none)
        writing.delete(none)

    store.write(change)
    assert store.read(everything) == before


@pytest.mark.parametrize("way", ["write", "erase"])
def test_a_transaction_is_kept_whole_or_not_at_all(store: Store, filled: Address, kind: StoreKind, way: str) -> None:
    before = store.read(everything)

    def broken(writing: Transaction) -> None:
        writing.delete(EXAMPLES)
        writing.insert([ActRecord(3, 30, "compact", "x", "null", None)])
        writing.set_settings(SETTINGS.act())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        getattr(store, way)(broken)
    assert store.read(everything) == before
    assert getattr(store, way)(lambda writing: writing.delete(EXAMPLES[:1])) is None
    other = kind.open(filled, readonly=True, recover=False)
    assert other.read(lambda reading: reading.all(ExampleRecord)) == EXAMPLES[1:]
    other.close()


def test_what_is_read_stays_the_same_until_the_reading_ends(store: Store, filled: Address, kind: StoreKind) -> None:
    writer = kind.open(filled, readonly=False, recover=False)
    thread = threading.Thread(target=lambda: writer.write(lambda writing: writing.delete(TUNED)))

    def look(reading: Snapshot) -> None:
        assert reading.all(TunedRecord) == TUNED
        thread.start()
        thread.join(0.2)  # it may be done, or wait for us
        assert reading.all(TunedRecord) == TUNED
        assert store.read(lambda again: again.all(TunedRecord)) == TUNED

    store.read(look)
    thread.join()
    assert store.read(lambda reading: reading.all(TunedRecord)) == []
    writer.close()


def test_writers_take_turns_and_threads_may_share_a_store(filled: Address, kind: StoreKind) -> None:
    opened = [kind.open(filled, readonly=False, recover=False) for _ in range(2)]

    def count(writing: Transaction) -> None:
        had = writing.settings()
        writing.insert([ActRecord(had.revision + 1, 0, "tune", "x", "null", None)])
        writing.set_settings(had.act())

    def work(store: Store) -> None:
        for _ in range(10):
            store.write(count)

    threads = [threading.Thread(target=work, args=(opened[i % 2],)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for store in opened:
        assert store.read(lambda reading: reading.settings()).revision == 2 + 30
        assert len(store.read(lambda reading: reading.all(ActRecord))) == 2 + 30
        store.close()


def test_one_opened_for_reading_does_not_write_and_a_closed_one_does_nothing(filled: Address, kind: StoreKind) -> None:
    reader = kind.open(filled, readonly=True, recover=False)
    assert reader.readonly
    for change in (reader.write, reader.erase):
        with pytest.raises(StateError, match="reading only"):
            change(lambda writing: writing.delete(TUNED))
    assert reader.read(lambda reading: reading.all(TunedRecord)) == TUNED
    reader.close()
    reader.close()
    with pytest.raises(StateError, match="closed"):
        reader.read(everything)


def test_a_gallery_that_is_being_made_is_not_there_and_an_error_leaves_none(address: Address, kind: StoreKind) -> None:
    def making(*, overwrite: bool = False):
        return kind.making(address, SETTINGS, {}, overwrite=overwrite)

    def half() -> None:
        with making() as made:
            made.write(fill)
            with pytest.raises(FileError):
                kind.open(address, readonly=True, recover=False)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert not kind.exists(address)
    with pytest.raises(FileError):
        kind.open(address, readonly=True, recover=False)
    with making():
        pass
    assert kind.exists(address)
    with pytest.raises(FileError, match="exists already"), making():
        pass
    with making(overwrite=True) as made:
        made.write(fill)
    opened = kind.open(address, readonly=True, recover=False)
    assert opened.read(lambda reading: len(reading.all(ExampleRecord))) == 3
    assert not opened.read(lambda reading: reading.feature_learned())
    opened.close()


def test_a_copy_is_a_gallery_with_all_of_it(store: Store, filled: Address, kind: StoreKind, tmp_path: Path) -> None:
    first, second = tmp_path / "first.kcrc", tmp_path / "second.kcrc"
    assert store.backup(first, check=problems) == first.stat().st_size
    assert kind.backup(filled, second, check=problems, overwrite=False, report=None) == second.stat().st_size
    for path in (first, second):
        with Gallery.open(path, readonly=True) as again:
            assert again.read(everything) == store.read(everything)
    with pytest.raises(FileError, match="exists already"):
        store.backup(first, check=problems)
    store.backup(first, check=problems, overwrite=True)


def test_an_address_of_no_kind_is_refused_in_a_sentence(tmp_path: Path, address: Address) -> None:
    with pytest.raises(FileError, match="no way to keep a gallery at 'nowhere://'"):
        Gallery.open("nowhere://birds")
    with pytest.raises(FileError, match="There is no gallery"):
        Gallery.open(tmp_path / "nowhere:" / "birds")  # a path is one, whatever it is called


@pytest.mark.parametrize(("folder", "package"), [("sqlite", "sqlite3"), ("postgres", "psycopg")])
def test_nothing_outside_its_folder_knows_of_what_a_store_is_made_of(folder: str, package: str) -> None:
    source = Path(stores.__file__).parents[2]
    assert source.name == "kcrc"
    inside = source / "gallery/stores" / folder
    wanted = rf"^\s*(import|from) ({package}|kcrc\.gallery\.stores\.{folder})\b"
    knowing = [path for path in source.rglob("*.py") if re.search(wanted, path.read_text("utf-8"), re.M)]
    assert inside / "store.py" in knowing
    assert [path for path in knowing if not path.is_relative_to(inside)] == []
