"""The body of a request: no more bytes than allowed, in no more seconds, and in JSON the fields that are asked for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import ClientDisconnect, Request

from kcrc.files.plain_files import read_json
from kcrc.images.decoding.limits import Limits
from kcrc.web.guard import Refusal

_LARGEST_ID = 1 << 60


class Arriving:
    """The bytes of all bodies that are arriving or wait to be decoded.

    A body counts by what has come of it, so slow ones cost nothing and hold nobody up. At the limit the body that needs
    more is refused and its bytes are free again; waiting could end with all bodies waiting for each other."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.bytes = 0

    @contextlib.asynccontextmanager
    async def content(self, request: Request, *, most: int, seconds: float) -> AsyncIterator[bytes]:
        """The bytes of a body, which count until the block ends. Too many are refused before they are read, if the
        request says how many they are."""
        announced = request.headers.get("content-length", "0")
        if announced.isascii() and announced.isdigit() and int(announced[:18]) > most:
            raise too_large(most)
        parts: list[bytes] = []
        size = 0
        try:
            try:
                async with asyncio.timeout(seconds):
                    async for part in request.stream():
                        size += len(part)
                        self.bytes += len(part)
                        if size > most:
                            raise too_large(most)
                        if self.bytes > self._most:
                            busy = "Too many bytes are arriving at once. Send it again in a moment."
                            raise Refusal(503, busy, headers={"Retry-After": "1"})
                        parts.append(part)
            except TimeoutError:
                raise Refusal(408, f"The body did not arrive within {seconds:g} seconds. Send it again.") from None
            except ClientDisconnect:
                raise Refusal(400, "The connection ended before the whole body had arrived.") from None
            yield b"".join(parts)
        finally:
            self.bytes -= size


def too_large(most: int) -> Refusal:
    return Refusal(413, f"The body has more than {most} bytes, which is the limit. Send less.")


async def fields(request: Request) -> Fields:
    """The fields of a JSON object; an empty body is an object without fields."""
    service = request.app.state.service
    allowed = service.allowed
    async with service.arriving.content(request, most=allowed.json_bytes, seconds=allowed.seconds) as data:
        try:
            found = read_json(data) if data.strip() else {}
        except ValueError as problem:
            raise Refusal(400, f"The body must be JSON: {problem}.") from None
    if not isinstance(found, dict):
        raise Refusal(400, f"The body must be a JSON object, {{…}}; got {_shown(found)}.")
    return Fields(found, allowed.count)


class Fields:
    """What a request says by name; what is missing or of another kind is refused with the name. ``most`` things may be
    listed."""

    def __init__(self, given: Mapping[str, Any], most: int) -> None:
        self.given, self.most = given, most

    def text(self, name: str) -> str:
        found = self.given.get(name)
        if not isinstance(found, str) or not found.strip() or len(found) > 1000:
            raise Refusal(400, f"'{name}' is a text of 1 to 1000 characters; given {_shown(found)}.")
        return found

    def flag(self, name: str) -> bool:
        found = self.given.get(name, False)
        if not isinstance(found, bool):
            raise Refusal(400, f"'{name}' is true or false; given {_shown(found)}.")
        return found

    def number(self, name: str) -> int:
        found = self.given.get(name)
        if not isinstance(found, int) or not _whole(found):
            raise Refusal(400, f"'{name}' is a whole number; given {_shown(found)}.")
        return found

    def numbers(self, name: str, *, needed: bool = True, most: int | None = None) -> list[int]:
        """Ids of examples."""
        return [int(one) for one in self._list(name, needed, most) if self._check(name, _whole(one), one)]

    def texts(self, name: str, *, needed: bool = True) -> list[str]:
        return [str(one) for one in self._list(name, needed, None) if self._check(name, isinstance(one, str), one)]

    def labels_by_number(self, name: str) -> dict[int, str]:
        """{"17": "wren"}: a text for each example; nothing where it is not given."""
        found = self.given.get(name, {})
        if not isinstance(found, dict) or len(found) > self.most:
            raise Refusal(400, f"'{name}' is an object with at most {self.most} ids of examples and their labels.")
        for key, value in found.items():
            self._check(name, key.isascii() and key.isdigit() and len(key) < 19 and isinstance(value, str), key)
        return {int(key): value for key, value in found.items()}

    def _list(self, name: str, needed: bool, most: int | None) -> list[Any]:
        found, most = self.given.get(name), most or self.most
        if found is None and not needed:
            return []
        if not isinstance(found, list) or len(found) > most or (needed and not found):
            raise Refusal(400, f"'{name}' is a list of {int(needed)} to {most} items; given {_shown(found)}.")
        return found

    def _check(self, name: str, fine: bool, given: Any) -> bool:
        if not fine:
            raise Refusal(400, f"'{name}' holds {_shown(given)}, which is not what it takes.")
        return True


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST_ID


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, list | dict):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    return repr(value)[:60]


