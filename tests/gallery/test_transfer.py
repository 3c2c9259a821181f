from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kcrc.errors import DataError, FileError, UnreadableTuning
from kcrc.files.archive import read_archive, write_archive
from kcrc.gallery import Gallery, restore


def seen(gallery: Gallery) -> list[tuple[object, ...]]:
    ids, vectors, labels = gallery.vectors()
    found = []
    for i, v, label in zip(ids.tolist(), vectors.tolist(), labels.tolist(), strict=True):
        example = gallery.example(i)
        found.append((label, v, example.source, example.content, gallery.thumbnail(i)))
    return found


def test_export_and_restore_keep_everything(gallery: Gallery, tmp_path: Path) -> None:
    gallery.remove([2])
    gallery.set_parameters({"k": 3})
    out = tmp_path / "birds.npz"
    assert gallery.export(out) == 5
    with restore(out, tmp_path / "again.kcrc") as again:
        assert seen(again) == seen(gallery)
        assert again.parameters == {"k": 3}
        assert again.fingerprint == gallery.fingerprint
        assert again.verify().problems == ()


def test_numpy_reads_an_export(gallery: Gallery, tmp_path: Path) -> None:
    gallery.export(tmp_path / "birds.npz")
    with np.load(tmp_path / "birds.npz", allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["vectors"], np.arange(24).reshape(6, 4))
        assert arrays["labels"].tolist() == ["wren", "wren", "robin", "robin", "heron", "heron"]


@pytest.mark.parametrize("kind", ["export", "gallery"])
def test_import_adds_what_is_not_there_as_one_act(gallery: Gallery, tmp_path: Path, kind: str) -> None:
    other = tmp_path / "other.kcrc"
    with Gallery.create(other, dim=4) as second:
        second.add(["wren", "owl", "owl"], [[0, 1, 2, 3], [7, 7, 7, 7], [8, 8, 8, 8]], sources=["a", "b", "c"])
        second.export(tmp_path / "other.npz")
    added = gallery.import_(other if kind == "gallery" else tmp_path / "other.npz")
    assert (len(added.ids), len(added.duplicates)) == (2, 1)
    assert gallery.counts["owl"] == 2
    gallery.undo()
    assert "owl" not in gallery.counts


def test_an_empty_gallery_travels_too(path: Path, tmp_path: Path) -> None:
    with Gallery.create(path, dim=4) as empty:
        assert empty.export(tmp_path / "empty.npz") == 0
        assert empty.import_(tmp_path / "empty.npz").ids == ()
    with restore(tmp_path / "empty.npz", tmp_path / "again.kcrc") as again:
        assert len(again) == 0


def test_another_fingerprint_is_refused(gallery: Gallery, tmp_path: Path) -> None:
    with Gallery.create(tmp_path / "other.kcrc", dim=4, fingerprint="hog") as other:
        other.add("a", np.ones(4))
    with pytest.raises(DataError, match=r"in another way \('vectors-4'\) than these examples were made for \('hog'\)"):
        gallery.import_(tmp_path / "other.kcrc")


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("labels", np.array(["a"])),
        ("vectors", np.zeros((6, 3), np.float32)),
        ("contents", np.zeros((6, 31), np.uint8)),
        ("thumbnail_ends", np.array([5, 4, 3, 2, 1, 0])),
        ("thumbnail_ends", np.full(6, 10**9)),
        ("sources", np.arange(6)),
        ("labels", None),
    ],
)
def test_parts_that_do_not_fit_are_refused(
    gallery: Gallery, tmp_path: Path, part: str, value: np.ndarray | None
) -> None:
    out = tmp_path / "birds.npz"
    gallery.export(out)
    header, arrays = read_archive(out, "kcrc-export")
    if value is None:
        del arrays[part]
    else:
        arrays[part] = value
    write_archive(out, "kcrc-export", header, arrays)
    before = len(gallery)
    with pytest.raises(FileError, match=r"do not fit|lacks its part"):
        gallery.import_(out)
    with pytest.raises(FileError, match=r"do not fit|lacks its part"):
        restore(out, tmp_path / "again.kcrc")
    assert len(gallery) == before
    assert not (tmp_path / "again.kcrc").exists()


