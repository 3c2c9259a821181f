"""What a request ends with where it fails: a status and a sentence, and nothing of the inside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kcrc._base.words import visible
from kcrc.errors import KCRCError, StateError, fault_reference

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


def refused_as(problem: Refusal) -> Response:
    body: dict[str, Any] = {"error": visible(problem.why)[:_LONGEST]}
    if problem.conflict is not None:
        body["conflict"] = dict(problem.conflict)
    return JSONResponse(body, problem.status, headers=problem.headers)


async def told(request: Request, problem: KCRCError) -> Response:
    """Of an error of the library: the state of the gallery is a conflict, all else a bad request."""
    where = str(request.app.state.service.gallery.path)
    why = str(problem).replace(where, request.app.state.service.name)  # folders of the machine are its own
    return refused_as(Refusal(409 if isinstance(problem, StateError) else 400, why))


async def not_found(request: Request, problem: Exception) -> Response:
    return refused_as(Refusal(404, "There is nothing at this address. /api/openapi.json lists what there is."))


async def wrong_method(request: Request, problem: Exception) -> Response:
    allowed = getattr(problem, "headers", None) or {}
    return refused_as(Refusal(405, f"This address does not take {request.method}.", headers=allowed))


async def fault(request: Request, problem: Exception) -> Response:
    """A fault of ours: a name to report it by; what happened is told to whoever runs the server."""
    name = fault_reference(problem)
    request.app.state.service.note(f"a fault of kcrc ({type(problem).__name__}: {str(problem)[:200]}), {name}")
    return refused_as(Refusal(500, f"This is a fault of kcrc. Please report it as {name}."))
