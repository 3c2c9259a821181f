"""The server as a process: killed, told to end, beside another program, and without the network."""

from __future__ import annotations

import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from kcrc.cli import main
from kcrc.gallery import Gallery
from kcrc.gallery.check import problems
from kcrc.gallery.stores.copying import copy_gallery

CHILD = Path(__file__).with_name("served_child.py")
SOURCES = str(Path(__file__).parents[2] / "src")
Start = Callable[..., tuple["subprocess.Popen[str]", httpx.Client]]


@pytest.fixture
def start(path: Path) -> Iterator[Start]:
    """Start a server; the process, and a client of it."""
    begun: list[tuple[subprocess.Popen[str], httpx.Client]] = []

    def run(
        *options: str, gallery: Path | str = path, encoding: str = "utf-8"
    ) -> tuple[subprocess.Popen[str], httpx.Client]:
        known = {**os.environ, "PYTHONPATH": SOURCES, "PYTHONIOENCODING": encoding}
        line = [sys.executable, "-W", "error", str(CHILD), str(gallery), "--port", "0", *options]
        process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding=encoding, env=known)
        assert process.stdout is not None
        said = process.stdout.readline()
        address = re.search(r"https?://[0-9.:]+", said)
        assert address is not None, said + process.communicate()[1]
        client = httpx.Client(base_url=address[0], trust_env=False, timeout=60, headers={"X-Address": said.strip()})
        begun.append((process, client))
        return process, client

    yield run
    for process, client in begun:
        client.close()
        process.kill()
        process.communicate()


def corrected(client: httpx.Client, acknowledged: dict[int, str], until: threading.Event) -> None:
    """Relabel examples again and again, and note what was acknowledged."""
    number = 0
    while not until.is_set():
        number += 1
        example, label = number % 18 + 1, f"class {number}"
        try:
            answer = client.post("/api/relabel", json={"examples": [example], "label": label, "new_class": True})
        except httpx.TransportError:
            return
        if answer.status_code == 200:
            acknowledged[example] = label


@pytest.mark.parametrize("corrections", [12, pytest.param(100, marks=pytest.mark.slow)])
def test_what_was_acknowledged_is_there_after_a_kill(start: Start, path: Path, corrections: int) -> None:
    process, client = start()
    acknowledged: dict[int, str] = {}
    thread = threading.Thread(target=corrected, args=(client, acknowledged, threading.Event()))
    thread.start()
    while max((int(label.split()[1]) for label in list(acknowledged.values())), default=0) < corrections:
        time.sleep(0.005)
    process.kill()
    thread.join()
    with Gallery.open(path) as gallery:
        labels = {row.id: row.label for row in gallery.contents.rows}
        assert gallery.verify().sound
    newest = max(int(label.split()[1]) for label in acknowledged.values())
    unheard = {i for i, label in labels.items() if label == f"class {newest + 1}"}  # done, but its word was lost
    assert {i: labels[i] for i in acknowledged.keys() - unheard} == {
        i: label for i, label in acknowledged.items() if i not in unheard
    }
    assert newest >= corrections


def test_told_to_end_it_finishes_what_it_acknowledged(start: Start, path: Path) -> None:
    process, client = start()
    acknowledged: dict[int, str] = {}
    thread = threading.Thread(target=corrected, args=(client, acknowledged, threading.Event()))
    thread.start()
    with httpx.Client(base_url=client.base_url, trust_env=False).stream("GET", "/api/events") as listening:
        assert next(listening.iter_lines()) == ": listening"
        while len(acknowledged) < 3:
            time.sleep(0.005)
        process.send_signal(signal.SIGTERM)
        thread.join()
        errors = process.communicate(timeout=60)[1]
    assert "Traceback" not in errors
    with Gallery.open(path, readonly=True) as gallery:
        labels = {row.id: row.label for row in gallery.contents.rows}
    assert acknowledged.items() <= labels.items()


def test_another_program_may_change_the_gallery_meanwhile(start: Start, path: Path) -> None:
    _, client = start()
    before = client.get("/api/gallery").json()
    with httpx.Client(base_url=client.base_url, trust_env=False).stream("GET", "/api/events", timeout=30) as listening:
        lines = listening.iter_lines()
        assert next(lines) == ": listening"
        assert main(["remove", str(path), "1", "2"]) == 0
        heard = next(line for line in lines if '"revision"' in line)
    after = client.get("/api/gallery").json()
    assert (before["examples"], after["examples"]) == (18, 16)
    assert f'"revision": {after["revision"]}' in heard
    assert client.get("/api/examples/1").json()["removed_by"] is not None


