"""Names and files that someone made to do harm, from the folder to the page: they are only names and files."""

from __future__ import annotations

import re
import struct
import zlib
from html.parser import HTMLParser
from pathlib import Path

import pytest
from photos import COLOURS, photo

from kcrc.cli import main

NAMES = ['<img src=x onerror=alert(1)>', "a\"b'c; rm -rf $HOME", "two\nlines\x1b[31m"]  # fmt: skip


def bomb(side: int) -> bytes:
    """A PNG that says it has side × side pixels, in a few bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0" * 1000))
        + chunk(b"IEND", b"")
    )


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, attrs))


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    inside = tmp_path / "inside"
    for name, look in zip(NAMES, COLOURS, strict=True):
        for number in range(7):
            part = "photos" if number < 5 else "test"
            made = photo(inside / "made.jpg", look, number)
            goal = inside / part / name / f"{number} {name}.jpg"
            goal.parent.mkdir(parents=True, exist_ok=True)
            made.rename(goal)
    (inside / "photos" / NAMES[0] / "bomb.png").write_bytes(bomb(50_000))
    (inside / "photos" / NAMES[0] / "cut.jpg").write_bytes(
        (inside / "photos" / NAMES[0] / f"0 {NAMES[0]}.jpg").read_bytes()[:400]
    )
    monkeypatch.chdir(inside)
    return inside


def test_from_folder_to_pages(hostile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "photos", "-o", "g.kcrc", "-f", "pixels"]) == 0
    err = capsys.readouterr().err
    assert re.search(r"bomb\.png.*pixels", err)
    assert "cut.jpg" in err
    query = f"test/{NAMES[0]}/5 {NAMES[0]}.jpg"
    assert main(["relabel", "g.kcrc", "1", "--label", NAMES[1]]) == 0
    for arguments in (
        ["predict", "g.kcrc", "test", "--reject", "--set"],
        ["predict", "g.kcrc", "test", "--csv"],
        ["explain", "g.kcrc", query, "--html", "why.html"],
        ["evaluate", "g.kcrc", "test", "--html", "eval.html"],
        ["audit", "g.kcrc", "--html", "audit.html"],
        ["advise", "g.kcrc", "test", "--html", "advice.html"],
        ["audit", "g.kcrc", "--csv"],
        ["info", "g.kcrc"],
        ["verify", "g.kcrc"],
    ):
        code = main(arguments)
        out = capsys.readouterr()
        assert code == 0, out.err
        assert "--csv" in arguments or "\x1b" not in out.out + out.err
    for page in ("why.html", "eval.html", "audit.html", "advice.html"):
        text = (hostile / page).read_text()
        assert "\x1b" not in text
        for tag, attributes in Tags(text).seen:
            assert tag not in ("script", "iframe", "object", "link", "form")
            assert all((value or "").startswith("#") for name, value in attributes if name == "href")
            assert not any(name.startswith("on") for name, _ in attributes)
            assert all((value or "").startswith("data:image/") for name, value in attributes if name == "src")
    here = {"photos", "test", "g.kcrc", ".kcrc-cache", "why.html", "eval.html", "audit.html", "advice.html"}
    assert {p.name for p in hostile.iterdir()} == here
    assert {p.name for p in hostile.parent.iterdir()} == {"inside"}


def test_a_gallery_that_names_paths_writes_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from kcrc.gallery import Gallery

    inside = tmp_path / "inside"
    inside.mkdir()
    with Gallery.create(inside / "g.kcrc", dim=2) as gallery:
        vectors = [[float(i % 2), float(i)] for i in range(12)]
        gallery.add(["../../up", "/etc/x"] * 6, vectors, sources=["../../../up.jpg"] * 12)
    target = str(inside / "g.kcrc")
    assert main(["export", target, str(inside / "g.npz")]) == 0
    assert main(["import", str(inside / "again.kcrc"), str(inside / "g.npz")]) == 0
    assert main(["audit", target, "--html", str(inside / "audit.html")]) == 0
    assert {p.name for p in tmp_path.iterdir()} == {"inside"}
    assert {p.name for p in inside.iterdir()} <= {"g.kcrc", "g.npz", "again.kcrc", "audit.html", ".kcrc-cache"}


def test_a_bomb_as_a_question_is_one_line(hostile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "photos", "-o", "g.kcrc", "-f", "pixels"]) == 0
    capsys.readouterr()
    (hostile / "b.png").write_bytes(bomb(50_000))
    for arguments in (
        ["predict", "g.kcrc", "b.png"],
        ["explain", "g.kcrc", "b.png"],
        ["add", "g.kcrc", "--label", "x", "b.png"],
    ):
        assert main(arguments) == 1
        err = capsys.readouterr().err
        assert "b.png" in err
        assert "Traceback" not in err
        assert len([line for line in err.splitlines() if "pixels" in line]) == 1
