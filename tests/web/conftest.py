"""A server over a gallery of made-up photographs, on a free port of this machine."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from photos import folder, photo

from kcrc.gallery import Gallery
from kcrc.gallery.building import build_from_folder
from kcrc.images.features import make
from kcrc.web.app import application, bind, server
from kcrc.web.bodies import Allowed
from kcrc.web.guard import Guard
from kcrc.web.service import Service


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("served")
    folder(where / "photos", 6)
    build_from_folder(where / "photos", where / "birds.kcrc", feature=make("pixels", size=(12, 16)))
    with Gallery.open(where / "birds.kcrc") as gallery:
        gallery.answering.use_default_parameters()  # the usual parameters: choosing takes a while
    return where


@pytest.fixture
def path(built: Path, tmp_path: Path) -> Path:
    """A gallery of three classes with six examples each."""
    return Path(shutil.copy(built / "birds.kcrc", tmp_path / "birds.kcrc"))


@pytest.fixture
def notes() -> list[str]:
    """What the server tells whoever runs it."""
    return []


@pytest.fixture
def served(path: Path, notes: list[str]) -> Iterator[Callable[..., httpx.Client]]:
    """A client of a server; ``allowed``, ``guard`` and what opens the gallery may be given."""
    running = []

    def serve(
        *, allowed: Allowed | None = None, guard: Guard | None = None, folder: Path | None = None, **opening: Any
    ) -> httpx.Client:
        service = Service(Gallery.open(path, **opening), allowed=allowed, note=notes.append)
        if folder is not None:
            service.queue.follow(service, str(folder))
        sock, ready = bind("127.0.0.1", 0), threading.Event()
        made = server(application(service, guard or Guard()), started=ready.set)
        thread = threading.Thread(target=made.run, args=([sock],))
        thread.start()
        assert ready.wait(20)
        where = f"http://127.0.0.1:{sock.getsockname()[1]}"
        client = httpx.Client(base_url=where, trust_env=False, timeout=60)
        running.append((made, thread, client))
        return client

    yield serve
    for made, thread, client in running:
        client.close()
        made.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


@pytest.fixture
def client(served: Callable[..., httpx.Client]) -> httpx.Client:
    return served()


@pytest.fixture
def picture(tmp_path: Path) -> Callable[..., bytes]:
    """The bytes of a new photograph."""
    return lambda label="wren", seed=50: photo(tmp_path / f"{label}{seed}.jpg", label, seed).read_bytes()


@pytest.fixture
def sent(client: httpx.Client, picture: Callable[..., bytes]) -> Callable[..., str]:
    """A photograph that was sent: the name it got."""

    def send(label: str = "wren", seed: int = 50) -> str:
        answer = client.post("/api/pictures", content=picture(label, seed), headers={"X-Kcrc-Name": f"{label}.jpg"})
        assert answer.status_code == 201
        return str(answer.json()["picture"])

    return send
