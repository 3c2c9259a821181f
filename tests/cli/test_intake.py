"""Every file that ``build`` and ``add`` did not use is counted by reason, and what is odd is named."""

from __future__ import annotations

import importlib
import json
import shutil
import signal
import struct
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from photos import folder, photo, shapes
from PIL import Image

from kcrc.gallery import Gallery
from kcrc.gallery.adding import near_copies
from kcrc.images.datasets import class_folders
from kcrc.images.decoding import decoder as readers

Run = Callable[..., tuple[int, str, str]]

HEIC = struct.pack(">I4s4sI", 16, b"ftyp", b"heic", 0)


@pytest.fixture
def run(untuned: Run) -> Run:
    return untuned


def build(run, *more: str) -> tuple[int, str, list[str]]:
    code, out, err = run("build", "photos", "-o", "new.kcrc", "-f", "pixels", "--no-tune", *more)
    return code, out, err.splitlines()


def test_what_was_left_out_is_counted_by_reason(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "find_spec", lambda name: None)
    for number in range(3):
        Path(f"photos/wren/IMG_{number}.HEIC").write_bytes(HEIC)
    Path("photos/wren/IMG_4.cr2").write_bytes(b"II*\0\x10\0\0\0CR\2\0")
    Path("photos/wren/1.CR2").write_bytes(b"II*\0\x10\0\0\0CR\2\0")
    Image.new("RGB", (1, 1)).save("photos/wren/dot.png")
    Image.new("RGB", (40, 30), (9, 99, 200)).save("photos/wren/blue.jpg")
    Path("photos/wren/notes.txt").write_text("two males")
    Path("photos/wren/torn.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    shutil.copy("photos/robin/0.jpg", "photos/robin/again.jpg")
    shutil.copy("photos/robin/1.jpg", "photos/loose.jpg")
    Path("photos/kite").mkdir()
    code, out, lines = build(run)
    assert code == 0
    assert out.startswith("new.kcrc: 12 examples of 3 classes, ")
    assert lines[0].startswith("kcrc: photos/wren/torn.jpg: begins like a JPEG")
    assert lines[1:11] == [
        "Not used:",
        "  3 .heic not read: pip install 'kcrc[photos]'",
        "  1 .cr2 not read: pip install 'kcrc[photos]'",
        "  2 of a single pixel or colour: photos/wren/blue.jpg, photos/wren/dot.png; --blank takes such pictures",
        "  1 broken: photos/wren/torn.jpg",
        "  1 in already, the same bytes: photos/robin/again.jpg",
        "  1 in no class folder: photos/loose.jpg",
        "  1 RAW beside a picture of the same name, which is taken: photos/wren/1.CR2",
        "  1 of a kind that kcrc does not read: 1 .txt",
        "Worth a look:",
    ]
    assert lines[11] == "  1 class folder without a picture: kite"
    code, out, _ = build(run, "--blank", "--force")
    assert out.startswith("new.kcrc: 14 examples")


def test_nothing_is_said_where_there_is_nothing_to_say(run) -> None:
    code, _, lines = build(run)
    assert (code, lines) == (
        0,
        ["The settings are the usual ones; 'kcrc tune new.kcrc' chooses them from the examples."],
    )


def test_a_folder_without_classes_says_so(run) -> None:
    code, _, err = run("build", "photos/wren", "-o", "new.kcrc")
    assert code == 1
    assert "photos/wren has no class folders with images (4 are in it directly)." in err
    assert not Path("new.kcrc").exists()


def test_classes_that_deserve_a_look(run) -> None:
    photo(Path("photos/Wren/9.jpg"), "wren", 9)
    photo(Path("photos/owl/1.jpg"), "owl", 1)
    for form in ("NFC", "NFD"):
        photo(Path("photos") / unicodedata.normalize(form, "grèbe") / f"{form}.jpg", "owl", len(form) + ord(form[-1]))
    _, _, lines = build(run)
    assert "  2 folders are one class, their names are written in two ways: grèbe" in lines
    assert "  3 classes of one or two examples: Wren (1), grèbe (2), owl (1)" in lines
    assert (
        "  classes whose names differ only in case: Wren, wren; 'kcrc rename new.kcrc Wren wren' makes them one"
        in lines
    )


def test_the_same_picture_under_two_classes_is_named(run) -> None:
    shutil.copy("photos/robin/0.jpg", "photos/wren/x.jpg")
    _, _, lines = build(run)
    at = lines.index("  2 files of pictures that stand in several classes (robin and wren) were kept in neither:")
    assert lines[at + 1 : at + 4] == [
        "    photos/robin/0.jpg: robin or wren",
        "    photos/wren/x.jpg: robin or wren",
        "    'kcrc add new.kcrc --label robin photos/robin/0.jpg' takes the first as robin",
    ]
    assert run("add", "new.kcrc", "--label", "robin", "photos/robin/0.jpg")[0] == 0
    assert (
        "  photos/wren/x.jpg: the same picture is in as 'robin' (#12), not as 'wren'"
        in run("add", "new.kcrc", "--label", "wren", "photos/wren/x.jpg")[2]
    )


def test_a_divided_folder_is_built_from_train_and_evaluated_on_test(run) -> None:
    folder(Path("set/train"), 4)
    folder(Path("set/test"), 2, first=60)
    code, out, err = run("build", "set", "-f", "pixels", "-o", "s.kcrc")
    assert (code, out.startswith("s.kcrc: 12 examples of 3 classes")) == (0, True)
    assert err.startswith("set is divided into test, train.\n")
    assert err.endswith(
        "Built from train alone; 6 pictures of test were not used. 'kcrc evaluate s.kcrc set' tries it on them.\n"
    )
    code, out, err = run("evaluate", "s.kcrc", "set")
    assert (code, "of 6 images are answered right" in out) == (0, True)
    assert err.startswith("set is divided into test, train; the pictures of test are counted.\n")
    code, out, err = run("import", "s.kcrc", "set", "--format", "folders", "--relabel")
    assert (code, out) == (0, "added 6, relabelled 0, 12 were there already\n")
    assert set(json.loads(run("info", "s.kcrc", "--json")[1])["classes"]) == {"heron", "robin", "wren"}


def test_a_build_that_looks_like_a_mistake_is_refused_unless_it_is_meant(run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, first in (("train", 0), ("val", 10)):
        for number in range(3):
            photo(Path("p") / name / f"{number}.jpg", "wren", first + number)
    command = ["build", "p", "-o", "p.kcrc", "-f", "pixels", "--no-tune"]
    code, out, err = run(*command)
    assert (code, out) == (1, "")
    assert err.endswith("Nothing was made; --yes builds it all the same.\n")
    assert not Path("p.kcrc").exists()
    monkeypatch.setattr("kcrc.cli.build.is_confirmed", lambda question: False)
    assert run(*command)[2].endswith("class. Nothing was made.\n")
    monkeypatch.setattr("kcrc.cli.build.is_confirmed", lambda question: True)
    assert run(*command)[0] == 0
    monkeypatch.undo()


def test_links_that_lead_nowhere_are_named(run) -> None:
    Path("photos/wren/gone.jpg").symlink_to("nowhere.jpg")
    Path("photos/wren/loop").symlink_to("loop")
    _, _, lines = build(run)
    assert (
        "  2 links that lead nowhere, in a circle, or to a folder inside a class folder: photos/wren/gone.jpg, "
        "photos/wren/loop"
    ) in lines


def test_near_copies_are_named(run) -> None:
    for number in range(3):
        shapes(number).save(f"photos/wren/s{number}.png")
    shapes(1).resize((64, 48)).save("photos/wren/small.jpg", quality=80)
    _, _, lines = build(run)
    at = lines.index("  1 pair of pictures that look the same (another size, compressed again); both stay:")
    assert "photos/wren/s1.png" in lines[at + 1]
    assert "photos/wren/small.jpg" in lines[at + 1]
    assert "'kcrc remove new.kcrc" in lines[at + 2]
    shapes(2).resize((60, 44)).save("half.jpg")
    code, _, err = run("add", "new.kcrc", "half.jpg", "--label", "wren")
    assert code == 0
    assert "half.jpg and #" in err  # with the stored one that its vector is nearest to
    with Gallery.open("new.kcrc", readonly=True) as gallery:
        assert len(near_copies(gallery, [len(gallery)])) == 1
        assert near_copies(gallery, []) == []


def test_a_folder_of_class_folders_is_added_and_again_only_what_is_new(run) -> None:
    folder(Path("more"), 3, first=20)
    photo(Path("more/owl/1.jpg"), "owl", 1)
    code, out, err = run("add", "birds.kcrc", "more")
    assert (code, out) == (0, "added 10 of 10 (examples 13–22)\n")
    assert "'owl' is a new class." in err
    photo(Path("more/wren/new.jpg"), "wren", 60)
    code, out, err = run("add", "birds.kcrc", "more")
    assert (code, out) == (0, "added 1 of 11 (example 23)\n")
    assert "  10 in already, the same bytes: more/heron/20.jpg, more/heron/21.jpg, more/heron/22.jpg and 7 more" in err
    assert run("undo", "birds.kcrc")[1] == "undid: added 1 example of wren\n"
    code, _, err = run("add", "birds.kcrc", "more/wren/new.jpg")
    assert code == 2
    assert "--label NAME" in err


def test_what_is_in_already_is_not_decoded_again(run, monkeypatch: pytest.MonkeyPatch) -> None:
    building = importlib.import_module("kcrc.gallery.building")

    asked: list[int] = []
    real = building.extract_chunks
    monkeypatch.setattr(
        building, "extract_chunks", lambda f, paths, **k: asked.append(len(paths)) or real(f, paths, **k)
    )
    photo(Path("photos/wren/new.jpg"), "wren", 60)
    assert run("add", "birds.kcrc", "photos")[1] == "added 1 of 13 (example 13)\n"
    assert asked == [1]


def test_sync_names_what_vanished(run) -> None:
    Path("photos/wren/0.jpg").unlink()
    Path("photos/robin/1.jpg").rename("photos/robin/moved.jpg")
    shutil.copy("photos/heron/1.jpg", "photos/heron/0.jpg")
    photo(Path("photos/wren/new.jpg"), "wren", 61)
    code, out, err = run("add", "birds.kcrc", "photos", "--sync")
    assert code == 0
    assert out.splitlines() == [
        "added 1 of 12 (example 13)",
        "changed\t1\theron\tphotos/heron/0.jpg",
        "vanished\t9\twren\tphotos/wren/0.jpg",
    ]
    assert "2 examples of files that are no longer there, or no longer the same. They stay in" in err
    assert "'kcrc remove birds.kcrc 1 9'" in err
    assert run("remove", "birds.kcrc", "1", "9")[0] == 0
    assert "Nothing vanished" in run("add", "birds.kcrc", "photos", "--sync")[2]
    assert run("add", "birds.kcrc", "photos/wren/1.jpg", "--label", "wren", "--sync")[0] == 2


def test_an_interrupted_add_says_what_stayed(run, monkeypatch: pytest.MonkeyPatch) -> None:
    building = importlib.import_module("kcrc.gallery.building")

    folder(Path("more"), 4, first=30)
    real = building.extract_chunks

    def interrupted(feature, paths, **options):
        yield from (chunk for chunk, _ in zip(real(feature, paths, chunk=5, **options), range(1), strict=False))
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
        try:
            signal.raise_signal(signal.SIGINT)  # in this thread, before it goes on
        finally:
            signal.signal(signal.SIGINT, before)
        yield from ()

    monkeypatch.setattr(building, "extract_chunks", interrupted)
    code, out, err = run("add", "birds.kcrc", "more")
    assert (code, out) == (130, "")
    assert err == (
        "\nkcrc: interrupted; 5 of 12 added; 'kcrc undo birds.kcrc' takes them back, and the same command again "
        "adds the others.\n"
    )
    monkeypatch.undo()
    assert "parameters" not in run("predict", "birds.kcrc", "photos/wren/1.jpg")[2]


def test_an_interrupted_build_says_what_stayed(run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    building = importlib.import_module("kcrc.gallery.building")
    from kcrc.gallery.classifier import GalleryClassifier

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(building, "extract_chunks", interrupt)
        code, _, err = run("build", "photos", "-o", "new.kcrc", "-f", "pixels")
    assert (code, err) == (130, "\nkcrc: interrupted; nothing was made; 'new.kcrc' is as it was before.\n")
    assert not list(tmp_path.glob("*new.kcrc*")) + list(tmp_path.glob(".*new.kcrc*"))
    with monkeypatch.context() as patch:
        patch.setattr(GalleryClassifier, "tune", interrupt)
        code, _, err = run("build", "photos", "-o", "new.kcrc", "-f", "pixels")
        assert code == 130
        assert err == (
            "\nkcrc: interrupted; 'new.kcrc' is there with all 12 examples and the usual settings; "
            "'kcrc tune new.kcrc' chooses them from the examples.\n"
        )
        code, _, err = run("predict", "new.kcrc", "photos/wren/1.jpg")  # which tunes nothing
        assert (code, err) == (0, "")
    assert "the usual ones, not chosen from the examples" in run("info", "new.kcrc")[1]


def test_the_contents_of_a_folder(tmp_path: Path) -> None:
    folder(tmp_path, 2)
    (tmp_path / "kite").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "README").write_text("x")
    (tmp_path / "wren" / "a.TXT").write_text("x")
    photo(tmp_path / "loose.jpg", "owl", 1)
    found = class_folders(tmp_path)
    assert found.labels == ("heron",) * 2 + ("robin",) * 2 + ("wren",) * 2
    assert [path.name for path in found.loose] == ["loose.jpg"]
    assert found.empty == ("kite",)
    assert found.others == {"README": 1, ".txt": 1}
