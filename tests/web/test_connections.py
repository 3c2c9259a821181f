"""Bad clients: requests that never end, answers that are never read, and more connections than there may be."""

from __future__ import annotations

import contextlib
import random
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator

import httpx
import pytest

from fuzz import pictures
from kcrc.web import connections
from kcrc.web import service as services
from kcrc.web.bodies import Allowed

Served = Callable[..., httpx.Client]
HEAD = b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n"
PATIENT = 20.0  # seconds that a test waits for what the server does within one


@pytest.fixture
def opened() -> Iterator[Callable[..., socket.socket]]:
    """A connection to a server, on which some bytes were sent."""
    with contextlib.ExitStack() as stack:

        def connect(client: httpx.Client, sent: bytes = b"") -> socket.socket:
            assert client.base_url.port is not None
            made = stack.enter_context(socket.create_connection(("127.0.0.1", client.base_url.port), PATIENT))
            made.sendall(sent)
            return made

        yield connect


def received(connection: socket.socket) -> bytes:
    """All that the server sends before it closes the connection."""
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


REFUSED = b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n1"  # before its body has come


@pytest.mark.parametrize("sent", [b"", b"GET /", HEAD, HEAD + b"\r\n" + HEAD, REFUSED])
def test_an_unfinished_request_is_not_held_for_ever(
    served: Served, opened: Callable[..., socket.socket], sent: bytes
) -> None:
    client = served(allowed=Allowed(header_seconds=0.3, idle_seconds=1, seconds=0.3))
    got = received(opened(client, sent))
    assert (b" 408 " in got) == (not sent.count(b"\r\n\r\n"))


def test_a_body_that_stopped_arriving_keeps_no_connection(served: Served, opened: Callable[..., socket.socket]) -> None:
    """Refused for its time, it is closed soon, and not only when a connection between two requests would be."""
    client = served(allowed=Allowed(seconds=0.3, header_seconds=0.3, idle_seconds=10 * PATIENT))
    head = b"POST /api/classify HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nsome"
    assert b" 408 " in received(opened(client, head))


def test_an_unfinished_body_is_not_held_for_ever_however_often_some_of_it_comes(
    served: Served, opened: Callable[..., socket.socket]
) -> None:
    client = served(allowed=Allowed(seconds=0.5, header_seconds=0.5))
    head = b"POST /api/classify HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
    slow, over = opened(client, head), threading.Event()

    def send() -> None:
        with contextlib.suppress(OSError):
            while not over.wait(0.05):
                slow.sendall(b"1")

    sender = threading.Thread(target=send)
    sender.start()
    try:
        assert b" 408 " in received(slow)
    finally:
        over.set()
        sender.join()


def test_an_answer_that_is_not_read_is_given_up(served: Served) -> None:
    if not hasattr(select, "poll"):
        pytest.skip("this system cannot say that a connection ended without reading from it")
    client = served(allowed=Allowed(stalled_seconds=0.3, header_seconds=60))
    assert client.base_url.port is not None
    with socket.socket() as narrow:
        narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        narrow.connect(("127.0.0.1", client.base_url.port))
        narrow.setblocking(False)
        with contextlib.suppress(BlockingIOError):  # the server reads no more than it answers
            while True:
                narrow.send(b"GET /api/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
        ended = select.poll()
        ended.register(narrow, 0)  # nothing but its end
        assert ended.poll(1000 * PATIENT)


@pytest.mark.parametrize("address", [None, "198.51.100.7"])
def test_connections_that_only_wait_make_room(
    served: Served, opened: Callable[..., socket.socket], monkeypatch: pytest.MonkeyPatch, address: str | None
) -> None:
    """Of all addresses together, and of one that is not this machine's."""
    monkeypatch.setattr(connections, "_GRACE", 0.0)
    if address is not None:
        monkeypatch.setattr(connections.BoundedConnection, "_address", address)
    client = served(allowed=Allowed(of_address=8) if address else Allowed(connections=8))
    slow = [opened(client, HEAD) for _ in range(30)]
    for _ in range(5):
        assert client.get("/api/health").json()["healthy"]
    assert sum(received(one) == b"" for one in slow[:22]) == 22, "those that waited longest"


def test_a_connection_that_has_just_come_is_left_alone(served: Served, opened: Callable[..., socket.socket]) -> None:
    client = served(allowed=Allowed(connections=3))
    young = [opened(client, HEAD) for _ in range(3)]
    assert b" 503 " in received(opened(client, HEAD))
    for one in young:
        one.sendall(b"\r\n")
        assert one.recv(65536).startswith(b"HTTP/1.1 200")


def test_where_all_are_being_answered_the_next_is_refused(served: Served, opened: Callable[..., socket.socket]) -> None:
    client = served(allowed=Allowed(connections=3))
    listen = HEAD.replace(b"health", b"events") + b"\r\n"
    listening = [opened(client, listen) for _ in range(3)]
    for one in listening:
        assert one.recv(65536)
    refused = opened(client, HEAD + b"\r\n")
    got = received(refused)
    assert b" 503 " in got
    assert b"more than 3 connections" in got


def test_the_limit_of_listeners_holds_for_those_that_come_at_once(served: Served) -> None:
    client = served(allowed=Allowed(listeners=4))
    statuses, ready, over = list[int](), threading.Barrier(16), threading.Event()

    def listen() -> None:
        with httpx.Client(base_url=client.base_url, trust_env=False, timeout=PATIENT) as own:
            ready.wait(PATIENT)
            with own.stream("GET", "/api/events") as answer:
                statuses.append(answer.status_code)
                over.wait(PATIENT)

    threads = [threading.Thread(target=listen) for _ in range(16)]
    for thread in threads:
        thread.start()
    late = time.monotonic() + PATIENT
    while len(statuses) < 16 and time.monotonic() < late:
        time.sleep(0.02)
    over.set()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] * 4 + [503] * 12


