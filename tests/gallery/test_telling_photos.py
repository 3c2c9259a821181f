"""What photographs tell beside the picture stays out of galleries, exports and pages; so do the folders they lay in."""

from __future__ import annotations

import base64
import io
import re
import sqlite3
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from telling_photos import MARK, UPRIGHT, jpeg, telling_folder

from kcrc.cli import main
from kcrc.errors import DataError
from kcrc.gallery import Gallery, restore
from kcrc.gallery.contract import ExampleRecord
from kcrc.gallery.stores.records import RecordTransaction
from kcrc.gallery.stores.sqlite.driver import SQLiteDriver
from kcrc.report.html import picture


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder whose name must not get around."""
    made = tmp_path / "home-of-somebody"
    made.mkdir()
    return made


@pytest.fixture
def made(home: Path) -> Path:
    telling_folder(home / "photos", 3)
    Gallery.from_folder(home / "photos", home / "g.kcrc", feature="pixels").close()
    return home / "g.kcrc"


def said_in(page: str) -> bytes:
    """The text of a page and the bytes of all pictures in it."""
    pictures = re.findall(r'src="data:image/[a-z]+;base64,([^"]+)"', page)
    assert pictures
    return page.encode() + b"".join(base64.b64decode(one) for one in pictures)


def first_picture(page: str) -> np.ndarray:
    found = re.search(r'src="data:image/jpeg;base64,([^"]+)"', page)
    assert found is not None
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(found[1]))))


def test_no_file_of_the_gallery_tells(made: Path, home: Path) -> None:
    with Gallery.open(made) as gallery:
        gallery.vectors()
        gallery.add("owl", np.zeros((1, gallery.dim)), thumbnails=[jpeg(7)])
        assert gallery.export(home / "out.npz") == len(gallery)
        shown = np.asarray(Image.open(io.BytesIO(gallery.thumbnail(gallery.find(label="owl")[0]) or b"")))
        assert shown.shape == (*UPRIGHT, 3)
        assert shown[:10].mean() < 90 < 160 < shown[-10:].mean()
    files = [path for path in home.rglob("*") if path.is_file() and "photos" not in path.parts]
    assert {path.name for path in files} >= {"g.kcrc", "g.kcrc.vectors", "out.npz"}
    for path in files:
        assert MARK not in path.read_bytes(), path


def test_pages_show_upright_pictures_and_tell_neither_places_nor_folders(
    made: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query = home / "query.jpg"
    query.write_bytes(jpeg(9))
    why, marks, look = home / "why.html", home / "marks.html", home / "look.html"
    assert main(["explain", str(made), str(query), "--html", str(why), "--png", str(home / "why.png")]) == 0
    with Gallery.open(made) as gallery:  # so that there are mistakes to show
        gallery.relabel(gallery.find(label="wren")[:9], "robin")
    assert main(["evaluate", str(made), str(home / "photos"), "--known", "--html", str(marks)]) == 0
    assert main(["audit", str(made), "--html", str(look)]) == 0
    capsys.readouterr()
    for page in (why, marks, look):
        text = page.read_text()
        said = said_in(text)
        assert MARK not in said, page.name
        assert b"home-of-somebody" not in said, page.name
        assert b"g.kcrc" in said
    assert b"query.jpg" in why.read_bytes()
    assert MARK not in (home / "why.png").read_bytes()
    shown = first_picture(why.read_text())
    assert shown.shape == (*UPRIGHT, 3)
    assert shown[:10].mean() < 90 < 160 < shown[-10:].mean()


def test_an_export_leaves_the_folders_out_where_asked(made: Path, home: Path) -> None:
    assert main(["export", str(made), str(home / "whole.npz")]) == 0
    assert main(["export", str(made), str(home / "names.npz"), "--file-names"]) == 0
    whole, names = (np.load(home / f"{name}.npz")["sources"].tolist() for name in ("whole", "names"))
    assert "home-of-somebody" in whole[0]
    assert names == [Path(source).name for source in whole]


def test_a_gallery_of_an_older_kcrc_is_exported_and_shown_without_what_it_still_holds(tmp_path: Path) -> None:
    path = tmp_path / "old.kcrc"
    with Gallery.create(path, dim=2) as gallery:
        gallery.add("wren", [[1.0, 2.0]], thumbnails=[jpeg(1)])
    db = sqlite3.connect(path)
    writing = RecordTransaction(SQLiteDriver(db))
    (record,) = writing.all(ExampleRecord)
    db.execute("UPDATE thumbnails SET data = ?", (jpeg(1),))
    writing.replace([record], [record._replace(thumbnail_crc=zlib.crc32(jpeg(1)))])
    db.commit()
    db.close()
    with Gallery.open(path) as gallery:
        assert gallery.verify().sound
        assert MARK in (gallery.thumbnail(1) or b"")
        gallery.export(tmp_path / "out.npz")
        assert MARK not in said_in(str(picture(gallery.thumbnail(1), "x")))
    assert MARK not in (tmp_path / "out.npz").read_bytes()
    with restore(tmp_path / "out.npz", tmp_path / "new.kcrc") as again:
        assert MARK not in (again.thumbnail(1) or MARK)
        again.import_(path, duplicates="keep")
    assert MARK not in (tmp_path / "new.kcrc").read_bytes()


def test_what_only_begins_like_a_picture_is_refused(tmp_path: Path) -> None:
    with Gallery.create(tmp_path / "g.kcrc", dim=2) as gallery:
        with pytest.raises(DataError, match="can be read"):
            gallery.add("wren", [[1.0, 2.0]], thumbnails=[b"\xff\xd8\xff" + MARK])
        assert len(gallery) == 0
