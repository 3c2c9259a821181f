"""The bodies of requests: one class for each kind says what it holds.

A request is read into its class, which checks every field, and the OpenAPI document is made from the same class: what
is described is what is checked. A field without a default has to be given. Bodies that arrive slowly or are too large
are refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

from starlette.requests import ClientDisconnect, Request

from kcrc.files.plain_files import read_json
from kcrc.gallery.examples import LABEL_LIMIT, checked_label
from kcrc.images.decoding.limits import Limits
from kcrc.web.guard import Refusal

# The shapes of what is sent and answered, as OpenAPI writes them.

Shape = dict[str, Any]

TEXT: Shape = {"type": "string"}
NUMBER: Shape = {"type": "number"}
WHOLE: Shape = {"type": "integer"}
FLAG: Shape = {"type": "boolean"}


def maybe(shape: Shape) -> Shape:
    return {"anyOf": [shape, {"type": "null"}]}


def some(shape: Shape, *, least: int = 0, most: int | None = None) -> Shape:
    limits = {"minItems": least} if least else {}
    return {"type": "array", "items": shape, **limits, **({} if most is None else {"maxItems": most})}


def record(optional: dict[str, Shape] | None = None, /, **needed: Shape) -> Shape:
    return {"type": "object", "properties": {**needed, **(optional or {})}, "required": sorted(needed)}


def schema(name: str) -> Shape:
    return {"$ref": f"#/components/schemas/{name}"}


# What a field may hold.

MOST = 500  # things in a list
NAME_LIMIT = 1000  # characters of the name of a picture
_LARGEST_ID = 1 << 60


@dataclass(frozen=True, eq=False)
class Kind:
    """The values of a field: a rule in words, the same for OpenAPI and as a check, and what a good value becomes."""

    rule: str
    shape: Shape
    fits: Callable[[Any], bool]
    convert: Callable[[Any], Any] = lambda value: value


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST_ID


def _is_text(limit: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and bool(value.strip()) and len(value) <= limit


def _is_label_by_id(value: Any) -> bool:
    return isinstance(value, dict) and all(
        key.isascii() and key.isdigit() and len(key) < 19 and isinstance(label, str) for key, label in value.items()
    )


def _many(item: Kind, *, least: int) -> Kind:
    return Kind(
        f"a list of {least} to {MOST} items, each {item.rule}",
        some(item.shape, least=least, most=MOST),
        lambda value: isinstance(value, list) and least <= len(value) <= MOST and all(map(item.fits, value)),
        lambda value: [item.convert(one) for one in value],
    )


_ID = Kind("a whole number", WHOLE, _is_whole)
_NAME = Kind(
    f"a text of 1 to {NAME_LIMIT} characters",
    {**TEXT, "minLength": 1, "maxLength": NAME_LIMIT, "description": "what an upload was named"},
    _is_text(NAME_LIMIT),
)
_LABEL = Kind(
    f"a text of 1 to {LABEL_LIMIT} characters",
    {**TEXT, "minLength": 1, "maxLength": LABEL_LIMIT},
    _is_text(LABEL_LIMIT),
    checked_label,
)
_FLAG = Kind("true or false", FLAG, lambda value: isinstance(value, bool))
_LABEL_BY_ID = Kind(
    f"an object of at most {MOST} ids of examples and their labels",
    {"type": "object", "additionalProperties": TEXT},
    lambda value: _is_label_by_id(value) and len(value) <= MOST,
    lambda value: {int(key): label for key, label in value.items()},
)
ACTS = ("add", "relabel", "remove")
_ACT = Kind(f"one of {', '.join(ACTS)}", {**TEXT, "enum": list(ACTS)}, lambda value: value in ACTS)

Id = Annotated[int, _ID]
Name = Annotated[str, _NAME]
Label = Annotated[str, _LABEL]
Flag = Annotated[bool, _FLAG]
Ids = Annotated[list[int], _many(_ID, least=1)]
SomeIds = Annotated[list[int], _many(_ID, least=0)]
Names = Annotated[list[str], _many(_NAME, least=1)]
SomeLabels = Annotated[list[str], _many(_LABEL, least=0)]
LabelById = Annotated[dict[int, str], _LABEL_BY_ID]
Act = Annotated[str, _ACT]


# The requests.


@dataclass(frozen=True, kw_only=True)
class Body:
    """The fields of a JSON object."""

    @classmethod
    @functools.cache
    def kinds(cls) -> dict[str, Kind]:
        """What each field may hold."""
        kinds = {}
        for name, hint in get_type_hints(cls, include_extras=True).items():
            options = [hint, *get_args(hint)]  # of ``Label | None``, the first
            kinds[name] = next(meta for one in options for meta in get_args(one) if isinstance(meta, Kind))
        return kinds

    @classmethod
    def optional(cls) -> frozenset[str]:
        """The fields that may be left out."""
        missing = dataclasses.MISSING
        return frozenset(
            one.name
            for one in dataclasses.fields(cls)
            if one.default is not missing or one.default_factory is not missing
        )

    @classmethod
    def shape(cls) -> Shape:
        """The class as OpenAPI describes it."""
        properties = {name: kind.shape for name, kind in cls.kinds().items()}
        return {"type": "object", "properties": properties, "required": sorted(properties.keys() - cls.optional())}


@dataclass(frozen=True, kw_only=True)
class OnePicture(Body):
    picture: Name


@dataclass(frozen=True, kw_only=True)
class SomePictures(Body):
    pictures: Names


@dataclass(frozen=True, kw_only=True)
class WhatIfQuestion(OnePicture):
    without: SomeIds = field(default_factory=list)
    without_classes: SomeLabels = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class WhyNot(WhatIfQuestion):
    label: Label


@dataclass(frozen=True, kw_only=True)
class Before(OnePicture):
    act: Id


@dataclass(frozen=True, kw_only=True)
class Change(Body):
    """A change; ``revision`` is that of the gallery when it was decided on, None if the client does not say."""

    revision: Id | None = None


@dataclass(frozen=True, kw_only=True)
class Preview(Change):
    """A change that is not made; what each kind of it needs is left out of the others."""

    act: Act
    picture: Name | None = None
    pictures: Names | None = None
    examples: Ids | None = None
    label: Label | None = None


@dataclass(frozen=True, kw_only=True)
class AddExamples(Change):
    pictures: Names
    label: Label
    new_class: Flag = False


@dataclass(frozen=True, kw_only=True)
class RelabelExamples(Change):
    """``expect`` are the labels that examples have to have for the change to be made."""

    examples: Ids
    label: Label
    expect: LabelById = field(default_factory=dict)
    new_class: Flag = False


@dataclass(frozen=True, kw_only=True)
class RemoveExamples(Change):
    examples: Ids
    erase: Flag = False


@dataclass(frozen=True, kw_only=True)
class RenameClass(Change):
    old: Label
    new: Label
    merge: Flag = False


@dataclass(frozen=True, kw_only=True)
class ConfirmLabel(Change):
    id: Id


@dataclass(frozen=True, kw_only=True)
class Step(Body):
    """Undo or redo; ``act`` is the change, None for one's own latest."""

    act: Id | None = None