def test_an_export_of_a_newer_version_says_so(gallery: Gallery, tmp_path: Path) -> None:
    out = tmp_path / "birds.npz"
    gallery.export(out)
    header, arrays = read_archive(out, "kcrc-export")
    write_archive(out, "kcrc-export", {**header, "version": 2}, {"embeddings": arrays["vectors"]})
    said = r"birds\.npz' was written by a newer kcrc \(file version 2, this one reads up to 1\)\. Upgrade kcrc"
    with pytest.raises(FileError, match=said):
        gallery.import_(out)
    with pytest.raises(FileError, match=said):
        restore(out, tmp_path / "again.kcrc")
    assert not (tmp_path / "again.kcrc").exists()


def test_what_is_no_export_is_named(gallery: Gallery, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    for name in ("notes.txt", "none.npz", "none.kcrc"):
        with pytest.raises(FileError, match=name):
            gallery.import_(tmp_path / name)


def tuned_gallery(path: Path) -> Gallery:
    rng = np.random.default_rng(3)
    labels = np.array(["wren", "robin", "owl"])[np.arange(36) % 3]
    made = Gallery.create(path, dim=6)
    made.add(labels, rng.standard_normal((36, 6)) + 2 * (np.arange(36) % 3)[:, None])
    made.tune(seconds=5)
    return made


@pytest.mark.parametrize("later", ["nothing", "removed", "added"])
def test_an_export_carries_what_was_tuned(tmp_path: Path, later: str, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = np.random.default_rng(4).standard_normal((9, 6)) + 2
    with tuned_gallery(tmp_path / "a.kcrc") as gallery:
        if later == "removed":
            gallery.remove([2, 5])
        elif later == "added":
            gallery.add("owl", np.full((1, 6), 4.0))
        gallery.export(tmp_path / "a.npz")
        expected = gallery.answering.answerer().answer(queries).probabilities
        facts = gallery.answering.facts()
    with restore(tmp_path / "a.npz", tmp_path / "b.kcrc") as again:
        monkeypatch.setattr(type(again.answering), "tune", None)  # nothing is chosen anew
        np.testing.assert_array_equal(again.answering.answerer().answer(queries).probabilities, expected)
        mine = again.answering.facts()
        assert mine is not None
        assert facts is not None
        assert (mine.examples, mine.chosen) == (facts.examples, facts.chosen)
        assert again.retune_due is None
        assert again.verify().problems == ()
        assert [entry.action for entry in again.history()] == ["build"]


def test_an_export_whose_tuning_is_damaged_is_refused_or_chosen_anew(tmp_path: Path) -> None:
    with tuned_gallery(tmp_path / "a.kcrc") as gallery:
        gallery.export(tmp_path / "a.npz")
    header, arrays = read_archive(tmp_path / "a.npz", "kcrc-export")
    write_archive(tmp_path / "b.npz", "kcrc-export", {**header, "tuned": {"pieces": ["facts"]}}, arrays)
    with pytest.raises(FileError, match="What was tuned is not readable"):
        restore(tmp_path / "b.npz", tmp_path / "b.kcrc")
    broken = {name: np.zeros(3, np.uint8) if name.startswith("tuned-") else part for name, part in arrays.items()}
    write_archive(tmp_path / "c.npz", "kcrc-export", header, broken)
    with restore(tmp_path / "c.npz", tmp_path / "c.kcrc") as made, pytest.warns(UnreadableTuning):
        assert len(made.classifier().classes_) == 3


def test_an_export_of_before_brings_no_tuning(tmp_path: Path) -> None:
    with tuned_gallery(tmp_path / "a.kcrc") as gallery:
        gallery.export(tmp_path / "a.npz")
    header, arrays = read_archive(tmp_path / "a.npz", "kcrc-export")
    del header["tuned"]
    write_archive(tmp_path / "b.npz", "kcrc-export", header, {k: v for k, v in arrays.items() if "tuned" not in k})
    with restore(tmp_path / "b.npz", tmp_path / "b.kcrc") as made:
        assert made.settings.tuned == 0
