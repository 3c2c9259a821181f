"""A small machine for the pickles that tables of weights are written as.

``pickle`` is not safe with what others wrote, whatever names it is kept from: an index of its memory can ask for
terabytes, the hash of a tuple of tuples can take years. Here are the few instructions that ``torch.save`` uses, each
in a line or two; any other is an error. Nothing is called but the ``Maker``s it is given.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO, Any

_MOST_INSTRUCTIONS = 500_000  # a tensor takes some forty
_PLAIN = frozenset(("BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE"))
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}


class Refused(Exception):
    """Not a table of weights; the text says why."""


@dataclass(frozen=True, slots=True)
class Maker:
    """A global that a pickle may call."""

    make: Callable[..., Any]


class Machine:
    """Runs one pickle: instructions that put plain values together, and nothing else.

    ``names`` are the globals it may ask for, "module name"; ``kept`` turns a persistent id into a value.
    """

    def __init__(self, names: Mapping[str, Any], kept: Callable[[Any], Any]) -> None:
        self._names, self._kept = names, kept
        self.stack: list[Any] = []
        self.outer: list[list[Any]] = []  # what lay on the stack when a list of values began
        self.memo: dict[int, Any] = {}

    def load(self, stream: IO[bytes]) -> Any:
        """The value that the pickle at the stream's place describes; the stream is then behind it."""
        for count, (opcode, argument, _) in enumerate(pickletools.genops(stream)):
            if count > _MOST_INSTRUCTIONS:
                raise Refused(f"it has more than {_MOST_INSTRUCTIONS} instructions")
            if opcode.name == "STOP":
                break
            if opcode.name in _CONSTANTS:
                self.stack.append(_CONSTANTS[opcode.name])
            elif opcode.name in _PLAIN:
                self.stack.append(argument)
            else:
                step = getattr(self, f"_{opcode.name.lower()}", None)
                if step is None:
                    raise Refused(f"it has the instruction {opcode.name}, which is not part of a table of weights")
                step(argument)
        return self._taken()

    def _taken(self) -> Any:
        if not self.stack:
            raise Refused("it takes away what is not there")
        return self.stack.pop()

    def _since_mark(self) -> list[Any]:
        if not self.outer:
            raise Refused("it takes away what is not there")
        values, self.stack = self.stack, self.outer.pop()
        return values

    def _proto(self, _: Any) -> None: ...

    def _mark(self, _: Any) -> None:
        self.outer.append(self.stack)
        self.stack = []

    def _empty_dict(self, _: Any) -> None:
        self.stack.append({})

    def _empty_list(self, _: Any) -> None:
        self.stack.append([])

    def _binput(self, place: int) -> None:
        self.stack.append(self._taken())
        self.memo[place] = self.stack[-1]

    _long_binput = _binput

    def _binget(self, place: int) -> None:
        if place not in self.memo:
            raise Refused("it asks for what it never kept")
        self.stack.append(self.memo[place])

    _long_binget = _binget

    def _tuple(self, _: Any) -> None:
        values = tuple(self._since_mark())
        self.stack.append(values)

    def _tuple1(self, _: Any) -> None:
        self.stack.append((self._taken(),))

    def _tuple2(self, _: Any) -> None:
        second, first = self._taken(), self._taken()
        self.stack.append((first, second))

    def _tuple3(self, _: Any) -> None:
        third, second, first = self._taken(), self._taken(), self._taken()
        self.stack.append((first, second, third))

    def _append(self, _: Any) -> None:
        self._extend([self._taken()])

    def _appends(self, _: Any) -> None:
        self._extend(self._since_mark())

    def _extend(self, values: list[Any]) -> None:
        if not self.stack or type(self.stack[-1]) is not list:
            raise Refused("it appends to what is no list")
        self.stack[-1].extend(values)

    def _setitem(self, _: Any) -> None:
        value, key = self._taken(), self._taken()
        self._set([key, value])

    def _setitems(self, _: Any) -> None:
        self._set(self._since_mark())

    def _set(self, values: list[Any]) -> None:
        # Only text may be a name: to hash a tuple of tuples of tuples … can take longer than anybody waits.
        if not self.stack or type(self.stack[-1]) is not dict or len(values) % 2:
            raise Refused("it sets entries of what is no table")
        if not all(type(key) is str for key in values[::2]):
            raise Refused("it has entries whose name is no text")
        self.stack[-1].update(zip(values[::2], values[1::2], strict=True))

    def _build(self, _: Any) -> None:
        self._taken()  # attributes of a table: which version of a layer wrote it
        if not self.stack or type(self.stack[-1]) is not dict:
            raise Refused("it alters a part after it was made")

    def _global(self, name: str) -> None:
        if name not in self._names:
            raise Refused(f"it asks for {name[:60].replace(' ', '.')}, which is not part of a table of weights")
        self.stack.append(self._names[name])

    def _reduce(self, _: Any) -> None:
        given, maker = self._taken(), self._taken()
        if type(given) is not tuple or not isinstance(maker, Maker):
            raise Refused("it calls what is not part of a table of weights")
        self.stack.append(maker.make(*given))

    def _binpersid(self, _: Any) -> None:
        self.stack.append(self._kept(self._taken()))
