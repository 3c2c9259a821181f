from __future__ import annotations

import datetime
import hashlib
import sqlite3
import threading
from pathlib import Path

import numpy as np
import pytest
from photos import small_picture

from kcrc.errors import DataError, FileError, KCRCError, ParameterError, StateError
from kcrc.gallery import Gallery


def test_what_went_in_comes_out(gallery: Gallery) -> None:
    ids, vectors, labels = gallery.vectors()
    assert ids.tolist() == [1, 2, 3, 4, 5, 6]
    assert labels.tolist() == ["wren", "wren", "robin", "robin", "heron", "heron"]
    np.testing.assert_array_equal(vectors, np.arange(24).reshape(6, 4))
    assert vectors.dtype == np.float32
    assert not vectors.flags.writeable
    example = gallery.example(3)
    assert (example.label, example.source) == ("robin", "birds/2.jpg")
    assert example.content == hashlib.sha256(np.arange(8, 12, dtype="<f4").tobytes()).digest()
    assert abs((example.added_at - datetime.datetime.now(datetime.UTC)).total_seconds()) < 600
    assert gallery.thumbnail(3) == small_picture(2)
    assert gallery.thumbnail(6) is None
    assert gallery.classes == ("heron", "robin", "wren")
    assert len(gallery) == 6


def test_everything_is_there_after_reopening(gallery: Gallery, path: Path) -> None:
    gallery.set_parameters({"k": 7, "mu": np.float64(0.5)})
    before = [part.tolist() for part in gallery.vectors()]
    gallery.close()
    with Gallery.open(path) as again:
        assert [part.tolist() for part in again.vectors()] == before
        assert again.parameters == {"k": 7, "mu": 0.5}
        assert again.fingerprint == "vectors-4"
        assert again.verify().sound


def test_remove_relabel_rename(gallery: Gallery) -> None:
    assert gallery.remove([2, 5]) == (2, 5)
    assert gallery.relabel([1, 3], "robin") == (1,)
    assert gallery.rename_class("robin", "redbreast") == (1, 3, 4)
    assert gallery.counts == {"heron": 1, "redbreast": 3}
    ids, vectors, labels = gallery.vectors()
    assert ids.tolist() == [1, 3, 4, 6]
    assert labels.tolist() == ["redbreast", "redbreast", "redbreast", "heron"]
    np.testing.assert_array_equal(vectors[:, 0], [0, 8, 12, 20])


def test_renaming_to_an_existing_class_joins_the_two_and_undo_parts_them(gallery: Gallery) -> None:
    gallery.rename_class("heron", "wren")
    assert gallery.counts == {"robin": 2, "wren": 4}
    gallery.undo()
    assert gallery.counts == {"heron": 2, "robin": 2, "wren": 2}


def test_duplicates_are_skipped_refused_or_kept(gallery: Gallery) -> None:
    known = np.arange(24, dtype=np.float32).reshape(6, 4)[:1]
    new = np.full((1, 4), 9.5)
    added = gallery.add("owl", np.vstack([known, new, new]))
    assert len(added.ids) == 1
    assert [(d.position, d.id, d.existing_label) for d in added.duplicates] == [(0, 1, "wren"), (2, 0, "owl")]
    with pytest.raises(DataError, match="in the gallery already"):
        gallery.add("owl", known, duplicates="error")
    with pytest.raises(ParameterError, match="'skip', 'error' or 'keep'"):
        gallery.add("owl", known, duplicates="maybe")  # type: ignore[arg-type]
    assert len(gallery.add("owl", known, duplicates="keep").ids) == 1
    assert gallery.counts["owl"] == 2


def test_a_removed_example_is_no_duplicate(gallery: Gallery) -> None:
    gallery.remove([1])
    assert gallery.add("wren", np.arange(4.0)).ids == (7,)


