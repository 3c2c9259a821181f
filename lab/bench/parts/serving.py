"""``kcrc serve`` under load: clients on this machine that ask at the same time, beside the answerer asked singly.

The server is a process of its own. Clients send ready vectors (float32) on connections that stay open, each its next
question when the one before is answered: what is measured is the server and the classifier, not the decoding of
pictures. Then how long it takes from the command to the first classified picture, and what-if.
"""

from __future__ import annotations

import http.client
import json
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.report.tables import text_table
from lab.bench.parts import PartRun
from lab.bench.parts.asking import photographs
from lab.bench.results import Requirement

CLIENTS = 16
FLOATS = "application/x-float32"


def measure(run: PartRun) -> None:
    with tempfile.TemporaryDirectory() as place:
        load(run, Path(place))
        first_answer(run, Path(place))


def load(run: PartRun, place: Path) -> None:
    """Clients for a minute."""
    from kcrc.gallery import Gallery

    n, d, seconds = (300, 16, 1.0) if run.quick else (20_000, 1280, 60.0)
    vectors, labels = clusters(n + 500, d)
    path = place / "vectors.kcrc"
    with Gallery.create(path, dim=d) as gallery:
        gallery.add(labels[:n], vectors[:n])
        gallery.answering.use_default_parameters()
        answerer = gallery.answering.answerer()
        singly = _singly(answerer.answer, vectors[n:], seconds / 10)
        what_if = _median(lambda: answerer.what_if(vectors[n], [1, 2, 3]), 10)
    with served(path) as (process, port):
        _ask(port, vectors[n:], 1.0, [])  # warm
        before = _memory(process.pid)
        heard: list[_Heard] = []
        _ask(port, vectors[n:], seconds, heard)
        after = _memory(process.pid)
    waited = sorted(time for one in heard for time in one.waited)
    rate, errors = len(waited) / seconds, sum(one.errors for one in heard)
    median, last = statistics.median(waited), waited[int(0.99 * len(waited))]
    rows = [
        ["queries a second, served", f"{rate:.0f}"],
        ["asked singly in one process", f"{singly:.0f}"],
        ["median, ms", f"{1e3 * median:.1f}"],
        ["99 of 100 within, ms", f"{1e3 * last:.1f}"],
        ["errors", str(errors)],
        ["memory before and after, MB", f"{before / 1e6:.0f}, {after / 1e6:.0f}"],
        ["what-if in the answerer, ms", f"{1e3 * what_if:.1f}"],
    ]
    run.say(text_table(f"\n{CLIENTS} clients for {seconds:g} s on {n:,} × {d}", ["", ""], rows))
    run.results.ratios["singly / served, queries a second"] = singly / rate
    claims = run.results.claims
    claims.append(Requirement("queries a second of 16 clients / singly", rate / singly, 0.5, at_least=True))
    claims.append(Requirement("errors of 16 clients", float(errors), 0.0))
    claims.append(Requirement("99th percentile / median", last / median, 10.0))
    claims.append(Requirement("growth of memory under load, MB", (after - before) / 1e6, 20.0))
    claims.append(Requirement("seconds of a what-if in the answerer", what_if, 0.05))


def first_answer(run: PartRun, place: Path) -> None:
    """From the command to the first classified picture, and what-if by the server."""
    from kcrc.gallery import Gallery
    from kcrc.gallery.building import build_from_folder

    each = 2 if run.quick else 100
    folder = photographs(place / "photographs", each)
    path = place / "pictures.kcrc"
    build_from_folder(folder, path, feature="hog")
    with Gallery.open(path) as gallery:
        gallery.answering.use_default_parameters()
    picture = (folder / "c0" / "0.png").read_bytes()
    begun = time.perf_counter()
    with served(path) as (_, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        told = _told(connection, "/api/classify", picture, "image/png")
        seconds = time.perf_counter() - begun
        asked = json.dumps({"picture": told["picture"], "without": [part["id"] for part in told["parts"][:3]]}).encode()
        what_if = _median(lambda: _told(connection, "/api/what-if", asked, "application/json"), 20)
        connection.close()
    lines = [
        ["from the command to the first answer, s", f"{seconds:.2f}"],
        ["what-if by the server, ms", f"{1e3 * what_if:.1f}"],
    ]
    run.say(text_table(f"\n{10 * each:,} pictures", ["", ""], lines))
    run.results.claims.append(Requirement("seconds from the command to the first answer", seconds, 3.0))
    run.results.claims.append(Requirement("seconds of a what-if by the server", what_if, 0.1))


class _Heard:
    """What one client heard: seconds that each answer took, and how many were no answers."""

    def __init__(self) -> None:
        self.waited: list[float] = []
        self.errors = 0


def _ask(port: int, queries: Array, seconds: float, heard: list[_Heard]) -> None:
    """Ask by all clients at once for so long."""
    until = time.perf_counter() + seconds
    heard += [_Heard() for _ in range(CLIENTS)]
    threads = [
        threading.Thread(target=_client, args=(port, queries[number::CLIENTS], until, one))
        for number, one in enumerate(heard)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _client(port: int, queries: Array, until: float, heard: _Heard) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    bodies = [np.ascontiguousarray(query, "<f4").tobytes() for query in queries]
    number = 0
    while (begun := time.perf_counter()) < until:
        try:
            told = _told(connection, "/api/classify", bodies[number % len(bodies)], FLOATS, dim=queries.shape[1])
            heard.errors += "verdicts" not in told
        except (OSError, http.client.HTTPException, ValueError):
            heard.errors += 1
            connection.close()
        heard.waited.append(time.perf_counter() - begun)
        number += 1
    connection.close()


def _told(connection: http.client.HTTPConnection, path: str, body: bytes, kind: str, dim: int = 0) -> dict[str, Any]:
    connection.request("POST", path, body, {"Content-Type": kind, "X-Kcrc-Dim": str(dim)})
    answer = connection.getresponse()
    told: dict[str, Any] = json.loads(answer.read())
    return told


@contextmanager
def served(path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server of the gallery, as a process of its own, and its port."""
    program = "import sys; from kcrc.cli import main; sys.exit(main(sys.argv[1:]))"
    line = [sys.executable, "-c", program, "serve", str(path), "--port", "0"]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r":(\d+)/", process.stdout.readline())
        assert found is not None, "the server did not start"
        yield process, int(found[1])
    finally:
        process.terminate()
        process.communicate()


def clusters(n: int, d: int, classes: int = 50) -> tuple[Array, list[str]]:
    """Examples around a centre for each class, and their labels."""
    rng = np.random.default_rng(0)
    numbers = np.arange(n) % classes
    centres = rng.standard_normal((classes, d), np.float32)
    return centres[numbers] + 2 * rng.standard_normal((n, d), np.float32), [f"class {c}" for c in numbers]


def _singly(answer: Callable[[Array], Any], queries: Array, seconds: float) -> float:
    """Queries a second, one after the other."""
    count, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        answer(queries[count % len(queries)])
        count += 1
    return count / (time.perf_counter() - begun)


def _median(work: Callable[[], Any], times: int) -> float:
    spent = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        spent.append(time.perf_counter() - begun)
    return statistics.median(spent)


def _memory(pid: int) -> int:
    """Bytes that a process has in memory; 0 where the system does not say."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmRSS:\s+(\d+)", status)
    return 0 if found is None else 1024 * int(found[1])
