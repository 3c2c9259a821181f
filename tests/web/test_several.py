"""Several processes behind one address: whichever takes a request, the answers are the same."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from kcrc.bench.postgres_server import PostgresServer
from kcrc.cli import main
from kcrc.gallery import Gallery
from kcrc.gallery.copying import copied
from photos import photo

PROGRAM = "import sys; from kcrc.cli import main; sys.exit(main(sys.argv[1:]))"
SOURCES = str(Path(__file__).parents[2] / "src")
PASSWORD = "Gehe1m"


class Several:
    """A server of two processes over a gallery on a PostgreSQL server."""

    def __init__(self, address: str, *options: str) -> None:
        line = [sys.executable, "-W", "error", "-c", PROGRAM, "serve", address, "--port", "0", "--processes", "2"]
        line += options
        known = {**os.environ, "PYTHONPATH": SOURCES}
        self.process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=known)
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        found = re.search(r"http://[0-9.:]+", said)
        assert found is not None, said + self.process.communicate()[1]
        self.where = found[0]

    def client(self, person: str = "") -> httpx.Client:
        """One whose every request is a new connection, which any of the processes may take."""
        headers = {"Connection": "close", **({"X-Kcrc-Person": person} if person else {})}
        return httpx.Client(base_url=self.where, trust_env=False, timeout=60, headers=headers)

    def workers(self) -> list[int]:
        """The process that holds what is shared, and those that serve, as they were started."""
        text = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [one for one in map(int, text.split()) if "spawn_main" in command(one)]


def command(process: int) -> str:
    return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")


@pytest.fixture(scope="module")
def where(built: Path, postgres_server: PostgresServer) -> str:
    """The address of the gallery that these tests serve."""
    address = postgres_server.address(gallery=f"t{secrets.token_hex(8)}")
    with Gallery.open(built / "birds.kcrc") as file:
        copied(file.store, address)
    return address


@pytest.fixture(scope="module")
def several(where: str) -> Iterator[Several]:
    """Started once for all of them: that takes longer than they do."""
    yield from _started(where)


@pytest.fixture
def other(where: str) -> Iterator[Several]:
    """One to be killed."""
    yield from _started(where)


@pytest.fixture
def paced(where: str) -> Iterator[Several]:
    """One that takes a request from each address, and the next in a quarter of an hour."""
    yield from _started(where, "--rate", "0.001")


def _started(where: str, *options: str) -> Iterator[Several]:
    made = Several(where.replace("postgres@", f"postgres:{PASSWORD}@"), *options)
    yield made
    made.process.terminate()
    made.process.communicate(timeout=60)


def test_two_processes_share_pictures_changes_and_undo(several: Several, where: str, tmp_path: Path) -> None:
    """What one process was told while the other stood still is known to the other when that one stands still."""
    picture = photo(tmp_path / "one.jpg", "wren", 9).read_bytes()
    ann, bob = several.client("ann"), several.client("bob")
    first, second = several.workers()[1:]
    with standing_still(second):
        sent = ann.post("/api/classify", content=picture, headers={"Content-Type": "image/jpeg"}).json()
        assert sent["label"] == "wren"
        for person, example in ((ann, 1), (bob, 2), (ann, 3)):
            change = {"examples": [example], "label": f"class {example}", "new_class": True}
            assert person.post("/api/relabel", json=change).status_code == 200
    with standing_still(first):
        asked = {"picture": sent["picture"], "without": [sent["parts"][0]["id"]]}
        told = ann.post("/api/what-if", json=asked)
        assert told.status_code == 200, told.text
        assert told.json()["revision"] == sent["revision"] + 3
        for example in (3, 1):  # ann's own, newest first, past that of bob
            told = ann.post("/api/undo", json={})
            assert told.status_code == 200, told.text
            assert f"class {example}" in told.text
        refused = ann.post("/api/queue", content=picture, headers={"Content-Type": "image/jpeg"})
        assert refused.status_code == 409
    with Gallery.open(where, readonly=True) as opened:
        assert [name for name in opened.classes if name.startswith("class")] == ["class 2"]
    with standing_still(second):
        assert ann.post("/api/redo", json={}).status_code == 200
        assert bob.post("/api/undo", json={}).status_code == 200
    with Gallery.open(where, readonly=True) as opened:
        assert [name for name in opened.classes if name.startswith("class")] == ["class 1"]


@contextlib.contextmanager
def standing_still(process: int) -> Iterator[None]:
    """A process takes no request until the end of the block."""
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


def test_changes_from_many_clients_are_all_kept(several: Several, where: str) -> None:
    acknowledged: dict[int, str] = {}

    def work(number: int) -> None:
        with several.client(f"person {number}") as client:
            for step in range(5):
                example, label = 1 + 3 * step + number, f"class {number} {step}"
                told = client.post("/api/relabel", json={"examples": [example], "label": label, "new_class": True})
                if told.status_code == 200:
                    acknowledged[example] = label

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(acknowledged) == 15
    with Gallery.open(where, readonly=True) as opened:
        assert {example: opened.example(example).label for example in acknowledged} == acknowledged
        assert opened.verify().sound


def test_the_rate_is_that_of_all_processes_together(paced: Several) -> None:
    with paced.client() as client:
        codes = [client.get("/api/health").status_code for _ in range(40)]
    assert codes == [200] + 39 * [429]


def test_one_that_dies_is_started_again_and_ctrl_c_ends_all(several: Several) -> None:
    workers = several.workers()
    assert len(workers) == 3
    assert not any(PASSWORD in command(one) for one in workers)
    os.kill(workers[1], signal.SIGKILL)
    until = time.monotonic() + 60
    while workers[1] in several.workers() or len(several.workers()) < 3:
        assert time.monotonic() < until
        time.sleep(0.1)
    with several.client() as client:
        assert {client.get("/api/health").status_code for _ in range(5)} == {200}
    several.process.send_signal(signal.SIGINT)
    out, err = several.process.communicate(timeout=60)
    assert several.process.returncode == 130
    assert "everything that was acknowledged is kept" in err
    assert PASSWORD not in out + err
    assert not any(Path(f"/proc/{one}").exists() for one in workers)


def test_nothing_is_left_of_them_when_the_first_is_killed(other: Several) -> None:
    workers = other.workers()
    other.process.kill()
    other.process.communicate(timeout=60)  # which waits for all that could still say something
    assert not any(Path(f"/proc/{one}").exists() and "spawn_main" in command(one) for one in workers)


def test_without_what_they_share_it_ends_and_says_so(other: Several) -> None:
    workers = other.workers()
    os.kill(workers[0], signal.SIGKILL)
    _, err = other.process.communicate(timeout=60)
    assert other.process.returncode == 1
    assert "held what the others share has ended" in err
    assert not any(Path(f"/proc/{one}").exists() for one in workers)


def test_one_that_cannot_begin_says_why_and_is_tried_again(path: Path) -> None:
    several, away = Several(str(path)), path.with_name("away.kcrc")
    try:
        assert several.process.stderr is not None
        path.rename(away)
        os.kill(several.workers()[1], signal.SIGKILL)
        said = ""
        while "There is no gallery" not in said:
            line = several.process.stderr.readline()
            assert line, said
            said += line
        assert "Traceback" not in said
        away.rename(path)
        with several.client() as client:
            assert {client.get("/api/health").status_code for _ in range(5)} == {200}
    finally:
        several.process.terminate()
        several.process.communicate(timeout=60)


def test_ctrl_c_while_they_begin_ends_them_without_a_trace(path: Path) -> None:
    """A terminal sends it to all of them: here as soon as the first is there."""
    line = [sys.executable, "-W", "error", "-c", PROGRAM, "serve", str(path), "--port", "0", "--processes", "2"]
    known = {**os.environ, "PYTHONPATH": SOURCES}
    process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=known, start_new_session=True)
    children, until = Path(f"/proc/{process.pid}/task/{process.pid}/children"), time.monotonic() + 60
    while not any("spawn_main" in command(int(one)) for one in children.read_text().split()):
        assert time.monotonic() < until
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err


@pytest.mark.parametrize("more", [["--expose"], ["--share"], ["--token", "x"]])
def test_several_processes_are_for_this_machine(
    more: list[str], path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", str(path), "--processes", "2", *more]) == 2
    assert "--processes is for this machine" in capsys.readouterr().err
