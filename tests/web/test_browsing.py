"""Looking around: classes, examples, the map, the audit, the queue of unlabelled pictures."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from photos import photo

Sent = Callable[..., str]


def settled(client: httpx.Client, address: str) -> Any:
    """What is answered once nothing is being computed any more."""
    for _ in range(200):
        told = client.get(address).json()
        if not told["working"]:
            return told
        time.sleep(0.05)
    raise AssertionError(f"{address} is not done")


def test_classes_say_how_good_they_are(client: httpx.Client) -> None:
    told = settled(client, "/api/classes")["classes"]
    assert [(one["name"], one["count"]) for one in told] == [("heron", 6), ("robin", 6), ("wren", 6)]
    assert {one["right_without_itself"] for one in told} == {1.0}
    assert settled(client, "/api/advise")["advice"]["examples"] == 18


def test_examples_come_in_pages_and_can_be_searched(client: httpx.Client) -> None:
    first = client.get("/api/examples", params={"limit": 5}).json()
    assert (first["total"], [one["id"] for one in first["examples"]]) == (18, [1, 2, 3, 4, 5])
    robins = client.get("/api/examples", params={"class": "robin", "offset": 4}).json()
    assert (robins["total"], len(robins["examples"])) == (6, 2)
    assert client.get("/api/examples", params={"search": "3.JPG"}).json()["total"] == 3
    assert client.get("/api/examples", params={"order": "nonsense"}).status_code == 400
    assert client.get("/api/examples", params={"offset": "-1"}).status_code == 400


def test_one_example_and_its_picture(client: httpx.Client) -> None:
    told = client.get("/api/examples/1").json()
    assert (told["label"], told["source"]) == ("heron", "0.jpg")
    assert told["own_answer"]["answer"] == "heron"
    assert all("/" not in near["source"] for near in (*told["own_answer"]["nearest"], *told["nearest"]))
    assert client.post("/api/relabel", json={"examples": [1], "label": "auk", "new_class": True}).status_code == 200
    alone = client.get("/api/examples/1").json()
    assert alone["own_answer"] is None  # which the page passes over
    assert [near["source"] for near in alone["nearest"]]
    assert all("/" not in near["source"] for near in alone["nearest"])
    assert client.get("/api/thumbnails/1").content.startswith(b"\xff\xd8")
    for missing in ("/api/examples/99", "/api/thumbnails/99", "/api/thumbnails/99999999999999999999"):
        assert client.get(missing).status_code == 404


def test_each_class_names_its_first_example(client: httpx.Client) -> None:
    classes = client.get("/api/gallery").json()["classes"]
    assert classes == [
        {"name": name, "count": 6, "example": example} for name, example in (("heron", 1), ("robin", 7), ("wren", 13))
    ]


def test_the_map_has_every_example_and_stays(client: httpx.Client) -> None:
    points = settled(client, "/api/map")["points"]
    assert sorted(point["id"] for point in points) == list(range(1, 19))
    assert all(-1 <= point[axis] <= 1 for point in points for axis in "xy")
    assert settled(client, "/api/map")["points"] == points


@pytest.mark.parametrize("most", [20_000, 5, 1])
def test_the_first_points_of_the_map_show_every_class(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr("kcrc.web.inspection.MOST", most)
    points = settled(client, "/api/map")["points"]
    assert len(points) == max(3, min(most, 18))
    for turn in range(0, len(points) - 2, 3):
        assert {point["label"] for point in points[turn : turn + 3]} == {"heron", "robin", "wren"}


def test_a_wrong_label_is_a_suspect_until_it_is_confirmed(client: httpx.Client) -> None:
    client.post("/api/relabel", json={"examples": [1], "label": "wren"})
    found = settled(client, "/api/audit")["suspects"]
    assert (found[0]["id"], found[0]["label"], found[0]["looks_like"]) == (1, "wren", "heron")
    assert set(found[0]["nearest_of_other"]) <= {2, 3, 4, 5, 6}
    assert set(found[0]["nearest_of_label"]) <= set(range(13, 19))
    client.post("/api/audit/keep", json={"id": 1})
    assert 1 not in [one["id"] for one in settled(client, "/api/audit")["suspects"]]


def test_dropped_pictures_wait_for_a_label_and_come_back_by_undo(
    client: httpx.Client, picture: Callable[..., bytes]
) -> None:
    for label in ("wren", "owl"):
        dropped = client.post("/api/queue", content=picture(label), headers={"X-Kcrc-Name": f"a/{label}.jpg"})
        assert dropped.status_code == 201
    told = settled(client, "/api/queue")
    assert {one["name"] for one in told["pictures"]} == {"wren.jpg", "owl.jpg"}
    assert [one["doubt"] for one in told["pictures"]] == sorted(
        (one["doubt"] for one in told["pictures"]), reverse=True
    )
    names = {one["name"]: one["picture"] for one in told["pictures"]}
    assert client.get(f"/api/pictures/{names['owl.jpg']}").status_code == 200
    label = {"pictures": [names["owl.jpg"]], "label": "owl", "new_class": True}
    assert client.post("/api/queue/label", json=label).json()["sentence"] == "Added 1 example as owl."
    assert [one["name"] for one in settled(client, "/api/queue?order=teach")["pictures"]] == ["wren.jpg"]
    client.post("/api/undo")
    assert settled(client, "/api/queue")["total"] == 2
    client.post("/api/queue/skip", json={"pictures": [names["wren.jpg"]]})
    assert settled(client, "/api/queue")["total"] == 1


def test_a_folder_is_taken_in_as_pictures_arrive(
    served: Callable[..., httpx.Client], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kcrc.web.waiting.LOOKS", 0.05)
    folder = tmp_path / "new"
    photo(folder / "first.jpg", "wren", 70)
    (folder / "broken.jpg").write_bytes(b"no picture")
    client = served(folder=folder)
    for count, name in ((1, "second.jpg"), (2, "third.jpg")):
        for _ in range(200):
            if client.get("/api/queue").json()["total"] == count:
                break
            time.sleep(0.05)
        assert client.get("/api/queue").json()["total"] == count
        photo(folder / name, "robin", 70 + count)
    waiting = {one["name"]: one["picture"] for one in settled(client, "/api/queue")["pictures"]}
    (folder / "first.jpg").unlink()
    gone = client.get(f"/api/pictures/{waiting['first.jpg']}")
    assert gone.status_code == 404
    assert gone.json()["error"] == "'first.jpg' can no longer be read."  # and no folder is told


def test_history_and_tuning_are_told(client: httpx.Client) -> None:
    client.post("/api/remove", json={"examples": [1]}, headers={"X-Kcrc-Person": "anna"})
    entries = client.get("/api/history", headers={"X-Kcrc-Person": "anna"}).json()["entries"]
    assert (entries[0]["sentence"], entries[0]["mine"]) == ("Removed 1 example of heron", True)
    assert client.get("/api/tuning").json()["examples"] == 18
    assert client.get("/api/health").json()["healthy"] is True
    assert 'kcrc_requests_total{route="/api/remove",status="200"} 1' in client.get("/api/metrics").text


def test_advice_follows_a_class_that_went_into_another(client: httpx.Client) -> None:
    def advice() -> dict[str, Any]:
        told = client.get("/api/advise")
        while told.status_code == 200 and told.json()["working"]:
            time.sleep(0.05)
            told = client.get("/api/advise")
        assert told.status_code == 200
        found: dict[str, Any] = told.json()["advice"]
        return found

    assert len(advice()["classes"]) == 3
    client.post("/api/rename", json={"old": "wren", "new": "robin", "merge": True})
    merged = advice()
    assert {one["name"] for one in merged["classes"]} == {"heron", "robin"}
    assert {name for one in merged["classes"] for name, _ in one["confused"]} <= {"heron", "robin"}
