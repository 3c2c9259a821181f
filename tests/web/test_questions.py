"""What is on a picture, why, and what if: the answers of the server are those of the gallery."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import numpy as np
import pytest

from kcrc.gallery import Gallery

Sent = Callable[..., str]


def test_a_picture_is_answered_as_the_gallery_answers(
    client: httpx.Client, path: Path, picture: Callable[..., bytes]
) -> None:
    told = client.post("/api/classify", content=picture("robin"), headers={"Content-Type": "image/jpeg"}).json()
    with Gallery.open(path, readonly=True) as gallery:
        evidence = gallery.explain([picture("robin")])
        chance = gallery.predict_proba([picture("robin")]).max()
        assert told["label"] == gallery.predict([picture("robin")])[0] == "robin"
    shares = {int(row): share for row, share in zip(evidence.rows[0], evidence.shares[0], strict=True)}
    assert told["probability"] == pytest.approx(chance)
    assert {part["id"]: part["share"] for part in told["parts"]} == pytest.approx(
        {row: share for row, share in shares.items() if share}
    )
    assert told["confidence"] == "ready"
    assert "/" not in told["parts"][0]["source"]  # folders of the machine are its own


def test_many_are_answered_at_once(client: httpx.Client, sent: Sent) -> None:
    names = [sent("wren"), sent("robin"), sent("heron")]
    told = client.post("/api/classify", json={"pictures": names}).json()["verdicts"]
    assert [one["label"] for one in told] == ["wren", "robin", "heron"]
    assert [one["picture"] for one in told] == names


def test_vectors_are_answered_shortly(client: httpx.Client, path: Path) -> None:
    with Gallery.open(path, readonly=True) as gallery:
        _, vectors, labels = gallery.vectors()
        dim = str(gallery.dim)
    headers = {"Content-Type": "application/x-float32", "X-Kcrc-Dim": dim}
    body = np.ascontiguousarray(vectors, "<f4").tobytes()
    told = client.post("/api/classify", content=body, headers=headers).json()
    assert [one["label"] for one in told["verdicts"]] == list(labels)
    assert client.post("/api/classify", content=body[:-1], headers=headers).status_code == 400
    wrong = {**headers, "X-Kcrc-Dim": "7"}
    assert client.post("/api/classify", content=body, headers=wrong).status_code == 400


def test_what_if_leaves_examples_and_classes_out(client: httpx.Client, path: Path, sent: Sent) -> None:
    name = sent("wren")
    usual = client.post("/api/classify", json={"pictures": [name]}).json()["verdicts"][0]
    first = usual["parts"][0]["id"]
    told = client.post("/api/what-if", json={"picture": name, "without": [first]}).json()
    assert told["left_out"] == [first]
    assert first not in [part["id"] for part in told["parts"]]
    without = client.post("/api/what-if", json={"picture": name, "without_classes": ["wren"]}).json()
    assert without["label"] != "wren"
    there = {part["id"] for part in usual["parts"] + usual["others"]}
    assert {part["id"]: part["step_in"] for part in without["parts"]} == {
        part["id"]: part["id"] not in there for part in without["parts"]
    }
    restored = client.post("/api/what-if", json={"picture": name}).json()
    assert restored["parts"] == usual["parts"]
    everything = {"picture": name, "without_classes": ["wren", "robin", "heron"]}
    assert client.post("/api/what-if", json=everything).status_code == 400
    assert client.post("/api/what-if", json={"picture": name, "without_classes": ["auk"]}).status_code == 404


def test_a_picture_that_was_let_go_is_to_be_sent_again(client: httpx.Client) -> None:
    answer = client.post("/api/what-if", json={"picture": "nobody"})
    assert answer.status_code == 404
    assert "Send it again" in answer.json()["error"]


def test_what_is_no_picture_is_an_error_in_words(client: httpx.Client) -> None:
    answer = client.post("/api/classify", content=b"no picture", headers={"Content-Type": "image/jpeg"})
    assert answer.status_code == 400
    assert "not an image" in answer.json()["error"]


def test_an_answer_says_how_its_examples_were_found(
    served: Callable[..., httpx.Client], path: Path, picture: Callable[..., bytes]
) -> None:
    pytest.importorskip("faiss")
    asked = {"content": picture("robin"), "headers": {"Content-Type": "image/jpeg"}}
    told = served().post("/api/classify", **asked).json()
    assert told["search"] == "exact"
    assert "search" not in told["sentence"]
    with Gallery.open(path) as gallery:
        gallery.tune(parameters={"search": "ivf", "n_neighbors": 5, "locality": "atoms", "scaling": "plain"}, seconds=1)
        said = gallery.explain([picture("robin")]).search
    told = served().post("/api/classify", **asked).json()
    assert told["search"] == said
    assert told["sentence"].endswith("." if said == "exact" else f"Approximate search: {said}.")
