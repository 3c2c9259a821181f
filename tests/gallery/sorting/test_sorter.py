"""Files in their places: nothing overwritten, everything taken back, whatever happens in between."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gallery.sorting.sorter_kills import SURE, UNSURE, images_in, sort, tree
from kcrc.errors import FileError, StateError
from kcrc.gallery.sorting import sorter as module
from kcrc.gallery.sorting.sorter import DOUBTFUL, NAME, SortAnswer, Sorter, logs, take_back

CHILD = Path(__file__).with_name("sorter_kills.py")
HOWS = ["copy", "move", "link"]
every_way = pytest.mark.parametrize("how", HOWS)


@pytest.fixture
def images(tmp_path: Path) -> list[Path]:
    (tmp_path / "in").mkdir()
    found = [tmp_path / "in" / f"{name}.jpg" for name in "abc"]
    for path in found:
        path.write_bytes(path.stem.encode() * 100)
    return found


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@every_way
def test_sure_ones_go_to_their_class_doubtful_ones_aside_and_back(images: list[Path], out: Path, how: str) -> None:
    before = tree(images[0].parent)
    sort(images, out, how, [SURE, UNSURE, SortAnswer("owl", 0.99, unknown=True)])
    assert images_in(out) == {
        "wren/a.jpg": b"a" * 100,
        f"{DOUBTFUL}/b.jpg": b"b" * 100,
        f"{DOUBTFUL}/c.jpg": b"c" * 100,
    }
    assert tree(images[0].parent) == ({} if how == "move" else before)
    assert (out / "wren" / "a.jpg").is_symlink() == (how == "link")
    lines = [json.loads(line) for line in (out / NAME).read_text().splitlines()]
    (first,) = [line for line in lines if line.get("to") == "wren/a.jpg"]
    assert (first["how"], first["from"]) == (how, str(images[0]))
    assert first["sha256"] == hashlib.sha256(b"a" * 100).hexdigest()
    told = take_back(out)
    assert (len(told.done), told.refused) == (3, [])
    assert tree(images[0].parent) == before
    assert list(out.iterdir()) == []


@every_way
def test_nothing_is_overwritten(images: list[Path], out: Path, how: str) -> None:
    (out / "wren").mkdir(parents=True)
    (out / "wren" / "a.jpg").write_bytes(b"mine")
    (out / "wren" / "a-2.jpg").symlink_to("nowhere")
    (out / "wren" / "c.jpg").mkdir()
    sort(images, out, how)
    assert (out / "wren" / "a.jpg").read_bytes() == b"mine"
    assert os.readlink(out / "wren" / "a-2.jpg") == "nowhere"
    assert (out / "wren" / "a-3.jpg").read_bytes() == b"a" * 100
    assert (out / "wren" / "c-2.jpg").read_bytes() == b"c" * 100
    take_back(out)
    assert images_in(out) == {"wren/a.jpg": b"mine"}


def test_a_name_taken_at_the_last_moment_is_not_overwritten(
    images: list[Path], out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = os.path.lexists

    def late(path: Any) -> bool:
        found = free(path)
        if not found and Path(path).name == "a.jpg" and Path(path).parent.name == "wren":
            Path(path).write_bytes(b"quick")
        return found

    monkeypatch.setattr(module.os.path, "lexists", late)
    with Sorter(out, ["wren"]) as sorter:
        assert sorter.take(images[0], SURE).path.name == "a-2.jpg"
    assert (out / "wren" / "a.jpg").read_bytes() == b"quick"


@pytest.mark.parametrize("how", ["copy", "move"])
def test_a_disk_without_links_does_it_by_other_means(
    images: list[Path], out: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: Any, **__: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    before = tree(images[0].parent)
    os.utime(images[0], (1e9, 1e9))
    sort(images, out, how)
    assert images_in(out).keys() == {"wren/a.jpg", "wren/c.jpg", f"{DOUBTFUL}/b.jpg"}
    assert (out / "wren" / "a.jpg").stat().st_mtime == 1e9
    take_back(out)
    assert tree(images[0].parent) == before


def test_an_image_that_may_not_be_taken_away_stays_and_leaves_no_copy(
    images: list[Path], out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink = os.unlink

    def refused(path: Any, **more: Any) -> None:
        if Path(path) == images[0]:
            raise PermissionError(13, "Permission denied")
        unlink(path, **more)

    monkeypatch.setattr(os, "unlink", refused)
    with Sorter(out, ["wren"], how="move") as sorter, pytest.raises(FileError, match="Permission denied"):
        sorter.take(images[0], SURE)
    assert images[0].exists()
    assert images_in(out) == {}
    assert take_back(out).refused == []


def test_the_same_copy_is_not_made_again(images: list[Path], out: Path) -> None:
    sort(images, out, "copy")
    found = images_in(out)
    with Sorter(out, ["wren"]) as sorter:
        assert not sorter.take(images[0], SURE).done
    assert images_in(out) == found
    assert len(logs(out)) == 1


def test_what_was_changed_since_is_refused_and_the_rest_taken_back(images: list[Path], out: Path) -> None:
    sort(images, out, "move")
    (out / "wren" / "a.jpg").write_bytes(b"edited")
    images[1].write_bytes(b"another file has the old place")
    told = take_back(out)
    assert [one.to for one in told.done] == ["wren/c.jpg"]
    reasons = {one.to: reason for one, reason in told.refused}
    assert reasons["wren/a.jpg"] == "It was changed since."
    assert "Something else is in its old place" in reasons[f"{DOUBTFUL}/b.jpg"]
    assert images[1].read_bytes() == b"another file has the old place"
    assert (out / "wren" / "a.jpg").read_bytes() == b"edited"
    images[1].unlink()
    assert len(take_back(out).refused) == 1  # and the log is still there
    assert images[1].read_bytes() == b"b" * 100


def test_a_copy_whose_original_is_gone_stays(images: list[Path], out: Path) -> None:
    sort(images, out, "copy")
    images[0].unlink()
    told = take_back(out)
    assert [(one.to, "the copy stays" in reason) for one, reason in told.refused] == [("wren/a.jpg", True)]
    assert (out / "wren" / "a.jpg").exists()


def test_only_the_latest_sorting_is_taken_back(images: list[Path], out: Path) -> None:
    sort(images[:1], out, "copy", [SURE])
    sort(images[1:2], out, "copy", [SURE])
    assert sorted(logs(out)) == [1, 2]
    take_back(out)
    assert images_in(out) == {"wren/a.jpg": b"a" * 100}
    take_back(out)
    assert list(out.iterdir()) == []
    with pytest.raises(StateError, match="no log of kcrc sort"):
        take_back(out)


def test_a_dry_run_of_the_way_back_changes_nothing(images: list[Path], out: Path) -> None:
    sort(images, out, "move")
    before = tree(out)
    assert len(take_back(out, dry_run=True).done) == 3
    assert tree(out) == before


def test_a_link_is_not_moved(images: list[Path], out: Path, tmp_path: Path) -> None:
    (tmp_path / "in" / "link.jpg").symlink_to(images[0])
    with Sorter(out, ["wren"], how="move") as sorter, pytest.raises(FileError, match="is a link and was not moved"):
        sorter.take(tmp_path / "in" / "link.jpg", SURE)


def test_a_class_folder_that_leads_elsewhere_is_refused(images: list[Path], out: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    out.mkdir()
    (out / "wren").symlink_to(tmp_path / "elsewhere")
    with Sorter(out, ["wren"]) as sorter, pytest.raises(FileError, match="lies outside"):
        sorter.take(images[0], SURE)
    assert list((tmp_path / "elsewhere").iterdir()) == []


@every_way
def test_what_is_in_its_place_already_stays_there(out: Path, how: str) -> None:
    image = out / "wren" / "a.jpg"
    image.parent.mkdir(parents=True)
    image.write_bytes(b"only one")
    (out.parent / "way").symlink_to(out / "wren")
    for name in (image, out.parent / "way" / "a.jpg"):
        with Sorter(out, ["wren"], how=how) as sorter:
            sorter.take(name, SURE)
        assert b"only one" in [path.read_bytes() for path in out.rglob("a*.jpg")]
    while logs(out):
        assert take_back(out).refused == []
    assert image.read_bytes() == b"only one"


@pytest.mark.parametrize("how", ["copy", "move"])
def test_a_forged_log_does_not_delete_the_original_itself(out: Path, tmp_path: Path, how: str) -> None:
    (out / "wren").mkdir(parents=True)
    (out / "wren" / "a.jpg").write_bytes(b"only one")
    (tmp_path / "link.jpg").symlink_to(out / "wren" / "a.jpg")
    for source in (out / "wren" / "a.jpg", tmp_path / "link.jpg"):
        forged = {**LINE, "how": how, "from": str(source), "sha256": hashlib.sha256(b"only one").hexdigest()}
        (out / NAME).write_text("".join(json.dumps(line) + "\n" for line in (HEAD, forged)))
        told = take_back(out)
        assert [reason for _, reason in told.refused] == ["It is the original itself."]
        assert (out / "wren" / "a.jpg").exists()


HEAD = {"kcrc sort": 1}
LINE = {"how": "move", "from": "/in/a.jpg", "to": "wren/a.jpg", "sha256": "0" * 64}


@pytest.mark.parametrize(
    "lines",
    [
        [LINE],
        [HEAD, {**LINE, "from": "/root/.bashrc"}],
        [HEAD, {**LINE, "from": "in/a.jpg"}],
        [HEAD, {**LINE, "how": "delete"}],
        [HEAD, {**LINE, "sha256": "x"}],
        [HEAD, []],
        [HEAD, {}],
    ],
)
def test_a_log_that_no_sorting_wrote_is_refused(out: Path, lines: list[Any]) -> None:
    out.mkdir()
    (out / NAME).write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(FileError):
        take_back(out)
    assert (out / NAME).exists()


@pytest.mark.parametrize("to", ["../victim.jpg", "{root}/victim.jpg", "link/victim.jpg"])
def test_a_forged_log_reaches_nothing_outside_its_folder(out: Path, tmp_path: Path, to: str) -> None:
    out.mkdir()
    (out / "link").symlink_to(tmp_path)
    victim = tmp_path / "victim.jpg"
    victim.write_bytes(b"victim")
    forged = {**LINE, "to": to.format(root=tmp_path), "sha256": hashlib.sha256(b"victim").hexdigest()}
    (out / NAME).write_text("".join(json.dumps(line) + "\n" for line in (HEAD, {**forged, "from": "/tmp/stolen.jpg"})))
    told = take_back(out)
    assert len(told.refused) == 1
    assert "outside" in told.refused[0][1]
    assert victim.exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes the POSIX way")
@every_way
@pytest.mark.parametrize("again", [False, True])
def test_a_kill_at_any_moment_loses_nothing(tmp_path: Path, how: str, again: bool) -> None:
    done = subprocess.run(
        [sys.executable, str(CHILD), str(tmp_path), how, "again" if again else "once"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10
