from __future__ import annotations

import pytest

from kcrc.errors import DataError
from kcrc.images.datasets import from_folder
from lab.datasets import load


def touch(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")


def test_classes_are_the_folders_and_files_come_in_the_order_of_their_names(tmp_path):
    for name in (
        "wren/b.jpg",
        "wren/a.PNG",
        "owl/deep/c.webp",
        "wren/notes.txt",
        "wren/.hidden.jpg",
        ".git/x.jpg",
    ):
        touch(tmp_path / name)
    ds = from_folder(tmp_path)
    assert ds.classes == ("owl", "wren")
    assert ds.paths is not None
    assert [p.name for p in ds.paths] == ["c.webp", "a.PNG", "b.jpg"]
    assert ds.named.tolist() == ["owl", "wren", "wren"]


def test_an_empty_class_is_named(tmp_path):
    touch(tmp_path / "wren" / "a.jpg")
    (tmp_path / "owl").mkdir()
    with pytest.raises(DataError, match="owl has no image files"):
        from_folder(tmp_path)


def test_no_classes_and_no_folder_say_what_is_wanted(tmp_path):
    touch(tmp_path / "a.jpg")
    with pytest.raises(DataError, match="no class folders"):
        from_folder(tmp_path)
    with pytest.raises(DataError, match="not a folder"):
        from_folder(tmp_path / "a.jpg")


@pytest.mark.parametrize(
    ("name", "folder", "said"),
    [
        ("caltech101", "101_ObjectCategories", "BACKGROUND_Google holds 0 images; 467"),
        ("caltech256", "256_ObjectCategories", "1 images; 30607"),
        ("scene15", "scene_categories", "look at: anchor"),
    ],
)
def test_a_partial_copy_of_a_published_set_is_refused(no_data, name, folder, said):
    touch(no_data / folder / "anchor" / "a.jpg")
    with pytest.raises(DataError, match=said):
        load(name, no_data)


def test_the_photographs(shared_data):
    ds = load("caltech101-20", shared_data)
    assert (len(ds), len(ds.classes)) == (1000, 20)
