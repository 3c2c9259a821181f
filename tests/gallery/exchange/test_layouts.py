"""Labelled pictures in the shapes that people have them in: what is seen, and what is left out and said."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from photos import folder, photo

from kcrc.errors import DataError, FileError
from kcrc.gallery import Gallery
from kcrc.gallery.building import build_from_folder
from kcrc.gallery.exchange import format_of, layouts, name_for
from kcrc.gallery.exchange.layouts import LabelledImages, labels_in_names, read_layout
from kcrc.gallery.labels import export_labels
from kcrc.images.decoding.limits import ImageError, fetch
from kcrc.images.decoding.reading import decode

BIRDS = ("heron", "robin", "wren")


def counts(found: LabelledImages) -> dict[str, int]:
    return {label: found.labels.count(label) for label in sorted(set(found.labels))}


def each(number: int) -> dict[str, int]:
    return dict.fromkeys(BIRDS, number)


def test_class_folders_are_read_as_before(tmp_path: Path) -> None:
    folder(tmp_path, 3)
    found = read_layout(tmp_path)
    assert (counts(found), found.shape, found.splits) == (each(3), "", {})
    assert len(found.folders) == 1


@pytest.mark.parametrize(("train", "test"), [("train", "test"), ("Training", "valid"), ("training_set", "test_set")])
def test_examples_come_from_train(tmp_path: Path, train: str, test: str) -> None:
    folder(tmp_path / train, 3)
    folder(tmp_path / test, 2, first=10)
    found = read_layout(tmp_path)
    assert counts(found) == each(3)
    others = [part for name, part in found.splits.items() if name != "train"]
    assert [counts(part) for part in others] == [each(2)]
    assert train in found.shape
    assert test in found.shape
    with Gallery.from_folder(tmp_path, tmp_path / "g.kcrc", feature="pixels") as gallery:
        assert gallery.counts == each(3)


def test_a_class_called_train_beside_others_is_a_class(tmp_path: Path) -> None:
    for name in ("train", "plane"):
        photo(tmp_path / name / "1.jpg", "wren", 1)
        photo(tmp_path / name / "2.jpg", "wren", 2 + len(name))
    assert set(read_layout(tmp_path).labels) == {"train", "plane"} or read_layout(tmp_path).in_several


def test_labels_of_divided_folders_are_imported_by_class_and_not_by_split(tmp_path: Path) -> None:
    folder(tmp_path / "set" / "train", 2)
    folder(tmp_path / "set" / "val", 1, first=10)
    rows = list(format_of("folders").read(tmp_path / "set"))
    assert {row.label for row in rows} == set(BIRDS)
    assert {row.split for row in rows} == {"train", "val"}


def test_folders_of_pictures_called_train_and_test_are_doubted(tmp_path: Path) -> None:
    for name, first in (("train", 0), ("test", 10)):
        for number in range(3):
            photo(tmp_path / name / f"{number}.jpg", "wren", first + number)
    found = read_layout(tmp_path)
    (doubt,) = found.doubts()
    assert doubt.startswith("The classes would be called 'test' and 'train', which are usually the parts of a data set")


def test_a_class_of_one_beside_a_class_of_hundreds_is_doubted() -> None:
    found = LabelledImages.of([(f"{n}.jpg", "wren") for n in range(500)] + [("x.jpg", "wrem")], "")
    assert list(found.doubts()) == ["1 class has one picture (wrem), and 'wren' has 500."]
    assert list(LabelledImages.of([("a.jpg", "a"), ("b.jpg", "b")], "").doubts()) == []


def table(where: Path, text: Callable[[str, int], str], head: str) -> None:
    lines = [head]
    for label in BIRDS:
        for number in range(4):
            photo(where / "pictures" / f"{label}{number}.jpg", label, number)
            lines.append(text(label, number))
    (where / "labels.csv").write_text("\n".join(lines))


def test_a_table_beside_its_pictures_and_its_splits(tmp_path: Path) -> None:
    table(
        tmp_path,
        lambda label, n: f"pictures/{label}{n}.jpg,{label},{'Training' if n < 3 else 'test'}",
        "filename,class,split",
    )
    for source in (tmp_path, tmp_path / "labels.csv"):
        found = read_layout(source)
        assert counts(found) == each(3)
        assert counts(found.splits["test"]) == each(1)
        assert found.shape == "labels.csv names the pictures and their classes"


def test_a_table_that_gives_a_picture_two_classes(tmp_path: Path) -> None:
    table(tmp_path, lambda label, n: f"pictures/{label}{n}.jpg,{label}", "image,label")
    with (tmp_path / "labels.csv").open("a") as file:
        file.write("\npictures/wren0.jpg,robin\npictures/wren1.jpg,\npictures/none.jpg,wren")
    found = read_layout(tmp_path / "labels.csv")
    assert counts(found) == {"heron": 4, "robin": 4, "wren": 3}
    assert list(found.in_several.values()) == [("wren", "robin")]
    assert (found.unlabelled, len(found.problems)) == (1, 1)
    assert "none.jpg" in found.problems[0]


def test_the_same_picture_in_two_classes_is_kept_in_neither(tmp_path: Path) -> None:
    folder(tmp_path / "photos", 3)
    shutil.copy(tmp_path / "photos" / "wren" / "0.jpg", tmp_path / "photos" / "heron" / "copy.jpg")
    shutil.copy(tmp_path / "photos" / "wren" / "1.jpg", tmp_path / "photos" / "wren" / "again.jpg")
    found = read_layout(tmp_path / "photos")
    assert counts(found) == {"heron": 3, "robin": 3, "wren": 3}
    assert set(found.in_several.values()) == {("heron", "wren")}
    assert len(found.in_several) == 2
    build_from_folder(tmp_path / "photos", tmp_path / "g.kcrc", feature="pixels")
    with Gallery.open(tmp_path / "g.kcrc", readonly=True) as gallery:
        assert gallery.counts == {"heron": 3, "robin": 3, "wren": 2}


def test_names_that_begin_with_their_class(tmp_path: Path) -> None:
    for label in BIRDS:
        for number in range(3):
            photo(tmp_path / f"{label}_{number:03}.jpg", label, number)
    found = read_layout(tmp_path)
    assert counts(found) == each(3)
    assert found.shape.endswith("begin with their class, such as heron_000.jpg")


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["ant_1.jpg", "ant_2.jpg", "ant_3.jpg", "bee-1.jpg", "bee-2.jpg", "bee-30.jpg"], ["ant"] * 3 + ["bee"] * 3),
        (["red ant (1).png", "red ant (2).png", "red ant (3).png", "bee1.png", "bee2.png", "bee3.png"],
         ["red ant"] * 3 + ["bee"] * 3),
        (["Class 1-!-1.jpg", "Class 1-!-2.jpg", "Class 2-!-1.jpg", "Class 2-!-3.jpg"] * 2,
         (["Class 1"] * 2 + ["Class 2"] * 2) * 2),
        (["IMG_1.jpg", "IMG_2.jpg", "IMG_3.jpg", "DSC_1.jpg", "DSC_2.jpg", "DSC_3.jpg"], None),
        (["ant_1.jpg", "bee_2.jpg", "cat_3.jpg"], None),
        (["0001.jpg", "0002.jpg", "0003.jpg"], None),
        (["holiday.jpg", "ant_1.jpg"], None),
        (["ant_1.jpg", "ant_2.jpg"], None),
    ],
)  # fmt: skip
def test_what_names_say(names: list[str], labels: list[str] | None) -> None:
    assert labels_in_names(names) == labels


def yolo(where: Path, pattern: str, *, names: str) -> None:
    """A data set of boxes: two pictures per class for training, one to validate; ``pattern`` says where files lie."""
    for number, label in enumerate(BIRDS):
        for picture in range(3):
            split = "train" if picture < 2 else "valid"
            image = where / pattern.format(split=split, kind="images") / f"{label}{picture}.jpg"
            photo(image, label, picture)
            text = where / pattern.format(split=split, kind="labels") / f"{label}{picture}.txt"
            text.parent.mkdir(parents=True, exist_ok=True)
            text.write_text(f"{number} 0.5 0.5 0.4 0.4\n")
    (where / "data.yaml").write_text(names)


@pytest.mark.parametrize("pattern", ["{kind}/{split}", "{split}/{kind}"])
@pytest.mark.parametrize(
    "names",
    [
        "nc: 3\nnames: ['heron', \"robin\", wren]\ntrain: x\n",
        "names:\n  0: heron\n  1: robin  # red\n  2: 'wren'\nnc: 3\n",
        "path: .\nnames:\n- heron\n- robin\n- wren\n",
        "names: {0: heron, 1: robin, 2: wren}\n",
    ],
)
def test_yolo_pictures_that_show_one_class(tmp_path: Path, pattern: str, names: str) -> None:
    yolo(tmp_path, pattern, names=names)
    assert name_for(tmp_path) == "yolo"
    found = read_layout(tmp_path)
    assert counts(found) == each(2)
    assert counts(found.splits["val"]) == each(1)
    assert {row.label for row in format_of("yolo").read(tmp_path)} == set(BIRDS)


def test_boxes_become_pictures_if_asked(tmp_path: Path) -> None:
    yolo(tmp_path, "{kind}/{split}", names="names: [heron, robin, wren]\n")
    several = tmp_path / "labels" / "train" / "heron0.txt"
    several.write_text("0 0.25 0.25 0.5 0.5\n2 0.75 0.5 0.5 1.0 \n1 0.1 0.1 0.9 0.1 0.9 0.9\n")
    (tmp_path / "labels" / "train" / "wren0.txt").unlink()
    found = read_layout(tmp_path)
    assert counts(found) == {"heron": 1, "robin": 2, "wren": 1}
    assert found.unlabelled == 1
    assert found.problems == ("1 picture with several classes left out; --crops takes each box as a picture.",)
    found = read_layout(tmp_path, crops=True)
    assert counts(found) == {"heron": 2, "robin": 3, "wren": 2}
    first = next(path for path in found.paths if os.fspath(path).endswith("heron0.jpg#1"))
    whole = decode((tmp_path / "images" / "train" / "heron0.jpg").read_bytes()).pixels
    cut = decode(fetch(first)).pixels
    assert (cut == whole[: round(whole.shape[0] / 2), : round(whole.shape[1] / 2)]).all()
    with pytest.raises(FileError, match="have several categories"):
        list(format_of("yolo").read(tmp_path))


@pytest.mark.parametrize("line", ["wren 0 0 1 1", "0.5 0 0 1 1", "0 1 1", "0 1e400 0 1 1", "0 9 9 9 9", "0 nan 0 1 1"])
def test_a_damaged_file_of_boxes_is_named(tmp_path: Path, line: str) -> None:
    yolo(tmp_path, "{kind}/{split}", names="names: [heron, robin, wren]\n")
    (tmp_path / "labels" / "train" / "wren0.txt").write_text(line)
    with pytest.raises(FileError, match=r"wren0\.txt' is damaged"):
        read_layout(tmp_path)


def test_coco_of_roboflow_and_of_coco(tmp_path: Path) -> None:
    for split, first in (("train", 0), ("valid", 5)):
        images, annotations = [], []
        for number, label in enumerate(BIRDS):
            photo(tmp_path / "r" / split / f"{label}.jpg", label, first + number)
            images.append({"id": number, "file_name": f"{label}.jpg"})
            annotations.append({"id": number, "image_id": number, "category_id": number, "bbox": [0, 0, 10, 8.4]})
        categories = [{"id": number, "name": label} for number, label in enumerate(BIRDS)]
        document = {"images": images, "annotations": annotations, "categories": categories}
        (tmp_path / "r" / split / "_annotations.coco.json").write_text(json.dumps(document))
        shutil.copytree(tmp_path / "r" / split, tmp_path / "c" / f"{split}2017")
        (tmp_path / "c" / "annotations").mkdir(exist_ok=True)
        (tmp_path / "c" / "annotations" / f"instances_{split}2017.json").write_text(json.dumps(document))
    for where in ("r", "c"):
        found = read_layout(tmp_path / where)
        assert counts(found) == each(1), where
        assert counts(found.splits["val"]) == each(1)
        crop = read_layout(tmp_path / where, crops=True).paths[0]
        assert decode(fetch(crop)).pixels.shape[:2] == (8, 10)


def test_coco_names_no_file_outside(tmp_path: Path) -> None:
    photo(tmp_path / "secret.jpg", "wren", 1)
    (tmp_path / "set").mkdir()
    document = {
        "images": [{"id": 1, "file_name": "../secret.jpg"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1}],
        "categories": [{"id": 1, "name": "wren"}],
    }
    (tmp_path / "set" / "a.json").write_text(json.dumps(document))
    with pytest.raises(FileError, match="None of the 1 images"):
        read_layout(tmp_path / "set")


def zipped(source: Path, out: Path, *, top: str = "") -> Path:
    with zipfile.ZipFile(out, "w") as archive:
        for path in sorted(source.rglob("*")):
            archive.write(path, Path(top, path.relative_to(source)))
    return out


@pytest.mark.parametrize("top", ["", "photos", "a/b"])
def test_a_zip_of_class_folders(tmp_path: Path, top: str) -> None:
    folder(tmp_path / "photos", 3)
    file = zipped(tmp_path / "photos", tmp_path / "birds.zip", top=top)
    found = read_layout(file)
    assert counts(found) == each(3)
    build_from_folder(file, tmp_path / "g.kcrc", feature="pixels")
    build_from_folder(tmp_path / "photos", tmp_path / "h.kcrc", feature="pixels")
    with Gallery.open(tmp_path / "g.kcrc") as gallery, Gallery.open(tmp_path / "h.kcrc") as other:
        pairs = [{(row.content, row.label) for row in each.contents.rows} for each in (gallery, other)]
    assert pairs[0] == pairs[1]


def test_a_zip_with_splits_and_one_for_each_class(tmp_path: Path) -> None:
    folder(tmp_path / "a" / "train", 3)
    folder(tmp_path / "a" / "test", 1, first=9)
    found = read_layout(zipped(tmp_path / "a", tmp_path / "a.zip", top="set"))
    assert (counts(found), counts(found.splits["test"])) == (each(3), each(1))
    (tmp_path / "zips").mkdir()
    for label in BIRDS:  # as Teachable Machine saves the samples of a class
        zipped(tmp_path / "a" / "train" / label, tmp_path / "zips" / f"{label}-samples.zip")
    found = read_layout(tmp_path / "zips")
    assert (counts(found), found.shape) == (each(3), "zips has a zip for each class")
    with pytest.raises(DataError, match="3 pictures and no folders"):
        read_layout(tmp_path / "zips" / "wren-samples.zip")


def test_hostile_zips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "evil.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../wren/1.jpg", b"x")
        archive.writestr("/etc/wren/1.jpg", b"x")
        archive.writestr("__MACOSX/wren/1.jpg", b"x")
        archive.writestr("wren/big.jpg", bytes(1_000_000))
        archive.writestr("heron/2.jpg", b"\xff\xd8\xff", compress_type=zipfile.ZIP_STORED)
    found = read_layout(file)
    assert sorted(os.fspath(path).removeprefix(f"{file}/") for path in found.paths) == ["heron/2.jpg", "wren/big.jpg"]
    monkeypatch.setenv("KCRC_IMAGE_BYTES", "1000")
    with pytest.raises(ImageError, match="more than the limit of 1000"):
        fetch(found.paths[1])
    content = bytearray(file.read_bytes())
    content[content.index(b"\xff\xd8\xff")] ^= 1
    file.write_bytes(content)
    with pytest.raises(ImageError, match="cannot be read from the zip"):
        fetch(read_layout(file).paths[0])
    monkeypatch.setattr(layouts, "_MEMBERS", 3)
    with pytest.raises(FileError, match="at most 3 are read"):
        read_layout(file)
    file.write_bytes(b"PK\x05\x06" + bytes(18))
    with pytest.raises(DataError, match="no pictures with labels"):
        read_layout(file)


def test_what_is_none_of_these_is_said(tmp_path: Path) -> None:
    (tmp_path / "notes.odt").write_text("x")
    for source, words in (("none", "There is no"), ("notes.odt", "neither a folder nor a table"), (".", "no class")):
        with pytest.raises(DataError, match=words):
            read_layout(tmp_path / source)


@pytest.mark.parametrize("form", ["imagefolder", "yolo", "datumaro", "fiftyone", "folders"])
def test_what_is_exported_with_pictures_can_be_built_from(tmp_path: Path, form: str) -> None:
    folder(tmp_path / "photos", 3)
    build_from_folder(tmp_path / "photos", tmp_path / "g.kcrc", feature="pixels")
    with Gallery.open(tmp_path / "g.kcrc") as gallery:
        export_labels(gallery, tmp_path / "out", form=form, originals=True)
        wanted = {(row.content, row.label) for row in gallery.contents.rows}
    assert name_for(tmp_path / "out") == ("folders" if form == "yolo" else form)
    build_from_folder(tmp_path / "out", tmp_path / "h.kcrc", feature="pixels")
    with Gallery.open(tmp_path / "h.kcrc") as gallery:
        assert {(row.content, row.label) for row in gallery.contents.rows} == wanted


def test_datumaro_and_imagefolder_of_others_have_splits(tmp_path: Path) -> None:
    where = tmp_path / "d"
    (where / "annotations").mkdir(parents=True)
    for subset, first in (("train", 0), ("val", 5)):
        items = []
        for number, label in enumerate(BIRDS):
            photo(where / "images" / subset / f"{label}.jpg", label, first)
            entry = {"id": 0, "type": "label", "label_id": number}
            items.append({"id": label, "annotations": [entry], "image": {"path": f"{label}.jpg", "size": [48, 64]}})
            photo(tmp_path / "i" / subset / f"{label}.jpg", label, first)
        labels = [{"name": label, "parent": ""} for label in BIRDS]
        document = {"dm_format_version": "1.0", "categories": {"label": {"labels": labels}}, "items": items}
        (where / "annotations" / f"{subset}.json").write_text(json.dumps(document))
        lines = "".join(f"{label}.jpg,{label}\n" for label in BIRDS)
        (tmp_path / "i" / subset / "metadata.csv").write_text(f"file_name,label\n{lines}")
    for source in (where, tmp_path / "i"):
        found = read_layout(source)
        assert counts(found) == each(1)
        assert counts(found.splits["val"]) == each(1)
    document["items"][0]["annotations"].append({"label_id": 1})
    (where / "annotations" / "val.json").write_text(json.dumps(document))
    with pytest.raises(FileError, match="has several labels"):
        read_layout(where)
    (where / "annotations" / "val.json").write_text('{"dm_format_version": "1.0"}')
    with pytest.raises(FileError, match="is damaged"):
        read_layout(where)
