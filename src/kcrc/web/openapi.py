"""The OpenAPI document, made from the table of routes: it says what is served, and cannot say anything else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kcrc.web.shapes import SCHEMAS, Shape

if TYPE_CHECKING:
    from kcrc.web.routes import Route

_PLACE = re.compile(r"{(\w+)(?::(\w+))?}")
_REFUSED = {
    "400": "something given cannot be used",
    "401": "the token is missing",
    "403": "a request from another site",
    "404": "there is no such thing",
    "405": "this address does not take this method",
    "408": "the body came too slowly",
    "409": "it is in conflict with the state of the gallery",
    "413": "the body is too large",
    "421": "the server does not answer to this name",
    "429": "too many requests",
    "503": "too much is waiting",
}


async def document(request: Request) -> Response:
    from kcrc.web.routes import ROUTES

    return JSONResponse(described(ROUTES))


def described(routes: tuple[Route, ...]) -> dict[str, Any]:
    """All routes, as OpenAPI 3.1."""
    from kcrc import __version__

    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(_PLACE.sub(r"{\1}", route.path), {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "kcrc serve", "version": __version__},
        "paths": paths,
        "components": {"schemas": SCHEMAS, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(route: Route) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "integer" if kind == "int" else "string"}}
        for name, kind in _PLACE.findall(route.path)
    ]
    parameters += [{"name": name, "in": "query", "schema": shape} for name, shape in route.query.items()]
    parameters += [{"name": name, "in": "header", "schema": shape} for name, shape in route.headers.items()]
    responses: dict[str, Any] = {str(route.status): {"description": route.about, "content": _content(route.gives)}}
    error = _content({"application/json": {"$ref": "#/components/schemas/Error"}})
    responses |= {status: {"description": why, "content": error} for status, why in _REFUSED.items()}
    name = re.sub(r"\W+", "_", route.method.lower() + _PLACE.sub(r"_\1", route.path)).strip("_")
    operation = {"operationId": name, "summary": route.about, "parameters": parameters, "responses": responses}
    if route.takes:
        operation["requestBody"] = {"required": True, "content": _content(route.takes)}
    return operation


def _content(shapes: dict[str, Shape]) -> dict[str, Any]:
    return {kind: {"schema": shape} for kind, shape in shapes.items()}
