"""``kcrc watch``: answers as pictures arrive."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from photos import photo

from kcrc.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def visits(home: Path, monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    """What happens in the folder while the command sleeps, sleep after sleep; then Ctrl-C."""
    (home / "in").mkdir()
    waiting: list[Callable[[], object]] = []

    def sleep(_: float) -> None:
        if not waiting:
            raise KeyboardInterrupt
        waiting.pop(0)()

    monkeypatch.setattr("kcrc.cli.watch.time", SimpleNamespace(sleep=sleep))
    return waiting


def test_each_picture_is_answered_once_until_ctrl_c(kcrc: Run, home: Path, visits: list[Callable[[], object]]) -> None:
    visits += [
        lambda: photo(home / "in" / "a.jpg", "wren", 70),
        lambda: photo(home / "in" / "b.jpg", "robin", 71),
        lambda: None,
        lambda: None,
    ]
    code, out, err = kcrc("watch", "birds.kcrc", "in", "--json")
    assert code == 0
    rows = [json.loads(line) for line in out.splitlines()]
    assert [(row["image"], row["label"]) for row in rows] == [("in/a.jpg", "wren"), ("in/b.jpg", "robin")]
    assert err == "Watching in; Ctrl-C ends it.\nEnded; 2 pictures were answered.\n"


def test_once_waits_for_what_grows_and_ends(kcrc: Run, home: Path, visits: list[Callable[[], object]]) -> None:
    photo(home / "in" / "a.jpg", "wren", 70)
    (home / "in" / "broken.jpg").write_bytes(b"not a picture")
    visits += [lambda: None]
    code, out, err = kcrc("watch", "birds.kcrc", "in", "--once")
    assert code == 1
    assert out.split("\t")[:2] == ["in/a.jpg", "wren"]
    assert err.count("broken.jpg") == 1


def test_sorted_as_they_arrive_and_taken_back(kcrc: Run, home: Path, visits: list[Callable[[], object]]) -> None:
    visits += [lambda: photo(home / "in" / "a.jpg", "wren", 70), lambda: None, lambda: None]
    code, out, err = kcrc("watch", "birds.kcrc", "in", "--sort-into", "in/sorted", "--move", "--below", "0")
    assert code == 0
    assert len(out.splitlines()) == 1
    assert (home / "in" / "sorted" / "wren" / "a.jpg").exists()
    assert not (home / "in" / "a.jpg").exists()
    assert "moved 1" in err
    assert kcrc("sort", "--undo", "in/sorted")[0] == 0
    assert (home / "in" / "a.jpg").exists()


def test_what_is_added_meanwhile_counts(kcrc: Run, home: Path, visits: list[Callable[[], object]]) -> None:
    owls = [str(photo(home / "owls" / f"{n}.jpg", "owl", n)) for n in range(6)]
    visits += [
        lambda: main(["add", "birds.kcrc", *owls, "--label", "owl"]),
        lambda: photo(home / "in" / "o.jpg", "owl", 90),
        lambda: None,
        lambda: None,
    ]
    _, out, _ = kcrc("watch", "birds.kcrc", "in", "--json", "--sort-into", "sorted", "--below", "0")
    rows = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    assert [row["label"] for row in rows] == ["owl"]


def test_move_alone_is_refused(kcrc: Run) -> None:
    assert kcrc("watch", "birds.kcrc", "test", "--move")[0] == 2
    assert "is not a folder" in kcrc("watch", "birds.kcrc", "nowhere")[2]