def test_slow_uploads_hold_nobody_up(
    served: Served, opened: Callable[..., socket.socket], picture: Callable[..., bytes]
) -> None:
    client = served()
    head = b"POST /api/classify HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30000000\r\n\r\n"
    for _ in range(40):
        opened(client, head + bytes(1000))
    assert client.post("/api/classify", content=picture("wren"), timeout=10).json()["label"] == "wren"


def test_more_bytes_than_there_is_room_for_are_refused_and_the_room_is_free_again(
    served: Served, opened: Callable[..., socket.socket], picture: Callable[..., bytes]
) -> None:
    data = picture("wren")
    client = served(allowed=Allowed(arriving_bytes=2 * len(data)))
    head = b"POST /api/classify HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30000000\r\n\r\n"
    slow = opened(client, head + bytes(2 * len(data) - 10))
    late = time.monotonic() + PATIENT
    while (refused := client.post("/api/classify", content=data)).status_code == 200 and time.monotonic() < late:
        time.sleep(0.02)
    assert refused.status_code == 503
    assert "Too many bytes" in refused.json()["error"]
    slow.close()
    late = time.monotonic() + PATIENT
    while (answer := client.post("/api/classify", content=data)).status_code == 503 and time.monotonic() < late:
        time.sleep(0.02)
    assert answer.json()["label"] == "wren"


def test_health_and_the_page_answer_while_all_workers_are_busy(
    served: Served, picture: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    read_picture = services.read_picture

    def slowly(*given: object, **options: object) -> object:
        assert go_on.wait(PATIENT)
        return read_picture(*given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(services, "read_picture", slowly)
    client, answers = served(), list[str]()

    def ask(seed: int) -> None:
        answers.append(client.post("/api/classify", content=picture("wren", seed)).json()["label"])

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(60, 68)]
    for thread in threads:
        thread.start()
    try:
        for path in ("/api/health", "/", "/static/app.js", "/api/gallery", "/api/thumbnails/1", "/api/examples"):
            assert client.get(path, timeout=10).status_code == 200
    finally:
        go_on.set()
        for thread in threads:
            thread.join()
    assert answers == ["wren"] * 8


def test_honest_clients_are_answered_beside_bad_ones(
    served: Served, opened: Callable[..., socket.socket], picture: Callable[..., bytes]
) -> None:
    """``python -m fuzz.crowd``, reduced, and without a clock."""
    client, over = served(), threading.Event()
    for _ in range(60):
        opened(client, HEAD)
    upload = b"POST /api/classify HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30000000\r\n\r\n"
    for _ in range(8):
        opened(client, upload + bytes(1000))

    def harm(seed: int) -> None:
        rng = random.Random(seed)
        with httpx.Client(base_url=client.base_url, trust_env=False, timeout=60) as own:
            while not over.is_set():
                own.post("/api/classify", content=pictures.hostile(rng))

    harming = [threading.Thread(target=harm, args=(seed,)) for seed in range(2)]
    for thread in harming:
        thread.start()
    try:
        for seed in range(10):
            answer = client.post("/api/classify", content=picture("wren", 60 + seed))
            assert answer.json()["label"] == "wren"
            assert client.get("/api/health").json()["healthy"]
    finally:
        over.set()
        for thread in harming:
            thread.join()
