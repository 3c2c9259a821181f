"""Requests made to do harm to ``kcrc serve``: every route, with bodies, names and numbers that do not fit.

The application is called as a server calls it, without a network. What a case sends is drawn from the table of routes,
so that a new route is attacked as soon as it is there. No answer may be a fault (5xx), and a good request is answered
afterwards.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import shutil
from typing import Any
from urllib.parse import quote

from fuzz import pictures
from fuzz.area import Area, Wrong, register
from fuzz.healthy import photo_gallery
from fuzz.mutation import PATHS, TEXTS, as_json, damaged, tree, value
from fuzz.place import Place
from kcrc.gallery import Gallery
from kcrc.web.app import application
from kcrc.web.bodies import Allowed
from kcrc.web.guard import OPEN, Guard
from kcrc.web.routes import ROUTES, Route
from kcrc.web.service import Service

_LEFT_OUT = ("/api/tune",)  # takes a minute
_HOST = [(b"host", b"localhost:8377")]
_NUMBERS = ("0", "1", "3", "-1", "99999999999999999999999", "1e5", "٣", "")


@register("web", about="requests to kcrc serve", share=1200)
class Web(Area):
    uses_box = True

    def prepare(self) -> None:
        photo_gallery(self.samples / "g.kcrc", self.samples / "photos", each=3)
        with Gallery.open(self.samples / "g.kcrc") as gallery:
            gallery.answering.use_default_parameters()

    def load(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.good = next((self.samples / "photos").rglob("*.jpg")).read_bytes()
        pictures.hostile(random.Random(0))

    def plant(self, place: Place, rng: random.Random) -> list[dict[str, Any]]:
        shutil.copy(self.samples / "g.kcrc", place.name("g.kcrc"))
        self.serve(Gallery.open(place.folder / "g.kcrc"), rng)
        return some_requests(rng)

    def serve(self, gallery: Gallery, rng: random.Random) -> None:
        """Serve it to this machine, or, as --expose and --share do, to those who have the token."""
        self.told: list[str] = []
        self.token = rng.choice([None, None, "a token that is long enough"])
        self.service = Service(gallery, allowed=Allowed(seconds=2.0), note=self.told.append)
        guard = Guard(token=self.token)
        guard.codes = {"right"}
        self.app = application(self.service, guard)

    def use(self, place: Place, planted: list[dict[str, Any]]) -> None:
        name = json.loads(self._asked("POST", "/api/pictures", self.good)[1])["picture"]
        for one in planted:
            body = one["body"].replace(b"PICTURE", name.encode())
            path = one["path"].replace("PICTURE", name)
            status, said = self._asked(one["method"], path, body, one["query"], one["headers"])
            if status >= 500:
                raise Wrong(f"{one['method']} {path} was answered by {status} {said[:200]!r} {self.told[-1:]}")
            if self.token is not None:
                bare = [header for header in one["headers"] if header[0] != b"cookie"]
                status, said = self._asked(one["method"], path, body, one["query"], bare, token=False)
                if status < 400 and path not in OPEN and not (path == "/" and b"code=right" in one["query"]):
                    raise Wrong(f"{one['method']} {path} was answered by {status} {said[:200]!r} without the token")
        status, said = self._asked("POST", "/api/classify", self.good)
        if status not in (200, 409) or (status == 409 and b"no examples" not in said):
            raise Wrong(f"a good request was answered by {status} {said[:200]!r} after {planted!r:.300}")

    def settle(self, place: Place) -> None:
        self.service.close()

    def _asked(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        query: bytes = b"",
        headers: list[tuple[bytes, bytes]] | None = None,
        *,
        token: bool = True,
    ) -> tuple[int, bytes]:
        """The status and body of an answer."""
        status, parts = 0, []
        messages: list[dict[str, Any]] = [{"type": "http.request", "body": body}, {"type": "http.disconnect"}]

        async def receive() -> dict[str, Any]:
            return messages.pop(0) if messages else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            nonlocal status
            status = message.get("status", status)
            parts.append(message.get("body", b""))

        headers = headers or [*_HOST, (b"content-type", b"image/jpeg")]
        if self.token is not None and token:
            headers = [*headers, (b"authorization", f"Bearer {self.token}".encode())]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": path, "raw_path": quote(path).encode(), "query_string": query, "root_path": "",
            "headers": headers, "client": ("127.0.0.1", 5),
            "server": None,
        }  # fmt: skip
        self.loop.run_until_complete(asyncio.wait_for(self.app(scope, receive, send), 30))
        return status, b"".join(parts)


def some_requests(rng: random.Random) -> list[dict[str, Any]]:
    return [_request(rng) for _ in range(rng.choice([1, 2, 4, 8]))]


def _request(rng: random.Random) -> dict[str, Any]:
    route = rng.choice([route for route in ROUTES if route.path not in _LEFT_OUT])
    kinds = [*route.takes, "application/json", "image/png", "application/x-float32", "text/plain"]
    kind = rng.choice(list(route.takes) or kinds) if rng.random() < 0.8 else rng.choice(kinds)
    headers = [*_HOST, (b"content-type", kind.encode())]
    if rng.random() < 0.3:
        for name in ("X-Kcrc-Person", "X-Kcrc-Name", "X-Kcrc-Dim", "Origin", "Cookie", "Content-Length", "Range"):
            if rng.random() < 0.3:
                text = rng.choice([*TEXTS, *PATHS, *_NUMBERS]).encode("utf-8", "replace")
                headers.append((name.lower().encode(), text.replace(b"\n", b" ").replace(b"\r", b" ")[:2000]))
    method = route.method if rng.random() < 0.95 else rng.choice(["GET", "POST", "PUT", "HEAD", "OPTIONS"])
    return {
        "method": method,
        "path": _path(route, rng),
        "query": _query(route, rng),
        "headers": headers,
        "body": _body(route, kind, rng) if method == "POST" else b"",
    }


def _path(route: Route, rng: random.Random) -> str:
    def place(found: re.Match[str]) -> str:
        if found[2] == "int":
            return rng.choice(_NUMBERS)
        return rng.choice(["PICTURE", "index.html", *TEXTS, *PATHS])[:300]

    path = re.sub(r"{(\w+)(?::(\w+))?}", place, route.path)
    return path.encode("utf-8", "replace").decode()  # as a server has decoded it


def _query(route: Route, rng: random.Random) -> bytes:
    names = [*route.query, "code", "limit"]
    chosen = [
        f"{rng.choice(names)}={quote(rng.choice([*TEXTS, *_NUMBERS, 'right']), errors='replace')}"
        for _ in range(rng.randrange(3))
    ]
    return "&".join(chosen).encode()


def _body(route: Route, kind: str, rng: random.Random) -> bytes:
    if kind == "application/json":
        sample = _sample(route.takes.get(kind, {}), rng)
        changed = sample if rng.random() < 0.4 else tree(sample, rng, changes=rng.choice([1, 2]))
        text = as_json(changed if isinstance(changed, dict) or rng.random() < 0.1 else sample)
        content = text.encode("utf-8", "backslashreplace")
        return damaged(content, rng) if rng.random() < 0.1 else content
    if kind.endswith("float32"):
        return rng.randbytes(rng.choice([0, 1, 4 * 12, 4 * 3072, 400]))
    return pictures.hostile(rng)


def _sample(shape: dict[str, Any], rng: random.Random) -> Any:
    """A value of a shape, most of the time one that means something."""
    if "enum" in shape:
        return rng.choice(shape["enum"])
    kind = shape.get("type")
    if kind == "object":
        needed = shape.get("required", [])
        return {
            name: _sample(one, rng)
            for name, one in shape.get("properties", {}).items()
            if name in needed or rng.random() < 0.6
        }
    if kind == "array":
        return [_sample(shape["items"], rng) for _ in range(rng.choice([0, 1, 1, 2, 9]))]
    if kind == "integer":
        return rng.choice([1, 2, 3, 5, 9, 0, -1, 10**6, 2**63, 2**200])
    if kind == "boolean":
        return rng.random() < 0.5
    if kind == "string":
        return rng.choice(["PICTURE", "wren", "robin", "heron", "owl", rng.choice(TEXTS), rng.choice(PATHS)])
    return value(rng)
