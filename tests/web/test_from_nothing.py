"""A gallery without any example is taught over the API: pictures wait unordered, then get their names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from photos import photo

from kcrc.gallery import Gallery
from kcrc.images.features import make


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A gallery of nothing."""
    made = tmp_path / "new.kcrc"
    Gallery.create(made, feature=make("pixels", size=(12, 16))).close()
    return made


def dropped(client: httpx.Client, where: Path, label: str) -> list[str]:
    files = [photo(where / label / f"{number}.jpg", label, number) for number in range(4)]
    return [client.post("/api/queue", content=file.read_bytes()).json()["picture"] for file in files]


def test_classes_are_taught_one_after_the_other(served: Callable[..., httpx.Client], tmp_path: Path) -> None:
    client = served()
    wrens = dropped(client, tmp_path, "wren")
    waiting = client.get("/api/queue").json()
    assert [one["picture"] for one in waiting["pictures"]] == wrens
    assert {(one["label"], one["probability"], one["doubt"]) for one in waiting["pictures"]} == {(None, None, 1.0)}
    for label in ("wren", "robin", "heron"):
        mine = wrens if label == "wren" else dropped(client, tmp_path, label)
        found = client.get("/api/queue").json()
        assert {one["picture"] for one in found["pictures"]} == set(mine)
        added = client.post("/api/queue/label", json={"pictures": mine, "label": label, "new_class": True}).json()
        assert len(added["examples"]) == 4
        assert client.get("/api/gallery").json()["queue"] == 0, "what has a name waits no more"
        for address in ("/api/classes", "/api/advise", "/api/audit", "/api/map", "/api/queue", "/api/history"):
            assert client.get(address).status_code == 200, (label, address)
    answer = client.post("/api/classify", content=photo(tmp_path / "asked.jpg", "robin", 50).read_bytes()).json()
    assert answer["label"] == "robin"