# Reading a body.

B = TypeVar("B", bound=Body)


async def read_body(request: Request, kind: type[B]) -> B:
    """Read the JSON object in a request; an empty body is an object without fields."""
    service = request.app.state.service
    allowed = service.allowed
    async with service.arriving.content(request, most=allowed.json_bytes, seconds=allowed.seconds) as data:
        try:
            value = read_json(data) if data.strip() else {}
        except ValueError as problem:
            raise Refusal(400, f"The body must be JSON: {problem}.") from None
    if not isinstance(value, dict):
        raise Refusal(400, f"The body must be a JSON object, {{…}}; got {_describe(value)}.")
    return from_json(kind, value)


def from_json(kind: type[B], given: dict[str, Any]) -> B:
    """Check the fields of a JSON object; other fields are passed over, and null is as if left out."""
    values = {}
    for name, rule in kind.kinds().items():
        value = given.get(name)
        if value is None and name in kind.optional():
            continue
        if not rule.fits(value):
            raise Refusal(400, f"'{name}' must be {rule.rule}; got {_describe(value)}.")
        values[name] = rule.convert(value)
    return kind(**values)


def choice(request: Request, name: str, values: Sequence[str]) -> str:
    """One of the values that a parameter of the address may have; the first if it is not given."""
    value = request.query_params.get(name, values[0])
    if value not in values:
        raise Refusal(400, f"'{name}' must be one of {', '.join(values)}; got '{value[:40]}'.")
    return value


def count(request: Request, name: str, default: int, most: int) -> int:
    """A number in the address, at most ``most``."""
    value = request.query_params.get(name, str(default))
    if not (value.isascii() and value.isdigit() and len(value) < 16):
        raise Refusal(400, f"'{name}' must be a whole number, 0 or more; got '{value[:40]}'.")
    return min(int(value), most)


def _describe(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, list | dict):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    return repr(value)[:60]


class Arriving:
    """The bytes of all bodies that are arriving or wait to be decoded.

    A body counts by the bytes that have arrived, so slow ones cost nothing and hold up no other. At the limit the body
    that needs more is refused and its bytes are free again: if it waited, all could end up waiting for each other."""

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


# How much may come in: bytes, pixels, things at a time, seconds. All of it is checked before anything is decoded.


@dataclass(frozen=True)
class Allowed:
    """The limits of one server.

    =================== ===================================================================
    bytes, pixels       of one picture
    count               vectors in one request
    json_bytes          of a request in JSON
    seconds             in which a body has to arrive
    arriving_bytes      of all bodies that are arriving or wait to be decoded
    held, held_bytes    pictures that are kept for further questions
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
