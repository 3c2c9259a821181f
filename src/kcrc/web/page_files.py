"""The page's own files, by the names they have in the package and no others."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import Response

from kcrc.web.guard import Refusal

KINDS = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
}


@cache
def names() -> dict[str, Traversable]:
    """The files by name, those in folders with a slash."""
    return dict(_below(resources.files("kcrc.web") / "page", ""))


def _below(folder: Traversable, before: str) -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for one in folder.iterdir() if folder.is_dir() else ():
        if one.is_dir():
            found += _below(one, f"{before}{one.name}/")
        elif one.name.rpartition(".")[2] in KINDS:
            found.append((before + one.name, one))
    return found


async def index(request: Request) -> Response:
    return _file(request, "index.html")


async def static(request: Request) -> Response:
    return _file(request, request.path_params["name"])


def _file(request: Request, name: str) -> Response:
    found = names().get(name)
    if found is None:
        raise Refusal(404, "There is no such file of the page.")
    data = found.read_bytes()
    tag = f'"{hashlib.sha256(data).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(data, media_type=KINDS[name.rpartition(".")[2]], headers=headers)
