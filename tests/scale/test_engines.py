"""What every engine owes: keys, errors, work that runs twice, objects that are held, workers that are lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from engine_work import Asking, MakeShelf, Noted, TwoWords, no_shelf, odd_error, refused, squared
from processes import listening

from kcrc.errors import DataError, ParameterError, StateError, UnknownName
from kcrc.scale import engines

with_workers = pytest.mark.parametrize("engine", ["ray"], indirect=True)  # those that can lose one


def test_every_piece_is_answered_once_under_its_key(engine) -> None:
    found = list(engine.map(squared, range(50), key=lambda piece: f"piece {piece}"))
    assert sorted((one.key, one.value) for one in found) == sorted((f"piece {i}", i * i) for i in range(50))
    assert list(engine.map(squared, [], key=str)) == []


def test_pieces_are_taken_as_workers_come_free(engine) -> None:
    taken = []

    def pieces():
        for piece in range(1000):
            taken.append(piece)
            yield piece

    answers = engine.map(squared, pieces(), key=str)
    next(answers)
    assert len(taken) <= 2 * engine.workers + 1
    answers.close()
    assert len(taken) <= 2 * engine.workers + 1


def test_a_key_that_is_given_twice_is_an_error(engine) -> None:
    with pytest.raises(ParameterError, match="Two pieces of work have the key 'a'"):
        list(engine.map(squared, [1, 2], key=lambda piece: "a"))


def test_an_error_of_the_work_arrives_as_it_is_and_ends_the_rest(engine, tmp_path) -> None:
    with pytest.raises(DataError, match=r"^piece 3 is not for me$"):
        list(engine.map(refused, range(10), key=str))
    assert [one.value for one in engine.map(squared, [7], key=str)] == [49]


def test_an_error_that_cannot_be_sent_is_said_and_no_worker_is_blamed(engine) -> None:
    with pytest.raises((StateError, TwoWords), match="out of") as caught:
        list(engine.map(odd_error, [1], key=str))
    assert "lost its worker" not in str(caught.value)
    assert [one.value for one in engine.map(squared, [7], key=str)] == [49]


def test_a_caller_that_stops_leaves_no_work_behind(engine, tmp_path) -> None:
    work = Noted(tmp_path, seconds=0.05)
    answers = engine.map(work, range(200), key=str)
    for _ in range(3):
        next(answers)
    answers.close()
    assert len(list(engine.map(squared, range(4), key=str))) == 4
    time.sleep(0.5)  # ten pieces' time
    assert len(work.runs) <= 3 + 2 * engine.workers  # those under way may end, none is begun after the stop


def test_what_is_held_is_asked_from_the_program_and_from_work(engine) -> None:
    held = engine.hold([MakeShelf(number) for number in (10, 20, 30)])
    assert len(held) == 3
    assert held.ask("sum", [(1,), (2,), (3,)]) == [11, 22, 33]
    found = list(engine.map(Asking(held), range(6), key=str))
    assert {one.key: one.value for one in found} == {str(i): [10 + i, 20 + i, 30 + i] for i in range(6)}


def test_errors_of_what_is_held_and_of_its_making_arrive_as_they_are(engine) -> None:
    with pytest.raises(DataError, match=r"^shelf 1 is empty$"):
        engine.hold([MakeShelf(1)]).ask("fail", [()])
    with pytest.raises(DataError, match=r"^there is nothing to make a shelf of$"):
        engine.hold([no_shelf]).ask("sum", [(1,)])


@with_workers
def test_what_an_engine_starts_is_reached_from_this_machine_alone(engine) -> None:
    engine.hold([MakeShelf(1)]).ask("where", [()])
    addresses = listening(os.getpid())
    assert addresses
    assert [address for address in addresses if not address.is_loopback] == []


@with_workers
def test_a_lost_worker_repeats_its_piece_and_no_answer_comes_twice(engine, tmp_path) -> None:
    work = Noted(tmp_path, fatal=5)
    found = list(engine.map(work, range(12), key=str))
    assert sorted((int(one.key), one.value) for one in found) == [(i, i * i) for i in range(12)]
    assert work.runs.count(5) >= 2
    assert len(work.runs) <= 12 + 2 * engine.workers  # its share and no more


@with_workers
def test_a_piece_that_ends_every_worker_is_an_error_in_words(engine, tmp_path) -> None:
    with pytest.raises(StateError, match=r"lost its worker again and again .* smaller pieces"):
        list(engine.map(Noted(tmp_path, fatal=0, always=True), [0], key=str))
    assert [one.value for one in engine.map(squared, [7], key=str)] == [49]


@with_workers
def test_what_was_held_by_a_lost_worker_is_made_again(engine) -> None:
    held = engine.hold([MakeShelf(1, bytes(1_000_000)), MakeShelf(2)])  # one too large to be kept beside its actor
    first = held.ask("where", [(), ()])
    os.kill(first[0], signal.SIGKILL)
    answers = []
    until = time.monotonic() + 30
    while time.monotonic() < until and not answers:
        answers = held.ask("sum", [(1,), (1,)])
    assert answers == [2, 3]
    assert held.ask("where", [(), ()])[0] != first[0]


def test_an_engine_goes_by_a_name_and_says_what_it_cannot_take() -> None:
    assert engines.names() == ("local", "ray")
    with pytest.raises(UnknownName, match=r"Unknown engine 'dask'. Known: local, ray"):
        engines.make("dask")
    with pytest.raises(ParameterError, match="takes no address and no workers"):
        engines.make("local", workers=2)
    with pytest.raises(ParameterError, match="workers must be 1 or more"):
        engines.make("ray", workers=0)


def test_an_engine_is_imported_when_it_is_made_and_sends_nothing_home() -> None:
    code = (
        "import sys; from kcrc.scale import engines; engines.names(); import kcrc.cli.predict;"
        "assert not {'ray', 'fsspec'} & set(sys.modules), 'too early';"
        "from kcrc.scale.engines.on_ray import load_ray; load_ray(); from ray._common.usage import usage_lib;"
        "assert not usage_lib.usage_stats_enabled(), 'it would tell'"
    )
    told = {**os.environ, "RAY_USAGE_STATS_ENABLED": "1", "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    done = subprocess.run([sys.executable, "-c", code], env=told, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_engine_whose_library_is_missing_says_how_to_get_it(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ParameterError, match=r"pip install 'kcrc\[ray\]'"):
        engines.make("ray")