def test_adding_only_duplicates_is_no_act(gallery: Gallery) -> None:
    before = len(gallery.history())
    assert gallery.add("wren", np.arange(4.0)).ids == ()
    assert len(gallery.history()) == before


@pytest.mark.parametrize(
    ("labels", "vectors", "options", "message"),
    [
        ("a", np.zeros((2, 5)), {}, "must have 4 numbers each"),
        ("a", [["x"] * 4], {}, "must be a table of numbers"),
        ("a", [[1, 2, 3], [1]], {}, "must be a table of numbers"),
        ("a", np.full((1, 4), np.nan), {}, "NaN or infinity"),
        ("a", np.full((1, 4), 1e300), {}, "NaN or infinity"),
        (["a"], np.zeros((2, 4)), {}, "labels must have one value per vector; got 1 for 2"),
        ("a", np.zeros((2, 4)), {"sources": ["x"]}, "sources must have one value per vector; got 1 for 2"),
        ("", np.zeros((1, 4)), {}, "class name"),
        ("a\0b", np.zeros((1, 4)), {}, "class name"),
        ("a" * 501, np.zeros((1, 4)), {}, "class name"),
        ([1.5], np.zeros((1, 4)), {}, "class name"),
        ("a", np.zeros((1, 4)), {"fingerprint": "other"}, r"in another way \('vectors-4'\) .* made for \('other'\)"),
        ("a", np.zeros((1, 4)), {"contents": [b"short"]}, "must have 32 bytes"),
        ("a", np.zeros((1, 4)), {"thumbnails": [b"GIF89a"]}, "JPEG, PNG or WebP"),
        ("a", np.zeros((1, 4)), {"thumbnails": [small_picture(0) * 300]}, "JPEG, PNG or WebP"),
    ],
)
def test_what_does_not_fit_is_refused_whole(
    gallery: Gallery, labels: object, vectors: object, options: dict[str, object], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        gallery.add(labels, vectors, **options)  # type: ignore[arg-type]
    assert len(gallery) == 6
    assert gallery.verify().sound


def test_an_unknown_id_changes_nothing(gallery: Gallery) -> None:
    for change in (lambda: gallery.remove([1, 99]), lambda: gallery.relabel([1, 99], "x")):
        with pytest.raises(DataError, match="no example 99"):
            change()
    with pytest.raises(DataError, match="no class 'owl'"):
        gallery.rename_class("owl", "x")
    assert gallery.counts == {"heron": 2, "robin": 2, "wren": 2}


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "a\nb", "a'; DROP TABLE examples; --", '"quoted"', "<script>x</script>", "鳥", "\udcff"],
)
def test_any_name_is_only_a_name(gallery: Gallery, name: str, tmp_path: Path) -> None:
    here = {p.name for p in tmp_path.iterdir()}
    (new,) = gallery.add(name, np.ones(4), sources=[name]).ids
    assert gallery.example(new).label == name.replace("\udcff", "\\udcff")
    assert gallery.find(label=name) == gallery.find(source=name) == (new,)
    assert gallery.verify().sound
    assert {p.name for p in tmp_path.iterdir()} == here


def test_one_name_typed_in_two_ways_is_one_class(gallery: Gallery) -> None:
    gallery.add(["caf\u00e9", "cafe\u0301"], [[1, 1, 1, 1], [2, 2, 2, 2]])
    assert gallery.counts["café"] == 2


def test_numbers_as_class_names_become_text(gallery: Gallery) -> None:
    gallery.add(np.array([3, 7]), np.ones((2, 4)), duplicates="keep")
    assert {"3", "7"} <= set(gallery.classes)


def test_double_precision_is_kept_when_asked_for(path: Path) -> None:
    with Gallery.create(path, dim=1, dtype="float64", fingerprint="mine") as gallery:
        gallery.add("a", [[1 / 3]])
        assert gallery.vectors()[1][0, 0] == 1 / 3
        assert gallery.fingerprint == "mine"


