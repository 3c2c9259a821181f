from __future__ import annotations

import os
from pathlib import Path

import pytest

from kcrc.errors import StateError
from lab.bench import postgres_server
from lab.bench.postgres_server import running

PROGRAMS = postgres_server._programs()


@pytest.fixture
def closed_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that only root gets into, with the server's programs below it."""
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("only root starts the server as another user")
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    package = PROGRAMS.parents[1]
    for name in (package.name, f"{package.name}.libs"):
        (home / name).symlink_to(package.with_name(name))
    monkeypatch.setattr(postgres_server, "_programs", lambda: home / PROGRAMS.relative_to(package.parent))
    return home


def test_programs_below_a_closed_home_run_from_a_copy(closed_home: Path) -> None:
    psycopg = pytest.importorskip("psycopg")
    with running(fsync="off") as server:
        with psycopg.connect(server.address()) as db:
            assert db.execute("CREATE EXTENSION vector").statusmessage == "CREATE EXTENSION"
        copy = server.sockets / PROGRAMS.relative_to(PROGRAMS.parents[2]) / "postgres"
        assert copy.exists()
    assert not copy.exists()


def test_programs_that_run_nowhere_are_one_sentence(closed_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_server, "_can_run", lambda programs, user: False)
    with (
        pytest.raises(StateError, match=r"the user 'nobody' can run its programs neither in .*: start this as"),
        running(),
    ):
        pass


def test_programs_that_the_other_user_gets_at_are_not_copied(tmp_path: Path) -> None:
    with running() as server:
        reachable = os.geteuid() != 0 or postgres_server._can_run(PROGRAMS, "nobody")
        assert (server.sockets / PROGRAMS.parents[1].name).exists() != reachable
