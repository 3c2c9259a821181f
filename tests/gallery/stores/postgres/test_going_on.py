"""A server that goes away and comes back: clients go on by themselves, and every change is there exactly once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import psycopg
import pytest

from kcrc.errors import StateError
from kcrc.gallery import Gallery
from kcrc.gallery.contract import ActRecord, ExampleRecord, Snapshot
from kcrc.gallery.stores.postgres import connections, schema
from lab.bench.postgres_server import PostgresServer, running


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """One to be killed, for these tests alone."""
    with running(fsync="off", max_connections="40", shared_buffers="32MB") as made:
        yield made


@pytest.fixture
def birds(server: PostgresServer) -> Iterator[Gallery]:
    with Gallery.create(server.address(gallery="birds"), dim=2, overwrite=True) as made:
        made.add(["wren", "robin"], [[1, 2], [3, 4]])
        yield made


class Cut:
    """Cuts the connection at the next COMMIT, before or after the server has done it."""

    def __init__(self, patch: pytest.MonkeyPatch, *, after: bool) -> None:
        self.left = 1
        real = psycopg.Connection.execute

        def execute(db: Any, query: Any, *given: Any, **more: Any) -> Any:
            if query != "COMMIT" or not self.left or "FOR UPDATE" not in self.begun.get(id(db), ""):
                if "BEGIN" in str(query):
                    self.begun[id(db)] = str(query)
                return real(db, query, *given, **more)
            self.left -= 1
            if after:
                real(db, query, *given, **more)
            db.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")

        self.begun: dict[int, str] = {}
        patch.setattr(psycopg.Connection, "execute", execute)


@pytest.mark.parametrize("after", [False, True])
def test_a_change_whose_answer_was_lost_is_done_once(
    birds: Gallery, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    calls = []

    def change(writing: Any) -> int:
        had = writing.settings()
        calls.append(had.revision)
        writing.insert([ActRecord(had.revision + 1, 0, "tune", "x", "null", None)])
        writing.set_settings(had.act())
        return len(calls)

    cut = Cut(monkeypatch, after=after)
    given = birds.store.write(change)
    assert cut.left == 0
    assert given == len(calls) == (1 if after else 2)  # what was found kept is not done again
    assert birds.settings.revision == 2
    assert birds.verify().sound


def test_where_the_server_stays_away_a_change_says_that_its_end_is_not_known(
    birds: Gallery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 0.2)
    Cut(monkeypatch, after=True)

    def gone(address: object) -> None:
        raise connections.Lost("no server")

    monkeypatch.setattr(connections, "connect", gone)
    with pytest.raises(StateError, match="Whether the change was kept is not known"):
        birds.relabel([1], "owl")


def test_a_look_is_run_again_when_the_server_was_killed_in_its_middle(birds: Gallery, server: PostgresServer) -> None:
    looks = []

    def look(reading: Snapshot) -> int:
        looks.append(len(reading.all(ExampleRecord)))
        if len(looks) == 1:
            server.kill()
            threading.Timer(0.3, server.start).start()
        return len(reading.all(ActRecord))

    assert birds.read(look) == 1
    assert looks == [2, 2]


def test_a_gallery_is_opened_although_the_server_goes_away_meanwhile(
    birds: Gallery, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[None] = []
    real = schema.audit

    def audit(*given: Any) -> Any:
        looks.append(None)
        if len(looks) == 1:
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return real(*given)

    monkeypatch.setattr(schema, "audit", audit)
    with Gallery.open(str(birds.path)) as again:
        assert len(again) == 2
    assert len(looks) == 2


def test_a_gallery_is_opened_although_the_server_goes_away_just_after_it_let_us_in(
    birds: Gallery, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Going(psycopg.Connection[Any]):
        made: ClassVar[int] = 0

        def execute(self, *given: Any, **more: Any) -> Any:
            Going.made += 1
            if Going.made == 1:
                raise psycopg.OperationalError("server closed the connection unexpectedly")
            return super().execute(*given, **more)

    monkeypatch.setattr(psycopg, "connect", Going.connect)
    with Gallery.open(str(birds.path)) as again:
        assert len(again) == 2
    assert Going.made > 1


def test_a_server_whose_helpers_die_first_has_gone_away(birds: Gallery) -> None:
    looks = []

    def look(reading: Snapshot) -> int:
        looks.append(len(reading.all(ExampleRecord)))
        if len(looks) == 1:
            raise psycopg.errors.ObjectNotInPrerequisiteState("lost connection to parallel worker")
        return looks[-1]

    assert birds.read(look) == 2
    assert looks == [2, 2]


def test_coordinates_that_a_server_went_away_from_are_an_error_in_words(birds: Gallery, server: PostgresServer) -> None:
    def prepare(vectors: Any) -> Any:
        server.kill()
        return vectors

    try:
        with pytest.raises(StateError, match="went away"):
            birds.store.extend_coordinates("x", 2, prepare)
    finally:
        server.start()
    assert len(birds.contents) == 2


def test_writers_and_readers_go_on_while_the_server_is_killed_and_nothing_acknowledged_is_lost(
    birds: Gallery, server: PostgresServer
) -> None:
    acknowledged: list[int] = []
    seen: dict[object, list[int]] = {}
    problems: list[BaseException] = []
    done = threading.Event()

    def write(number: int) -> None:
        with Gallery.open(server.address(gallery="birds")) as own:
            step = 0
            while not done.is_set():
                step += 1
                acknowledged.extend(own.add(f"class {number}", np.array([[number, step]], np.float32)).ids)

    def read() -> None:
        with Gallery.open(server.address(gallery="birds"), readonly=True) as own:
            seen[own.store] = []
            while not done.is_set():
                contents = own.contents
                seen[own.store].append(contents.revision)
                assert len(own.vectors()[1]) >= len(contents)

    def guarded(work: Any, *given: Any) -> None:
        try:
            work(*given)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=guarded, args=(write, number)) for number in range(3)]
    threads += [threading.Thread(target=guarded, args=(read,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(2):
        before = len(acknowledged)
        while len(acknowledged) < before + 20 and not problems:
            time.sleep(0.01)
        server.kill()
        server.start()
    after = len(acknowledged)
    while len(acknowledged) < after + 20 and not problems:
        time.sleep(0.01)
    done.set()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(set(acknowledged)) == len(acknowledged)
    contents = birds.contents
    assert set(acknowledged) <= set(contents.ids.tolist())
    assert len(contents) == 2 + len(acknowledged)  # nothing was done twice
    assert birds.settings.revision == len(birds.read(lambda reading: reading.all(ActRecord)))
    assert birds.verify().sound
    assert all(revisions == sorted(revisions) and revisions[-1] > revisions[0] for revisions in seen.values())