@pytest.mark.parametrize("options", [{}, {"dim": 0}, {"dim": 10**7}, {"dim": 2, "dtype": "float16"}, {"dim": 2.5}])
def test_create_checks_its_options(path: Path, options: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        Gallery.create(path, **options)  # type: ignore[arg-type]
    assert not list(path.parent.iterdir())


def test_a_reader_sees_the_writers_acts_and_cannot_write(gallery: Gallery, path: Path) -> None:
    with Gallery.open(path, readonly=True) as reader:
        assert len(reader) == 6
        gallery.add("owl", np.ones(4))
        gallery.remove([1])
        assert reader.counts == {"heron": 2, "owl": 1, "robin": 2, "wren": 1}
        assert reader.vectors()[0].tolist() == [2, 3, 4, 5, 6, 7]
        with pytest.raises(StateError, match="reading only"):
            reader.remove([2])


def test_two_writers_take_turns(gallery: Gallery, path: Path) -> None:
    def work(start: int) -> None:
        with Gallery.open(path) as own:
            for i in range(10):
                own.add("owl", np.full(4, start + i, np.float32))

    threads = [threading.Thread(target=work, args=(start,)) for start in (100, 200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert gallery.counts["owl"] == 20
    assert len(set(gallery.contents.ids.tolist())) == 26
    assert gallery.verify().sound


def test_threads_may_share_one_gallery(gallery: Gallery) -> None:
    problems: list[Exception] = []

    def work(start: int) -> None:
        try:
            for i in range(5):
                gallery.add("owl", np.full(4, start + i, np.float32))
                gallery.vectors()
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(start,)) for start in (100, 200, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert gallery.counts["owl"] == 15


def test_a_locked_gallery_says_so(gallery: Gallery, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcrc.gallery.stores.sqlite.file.WAIT_SECONDS", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StateError, match="Another program is writing"):
        Gallery.open(path)
    other.close()


def test_a_closed_or_replaced_gallery_says_so(gallery: Gallery, path: Path) -> None:
    Gallery.create(path, dim=2, overwrite=True).close()
    with pytest.raises(StateError, match="replaced"):
        gallery.remove([1])
    gallery.close()
    gallery.close()
    with pytest.raises(StateError, match="closed"):
        len(gallery)


@pytest.mark.parametrize("content", [b"", b"hello", b"SQLite format 3\0" + b"x" * 4096, b"\0" * 8192])
def test_a_file_that_is_no_gallery_is_named(tmp_path: Path, content: bytes) -> None:
    other = tmp_path / "notes.txt"
    other.write_bytes(content)
    with pytest.raises(FileError, match=r"notes\.txt"):
        Gallery.open(other)
    assert other.read_bytes() == content


def test_a_missing_file_or_a_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no gallery"):
        Gallery.open(tmp_path / "none.kcrc")
    with pytest.raises(FileError, match="not a file"):
        Gallery.open(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a?mode=memory.kcrc", "a#b%20c.kcrc", "ü 鳥.kcrc"])
def test_odd_file_names(tmp_path: Path, name: str) -> None:
    with Gallery.create(tmp_path / name, dim=2) as gallery:
        gallery.add("a", [1, 2])
    with Gallery.open(tmp_path / name, readonly=True) as again:
        assert again.vectors()[1].tolist() == [[1, 2]]


def test_an_error_within_an_act_leaves_nothing(gallery: Gallery, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("kcrc.gallery.stores.sqlite.driver.SQLiteDriver.update", broken)
        with pytest.raises(KeyboardInterrupt):
            gallery.remove([1])
    assert gallery.verify().sound
    assert len(gallery) == 6
    assert gallery.remove([1]) == (1,)


def test_every_error_is_of_the_library(gallery: Gallery) -> None:
    with pytest.raises(KCRCError):
        gallery.remove(["x"])  # type: ignore[list-item]
