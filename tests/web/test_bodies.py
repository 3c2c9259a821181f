"""Requests: each is read into its class, which checks it, and is described by the same class."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import pytest

from kcrc.web import bodies
from kcrc.web.bodies import Body, from_json
from kcrc.web.guard import Refusal
from kcrc.web.routes import ROUTES

CLASSES = sorted({route.body for route in ROUTES if route.body is not None} | {bodies.SomePictures}, key=str)
GOOD: dict[str, Any] = {
    "act": 1,
    "picture": "p",
    "pictures": ["p"],
    "examples": [1, 2],
    "label": "wren",
    "new_class": True,
    "revision": 3,
    "expect": {"1": "heron"},
    "erase": True,
    "old": "robin",
    "new": "redbreast",
    "merge": True,
    "id": 4,
    "without": [1],
    "without_classes": ["robin"],
}
BAD: list[Any] = [-1.5, "", " ", [], [[]], [None], None, {}, {"x": 1}, {"1": 2}, "x" * 2000, 1 << 70, True, 7]


def good(kind: type[Body]) -> dict[str, Any]:
    values = {one.name: GOOD[one.name] for one in fields(kind)}
    return {**values, "act": "remove"} if kind is bodies.Preview else values


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_what_is_described_is_what_is_read(kind: type[Body]) -> None:
    values, shape = good(kind), kind.shape()
    assert shape["properties"].keys() == values.keys() == {one.name for one in fields(kind)}
    needed = {name: value for name, value in values.items() if name in shape["required"]}
    from_json(kind, needed)
    read = from_json(kind, values)
    assert {name: getattr(read, name) for name in values if name != "expect"} == {
        name: value for name, value in values.items() if name != "expect"
    }
    for name in needed:
        with pytest.raises(Refusal, match=f"'{name}' must be .+; got nothing"):
            from_json(kind, {other: value for other, value in values.items() if other != name})


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_a_value_is_refused_by_the_rule_of_its_field(kind: type[Body]) -> None:
    assert kind.kinds()
    for name, rule in kind.kinds().items():
        unfit = [value for value in BAD if not rule.fits(value) and not (value is None and name in kind.optional())]
        assert len(unfit) >= len(BAD) // 2
        for value in unfit:
            with pytest.raises(Refusal, match=re.escape(f"'{name}' must be {rule.rule}; got ")) as refused:
                from_json(kind, {**good(kind), name: value})
            assert refused.value.status == 400


def test_null_is_as_if_left_out_and_other_fields_are_passed_over() -> None:
    body = from_json(bodies.RemoveExamples, {"examples": [1], "erase": None, "revision": None, "colour": "red"})
    assert body == bodies.RemoveExamples(examples=[1], erase=False, revision=None)


def test_a_list_has_a_largest_length() -> None:
    from_json(bodies.RemoveExamples, {"examples": list(range(bodies.MOST))})
    with pytest.raises(Refusal, match="a list of 1 to 500 items, each a whole number; got a list of 501"):
        from_json(bodies.RemoveExamples, {"examples": list(range(bodies.MOST + 1))})


def test_a_label_is_composed_and_a_number_as_text_becomes_an_id() -> None:
    body = from_json(bodies.RelabelExamples, {"examples": [1], "label": "grive\u0301", "expect": {"17": "wren"}})
    assert (body.label, body.expect) == ("griv\u00e9", {17: "wren"})


def test_a_refused_request_says_what_was_given(client: Any) -> None:
    answer = client.post("/api/remove", json={"examples": "all"})
    assert (answer.status_code, answer.json()) == (
        400,
        {"error": "'examples' must be a list of 1 to 500 items, each a whole number; got 'all'."},
    )
    assert client.post("/api/remove", content=b"[1]").json() == {
        "error": "The body must be a JSON object, {…}; got a list of 1."
    }
