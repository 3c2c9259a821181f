"""Who may ask, and how much: other names, other sites, missing tokens and bodies that are too large are refused."""

from __future__ import annotations

import socket
from collections.abc import Callable

import httpx
import pytest

from kcrc.web.bodies import Allowed
from kcrc.web.guard import Guard, Pace

Served = Callable[..., httpx.Client]


def test_only_its_own_names_are_answered(client: httpx.Client) -> None:
    for name in (
        "evil.example",
        "127.0.0.1.evil.example",
        "",
        "[::1",
        "localhost@evil.example",
        "localhost:x",
        "localhost:70000",
    ):
        assert client.get("/api/gallery", headers={"Host": name}).status_code == 421
    assert client.get("/api/gallery", headers={"Host": "localhost:1234"}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://["},
        {"Origin": "http://[::1"},
        {"Origin": "http://[localhost]"},
        {"Origin": "http://127.0.0.1:port"},
        {"Origin": b"http://127.0.0.1\xbd"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_other_sites_are_refused(client: httpx.Client, headers: dict[str, str | bytes]) -> None:
    assert client.post("/api/remove", json={"examples": [1]}, headers=headers).status_code == 403
    assert client.get("/api/gallery", headers=headers).status_code == 403
    assert client.get("/api/gallery").json()["examples"] == 18


def test_the_page_itself_may_ask(client: httpx.Client) -> None:
    own = {"Origin": str(client.base_url).rstrip("/"), "Sec-Fetch-Site": "same-origin"}
    assert client.post("/api/remove", json={"examples": [1]}, headers=own).status_code == 200
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert client.get("/api/health", headers=link).status_code == 200  # a link from elsewhere to the page


def test_a_token_is_needed_where_there_is_one(served: Served) -> None:
    guard = Guard(token="secret")
    client = served(guard=guard)
    assert client.get("/api/gallery").status_code == 401
    assert client.get("/api/gallery", headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert client.get("/api/gallery", headers={"Authorization": "Bearer secret"}).status_code == 200
    assert client.get("/api/health").status_code == 200
    assert client.get("/api/gallery", headers={"Cookie": b"kcrc=s\xe9cret; ="}).status_code == 401


def test_an_origin_that_cannot_be_read_is_refused_with_and_without_the_token(served: Served, notes: list[str]) -> None:
    client = served(guard=Guard(token="secret"))
    for token in ("secret", "wrong"):
        headers = {"Origin": "http://[", "Authorization": f"Bearer {token}"}
        answer = client.get("/api/gallery", headers=headers)
        assert (answer.status_code, answer.json()["error"]) == (403, "Requests from other sites are refused.")
    assert notes == []


def test_a_code_lets_one_browser_in_once(served: Served) -> None:
    guard = Guard(token="secret")
    client, code = served(guard=guard), guard.new_code()
    assert client.get("/", params={"code": "wrong"}).status_code == 401
    entered = client.get("/", params={"code": code})
    assert entered.status_code == 303
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert client.get("/api/gallery").status_code == 200  # the client keeps the cookie
    client.cookies.clear()
    assert client.get("/", params={"code": code}).status_code == 401


@pytest.mark.parametrize(
    ("headers", "secure"),
    [
        ({}, False),
        ({"X-Forwarded-Proto": "https"}, True),
        ({"X-Forwarded-Proto": "HTTPS, http"}, True),  # the first is the browser's
        ({"X-Forwarded-Proto": "http, https"}, False),
        ({"Host": "birds.example", "Origin": "https://birds.example"}, True),
        ({"Host": "birds.example", "Referer": "https://birds.example/"}, True),
        ({"Host": "birds.example", "Referer": "https://elsewhere.example/"}, False),
        ({"Host": "birds.example", "Referer": "http://birds.example/"}, False),
        ({"Host": "birds.example", "Referer": "https://[birds.example/"}, False),
        ({"Host": "birds.example", "Origin": "https://birds.example", "Referer": "https://[birds/"}, True),
    ],
)
def test_behind_a_proxy_that_speaks_tls_the_cookie_goes_by_it_alone(
    served: Served, headers: dict[str, str], secure: bool
) -> None:
    guard = Guard(token="secret", names=("127.0.0.1", "localhost", "birds.example"))
    client, code = served(guard=guard), guard.new_code()
    entered = client.get("/", params={"code": code}, headers=headers)
    assert entered.status_code == 303
    assert ("secure" in entered.headers["set-cookie"].lower()) is secure


def test_with_a_certificate_the_cookie_goes_by_tls_alone(served: Served) -> None:
    guard = Guard(token="secret", secure=True)
    client, code = served(guard=guard), guard.new_code()
    assert "secure" in client.get("/", params={"code": code}).headers["set-cookie"].lower()


def test_every_answer_carries_the_headers_that_keep_a_page_to_itself(client: httpx.Client) -> None:
    for answer in (client.get("/api/gallery"), client.get("/nothing"), client.get("/", headers={"Host": "x"})):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "server" not in answer.headers


def test_bodies_are_refused_before_they_are_read(served: Served, picture: Callable[..., bytes]) -> None:
    client = served(allowed=Allowed(bytes=2000, json_bytes=500, seconds=0.3))
    assert client.post("/api/pictures", content=bytes(2001)).status_code == 413
    assert client.post("/api/pictures", content=(bytes(500) for _ in range(5))).status_code == 413  # no length is said
    assert client.post("/api/add", json={"label": "x" * 600}).status_code == 413
    with socket.create_connection((client.base_url.host, client.base_url.port), timeout=20) as slow:
        slow.sendall(b"POST /api/pictures HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nabc")
        assert slow.recv(100).startswith(b"HTTP/1.1 408 ")
    assert client.get("/api/health").status_code == 200


def test_pixels_are_counted_before_they_are_decoded(served: Served, picture: Callable[..., bytes]) -> None:
    client = served(allowed=Allowed(pixels=1000))
    answer = client.post("/api/classify", content=picture())
    assert answer.status_code == 400
    assert "pixels" in answer.json()["error"]


def test_pictures_are_let_go_when_there_are_too_many(served: Served, picture: Callable[..., bytes]) -> None:
    client = served(allowed=Allowed(held=2))
    names = [client.post("/api/pictures", content=picture(seed=seed)).json()["picture"] for seed in range(3)]
    assert [client.get(f"/api/pictures/{name}").status_code for name in names] == [404, 200, 200]


def test_too_many_requests_are_slowed_down(served: Served) -> None:
    client = served(guard=Guard(rate=1.0))
    assert 429 in [client.get("/api/health").status_code for _ in range(8)]
    pace = Pace(1000.0)
    assert all(pace.allows(f"10.0.{n // 256}.{n % 256}") for n in range(6000))  # nobody pays for others


@pytest.mark.parametrize(
    "name", ["../app.py", "..%2fapp.py", "%2e%2e/app.py", "/etc/passwd", "index.html/../../app.py"]
)
def test_names_are_no_paths(client: httpx.Client, name: str) -> None:
    assert client.get(f"/static/{name}").status_code == 404


def test_errors_say_nothing_of_the_inside(
    client: httpx.Client, notes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a secret of the inside")

    monkeypatch.setattr("kcrc.gallery.gallery.Gallery.history", broken)
    answer = client.get("/api/history")
    assert answer.status_code == 500
    assert answer.json()["error"].startswith("This is a fault of kcrc. Please report it as kcrc-")
    assert "a secret of the inside" in notes[0]


def test_the_folders_of_the_machine_are_not_told(client: httpx.Client) -> None:
    answer = client.post("/api/undo", json={"act": 1})
    assert answer.status_code == 409
    everything = "".join(client.get(f"/api/{name}").text for name in ("gallery", "examples", "history", "examples/1"))
    assert "/tmp" not in everything + answer.text
