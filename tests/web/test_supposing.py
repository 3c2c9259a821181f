"""What would be and what was: previews, why not, what was answered before a change, a page to keep."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from kcrc.gallery import Gallery

Sent = Callable[..., str]


def answer(client: httpx.Client, name: str) -> dict[str, object]:
    told: dict[str, object] = client.post("/api/classify", json={"pictures": [name]}).json()["verdicts"][0]
    return told


def test_a_preview_says_what_the_change_then_does(client: httpx.Client, sent: Sent) -> None:
    names = [sent("wren", 50), sent("wren", 51), sent("robin", 52), sent("heron", 53)]
    before = [answer(client, name)["label"] for name in names]
    wrens = list(range(13, 19))  # the classes came in the order of their folders
    change = {"examples": wrens, "label": "heron"}
    told = client.post("/api/preview", json={**change, "act": "relabel"}).json()
    assert told["of"] == 4
    assert told["answers"] == names[::-1]
    assert {one["picture"]: one["after"] for one in told["changed"]} == {names[0]: "heron", names[1]: "heron"}
    assert [answer(client, name)["label"] for name in names] == before  # nothing was stored
    client.post("/api/relabel", json=change)
    assert [answer(client, name)["label"] for name in names] == ["heron", "heron", "robin", "heron"]
    gone = client.post("/api/preview", json={"act": "remove", "examples": [99]})
    assert gone.status_code == 404
    added = client.post("/api/preview", json={"act": "add", "picture": names[0], "label": "owl"}).json()
    assert added["of"] == 4


def test_why_not_compares_with_the_class_in_question(client: httpx.Client, sent: Sent) -> None:
    name = sent("wren")
    told = client.post("/api/why-not", json={"picture": name, "label": "robin"}).json()
    assert told["sentence"].startswith("Between wren and robin, ")
    assert told["best"][0]["id"] in range(7, 13)
    assert client.post("/api/why-not", json={"picture": name, "label": "auk"}).status_code == 404


def test_why_not_follows_what_is_set_aside(client: httpx.Client, sent: Sent) -> None:
    question = {"picture": sent("wren"), "without_classes": ["wren"]}
    answered = client.post("/api/what-if", json=question).json()
    others = {"heron", "robin", "wren"} - {answered["label"]}
    told = [client.post("/api/why-not", json={**question, "label": label}).json() for label in sorted(others)]
    assert {one["answer"] for one in told} == {answered["label"]}
    assert "wren" not in {told[0]["answer"], told[1]["answer"]}
    assert told[-1]["sentence"].startswith("No wren is among the ")
    assert (told[-1]["support"], told[-1]["best"]) == (None, [])
    assert told[0]["support"] == pytest.approx(answered["support"])


def test_what_was_answered_before_a_change(client: httpx.Client, sent: Sent) -> None:
    name = sent("wren")
    usual = answer(client, name)
    acts = [client.post("/api/relabel", json={"examples": [13, 14, 15, 16, 17, 18], "label": "heron"}).json()["act"]]
    acts.append(client.post("/api/remove", json={"examples": [13]}).json()["act"])
    acts.append(client.post("/api/add", json={"pictures": [name], "label": "robin"}).json()["act"])
    assert answer(client, name)["label"] != "wren"
    told = client.post("/api/history/before", json={"act": acts[0], "picture": name}).json()
    assert {part["id"]: round(part["share"], 5) for part in told["parts"]} == {
        part["id"]: round(part["share"], 5) for part in usual["parts"]
    }
    assert client.post("/api/history/before", json={"act": acts[2], "picture": name}).json()["label"] == "heron"
    client.post("/api/remove", json={"examples": [1], "erase": True})
    refused = client.post("/api/history/before", json={"act": acts[0], "picture": name})
    assert refused.status_code == 409
    assert "erased" in refused.json()["error"]


def test_an_answer_is_kept_as_a_page(client: httpx.Client, path: Path, sent: Sent) -> None:
    page = client.post("/api/case", json={"picture": sent("wren")})
    assert page.headers["content-type"].startswith("text/html")
    assert "attachment" in page.headers["content-disposition"]
    assert "wren" in page.text
    assert "data:image/jpeg;base64," in page.text
    with Gallery.open(path, readonly=True) as gallery:
        assert len(gallery) == 18
