"""The page's own files, as a browser fetches them: few, compressed, and for ever under a name that holds their hash.

The sources stay apart, one idea each, and need no build step: all modules of the page become one script and all its
styles one sheet when the first browser asks. The page names both by their hash, so a browser keeps them until they
change; the page itself is checked at each visit. The sources are served under their own names too: the page at
``/static/index.html`` is made of them, for a debugger.

A module becomes a function that is called at once: its imports are the names it takes from other modules, and its
exports are what it returns. So two modules may use the same name for different things. Modules import each other only
in the forms of ``_IMPORT``, and in no circle.
"""

from __future__ import annotations

import asyncio
import functools
import gzip
import hashlib
import re
from dataclasses import dataclass
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
FIRST_MODULE = "app.js"
INDEX = ""  # the name of the index that names the joined files
LEAST_PACKED = 1000  # bytes; less is one packet on the network either way
FAST = 1  # of zlib's levels, for answers, which are compressed once and sent once
_HASHED, _CHECKED = "public, max-age=31536000, immutable", "no-cache"

_IMPORT = re.compile(
    r'^import\s+(?:\{(?P<names>[^}]*)\}|\*\s+as\s+(?P<all>\w+))\s+from\s+"\./(?P<file>[\w.]+)";\n', re.M
)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) (\w+))", re.M)
_OTHER_FORM = re.compile(r"^(?:import|export)\b.*|\bimport\(.*", re.M)
_STYLE = re.compile(r' *<link rel="stylesheet" href="/static/([\w.]+)">\n')
_SCRIPT = f"/static/{FIRST_MODULE}"


@dataclass(frozen=True)
class PageFile:
    """A file as it is sent: its bytes, the same compressed, and how long a browser may keep it."""

    data: bytes
    packed: bytes
    kind: str
    keep: str
    tag: str

    @classmethod
    def of(cls, name: str, data: bytes, keep: str) -> PageFile:
        kind = KINDS[name.rpartition(".")[2]]
        return cls(data, gzip.compress(data, mtime=0), kind, keep, f'W/"{_digest(data)}"')

    def response(self, request: Request) -> Response:
        headers = {"ETag": self.tag, "Cache-Control": self.keep, "Vary": "Accept-Encoding"}
        if request.headers.get("if-none-match") == self.tag:
            return Response(status_code=304, headers=headers)
        if not accepts_gzip(request) or len(self.data) < LEAST_PACKED:
            return Response(self.data, media_type=self.kind, headers=headers)
        return Response(self.packed, media_type=self.kind, headers={**headers, "Content-Encoding": "gzip"})


def accepts_gzip(request: Request) -> bool:
    """Whether the client reads compressed answers."""
    return "gzip" in request.headers.get("accept-encoding", "")


async def compress(request: Request, response: Response) -> Response:
    """Compress the response if it is a long text and the client reads that."""
    body = getattr(response, "body", b"")  # a stream has none
    is_text = (response.media_type or "").startswith(("application/json", "text/"))
    if is_text and len(body) >= LEAST_PACKED and accepts_gzip(request) and "content-encoding" not in response.headers:
        response.body = await asyncio.to_thread(gzip.compress, body, FAST)
        response.headers["Content-Length"] = str(len(response.body))
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Vary"] = "Accept-Encoding"
    return response


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


@functools.cache
def files() -> dict[str, PageFile]:
    """All that is served, by name: the sources, and what the index names by its hash."""
    sources = {one.name: _read(one) for one in (resources.files("kcrc.web") / "page").iterdir() if _is_source(one)}
    served = {name: PageFile.of(name, text.encode(), _CHECKED) for name, text in sources.items()}
    if (index := sources.get("index.html")) is None:
        return served

    def add(name: str, text: str) -> str:
        data = text.encode()
        stem, _, ending = name.rpartition(".")
        address = f"{stem}-{_digest(data)}.{ending}"
        served[address] = PageFile.of(address, data, _HASHED)
        return f"/static/{address}"

    styles = _STYLE.findall(index)
    sheet = add("page.css", "\n".join(sources[name] for name in styles))
    index = _STYLE.sub("", index).replace("</head>", f'  <link rel="stylesheet" href="{sheet}">\n</head>')
    index = index.replace(_SCRIPT, add("page.js", one_script(sources)))
    for name in sources:
        if name.endswith(".svg") and f"/static/{name}" in index:
            index = index.replace(f"/static/{name}", add(name, sources[name]))
    served[INDEX] = PageFile.of("index.html", index.encode(), _CHECKED)
    return served


def _is_source(file: Traversable) -> bool:
    return file.is_file() and file.name.rpartition(".")[2] in KINDS


def _read(file: Traversable) -> str:
    return file.read_text(encoding="utf-8")


def one_script(sources: dict[str, str], first: str = FIRST_MODULE) -> str:
    r"""A module of JavaScript and all that it imports, as one script.

    >>> sources = {"a.js": 'import { b as c } from "./b.js";\nc();\n', "b.js": "export const b = alert;\n"}
    >>> print(one_script(sources, "a.js"))
    const b_js = (() => {
    const b = alert;
    return { b };
    })();
    const a_js = (() => {
    const { b: c } = b_js;
    c();
    return {  };
    })();
    <BLANKLINE>
    """
    joined: dict[str, str] = {}

    def join(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            raise ValueError(f"Modules of the page import each other in a circle: {' -> '.join([*above, name])}.")
        if name in joined:
            return
        text = sources[name]
        for found in _IMPORT.finditer(text):
            join(found["file"], (*above, name))
        names = ", ".join(_EXPORT.findall(text))
        body = _EXPORT.sub("", _IMPORT.sub(_taking, text))
        if other := _OTHER_FORM.search(body):
            raise ValueError(f"{name} imports or exports in a form that cannot be joined: {other[0]!r}.")
        joined[name] = f"const {_variable(name)} = (() => {{\n{body}return {{ {names} }};\n}})();\n"

    join(first, ())
    return "".join(joined.values())


def _taking(found: re.Match[str]) -> str:
    """An import as what a module takes from the value of another."""
    names = found["all"] or "{ " + " ".join(found["names"].split()).replace(" as ", ": ") + " }"
    return f"const {names} = {_variable(found['file'])};\n"


def _variable(name: str) -> str:
    return re.sub(r"\W", "_", name)


async def index(request: Request) -> Response:
    return _file(request, INDEX)


async def static(request: Request) -> Response:
    return _file(request, request.path_params["name"])


def _file(request: Request, name: str) -> Response:
    file = files().get(name)
    if file is None:
        raise Refusal(404, "There is no such file of the page.")
    return file.response(request)
