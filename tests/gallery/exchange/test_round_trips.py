"""Labels out and in again, by every format there is."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from photos import folder, photo

from kcrc.errors import DataError, FileError, KCRCError, ParameterError, UnknownName
from kcrc.gallery import Gallery, exchange
from kcrc.gallery.building import build_from_folder
from kcrc.gallery.exchange import contract, format_of, name_for
from kcrc.gallery.labels import export_labels, import_labels
from kcrc.images.decoding.reading import decode

EVIL = ["=cmd()", "a/b", "..", 'x,"y"\nz;\tw;=1+1|@x\t=y', "CON", " wren ", "zaunkönig", "'=x", "\u202eevil", "Heron"]
OUTPUTS = {
    "csv": "labels.csv",
    "jsonl": "labels.jsonl",
    "parquet": "labels.parquet",
    "label-studio": "tasks.json",
    "coco": "coco.json",
    "fiftyone": "out",
    "folders": "out",
    "imagefolder": "out",
    "yolo": "out",
    "datumaro": "out",
}
every_format = pytest.mark.parametrize("form", exchange.names())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("exchange")
    folder(where / "photos", 4)
    build_from_folder(where / "photos", where / "birds.kcrc", feature="pixels")
    return where


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:
    shutil.copy(made / "birds.kcrc", tmp_path)
    return tmp_path


def state(path: Path) -> dict[str, str]:
    """Label by content."""
    with Gallery.open(path, readonly=True) as gallery:
        return {row.content.hex(): row.label for row in gallery.contents.rows}


def test_every_format_is_tried_here() -> None:
    assert OUTPUTS.keys() == exchange.HOMES.keys()
    for name, output in OUTPUTS.items():
        assert name_for(output) == ("label-studio" if name == "coco" else None if output == "out" else name)
    with pytest.raises(UnknownName, match="Known: coco, csv"):
        format_of("xml")


@every_format
def test_corrections_made_elsewhere_come_back_as_one_change(home: Path, form: str) -> None:
    birds, out = home / "birds.kcrc", home / OUTPUTS[form]
    with Gallery.open(birds) as gallery:
        before = state(birds)
        for example, label in enumerate(EVIL, 1):
            gallery.relabel([example], label)
        assert export_labels(gallery, out, form=form).examples == 12
        wanted = state(birds)
        gallery.undo(to=1)
        assert state(birds) == before
        told = import_labels(gallery, out, form=form)  # their labels stay
        assert (told.added, told.relabelled, told.same, told.problems) == ([], (), 2, [])
        assert [given for _, _, given in told.other] == EVIL
        assert state(birds) == before
        told = import_labels(gallery, out, form=form, relabel=True)
        assert len(told.relabelled) == 10
        assert state(birds) == wanted
        gallery.undo()
        assert state(birds) == before


@every_format
def test_images_labelled_elsewhere_are_added(made: Path, home: Path, form: str) -> None:
    with Gallery.open(home / "birds.kcrc") as gallery:
        gallery.relabel([1, 2], "a/b")
        sent = export_labels(gallery, home / OUTPUTS[form], form=form, originals=True)
        feature = gallery.answering.feature()
    folders = format_of(form).MAKES_FOLDER
    assert sent.originals == (12 if folders else 0)
    with Gallery.create(home / "new.kcrc", feature=feature) as new:
        told = import_labels(new, home / OUTPUTS[form], form=form, images=None if folders else made)
        assert (len(told.added), told.problems) == (12, [])
        assert len(new.history()) == 1
    assert state(home / "new.kcrc") == state(home / "birds.kcrc")


@every_format
def test_new_and_corrected_ones_are_one_change(made: Path, home: Path, form: str) -> None:
    birds, out = home / "birds.kcrc", home / OUTPUTS[form]
    with Gallery.open(birds) as gallery:
        export_labels(gallery, out, form=form, originals=True)
        gallery.erase([1])
        gallery.relabel([2], "auk")
        before = state(birds)
        told = import_labels(gallery, out, form=form, relabel=True, images=None if out.is_dir() else made)
        assert (len(told.added), told.relabelled, told.same) == (1, (2,), 10)
        gallery.undo()
    assert state(birds) == before


@pytest.mark.parametrize("form", ["fiftyone", "folders", "imagefolder", "yolo", "datumaro"])
def test_pictures_are_small_and_bare_unless_originals_are_asked_for(home: Path, form: str) -> None:
    with Gallery.open(home / "birds.kcrc") as gallery:
        sent = export_labels(gallery, home / "out", form=form)
        assert (sent.examples, sent.small, sent.originals) == (12, 12, 0)
        found = [path.read_bytes() for path in (home / "out").rglob("*.jpg")]
        assert len(found) == 12
        assert max(decode(found[0]).pixels.shape) <= 128
        with pytest.raises(FileError, match="give a new one"):
            export_labels(gallery, home / "out", form=form)


def test_an_original_that_is_another_by_now_is_not_copied(home: Path) -> None:
    photo(home / "one" / "wren" / "1.jpg", "wren", 1)
    photo(home / "one" / "owl" / "2.jpg", "owl", 2)
    build_from_folder(home / "one", home / "one.kcrc", feature="pixels")
    (home / "one" / "owl" / "2.jpg").write_bytes(b"secret")
    with Gallery.open(home / "one.kcrc") as gallery:
        sent = export_labels(gallery, home / "out", form="folders", originals=True)
    assert (sent.originals, sent.small) == (1, 1)
    assert b"secret" not in [path.read_bytes() for path in (home / "out").rglob("*.jpg")]


def test_the_csv_is_csv(home: Path) -> None:
    with Gallery.open(home / "birds.kcrc") as gallery:
        gallery.relabel([1], 'a "b", c\nd')
        gallery.relabel([2], "@sum")
        export_labels(gallery, home / "labels.csv", form="csv", file_names=True)
    data = (home / "labels.csv").read_bytes()
    assert data.startswith(b"image,label,id,sha256,added_at\r\n")
    assert data.count(b"\r\n") == 13
    with (home / "labels.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows[:3]] == ['a "b", c\nd', "'@sum", "heron"]
    assert {row["image"] for row in rows} == {f"{n}.jpg" for n in range(4)}


@pytest.mark.parametrize(
    ("image", "said"),
    [
        ("../secret.jpg", "lies outside"),
        ("/etc/passwd", "lies outside"),
        ("link/1.jpg", "lies outside"),
        ("https://example.com/1.jpg", "is an address, and nothing is fetched"),
        ("file:///etc/passwd", "is an address"),
        ("data:image/png;base64,AAAA", "is an address"),
        ("none.jpg", "is not a file below"),
        ("sub", "is not a file below"),
        ("a" * 5000, "is not a file below"),
        ("a\0b.jpg", "not a file name"),
    ],
)
def test_names_that_lead_elsewhere_are_not_used(home: Path, image: str, said: str) -> None:
    (home / "in" / "sub").mkdir(parents=True)
    photo(home / "secret.jpg", "wren", 1)
    photo(home / "elsewhere" / "1.jpg", "wren", 1)
    (home / "in" / "link").symlink_to(home / "elsewhere")
    (home / "in" / "labels.jsonl").write_text(json.dumps({"image": image, "label": "wren"}) + "\n")
    with Gallery.open(home / "birds.kcrc") as gallery:
        told = import_labels(gallery, home / "in" / "labels.jsonl", form="jsonl")
        assert (told.added, len(told.problems)) == ([], 1)
        assert said in told.problems[0]


def test_two_labels_for_one_example_are_refused(home: Path) -> None:
    before = state(home / "birds.kcrc")
    with Gallery.open(home / "birds.kcrc") as gallery:
        digest = gallery.example(1).content.hex()
        rows = [{"sha256": digest, "label": label} for label in ("auk", "owl")]
        (home / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        with pytest.raises(DataError, match="two labels for example 1"):
            import_labels(gallery, home / "x.jsonl", form="jsonl", relabel=True)
        photo(home / "new.jpg", "owl", 1)
        (home / "y.csv").write_text("image,label\nnew.jpg,auk\nnew.jpg,owl\n")
        with pytest.raises(DataError, match=r"two labels for '.*new\.jpg': 'auk' and 'owl'"):
            import_labels(gallery, home / "y.csv", form="csv")
    assert state(home / "birds.kcrc") == before


DAMAGED: dict[str, list[bytes]] = {
    "csv": [b"label\nwren\n", b'image,label\n"', b"\xff\xfe"],
    "jsonl": [b"[1]\n", b"{\n", b'{"image": "x"}\n', b"[" * 100_000, b'{"label": NaN, "image": "x"}\n'],
    "parquet": [b"PAR1", b"PAR1" + bytes(100) + b"PAR1", b""],
    "coco": [b"{", b"{}", b"[1]", b'{"images": [1], "annotations": [], "categories": []}', b"[" * 100_000],
    "label-studio": [b"{", b"{}", b"[1]", b'[{"data": {}}]', b"[" * 100_000],
}


@pytest.mark.parametrize(("form", "content"), [(form, one) for form, many in DAMAGED.items() for one in many])
def test_what_cannot_be_read_is_one_sentence(home: Path, form: str, content: bytes) -> None:
    file = home / OUTPUTS[form]
    file.write_bytes(content)
    with Gallery.open(home / "birds.kcrc") as gallery, pytest.raises(FileError, match=OUTPUTS[form]):
        import_labels(gallery, file, form=form)


@pytest.mark.parametrize("content", ["[]", "{", '{"labels": 3}', '{"labels": {"a": 7}, "classes": ["x"]}'])
def test_damaged_labels_of_fiftyone_too(home: Path, content: str) -> None:
    (home / "out" / "data").mkdir(parents=True)
    (home / "out" / "labels.json").write_text(content)
    assert name_for(home / "out") == "fiftyone"
    with Gallery.open(home / "birds.kcrc") as gallery, pytest.raises(FileError, match=r"labels\.json"):
        import_labels(gallery, home / "out", form="fiftyone")


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "label-studio", "coco"])
def test_there_is_a_limit_on_bytes_and_rows(home: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = home / OUTPUTS[form]
    with Gallery.open(home / "birds.kcrc") as gallery:
        export_labels(gallery, file, form=form)
        monkeypatch.setattr(contract, "ROWS", 5)
        with pytest.raises(FileError, match="more than 5 rows"):
            import_labels(gallery, file, form=form)
        reader = "contract" if form in ("label-studio", "coco") else exchange.HOMES[form]
        monkeypatch.setattr(sys.modules[f"kcrc.gallery.exchange.{reader}"], "BYTES", 100)
        with pytest.raises(FileError, match="more than the limit of 100"):
            import_labels(gallery, file, form=form)


def test_without_pyarrow_parquet_says_what_to_install(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (home / "x.parquet").write_bytes(b"PAR1")
    with Gallery.open(home / "birds.kcrc") as gallery, pytest.raises(ParameterError, match=r"kcrc\[tables\]"):
        import_labels(gallery, home / "x.parquet", form="parquet")


def task(image: str, *annotations: dict[str, Any]) -> dict[str, Any]:
    return {"id": 7, "data": {"image": image}, "annotations": list(annotations), "predictions": []}


def choices(*labels: str, **more: Any) -> dict[str, Any]:
    result = {"from_name": "choice", "to_name": "img", "type": "choices", "value": {"choices": list(labels)}}
    box = {"from_name": "tag", "to_name": "img", "type": "rectanglelabels", "value": {"rectanglelabels": ["beak"]}}
    return {"id": 1, "result": [box, result], **more}


def read(form: str, path: Path) -> list[tuple[str, str]]:
    return [(row.label, row.image) for row in format_of(form).read(path)]


def test_what_label_studio_writes_is_understood(tmp_path: Path) -> None:
    tasks = [
        task("/data/local-files/?d=new%20ones/1.jpg", choices("wren")),
        task("/data/upload/3/0a1b2c3d-2.jpg", choices("owl"), choices("robin"), choices("x", was_cancelled=True)),
        task("s3://bucket/3.jpg", choices("a", "b")),
        task("4.jpg"),
        {"id": 5, "image": "5.jpg", "choice": "heron"},
    ]
    (tmp_path / "tasks.json").write_text(json.dumps(tasks))
    assert read("label-studio", tmp_path / "tasks.json") == [
        ("wren", "new ones/1.jpg"),
        ("robin", "2.jpg"),
        ("", "s3://bucket/3.jpg"),
        ("", "4.jpg"),
        ("heron", "5.jpg"),
    ]


def test_what_fiftyone_writes_is_understood(tmp_path: Path) -> None:
    labels = {"a": 1, "deep/b": "owl", "c": None, "d": {"label": "robin", "confidence": 0.9}}
    (tmp_path / "data" / "deep").mkdir(parents=True)
    for name in ("a.png", "deep/b.jpg"):
        (tmp_path / "data" / name).write_bytes(b"x")
    (tmp_path / "labels.json").write_text(json.dumps({"classes": ["heron", "wren"], "labels": labels}))
    expected = [("wren", "data/a.png"), ("owl", "data/deep/b.jpg"), ("", "data/c"), ("robin", "data/d")]
    assert read("fiftyone", tmp_path) == expected


@pytest.mark.parametrize("column", contract.IMAGE_NAMES)
def test_other_programs_call_the_image_other_names(tmp_path: Path, column: str) -> None:
    (tmp_path / "x.csv").write_text(f"\ufeff{column};label\r\n1.jpg;wren\r\n")
    assert read("csv", tmp_path / "x.csv") == [("wren", "1.jpg")]


def test_a_gallery_of_vectors_takes_corrections_and_says_that_it_cannot_look(home: Path) -> None:
    with Gallery.create(home / "v.kcrc", dim=2) as gallery:
        gallery.add(["wren", "owl"], [[1.0, 2.0], [3.0, 4.0]], sources=["a", "b"])
        export_labels(gallery, home / "v.csv", form="csv")
        gallery.relabel([1], "auk")
        assert import_labels(gallery, home / "v.csv", form="csv", relabel=True).relabelled == (1,)
        photo(home / "new.jpg", "wren", 1)
        (home / "w.csv").write_text("image,label\nnew.jpg,wren\n")
        with pytest.raises(KCRCError, match="cannot look at images"):
            import_labels(gallery, home / "w.csv", form="csv")
