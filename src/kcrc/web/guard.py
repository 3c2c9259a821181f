"""Which requests are let in: those to another name, from another site, without the token, or too many at a time are
refused. Every answer carries the headers that keep a page to itself.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kcrc._base.words import visible
from kcrc.errors import KCRCError, StateError, fault_reference

# How a request that fails is answered: a status and a sentence, and nothing of the inside.

_LONGEST = 1000  # characters of a sentence


class Refusal(Exception):
    """A request that is not served: its status, why, and (409) what it is in conflict with."""

    def __init__(
        self,
        status: int,
        why: str,
        conflict: Mapping[str, Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(why)
        self.status, self.why, self.conflict, self.headers = status, why, conflict, dict(headers or {})


def refuse(problem: Refusal) -> Response:
    body: dict[str, Any] = {"error": visible(problem.why)[:_LONGEST]}
    if problem.conflict is not None:
        body["conflict"] = dict(problem.conflict)
    return JSONResponse(body, problem.status, headers=problem.headers)


def refuse_error(request: Request, problem: KCRCError) -> Response:
    """Answer an error of the library: the state of the gallery is a conflict, all else a bad request."""
    where = str(request.app.state.service.gallery.path)
    why = str(problem).replace(where, request.app.state.service.name)  # folders of the machine are its own
    return refuse(Refusal(409 if isinstance(problem, StateError) else 400, why))


async def not_found(request: Request, problem: Exception) -> Response:
    return refuse(Refusal(404, "There is nothing at this address. /api/openapi.json lists what there is."))


async def wrong_method(request: Request, problem: Exception) -> Response:
    allowed = getattr(problem, "headers", None) or {}
    return refuse(Refusal(405, f"This address does not take {request.method}.", headers=allowed))


def refuse_fault(request: Request, problem: Exception) -> Response:
    """Answer a fault of ours by a name to report it by; the person who runs the server gets what happened."""
    name = fault_reference(problem)
    request.app.state.service.note(f"a fault of kcrc ({type(problem).__name__}: {str(problem)[:200]}), {name}")
    return refuse(Refusal(500, f"This is a fault of kcrc. Please report it as {name}."))


COOKIE = "kcrc"
POLICY = (
    "default-src 'self'; img-src 'self' blob: data:; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(self), microphone=(), geolocation=()",
}
LOOPBACK = ("localhost", "127.0.0.1", "::1")
CLIENTS = 4096  # addresses whose pace is remembered
OPEN = ("/api/health",)  # answered without the token


class Pace:
    """So many requests a second from one address, as many at once as fill some seconds."""

    def __init__(self, rate: float, seconds: float = 4.0) -> None:
        self.rate, self.most = rate, max(1.0, rate * seconds)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, address: str) -> bool:
        now = time.monotonic()
        left, then = self._left.pop(address, (self.most, now))
        left = min(self.most, left + self.rate * (now - then))
        self._left[address] = (left - 1.0 if left >= 1.0 else left, now)
        if len(self._left) > CLIENTS:
            self._left.popitem(last=False)
        return left >= 1.0


class Guard:
    """``names`` are those the server answers to; ``token`` is needed where one is given, and comes as a bearer, or as
    the cookie that one of the ``codes`` was exchanged for, each once; ``rate`` (requests a second from one address, 0:
    any number) and ``secure`` (cookies go by TLS alone, whether or not a proxy says that it speaks it) are for servers
    that others reach."""

    def __init__(
        self, *, names: Iterable[str] = LOOPBACK, token: str | None = None, rate: float = 0.0, secure: bool = False
    ) -> None:
        self.names = frozenset(name.lower() for name in names)
        self.on_entry: Callable[[], None] = lambda: None
        """Called when a code was used."""
        self.token, self.secure = token, secure
        self.codes: set[str] = set()
        self.pace = Pace(rate) if rate else None

    def new_code(self) -> str:
        """A code that lets one browser in, once."""
        code = secrets.token_urlsafe(12)
        self.codes = {code}
        return code

    def check(self, scope: Scope) -> Response | None:
        """The answer to a request that is not let in; None if it is."""
        headers = Headers(scope=scope)
        try:
            if self.pace is not None and not self.pace.allows((scope.get("client") or ("", 0))[0]):
                raise Refusal(429, "Too many requests from this address. Wait a moment.", headers={"Retry-After": "1"})
            self._check_names(scope, headers)
            if self.token is not None and scope["path"] not in OPEN:
                return self._check_token(scope, headers)
        except Refusal as problem:
            return refuse(problem)
        return None

    def _check_names(self, scope: Scope, headers: Headers) -> None:
        """DNS that is turned to this machine, and pages of other sites, are kept out."""
        host = headers.get("host", "")
        if _parts(f"//{host}")[1] not in self.names:
            raise Refusal(421, f"This server does not answer to '{host[:80]}'. Give its name by --name.")
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        if origin is not None and _parts(origin)[2] != host.lower():
            raise Refusal(403, "Requests from other sites are refused.")
        navigating = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
        if site not in ("none", "same-origin") and not navigating:
            raise Refusal(403, "Requests from other sites are refused.")

    def _check_token(self, scope: Scope, headers: Headers) -> Response | None:
        assert self.token is not None
        given = headers.get("authorization", "")
        if given[:7].lower() == "bearer " and _same(given[7:].strip(), self.token):
            return None
        if _same(_cookie(headers.get("cookie", "")), self.token):
            return None
        code = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("code", [""])[0]
        if scope["method"] == "GET" and scope["path"] == "/" and any(_same(code, known) for known in self.codes):
            self.codes.clear()
            self.on_entry()
            response = RedirectResponse("/", 303)
            response.set_cookie(
                COOKIE, self.token, httponly=True, samesite="strict", secure=self.secure or _by_tls(headers)
            )
            return response
        why = "This server needs its token: as 'Authorization: Bearer …', or open the address with a fresh code."
        raise Refusal(401, why, headers={"WWW-Authenticate": "Bearer"})


def _parts(address: str) -> tuple[str, str, str]:
    """The scheme, the name, and the name with its port; all empty if an address cannot be read.

    ``urlsplit`` raises for a bracket without its pair; a port that is no number raises when it is read."""
    try:
        parts = urlsplit(address)
        _ = parts.port
        return parts.scheme, (parts.hostname or "").lower(), parts.netloc.lower()
    except ValueError:
        return "", "", ""


def _by_tls(headers: Headers) -> bool:
    """Whether a proxy in front, or the browser, says that the request came by TLS.

    A client that says so wrongly gets a cookie that is sent less often, never more."""
    if headers.get("x-forwarded-proto", "").partition(",")[0].strip().lower() == "https":
        return True
    own = headers.get("host", "").lower()
    return any(
        scheme == "https" and place == own
        for scheme, _, place in (_parts(headers.get(name, "")) for name in ("origin", "referer"))
    )


def _same(given: str, known: str) -> bool:
    """Compare in a time that says nothing of how much of it is right."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), known.encode())


def _cookie(header: str) -> str:
    try:
        cookie = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return "" if cookie is None else cookie.value


class Guarded:
    """The application behind its guard; requests are plural, by the route that answered them."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, state = time.perf_counter(), scope["app"].state
        status = 500

        async def with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        instead = state.guard.check(scope)
        try:
            await (self.app if instead is None else instead)(scope, receive, with_headers)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            state.service.metrics.count(route, status, time.perf_counter() - begun)