def test_a_gallery_on_a_postgres_server_keeps_changes_from_many_clients(
    start: Start, path: Path, postgres_address: str
) -> None:
    with Gallery.open(path) as file:
        copy_gallery(file.store, postgres_address, check=problems)
    process, client = start(gallery=postgres_address.replace("postgres@", "postgres:Gehe1m@"))
    acknowledged: dict[int, str] = {}

    def work(number: int) -> None:
        headers = {"X-Kcrc-Person": f"person {number}"}
        with httpx.Client(base_url=client.base_url, trust_env=False, timeout=60, headers=headers) as own:
            for step in range(5):
                example, label = 1 + 3 * step + number, f"class {number} {step}"
                told = own.post("/api/relabel", json={"examples": [example], "label": label, "new_class": True})
                if told.status_code == 200:
                    acknowledged[example] = label

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    undone = client.post("/api/undo", json={}, headers={"X-Kcrc-Person": "person 1"})
    assert "class 1 4" in undone.text  # one's own, not the newest of all
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "everything that was acknowledged is kept" in err
    assert "Gehe1m" not in client.headers["X-Address"] + out + err
    assert len(acknowledged) == 15
    del acknowledged[14]
    with Gallery.open(postgres_address, readonly=True) as opened:
        assert {example: opened.example(example).label for example in acknowledged} == acknowledged
        assert opened.example(14).label not in acknowledged.values()
        assert opened.verify().sound


def test_nothing_outside_is_reached(start: Start, tmp_path: Path, picture: Callable[..., bytes]) -> None:
    process, client = start()
    told = client.post("/api/classify", content=picture("wren")).json()
    client.post("/api/add", json={"pictures": [told["picture"]], "label": "wren"})
    for name in ("gallery", "classes", "audit", "map", "advise", "history", "queue"):
        assert client.get(f"/api/{name}").status_code == 200
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=60)[1]
    assert "REACHED" not in errors
    assert process.returncode == 130


def test_shared_it_shows_a_code_that_lets_one_browser_in(start: Start) -> None:
    process, stranger = start("--share", "--host", "127.0.0.1")
    assert stranger.get("/api/gallery").status_code == 401
    assert process.stdout is not None
    code = re.search(r"code=([\w-]+)", stranger.headers["x-address"])
    assert code is not None
    assert "█" in process.stdout.readline()
    assert stranger.get("/", params={"code": code[1]}).status_code == 303
    assert stranger.get("/api/gallery").json()["token_needed"] is True
    stranger.cookies.clear()
    assert stranger.get("/", params={"code": code[1]}).status_code == 401


def test_where_the_encoding_cannot_draw_a_qr_code_one_sentence_says_so(start: Start) -> None:
    process, _ = start("--share", "--host", "127.0.0.1", encoding="latin-1")
    assert process.stderr is not None
    said = [process.stderr.readline() for _ in range(2)]
    assert any("no characters to draw a QR code" in line for line in said)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert "\\u2588" not in out


def test_with_a_certificate_it_speaks_tls(path: Path, tmp_path: Path, start: Start) -> None:
    files = [str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")]
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl makes the certificate")
    made = [
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        files[0],
        "-out",
        files[1],
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    more = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([openssl, "req", "-x509", *made, *more], check=True, capture_output=True)
    _, plain = start("--key", files[0], "--certificate", files[1])
    assert plain.base_url.scheme == "https"
    trusted = ssl.create_default_context(cafile=files[1])
    with httpx.Client(base_url=plain.base_url, verify=trusted, trust_env=False) as client:
        assert client.get("/api/health").json()["healthy"] is True


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--host", "0.0.0.0"], "lets other machines in"),
        (["nowhere"], "is not a folder"),
        (["--certificate", __file__], "go together"),
    ],
)
def test_what_cannot_be_served_is_said(
    path: Path, capsys: pytest.CaptureFixture[str], options: list[str], why: str
) -> None:
    assert main(["serve", str(path), *options]) in (1, 2)
    assert why in capsys.readouterr().err


def test_without_the_extra_it_says_what_to_install(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("kcrc.web.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette", None)
    for name in [name for name in sys.modules if name.startswith("starlette.")]:
        monkeypatch.delitem(sys.modules, name)
    assert main(["serve", str(path)]) == 1
    assert "pip install 'kcrc[web]'" in capsys.readouterr().err
