"""What was erased is in no byte of any file; the rest is as it was, sound, and can still be undone."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from photos import COLOURS, photo, small_picture

from kcrc.cli import main
from kcrc.errors import DataError, FileError, StateError
from kcrc.gallery import Gallery, building, verify
from kcrc.gallery.contract import ExampleRecord, LabelRecord, TunedRecord

CHILD = Path(__file__).with_name("erase_child.py")


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def marks_of(gallery: Gallery, example: int) -> dict[str, bytes]:
    """All that would give an example away, as bytes: vector, picture, hash, source."""
    ids, vectors, _ = gallery.vectors()
    stored = gallery.example(example)
    found = {
        "vector": vectors[ids.tolist().index(example)].tobytes(),
        "content": stored.content,
        "source": stored.source.encode(),
        "picture": gallery.thumbnail(example) or b"",
    }
    return {name: mark for name, mark in found.items() if mark}


def found_in(folder: Path, marks: dict[str, bytes]) -> list[tuple[str, str]]:
    return [(name, what) for name, data in files_of(folder).items() for what, mark in marks.items() if mark in data]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with nothing in it but a gallery and what belongs to it."""
    made = tmp_path / "here"
    made.mkdir()
    return made


@pytest.fixture
def filled(home: Path) -> Gallery:
    """Three classes of ten, one class of one ("secret-bird", example 31), tuned."""
    rng = np.random.default_rng(0)
    gallery = Gallery.create(home / "g.kcrc", dim=16)
    for number, label in enumerate(("wren", "robin", "heron")):
        gallery.add(
            label,
            rng.standard_normal((10, 16)) + number,
            sources=[f"/home/me/{label}-{i}.jpg" for i in range(10)],
            thumbnails=[small_picture(100 * number + i) for i in range(10)],
        )
    gallery.add(
        "secret-bird",
        rng.standard_normal((1, 16)),
        sources=["/home/me/secret-file.jpg"],
        thumbnails=[small_picture(999)],
    )
    return gallery


@pytest.mark.parametrize("removed_before", [False, True])
def test_no_file_holds_a_byte_of_it(filled: Gallery, home: Path, removed_before: bool) -> None:
    marks = {**marks_of(filled, 31), "label": b"secret-"}
    filled.tune()
    filled.relabel([31], "secret-name")
    filled.remove([31, 5])
    filled.undo()
    filled.undo()
    filled.rename_class("secret-bird", "secret-bird-2")
    assert {what for _, what in found_in(home, marks)} >= {"vector", "content", "source", "picture", "label"}
    assert any(name.endswith(".vectors") for name, what in found_in(home, marks) if what == "vector")
    if removed_before:
        filled.remove([31])
    others = {i: marks_of(filled, i) for i in (1, 15, 30)}
    assert filled.remove([31], erase=True) == (31,)
    assert found_in(home, marks) == []
    assert set(files_of(home)) <= {"g.kcrc"}
    filled.vectors()
    filled.close()
    assert found_in(home, marks) == []
    with Gallery.open(home / "g.kcrc") as again:
        assert again.classes == ("heron", "robin", "wren")
        assert {i: marks_of(again, i) for i in others} == others
        assert again.verify().problems == ()
        assert again.add("wren", np.zeros(16)).ids == (32,)


def test_what_free_pages_and_gaps_hold_goes_too(filled: Gallery, home: Path) -> None:
    marks = marks_of(filled, 31)
    filled.close()
    with sqlite3.connect(home / "g.kcrc") as db:  # as an SQLite that does not overwrite leaves it
        db.execute("PRAGMA secure_delete = OFF")
        rows = [(i, marks["vector"] + marks["source"] + marks["content"] + marks["picture"]) for i in range(500, 600)]
        db.executemany("INSERT INTO thumbnails VALUES (?, ?)", rows)
        db.commit()
        db.execute("DELETE FROM thumbnails WHERE id >= 500")
        db.commit()
    db.close()
    assert (home / "g.kcrc").read_bytes().count(marks["vector"]) > 20
    with Gallery.open(home / "g.kcrc") as gallery:
        gallery.erase([31])
    assert found_in(home, marks) == []


