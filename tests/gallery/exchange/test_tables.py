"""Tables of labels as other programs write them: which columns are read, and what is refused in words."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from photos import folder, photo

from kcrc.errors import DataError, FileError
from kcrc.files import plain_files
from kcrc.gallery import Gallery
from kcrc.gallery.building import build_from_folder
from kcrc.gallery.exchange import format_of, name_for, parquet
from kcrc.gallery.labels import import_labels, plan

pyarrow = pytest.importorskip("pyarrow")
from pyarrow import parquet as arrow_parquet  # noqa: E402

NAMES = ["heron", "robin", "wren"]
PICTURE = pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("tables")
    folder(where / "photos", 3)
    build_from_folder(where / "photos", where / "birds.kcrc", feature="pixels")
    return where


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made / "photos", tmp_path / "photos")
    shutil.copy(made / "birds.kcrc", tmp_path)
    return tmp_path


def read(path: Path, label_column: str | None = None) -> list[tuple[str, str]]:
    form = name_for(path)
    assert form is not None
    return [(row.label, row.image) for row in format_of(form).read(path, label_column)]


def write_hugging_face(path: Path, images: Any, labels: Sequence[int | None], names: Any = NAMES, **more: Any) -> None:
    """A Parquet file as ``datasets.Dataset.to_parquet`` writes it: class numbers, with their names in the schema."""
    features = {"label": {"names": names, "_type": "ClassLabel"}, "image": {"_type": "Image"}}
    said = json.dumps({"info": {"features": features}})
    table = pyarrow.table({"image": images, "label": pyarrow.array(labels, pyarrow.int64()), **more})
    arrow_parquet.write_table(table.replace_schema_metadata({"huggingface": said}), path)


def pictures(home: Path) -> list[Path]:
    return sorted((home / "photos").rglob("*.jpg"))


def test_class_numbers_of_hugging_face_get_their_names(home: Path) -> None:
    files = pictures(home)
    numbers = [NAMES.index(file.parent.name) for file in files]
    write_hugging_face(home / "h.parquet", [file.relative_to(home).as_posix() for file in files], numbers)
    with Gallery.open(home / "birds.kcrc") as gallery:
        told = import_labels(gallery, home / "h.parquet", form="parquet", relabel=True)
        assert (told.added, told.relabelled, told.same) == ([], (), 9)
        assert list(gallery.classes) == NAMES


def test_pictures_inside_of_parquet_are_known_again_or_added(home: Path) -> None:
    known, new = pictures(home)[0], photo(home / "new.jpg", "owl", 1)
    cells = [{"bytes": path.read_bytes(), "path": "a.jpg"} for path in (known, new, new)]
    cells.append({"bytes": None, "path": "photos/wren/0.jpg"})
    write_hugging_face(home / "h.parquet", pyarrow.array(cells, PICTURE), [0, 3, 3, 2], [*NAMES, "owl"])
    with Gallery.open(home / "birds.kcrc") as gallery:
        told = import_labels(gallery, home / "h.parquet", form="parquet")
        assert (len(told.added), told.same, told.problems) == (1, 2, [])
        assert gallery.example(told.added[0]).source == "a.jpg"
        assert gallery.counts["owl"] == 1


def test_a_number_without_a_name_is_refused_and_none_is_no_label(tmp_path: Path) -> None:
    write_hugging_face(tmp_path / "h.parquet", ["a.jpg", "b.jpg", "c.jpg"], [-1, None, 1])
    assert read(tmp_path / "h.parquet") == [("", "a.jpg"), ("", "b.jpg"), ("robin", "c.jpg")]
    write_hugging_face(tmp_path / "h.parquet", ["a.jpg"], [3])
    with pytest.raises(FileError, match=r"Row 1 of '.*h\.parquet' has the class number 3; it must be 0 to 2"):
        read(tmp_path / "h.parquet")


@pytest.mark.parametrize("names", [None, [], "abc", [1, 2], ["a", "a"], {"0": "a"}])
def test_names_that_are_none_are_not_believed(tmp_path: Path, names: Any) -> None:
    write_hugging_face(tmp_path / "h.parquet", ["a.jpg"], [0], names)
    assert read(tmp_path / "h.parquet") == [("0", "a.jpg")]


@pytest.mark.parametrize(
    "said",
    ["{", "[]", '{"info": 3}', '{"info": {"features": [1]}}', "[" * 9999, '{"info": {"features": {"label": 1}}}'],
)
def test_a_damaged_key_counts_as_none(tmp_path: Path, said: str) -> None:
    table = pyarrow.table({"image": ["a.jpg"], "label": [0]}).replace_schema_metadata({"huggingface": said})
    arrow_parquet.write_table(table, tmp_path / "h.parquet")
    assert read(tmp_path / "h.parquet") == [("0", "a.jpg")]


def test_numbers_beside_a_gallery_of_names_are_noticed(home: Path) -> None:
    rows = "".join(f"{file.relative_to(home).as_posix()},{number}\n" for number, file in enumerate(pictures(home)))
    (home / "x.csv").write_text("image,label\n" + rows)
    with Gallery.open(home / "birds.kcrc") as gallery:
        found = plan(gallery, home / "x.csv", form="csv", relabel=True)
        assert found.is_by_number
        assert found.relabels_most
        assert found.new_classes == [str(number) for number in range(9)]
        gallery.relabel([1], "7")
        assert not plan(gallery, home / "x.csv", form="csv", relabel=True).is_by_number


@pytest.mark.parametrize(
    ("header", "line"),
    [
        ("image,Label", "a.jpg,owl"),
        ("filename,class", "a.jpg,owl"),
        ("FileName,class_name,width", "a.jpg,owl,64"),
        ("path,category,split", "a.jpg,owl,train"),
        ("filenames,target", "a.jpg,owl"),
        ("annotation_id,choice,id,image,lead_time", "7,owl,1,/data/upload/3/0a1b2c3d-a.jpg,2.5"),
        ("image_path,bird", "a.jpg,owl"),
        ("bird,picture", "owl,a.jpg"),
        ("source,file,label,category", "web,a.jpg,owl,night"),
        ("id,picture,bird,sha256", "9,a.jpg,owl,"),
    ],
)
def test_columns_are_known_by_their_names_or_by_a_look(tmp_path: Path, header: str, line: str) -> None:
    (tmp_path / "x.csv").write_text(f"{header}\n{line}\n")
    assert read(tmp_path / "x.csv") == [("owl", "a.jpg")]


def test_a_file_without_a_header_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a.jpg,owl\nb.jpg,wren\n")
    assert read(tmp_path / "x.csv") == [("owl", "a.jpg"), ("wren", "b.jpg")]
    (tmp_path / "y.csv").write_text("a.jpg,owl,3\n")
    with pytest.raises(FileError, match=r"--label-column\. Its columns are: 1, 2, 3"):
        read(tmp_path / "y.csv")
    assert read(tmp_path / "y.csv", "2") == [("owl", "a.jpg")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("image,class,category\na.jpg,owl,bird\n", "several columns that may be the class: 'class', 'category'"),
        ("image,genus,species\na.jpg,Tyto,alba\n", "no column that must be the class"),
        ("genus,species\nTyto,alba\n", "no column of images"),
    ],
)
def test_what_cannot_be_told_apart_names_the_columns(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(FileError) as caught:
        read(tmp_path / "x.csv")
    assert said in str(caught.value)
    assert f"Its columns are: {text.split()[0].replace(',', ', ')}." in str(caught.value)


def test_the_column_of_the_class_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("image,label,file\na.jpg,3,owl\n")
    assert read(tmp_path / "x.csv", "file") == [("owl", "a.jpg")]
    with pytest.raises(FileError, match=r"has no column 'species'\. Its columns are: image, label, file"):
        read(tmp_path / "x.csv", "species")
    (tmp_path / "x.jsonl").write_text('{"image": "a.jpg", "species": "owl", "label": 3}\n')
    assert read(tmp_path / "x.jsonl", "species") == [("owl", "a.jpg")]


def test_what_pandas_writes_is_read(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"path": ["a.jpg", "b.jpg", "c.jpg"], "target": ["owl", "wren", None], "n": [1, 2, 3]})
    expected = [("owl", "a.jpg"), ("wren", "b.jpg"), ("", "c.jpg")]
    for name, write in (("x.csv", frame.to_csv), ("x.csv.gz", frame.to_csv), ("x.parquet", frame.to_parquet)):
        write(tmp_path / name, index=False)
        assert read(tmp_path / name) == expected
    frame.assign(target=frame.target.astype("category")).to_parquet(tmp_path / "x.parquet")
    assert read(tmp_path / "x.parquet") == expected
    frame.to_json(tmp_path / "x.jsonl", orient="records", lines=True)
    assert read(tmp_path / "x.jsonl") == expected
    frame.assign(target=[3, None, 4]).to_parquet(tmp_path / "x.parquet")
    assert [label for label, _ in read(tmp_path / "x.parquet")] == ["3", "", "4"]


def test_columns_of_embeddings_beside_are_passed_over(tmp_path: Path) -> None:
    columns = {"path": ["a.jpg"], "label": ["owl"], "embedding": [[0.5, 1.0]], "boxes": [[{"x": 1}]]}
    arrow_parquet.write_table(pyarrow.table(columns), tmp_path / "x.parquet")
    assert read(tmp_path / "x.parquet") == [("owl", "a.jpg")]
    arrow_parquet.write_table(pyarrow.table({"path": ["a.jpg"], "label": [["owl", "wren"]]}), tmp_path / "y.parquet")
    with pytest.raises(FileError, match="no column that must be the class"):
        read(tmp_path / "y.parquet")


def test_a_class_is_text_or_a_number(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"image": "a.jpg", "label": ["owl", "wren"]}\n')
    with pytest.raises(FileError, match=r"The class of line 1 of '.*' must be text; got list"):
        read(tmp_path / "x.jsonl")


def test_packed_tables_have_the_same_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "x.csv.gz"
    packed.write_bytes(gzip.compress(b"image,label\n" + b"a.jpg,owl\n" * 1000))
    assert len(read(packed)) == 1000
    monkeypatch.setattr("kcrc.gallery.exchange.plain_csv.BYTES", 5000)
    with pytest.raises(FileError, match="unpacks to more than the limit of 5000 bytes"):
        read(packed)
    assert plain_files.decompress(b"plain", packed, limit=1, what="file") == b"plain"
    packed.write_bytes(gzip.compress(b"image,label\na.jpg,owl\n")[:-9])
    with pytest.raises(FileError, match=r"x\.csv\.gz' cannot be unpacked"):
        read(packed)


def test_pictures_in_parquet_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [{"bytes": bytes(50_000), "path": "a.jpg"}] * 100
    write_hugging_face(tmp_path / "h.parquet", pyarrow.array(cells, PICTURE), [0] * 100)
    monkeypatch.setattr(parquet, "_UNPACKED", 1_000_000)
    with pytest.raises(FileError, match="more than 1000000 bytes"):
        read(tmp_path / "h.parquet")


def test_names_of_windows_are_found(home: Path) -> None:
    lines = [
        r"photos\wren\0.jpg,wren",
        r"C:\Users\me\Photos\wren\1.jpg,wren",
        r"D:\photos\none.jpg,wren",
        r"..\x.jpg,wren",
    ]
    (home / "x.csv").write_text("image,label\n" + "\n".join(lines) + "\n")
    with Gallery.open(home / "birds.kcrc") as gallery:
        told = import_labels(gallery, home / "x.csv", form="csv", images=home)
        assert (told.same, len(told.problems)) == (1, 3)
        told = import_labels(gallery, home / "x.csv", form="csv", images=home / "photos")
        assert (told.same, len(told.problems)) == (2, 2)
        assert "lies outside" in told.problems[1]


def coco(*pairs: tuple[int, int]) -> dict[str, Any]:
    return {
        "images": [{"id": 7, "file_name": "a.jpg"}, {"id": 8, "file_name": "b.jpg"}],
        "categories": [{"id": 1, "name": "owl"}, {"id": 5, "name": "wren"}],
        "annotations": [
            {"id": at, "image_id": i, "category_id": c, "bbox": [0, 0, 9, 9]} for at, (i, c) in enumerate(pairs)
        ],
    }


def test_the_one_category_of_an_image_is_its_class(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("\ufeff" + json.dumps(coco((7, 5), (7, 5))), encoding="utf-8")
    assert name_for(path) == "coco"
    assert read(path) == [("wren", "a.jpg"), ("", "b.jpg")]
    path.write_text(json.dumps(coco((7, 5), (7, 1), (8, 1))))
    with pytest.raises(
        FileError, match=r"1 of 2 images in '.*' have several categories, the first 'a\.jpg' \(owl, wren\)"
    ):
        read(path)
    path.write_text(json.dumps(coco((9, 1))))
    with pytest.raises(FileError, match="is damaged"):
        read(path)
    path.write_text("[]")
    assert name_for(path) == "label-studio"


def test_coco_of_fiftyone_lies_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "labels.json").write_text(json.dumps(coco((7, 1))))
    assert read(tmp_path) == [("owl", "data/a.jpg"), ("", "data/b.jpg")]


def test_a_plan_changes_nothing(home: Path) -> None:
    photo(home / "new.jpg", "owl", 1)
    (home / "x.csv").write_text(
        "image,label\nphotos/wren/0.jpg,auk\nphotos/wren/1.jpg,wren\nnew.jpg,owl\nno.jpg,owl\nb.jpg,\n"
    )
    with Gallery.open(home / "birds.kcrc") as gallery:
        before = gallery.settings.revision
        for relabel, new in ((False, ["owl"]), (True, ["auk", "owl"])):
            found = plan(gallery, home / "x.csv", form="csv", relabel=relabel)
            assert (len(found.files), len(found.labels), len(found.contradictions)) == (1, 2, 1)
            assert (found.new_classes, len(found.problems), found.unlabelled) == (new, 1, 1)
            assert not found.relabels_most
        assert gallery.settings.revision == before
        (home / "x.csv").write_text("image,label\nphotos/wren/0.jpg,auk\nphotos/wren/0.jpg,owl\n")
        with pytest.raises(DataError, match="two labels for example"):
            plan(gallery, home / "x.csv", form="csv")
