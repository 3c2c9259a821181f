"""Corrections count for the next query; each person takes back their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from kcrc.gallery import Gallery
from kcrc.gallery.classifier import GalleryClassifier
from kcrc.gallery.stored_choice import CurrentAnswerer

Sent = Callable[..., str]
ANNA, BORIS = {"X-Kcrc-Person": "anna"}, {"X-Kcrc-Person": "boris"}


def counts(client: httpx.Client) -> dict[str, int]:
    return {one["name"]: one["count"] for one in client.get("/api/gallery").json()["classes"]}


def test_what_was_added_counts_for_the_next_query(client: httpx.Client, sent: Sent) -> None:
    name = sent("owl")
    refused = client.post("/api/add", json={"pictures": [name], "label": "ovl"})
    assert refused.status_code == 409
    assert refused.json()["conflict"]["new_class"] == "ovl"
    act = client.post("/api/add", json={"pictures": [name], "label": "owl", "new_class": True}).json()
    assert act["sentence"] == "Added 1 example as owl."
    told = client.post("/api/classify", json={"pictures": [name]}).json()["verdicts"][0]
    assert told["revision"] == act["revision"]
    assert {"id": act["examples"][0], "label": "owl"}.items() <= min(told["parts"], key=lambda p: p["distance"]).items()
    again = client.post("/api/add", json={"pictures": [name], "label": "owl"}).json()
    assert again["act"] is None
    assert again["duplicates"][0]["id"] == act["examples"][0]


def test_undo_and_redo_are_ones_own(client: httpx.Client, sent: Sent) -> None:
    client.post("/api/add", json={"pictures": [sent("wren")], "label": "wren"}, headers=ANNA)
    client.post("/api/add", json={"pictures": [sent("robin")], "label": "robin"}, headers=BORIS)
    undone = client.post("/api/undo", headers=ANNA).json()
    assert undone["redo"] == "Added 1 example of wren"
    again = client.get("/api/gallery", headers=ANNA).json()  # as after a reload of the page
    assert (again["undo"], again["redo"]) == (None, "Added 1 example of wren")
    assert counts(client) == {"heron": 6, "robin": 7, "wren": 6}
    assert client.post("/api/undo", headers=ANNA).status_code == 409
    client.post("/api/redo", headers=ANNA)
    assert counts(client) == {"heron": 6, "robin": 7, "wren": 7}
    mine = [entry["sentence"] for entry in client.get("/api/history", headers=BORIS).json()["entries"] if entry["mine"]]
    assert mine == ["Added 1 example of robin"]


def test_an_undo_that_somebody_overtook_is_a_conflict_and_nothing_is_lost(client: httpx.Client, sent: Sent) -> None:
    act = client.post("/api/add", json={"pictures": [sent("wren")], "label": "wren"}, headers=ANNA).json()
    client.post("/api/relabel", json={"examples": act["examples"], "label": "robin"}, headers=BORIS)
    refused = client.post("/api/undo", headers=ANNA)
    assert refused.status_code == 409
    assert refused.json()["conflict"]["by"][0]["sentence"] == "Relabelled 1 example of wren as robin"
    assert counts(client) == {"heron": 6, "robin": 7, "wren": 6}
    client.post("/api/undo", headers=BORIS)
    assert client.post("/api/undo", headers=ANNA).status_code == 200
    assert counts(client) == {"heron": 6, "robin": 6, "wren": 6}


def test_a_label_that_is_no_longer_what_was_shown_is_a_conflict(client: httpx.Client) -> None:
    client.post("/api/relabel", json={"examples": [1], "label": "robin"}, headers=BORIS)
    late = {"examples": [1], "label": "wren", "expect": {"1": "heron"}}
    refused = client.post("/api/relabel", json=late, headers=ANNA)
    assert refused.status_code == 409
    assert refused.json()["conflict"] == {"labels": {"1": "robin"}}


def test_of_two_people_with_one_case_open_the_second_is_told_what_the_first_did(client: httpx.Client) -> None:
    seen = client.get("/api/gallery").json()["revision"]
    moved = client.post("/api/relabel", json={"examples": [1], "label": "robin", "revision": seen}, headers=ANNA)
    assert moved.status_code == 200
    for path, change in [
        ("/api/remove", {"examples": [1, 2]}),
        ("/api/remove", {"examples": [1], "erase": True}),
        ("/api/relabel", {"examples": [2, 1], "label": "wren"}),
        ("/api/preview", {"examples": [1], "act": "remove"}),
        ("/api/audit/keep", {"id": 1}),
    ]:
        refused = client.post(path, json={**change, "revision": seen}, headers=BORIS)
        assert refused.status_code == 409, path
        assert refused.json()["error"].startswith("Example 1 was heron when you looked, and is robin now.")
        assert refused.json()["conflict"] == {
            "labels": {"1": "robin"},
            "shown": {"1": "heron"},
            "shown_revision": seen,
            "revision": seen + 1,
            "by": [{"act": seen + 1, "sentence": "Relabelled 1 example of heron as robin"}],
        }
    assert counts(client) == {"heron": 5, "robin": 7, "wren": 6}
    assert client.post("/api/remove", json={"examples": [1], "revision": seen + 1}, headers=BORIS).status_code == 200


def test_a_conflict_with_a_removal_or_a_renaming_says_so_and_ones_own_changes_are_none(client: httpx.Client) -> None:
    seen = client.get("/api/gallery").json()["revision"]
    client.post("/api/remove", json={"examples": [1], "revision": seen}, headers=ANNA)
    client.post("/api/rename", json={"old": "wren", "new": "jenny wren", "revision": seen}, headers=ANNA)
    late = client.post("/api/relabel", json={"examples": [1], "label": "robin", "revision": seen}, headers=BORIS)
    assert "was heron when you looked, and is no longer in the gallery" in late.json()["error"]
    late = client.post("/api/rename", json={"old": "wren", "new": "bird", "revision": seen}, headers=BORIS)
    assert late.status_code == 409
    assert set(late.json()["conflict"]["labels"].values()) == {"jenny wren"}
    again = client.post("/api/rename", json={"old": "jenny wren", "new": "wren", "revision": seen}, headers=ANNA)
    assert again.status_code == 200


def test_classes_are_renamed_and_merged(client: httpx.Client) -> None:
    assert client.post("/api/rename", json={"old": "wren", "new": "robin"}).status_code == 409
    client.post("/api/rename", json={"old": "wren", "new": "robin", "merge": True})
    assert counts(client) == {"heron": 6, "robin": 12}
    client.post("/api/undo")
    client.post("/api/rename", json={"old": "wren", "new": "jenny wren"})
    assert counts(client) == {"heron": 6, "jenny wren": 6, "robin": 6}


def test_examples_are_removed_and_erased(client: httpx.Client, path: Path) -> None:
    client.post("/api/remove", json={"examples": [1, 2]})
    client.post("/api/undo")
    assert client.get("/api/gallery").json()["examples"] == 18
    client.post("/api/remove", json={"examples": [3], "erase": True})
    assert client.get("/api/thumbnails/3").status_code == 404
    with Gallery.open(path, readonly=True) as gallery:
        assert gallery.find(removed=True) == tuple(n for n in range(1, 19) if n != 3)


def test_a_change_by_another_process_is_noticed(client: httpx.Client, path: Path, sent: Sent) -> None:
    name = sent("owl")
    with Gallery.open(path) as other:
        other.rename_class("heron", "grey heron")
        revision = other.settings.revision
    told = client.post("/api/classify", json={"pictures": [name]}).json()["verdicts"][0]
    assert told["revision"] == revision
    assert "heron" not in dict(told["likely"])


def test_a_gallery_for_reading_only_is_not_changed(served: Callable[..., httpx.Client]) -> None:
    client = served(readonly=True)
    answer = client.post("/api/remove", json={"examples": [1]})
    assert answer.status_code == 409
    assert "reading only" in answer.json()["error"]
    assert client.get("/api/gallery").json()["readonly"] is True


def test_answers_go_on_while_parameters_that_were_outgrown_are_chosen(
    served: Callable[..., httpx.Client], picture: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    chosen = GalleryClassifier._choose

    def slowly(self: GalleryClassifier, **options: object) -> CurrentAnswerer:
        begun.set()
        assert go_on.wait(60)
        return chosen(self, **options, n_neighbors=5, kernel="linear", mu=0.1, scaling="unit")

    monkeypatch.setattr(GalleryClassifier, "_choose", slowly)
    client = served()
    names = [client.post("/api/pictures", content=picture("wren", seed)).json()["picture"] for seed in range(60, 80)]
    try:
        client.post("/api/classify", json={"pictures": names[:1]})
        act = client.post("/api/add", json={"pictures": names, "label": "wren"}).json()
        assert begun.wait(60)
        told = client.post("/api/classify", json={"pictures": names[:1]}).json()["verdicts"][0]
    finally:
        go_on.set()
    assert (told["confidence"], told["revision"]) == ("learning", act["revision"])
    assert min(part["distance"] for part in told["parts"]) == 0  # the new examples count
    for _ in range(400):
        if client.get("/api/gallery").json()["confidence"] == "ready":
            break
        time.sleep(0.05)
    then = client.post("/api/classify", json={"pictures": names[:1]}).json()["verdicts"][0]
    assert then["confidence"] == "ready"
    assert then["revision"] > told["revision"]  # choosing is an entry of the history