def test_a_journal_that_a_killed_act_left_goes_too(filled: Gallery, home: Path) -> None:
    marks = marks_of(filled, 31)
    left = b"\0" * 512 + b"".join(marks.values()) * 50  # killed before it counted: no more than old pages
    (home / "g.kcrc-journal").write_bytes(left)
    filled.erase([31])
    assert found_in(home, marks) == []
    assert not (home / "g.kcrc-journal").exists()


def test_undo_says_why_and_goes_past_it_when_told(filled: Gallery) -> None:
    filled.remove([1, 2])
    filled.relabel([11, 12], "owl")
    filled.erase([12, 2])
    before = filled.history()
    with pytest.raises(StateError, match=r"erased 2 examples for good.*cannot be brought back.*--past-erase"):
        filled.undo()
    assert filled.history() == before
    assert filled.undo(past_erase=True).action == "relabel"
    assert filled.undo(past_erase=True).action == "remove"
    assert filled.example(11).label == "robin"
    assert filled.example(1).label == "wren"
    for gone in (2, 12):
        with pytest.raises(DataError, match="no example"):
            filled.example(gone)
    for _ in range(4):
        filled.undo(past_erase=True)
    with pytest.raises(StateError, match="nothing to undo"):
        filled.undo(past_erase=True)
    assert len(filled) == 0
    assert filled.verify().problems == ()
    filled.add("wren", np.ones(16))
    assert filled.undo().action == "add"  # later changes are undone as ever


def test_the_history_says_that_something_was_erased_and_not_what(filled: Gallery) -> None:
    filled.remove([31])
    filled.undo()
    filled.relabel([7], "robin")
    filled.erase([31])
    told = [entry.summary for entry in filled.history()]
    assert told == [
        "erased 1 example for good",
        "relabelled 1 example of wren as robin",
        "undid: removed 1 example (names erased)",
        "removed 1 example (names erased)",
        "added 1 example (names erased)",
        "added 10 examples of heron",
        "added 10 examples of robin",
        "added 10 examples of wren",
    ]
    assert abs(filled.history(1)[0].at.timestamp() - time.time()) < 600


def test_a_name_that_outlived_a_compacting_goes_with_the_last_of_its_class(filled: Gallery, home: Path) -> None:
    filled.relabel([31], "secret-other")
    filled.relabel([31], "wren")
    filled.compact()  # drops what tied those two changes to the example
    assert b"secret-" in files_of(home)["g.kcrc"]
    filled.erase([31])
    assert b"secret-" not in files_of(home)["g.kcrc"]


def test_what_was_tuned_with_it_goes_and_what_was_tuned_before_stays(filled: Gallery) -> None:
    filled.erase([31])
    filled.tune()
    tuned = filled.settings.tuned
    (late,) = filled.add("wren", np.full(16, 0.1)).ids
    assert not filled.erase([late]).retune
    assert filled.settings.tuned == tuned
    filled.classifier()
    assert filled.settings.tuned == tuned
    filled.tune()
    filled.tune()
    assert filled.erase([3]).retune
    assert filled.settings.tuned == 0
    assert filled.read(lambda reading: reading.all(TunedRecord)) == []
    assert filled.undo(past_erase=True).action == "tune"  # back to a choice that is gone: chosen anew
    assert filled.settings.tuned == 0
    filled.classifier()
    assert filled.settings.tuned > 0
    assert filled.verify().problems == ()


def test_what_another_program_learned_from_it_meanwhile_is_not_stored(filled: Gallery, home: Path) -> None:
    marks = marks_of(filled, 31)
    revision = filled.contents.revision
    learned = filled.classifier(tuning_seconds=1.0)
    filled.erase([31])
    with pytest.raises(StateError, match="erased while"):
        filled.keep_tuned(learned, next_id=32, since=revision)
    assert filled.settings.tuned == 0
    assert found_in(home, marks) == []


