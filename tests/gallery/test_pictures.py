from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from photos import folder, photo

from kcrc.errors import DataError, StateError
from kcrc.gallery import Gallery
from kcrc.images.decoding.reading import ImageError, decode


@pytest.fixture
def birds(tmp_path: Path) -> Path:
    return folder(tmp_path / "photos", 6)


@pytest.fixture
def made(birds: Path, tmp_path: Path) -> Gallery:
    return Gallery.from_folder(birds, tmp_path / "birds.kcrc", feature="pixels")


def test_three_lines_from_folder_to_answers(made: Gallery, tmp_path: Path) -> None:
    assert made.counts == {"heron": 6, "robin": 6, "wren": 6}
    new = [photo(tmp_path / "new" / f"{label}.jpg", label, 99) for label in ("wren", "heron", "robin")]
    assert made.predict(new).tolist() == ["wren", "heron", "robin"]
    assert made.predict(str(new[0])).tolist() == ["wren"]
    assert made.predict([]).tolist() == []
    assert made.predict([new[1].read_bytes()]).tolist() == ["heron"]


def test_evidence_names_examples_by_id(made: Gallery, birds: Path) -> None:
    made.remove([1, 2])
    one = made.explain([birds / "wren" / "3.jpg"])
    nearest = made.example(int(one.rows[0, 0]))
    assert Path(nearest.source) == birds / "wren" / "3.jpg"
    assert set(one.rows[0][one.rows[0] >= 0].tolist()) <= set(made.contents.ids.tolist())


def test_thumbnails_are_small_pictures(made: Gallery) -> None:
    thumbnail = made.thumbnail(1)
    assert thumbnail is not None
    assert decode(thumbnail).pixels.shape == (48, 64, 3)
    assert len(thumbnail) < 20_000


def test_a_correction_counts_at_once(made: Gallery, tmp_path: Path) -> None:
    owls = [photo(tmp_path / "owls" / f"{i}.jpg", "owl", i) for i in range(5)]
    query = photo(tmp_path / "query.jpg", "owl", 77)
    assert made.predict([query])[0] != "owl"
    told = made.add_images("owl", owls)
    assert len(told.added) == 5
    assert made.predict([query]).tolist() == ["owl"]
    made.undo()
    assert made.predict([query])[0] != "owl"
    made.set_parameters({"n_neighbors": 3})
    assert made.classifier().n_neighbors == 3
    assert made.classifier(n_neighbors=4).n_neighbors == 4


def test_the_feature_is_restored_as_it_was_fitted(birds: Path, tmp_path: Path) -> None:
    with Gallery.from_folder(birds, tmp_path / "e.kcrc", feature="eigenfaces") as gallery:
        fingerprint, vectors = gallery.fingerprint, gallery.vectors()[1].copy()
    with Gallery.open(tmp_path / "e.kcrc") as again:
        feature = again.answering.feature()
        assert feature.fingerprint == fingerprint
        sources = [again.example(i).source for i in again.contents.ids.tolist()]
        np.testing.assert_allclose(feature.transform(sources), vectors, rtol=1e-4, atol=1e-4)


def test_broken_files_are_skipped_or_fatal(birds: Path, tmp_path: Path) -> None:
    (birds / "wren" / "broken.jpg").write_bytes((birds / "wren" / "0.jpg").read_bytes()[:300])
    (birds / "wren" / "text.png").write_text("hello")
    with pytest.raises(ImageError, match=r"broken\.jpg"):
        Gallery.from_folder(birds, tmp_path / "a.kcrc", feature="pixels")
    assert not (tmp_path / "a.kcrc").exists()
    with Gallery.from_folder(birds, tmp_path / "b.kcrc", feature="pixels", on_error="skip") as gallery:
        assert gallery.counts["wren"] == 6
        told = gallery.add_images("wren", [birds / "wren" / "text.png"], on_error="skip")
        assert [problem.kind for problem in told.problems] == ["not an image"]
        assert "1 skipped" in told.summary


def test_the_same_image_twice_is_one_example(birds: Path, tmp_path: Path) -> None:
    (birds / "wren" / "copy.jpg").write_bytes((birds / "wren" / "0.jpg").read_bytes())
    with Gallery.from_folder(birds, tmp_path / "b.kcrc", feature="pixels") as gallery:
        assert len(gallery) == 18
    with Gallery.from_folder(birds, tmp_path / "c.kcrc", feature="pixels", duplicates="keep") as gallery:
        assert len(gallery) == 19
    with pytest.raises(DataError, match="in the gallery already"):
        Gallery.from_folder(birds, tmp_path / "d.kcrc", feature="pixels", duplicates="error")


def test_without_examples_or_images_it_says_so(tmp_path: Path) -> None:
    with Gallery.create(tmp_path / "v.kcrc", dim=2) as gallery:
        with pytest.raises(StateError, match="no examples"):
            gallery.classifier()
        gallery.add(["a", "b"], [[1, 0], [0, 1]])
        assert gallery.classifier().predict([[1.0, 0.1]]).tolist() == ["a"]
        with pytest.raises(StateError, match="ready vectors"):
            gallery.predict([tmp_path / "x.jpg"])


def test_the_default_name_is_the_folders(birds: Path) -> None:
    with Gallery.from_folder(birds, feature="pixels") as gallery:
        assert gallery.path == birds.with_name("photos.kcrc")
