"""The OpenAPI document says what is served: every route, and shapes that the answers have."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from kcrc.web.routes import ROUTES, SCHEMAS

Sent = Callable[..., str]


def fits(value: Any, shape: dict[str, Any]) -> bool:
    """Whether a value has a shape: as much of JSON Schema as the document uses."""
    if "$ref" in shape:
        return fits(value, SCHEMAS[shape["$ref"].rpartition("/")[2]])
    if "anyOf" in shape:
        return any(fits(value, one) for one in shape["anyOf"])
    kind = shape.get("type")
    if kind == "object":
        known = shape.get("properties", {})
        return (
            isinstance(value, dict)
            and all(name in value for name in shape.get("required", ()))
            and all(fits(value[name], one) for name, one in known.items() if name in value)
            and (not known or not value.keys() - known.keys())
        )
    if kind == "array":
        return isinstance(value, list) and all(fits(one, shape["items"]) for one in value)
    if kind == "boolean":
        return isinstance(value, bool)
    if kind in ("integer", "number"):
        numbers = (int,) if kind == "integer" else (int, float)
        return isinstance(value, numbers) and not isinstance(value, bool)
    if kind == "null":
        return value is None
    return isinstance(value, str) and value in shape.get("enum", [value])


def test_the_document_has_every_route_and_no_other(client: httpx.Client) -> None:
    document = client.get("/api/openapi.json").json()
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert described == {(route.method, re.sub(r":\w+}", "}", route.path)) for route in ROUTES}
    names = [one["operationId"] for methods in document["paths"].values() for one in methods.values()]
    assert len(set(names)) == len(names)


def asked(sent: Sent) -> dict[tuple[str, str], tuple[str, dict[str, Any] | None]]:
    """For each route that answers in JSON, an address and a body that are served."""
    name = sent("wren")
    return {
        ("GET", "/api/examples/{example:int}"): ("/api/examples/2", None),
        ("POST", "/api/classify"): ("/api/classify", {"pictures": [name]}),
        ("POST", "/api/what-if"): ("/api/what-if", {"picture": name, "without": [1], "without_classes": ["robin"]}),
        ("POST", "/api/turning"): ("/api/turning", {"picture": name}),
        ("POST", "/api/why-not"): ("/api/why-not", {"picture": name, "label": "robin"}),
        ("POST", "/api/preview"): ("/api/preview", {"act": "remove", "examples": [1]}),
        ("POST", "/api/add"): ("/api/add", {"pictures": [name], "label": "wren"}),
        ("POST", "/api/relabel"): ("/api/relabel", {"examples": [1], "label": "wren", "expect": {"1": "heron"}}),
        ("POST", "/api/remove"): ("/api/remove", {"examples": [2], "erase": False}),
        ("POST", "/api/rename"): ("/api/rename", {"old": "robin", "new": "redbreast"}),
        ("POST", "/api/undo"): ("/api/undo", {}),
        ("POST", "/api/redo"): ("/api/redo", {}),
        ("POST", "/api/audit/keep"): ("/api/audit/keep", {"id": 3}),
        ("POST", "/api/queue/label"): ("/api/queue/label", {"pictures": [sent("robin")], "label": "wren"}),
        ("POST", "/api/queue/skip"): ("/api/queue/skip", {"pictures": [name]}),
        ("POST", "/api/history/before"): ("/api/history/before", {"act": 3, "picture": name}),
    }


JSON = [route for route in ROUTES if "application/json" in route.gives and route.path != "/api/tune"]  # takes a minute


@pytest.mark.parametrize("route", JSON, ids=lambda r: r.path)
def test_answers_have_the_shape_that_is_described(client: httpx.Client, sent: Sent, route: Any) -> None:
    if route.path in ("/api/redo", "/api/undo", "/api/history/before"):
        client.post("/api/remove", json={"examples": [18]})
    if route.path == "/api/redo":
        client.post("/api/undo")
    if "image/*" in route.takes and "application/json" not in route.takes:
        picture = client.get(f"/api/pictures/{sent('wren')}").content
        answer = client.post(route.path, content=picture)
    else:
        where, body = asked(sent).get((route.method, route.path), (route.path, None))
        answer = client.get(where) if body is None else client.post(where, json=body)
    assert answer.status_code == route.status, answer.text
    assert fits(answer.json(), route.gives["application/json"]), answer.text[:500]