def test_caches_of_every_name_go(filled: Gallery, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marks = marks_of(filled, 31)
    filled.vectors()
    cache = home / ".kcrc-cache"
    whole = (cache / "g.kcrc.vectors").read_bytes()
    (cache / "g.kcrc.vectors.abc.new").write_bytes(whole)
    (cache / "former-name.kcrc.vectors").write_bytes(whole)
    (cache / "mine.txt").write_bytes(b"not a cache")
    (home / "living.kcrc").write_bytes(b"")
    (cache / "living.kcrc.vectors").write_bytes(b"KCRCVEC1 of another gallery")
    monkeypatch.setenv("KCRC_GALLERY_CACHE", str(home / "elsewhere"))
    (home / "elsewhere").mkdir()
    with Gallery.open(home / "g.kcrc") as second:
        second.vectors()
    assert len(list((home / "elsewhere").iterdir())) == 1
    filled.erase([31])
    assert found_in(home, marks) == []
    assert {path.name for path in cache.iterdir()} == {"mine.txt", "living.kcrc.vectors"}
    assert list((home / "elsewhere").iterdir()) == []


def test_a_cache_that_cannot_be_deleted_stops_it_before_anything_is_changed(filled: Gallery, home: Path) -> None:
    (home / ".kcrc-cache").mkdir(exist_ok=True)
    (home / ".kcrc-cache" / "g.kcrc.vectors").unlink(missing_ok=True)
    (home / ".kcrc-cache" / "g.kcrc.vectors").mkdir()
    before = files_of(home)
    with pytest.raises(FileError, match="cannot be deleted"):
        filled.erase([31])
    assert files_of(home) == before
    assert filled.example(31).label == "secret-bird"
    with Gallery.open(home / "g.kcrc") as second:  # and the file is free again
        second.add("wren", np.zeros(16))


def test_copies_beside_it_are_named(filled: Gallery, home: Path) -> None:
    names = ["g.kcrc.version-2", "g.npz", "g-copy.kcrc", ".g.kcrc.building"]
    for name in (*names, "garden.txt", "h.kcrc"):
        (home / name).write_bytes(b"x")
    assert {path.name for path in filled.erase([31]).beside} == set(names)


@pytest.mark.parametrize("ids", [[31, 32], [0], [-1], ["x"], [None]])
def test_an_example_that_never_was_is_an_error_and_nothing_is_erased(filled: Gallery, ids: list[int]) -> None:
    revision = filled.settings.revision
    with pytest.raises(DataError, match=r"never was|whole numbers"):
        filled.erase(ids)
    assert filled.settings.revision == revision
    assert 31 in filled.find(label="secret-bird")


def test_again_is_no_error_and_changes_nothing(filled: Gallery) -> None:
    assert filled.erase([31]).ids == (31,)
    revision = filled.settings.revision
    assert filled.erase([31]).ids == ()
    assert filled.erase([]).ids == ()
    assert filled.settings.revision == revision
    assert filled.erase([31, 30]).ids == (30,)


def test_not_where_one_may_only_read(filled: Gallery, home: Path) -> None:
    with Gallery.open(home / "g.kcrc", readonly=True) as reader, pytest.raises(StateError, match="reading only"):
        reader.erase([31])
    assert len(filled) == 31


def test_other_connections_wait_and_then_see_it(filled: Gallery, home: Path) -> None:
    problems: list[BaseException] = []
    stop = threading.Event()

    def look() -> None:
        try:
            with Gallery.open(home / "g.kcrc") as other:
                while not stop.is_set():
                    ids, vectors, _ = other.vectors()
                    assert len(ids) == len(vectors) >= 21
                    other.example(1)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    for example in range(31, 21, -1):
        filled.erase([example])
    stop.set()
    for thread in threads:
        thread.join()
    assert problems == []
    assert filled.contents.ids.tolist() == list(range(1, 22))


def test_within_a_build(home: Path) -> None:
    with building(home / "b.kcrc", dim=2) as made:
        made.add(["wren", "secret-bird"], [[1.0, 2.0], [3.5, 4.5]], sources=["a", "secret-file"])
        made.erase([2])
        made.add("wren", [[5.0, 6.0]])
    assert b"secret-" not in (home / "b.kcrc").read_bytes()
    assert verify(home / "b.kcrc").problems == ()
    with Gallery.open(home / "b.kcrc") as gallery:
        assert gallery.contents.ids.tolist() == [1, 3]


@pytest.mark.parametrize("seed", range(12))
def test_after_random_acts_no_trace_and_a_sound_file(home: Path, seed: int) -> None:
    rng = random.Random(seed)
    numbers = np.random.default_rng(seed)
    marks: dict[int, dict[str, bytes]] = {}
    with Gallery.create(home / "g.kcrc", dim=32) as gallery:
        for step in range(60):
            ids = gallery.contents.ids.tolist()
            some = rng.sample(ids, min(len(ids), rng.randint(1, 4)))
            act = rng.choice(["add", "add", "add", "remove", "relabel", "rename", "undo", "compact", "erase", "fix"])
            if act == "add":
                n = rng.randint(1, 9)
                labels = [f"class-{step}-{rng.randrange(3)};" for _ in range(n)]
                pictures = [small_picture(1000 * seed + 10 * step + i) for i in range(n)]
                sources = [f"source-{step}-{i};" * rng.choice([1, 300]) for i in range(n)]
                vectors = numbers.standard_normal((n, 32))
                for i in gallery.add(labels, vectors, sources=sources, thumbnails=pictures).ids:
                    marks[i] = marks_of(gallery, i)
            elif act == "remove" and ids:
                gallery.remove(some)
            elif act == "relabel" and ids:
                gallery.relabel(some, f"class-{step}-new;")
            elif act == "rename" and ids:
                gallery.rename_class(rng.choice(gallery.classes), f"class-{step}-other;")
            elif act == "fix":
                gallery.set_parameters({"n_neighbors": step})
            elif act == "undo":
                with contextlib.suppress(StateError):  # there may be nothing to undo
                    gallery.undo(past_erase=True)
            elif act == "compact" and rng.random() < 0.3:
                gallery.compact()
            elif act == "erase" and (everything := gallery.find(removed=True)):
                chosen = rng.sample(everything, min(len(everything), rng.randint(1, 5)))
                assert gallery.erase(chosen).ids == tuple(sorted(chosen))
                for i in chosen:
                    assert found_in(home, marks[i]) == [], (step, i)
                known = {example.label for example in gallery.read(lambda reading: reading.all(ExampleRecord))}
                known |= {label.before for label in gallery.read(lambda reading: reading.all(LabelRecord))}
                said = set(re.findall(rb"class-\d+-\w+;", files_of(home)["g.kcrc"]))
                assert said <= {name.encode() for name in known}, step
                assert gallery.verify().problems == ()
        assert gallery.verify().problems == ()


def killed_erasing(folder: Path, rounds: int, seed: int) -> tuple[int, int]:
    """(erasures acknowledged, kills that fell within one); each round ends in a kill and a full check."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    path = folder / "g.kcrc"
    marks: dict[int, list[bytes]] = {}
    with Gallery.create(path, dim=64) as gallery:
        for start in range(0, 600 + 15 * rounds, 60):  # more than a child can erase in all its rounds
            vectors = numbers.standard_normal((60, 64)).astype(np.float32)
            sources = [f"source-{start + i};" for i in range(60)]
            pictures = [small_picture(start + i, 32) for i in range(60)]
            added = gallery.add(f"class-{start}", vectors, sources=sources, thumbnails=pictures).ids
            for i, vector, source, picture in zip(added, vectors, sources, pictures, strict=True):
                marks[i] = [vector.tobytes(), source.encode(), picture]
        gallery.remove(rng.sample(sorted(marks), 100))
    there = set(marks)
    done = within = 0
    for number in range(rounds):
        child = subprocess.Popen(
            [sys.executable, str(CHILD), str(path), str(1000 * seed + number)],
            stdout=subprocess.PIPE,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
        assert child.stdout is not None
        assert json.loads(child.stdout.readline()) == {"ready": True}
        heard: list[bytes] = []
        listener = threading.Thread(target=lambda: heard.extend(child.stdout))  # type: ignore[arg-type]  # noqa: B023
        listener.start()
        time.sleep(rng.uniform(0.0, 0.25))
        assert child.poll() is None
        child.kill()
        listener.join()
        child.communicate()
        pending: set[int] = set()
        for line in (json.loads(line) for line in heard if line.endswith(b"\n")):
            if "done" in line:
                there -= pending
                done += 1
            pending = set(line.get("trying", ()))
        within += bool(pending)
        assert verify(path).problems == ()
        with Gallery.open(path) as gallery:
            found = set(gallery.find(removed=True))
        assert found in (there, there - pending), number  # all of it or nothing
        there = found
        assert {path.name for path in folder.iterdir()} <= {"g.kcrc", "g.kcrc-journal", ".kcrc-cache"}
        if pending and number % 2:  # once more completes it
            with Gallery.open(path) as gallery:
                gallery.erase(pending)
            there -= pending
            assert files_of(folder).get("g.kcrc-journal", b"") == b""
        bytes_of = files_of(folder)
        for i in set(marks) - there:
            for mark in marks[i]:
                assert not [name for name, data in bytes_of.items() if mark in data], (number, i)
    return done, within


def test_a_few_kills_leave_all_or_nothing(home: Path) -> None:
    done, within = killed_erasing(home, rounds=8, seed=1)
    assert done + within >= 8


@pytest.mark.slow
def test_a_hundred_kills_leave_all_or_nothing(home: Path) -> None:
    done, within = killed_erasing(home, rounds=100, seed=2)
    print(f"100 kills, {done} erasures acknowledged, {within} kills within one")
    assert within > 20


def test_commands(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    photos = tmp_path / "photos"
    for label in COLOURS:
        for number in range(4):
            photo(photos / label / f"{number}.jpg", label, number)
    secret = photo(photos / "owl" / "secret-file.jpg", "owl", 5)
    path = str(home / "g.kcrc")
    Gallery.from_folder(photos, path, feature="eigenfaces").close()
    with Gallery.open(path) as gallery:
        (owl,) = gallery.find(label="owl")
        marks = {**marks_of(gallery, owl), "label": b"owl"}

    assert main(["remove", path, "1"]) == 0
    said = capsys.readouterr()
    assert said.out == "removed 1 (example 1)\n"
    assert "Still in the file, for kcrc undo" in said.err
    assert f"kcrc remove --erase {path} 1" in said.err

    assert main(["remove", path, str(secret)]) == 0
    assert main(["remove", "--erase", path, str(secret)]) == 0  # found among the removed, by its content
    said = capsys.readouterr()
    assert f"erased 1 (example {owl})" in said.out
    assert "chosen again" in said.err
    assert "('eigenfaces') may have been learned from it" in said.err
    assert "build the gallery again" in said.err
    assert "copies of the gallery made before are not changed" in said.err
    assert found_in(home, marks) == []

    assert main(["undo", path]) == 1
    assert "cannot be brought back" in capsys.readouterr().err
    assert main(["undo", "--past-erase", path]) == 0
    assert main(["undo", "--past-erase", path]) == 0
    assert main(["remove", "--erase", path, str(owl)]) == 0
    assert "Nothing was left" in capsys.readouterr().err
    assert main(["remove", "--erase", path, "--label", "wren"]) == 0
    assert main(["remove", "--erase", path, "--label", "wren"]) == 1
    assert main(["history", path]) == 0
    said = capsys.readouterr()
    assert "erased 1 example for good" in said.out
    assert "erased 4 examples for good" in said.out
    assert "wren" not in said.out
    assert main(["verify", path]) == 0
