"""``python -m fuzz.crowd``: honest clients of ``kcrc serve`` beside bad ones, on the loopback address.

The honest ones ask about photographs, look at examples, try what-ifs and ask for the server's health, first alone, then
beside 400 connections that never finish a request, 16 uploads of a few bytes a second and 4 clients that send pictures
made to do harm. All honest requests have to be answered, and their 99th percentile may be three times that of before.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import httpx
import numpy as np

from fuzz import pictures
from fuzz.healthy import photo_gallery
from kcrc.gallery import Gallery

HONEST, SLOW, UPLOADS, HOSTILE = 8, 400, 16, 4
PAUSE = 0.1  # seconds between two requests of an honest client
WORSE = 3.0
HIDDEN_SCANS = 3000


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz.crowd", description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="of each of the two parts [30].")
    parser.add_argument("--bad", type=int, metavar="PORT", help="only the bad clients, of a server that runs already.")
    given = parser.parse_args()
    seconds = given.seconds
    if given.bad is not None:
        bad = during(seconds, [(slow_requests, SLOW), (slow_upload, UPLOADS), (hostile, HOSTILE)], given.bad, [])
        print(f"bad clients: {json.dumps(bad.others)}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        gallery = Path(folder) / "g.kcrc"
        photo_gallery(gallery, Path(folder) / "photos", each=20)
        with Gallery.open(gallery) as opened:
            opened.answering.use_default_parameters()
        photos = [path.read_bytes() for path in sorted((Path(folder) / "photos").rglob("*.jpg"))]
        command = [sys.executable, "-m", "kcrc", "serve", str(gallery), "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                found = re.search(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
                assert found is not None
                port = int(found[1])
                alone = during(seconds, [(honest, HONEST)], port, photos)
                # In a process of their own, so that making hostile pictures does not slow the honest clients down.
                others = [sys.executable, "-m", "fuzz.crowd", "--bad", str(port), "--seconds", str(seconds + 4)]
                with subprocess.Popen(others):
                    time.sleep(2)
                    beside = during(seconds, [(honest, HONEST)], port, photos)
            finally:
                process.terminate()
    before, after = report("alone", alone), report("beside", beside)
    return 0 if not (alone.failed or beside.failed) and after <= WORSE * before else 1


class Measured:
    """Milliseconds of each honest request by kind, what failed, and what was answered to the others."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = {}
        self.failed: list[str] = []
        self.others: Counter[str] = Counter()


Client = Callable[[int, int, list[bytes], threading.Event, Measured], None]


def during(seconds: float, clients: list[tuple[Client, int]], port: int, photos: list[bytes]) -> Measured:
    measured, over = Measured(), threading.Event()
    threads = [
        threading.Thread(target=client, args=(number, port, photos, over, measured))
        for client, count in clients
        for number in range(1 if client is slow_requests else count)
    ]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    over.set()
    for thread in threads:
        thread.join()
    return measured


def honest(number: int, port: int, photos: list[bytes], over: threading.Event, measured: Measured) -> None:
    rng = random.Random(number)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60) as client:
        name = client.post("/api/pictures", content=rng.choice(photos)).json()["picture"]
        asked: dict[str, Callable[[], httpx.Response]] = {
            "classify": lambda: client.post("/api/classify", content=rng.choice(photos)),
            "what-if": lambda: client.post("/api/what-if", json={"picture": name, "without": [rng.randrange(1, 20)]}),
            "health": lambda: client.get("/api/health"),
            "thumbnail": lambda: client.get(f"/api/thumbnails/{rng.randrange(1, 20)}"),
            "page": lambda: client.get("/"),
        }
        while not over.wait(PAUSE * rng.uniform(0.5, 1.5)):
            kind = rng.choice(list(asked))
            begun = time.perf_counter()
            try:
                status = asked[kind]().status_code
            except httpx.HTTPError as problem:
                measured.failed.append(f"{kind}: {problem!r}")
                continue
            measured.times.setdefault(kind, []).append(1000 * (time.perf_counter() - begun))
            if status != 200:
                measured.failed.append(f"{kind}: {status}")


def slow_requests(_: int, port: int, photos: list[bytes], over: threading.Event, measured: Measured) -> None:
    """All slow connections: a byte each second, and again as soon as one is closed."""
    held: list[socket.socket] = []
    while not over.wait(1.0):
        for one in list(held):
            try:
                one.send(b"X")
            except OSError:
                measured.others["slow requests closed"] += 1
                held.remove(one)
                one.close()
        with contextlib.suppress(OSError):
            while len(held) < SLOW:
                held.append(socket.create_connection(("127.0.0.1", port), 5))
                held[-1].setblocking(False)
                held[-1].send(b"GET /api/health HTTP/1.1\r\nX-Slow: ")
    for one in held:
        one.close()


def slow_upload(_: int, port: int, photos: list[bytes], over: threading.Event, measured: Measured) -> None:
    head = b"POST /api/classify HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 30000000\r\n\r\n"
    while not over.is_set():
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as one:
            one.sendall(head)
            while not over.wait(0.5):
                one.sendall(bytes(100))
        measured.others["slow uploads closed"] += 1


def hostile(number: int, port: int, photos: list[bytes], over: threading.Event, measured: Measured) -> None:
    rng = random.Random(number)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60) as client:
        while not over.is_set():
            content = hidden_scans(2000, HIDDEN_SCANS) if rng.random() < 0.2 else pictures.hostile(rng)
            with contextlib.suppress(httpx.HTTPError):
                measured.others[f"hostile {client.post('/api/classify', content=content).status_code}"] += 1


def hidden_scans(side: int, scans: int) -> bytes:
    """A progressive JPEG with most of its scans inside what a reader of markers takes for one other segment."""

    def segment(marker: int, data: bytes) -> bytes:
        return bytes([0xFF, marker]) + (len(data) + 2).to_bytes(2, "big") + data

    frame = bytes([8]) + side.to_bytes(2, "big") * 2 + bytes([1, 1, 0x11, 0])
    codes = segment(0xC4, bytes([0, 0, 1, *[0] * 14, 0])) + segment(0xC4, bytes([0x10, 0, 1, *[0] * 14, 0xE0]))
    scan = segment(0xDA, bytes([1, 1, 0, 1, 63, 1])) + bytes(2)
    first = segment(0xDA, bytes([1, 1, 0, 0, 0, 0])) + bytes(2)
    before = b"\xff\xd8" + segment(0xDB, bytes([0] + [1] * 64)) + segment(0xC2, frame) + codes + first
    return before + segment(0x01, scan * 3000) * (scans // 3000) + b"\xff\xd9"


def report(name: str, measured: Measured) -> float:
    """Print what was measured; the 99th percentile of all honest requests."""
    rows = {**measured.times, "all": [one for times in measured.times.values() for one in times]}
    print(f"{name}: {len(rows['all'])} honest requests, {len(measured.failed)} failed {measured.failed[:3]}")
    for kind, times in rows.items():
        print(
            f"  {kind:10} {len(times):6d}  p50 {np.percentile(times, 50):8.1f} ms  p99 {np.percentile(times, 99):8.1f}"
        )
    return float(np.percentile(rows["all"], 99))


if __name__ == "__main__":
    sys.exit(main())