# How much may come in: bytes, pixels, things at a time, seconds. All of it is looked at before anything is decoded.


@dataclass(frozen=True)
class Allowed:
    """The limits of one server.

    =================== ===================================================================
    bytes, pixels       of one picture
    count               pictures or examples in one request
    json_bytes          of a request in JSON
    seconds             in which a body has to arrive
    arriving_bytes      of all bodies that are arriving or wait to be decoded
    held, held_bytes    pictures that are kept to be asked about again
    connections         open at the same time
    of_address          of them from one address that is not the loopback
    header_seconds      in which the headers of a request have to arrive
    idle_seconds        that a connection may be open between two requests
    stalled_seconds     that a client may leave its answer unread
    listeners           to events
    =================== ===================================================================
    """

    bytes: int = 32_000_000
    pixels: int = 64_000_000
    count: int = 500
    json_bytes: int = 1_000_000
    seconds: float = 30.0
    arriving_bytes: int = 512_000_000
    held: int = 4000
    held_bytes: int = 200_000_000
    connections: int = 512
    of_address: int = 64
    header_seconds: float = 10.0
    idle_seconds: float = 30.0
    stalled_seconds: float = 30.0
    listeners: int = 64

    @property
    def of_pictures(self) -> Limits:
        return Limits(self.bytes, self.pixels)


# The shapes of what is sent and answered, as OpenAPI writes them.

Shape = dict[str, Any]

TEXT: Shape = {"type": "string"}
NUMBER: Shape = {"type": "number"}
WHOLE: Shape = {"type": "integer"}
FLAG: Shape = {"type": "boolean"}
LABEL: Shape = {"type": "string", "minLength": 1, "maxLength": 500}
PICTURE: Shape = {"type": "string", "minLength": 1, "maxLength": 1000, "description": "what an upload was named"}
CONFIDENCE: Shape = {"type": "string", "enum": ["ready", "learning"]}


def maybe(shape: Shape) -> Shape:
    return {"anyOf": [shape, {"type": "null"}]}


def some(shape: Shape, *, least: int = 0, most: int | None = None) -> Shape:
    limits = {"minItems": least} if least else {}
    return {"type": "array", "items": shape, **limits, **({} if most is None else {"maxItems": most})}


def record(optional: dict[str, Shape] | None = None, /, **needed: Shape) -> Shape:
    return {"type": "object", "properties": {**needed, **(optional or {})}, "required": sorted(needed)}


def named(name: str) -> Shape:
    return {"$ref": f"#/components/schemas/{name}"}


IDS = some(WHOLE, least=1, most=500)
PICTURES = some(PICTURE, least=1, most=500)
CHANCES = some({"type": "array", "minItems": 2, "maxItems": 2, "items": {"anyOf": [TEXT, NUMBER]}})

SCHEMAS: dict[str, Shape] = {
    "Error": record({"conflict": {"type": "object"}}, error=TEXT),
    "Verdict": record(
        {"left_out": some(WHOLE), "act": WHOLE},
        picture=TEXT,
        revision=WHOLE,
        label=TEXT,
        probability=maybe(NUMBER),
        unknown=FLAG,
        why=maybe(TEXT),
        set=some(TEXT),
        likely=CHANCES,
        confidence=CONFIDENCE,
        how={"type": "string", "enum": ["coded", "unanimous", "nearest"]},
        search=TEXT,
        sentence=TEXT,
        runner_up=maybe(TEXT),
        support=NUMBER,
        exact_line=FLAG,
        parts=some(record(id=WHOLE, label=TEXT, share=NUMBER, distance=NUMBER, source=TEXT, step_in=FLAG)),
        rest=record(count=WHOLE, count_for=WHOLE, count_against=WHOLE, share_for=NUMBER, share_against=NUMBER),
        others=some(record(id=WHOLE, label=TEXT)),
        tips=maybe(WHOLE),
        seconds=NUMBER,
    ),
    "Short": record(label=TEXT, probability=maybe(NUMBER), unknown=FLAG),
    "Act": record(
        {"duplicates": some(record(picture=TEXT, id=WHOLE, label=TEXT))},
        act=maybe(WHOLE),
        sentence=TEXT,
        examples=some(WHOLE),
        revision=WHOLE,
        undo=maybe(TEXT),
        redo=maybe(TEXT),
    ),
}
