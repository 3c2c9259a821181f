"""What workers are given in tests of engines; a file of its own, because workers are other processes and import it."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from kcrc.errors import DataError


def squared(piece: int) -> int:
    return piece * piece


def refused(piece: int) -> int:
    if piece == 3:
        raise DataError("piece 3 is not for me")
    return piece


class TwoWords(Exception):
    """An error that cannot be made again of what it says, as pickle wants to."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(first)
        self.second = second


def odd_error(piece: int) -> int:
    raise TwoWords("out of", "luck")


@dataclass(frozen=True)
class Noted:
    """Writes down that it ran; ``fatal`` ends the first process that works on it, ``always`` every one."""

    folder: Path
    fatal: int = -1
    always: bool = False
    seconds: float = 0.0

    def __call__(self, piece: int) -> int:
        time.sleep(self.seconds)
        before = len(list(self.folder.glob(f"{piece}-*")))
        (self.folder / f"{piece}-{before}-{os.getpid()}").touch()
        if piece == self.fatal and (self.always or not before):
            os.kill(os.getpid(), signal.SIGKILL)
        return piece * piece

    @property
    def runs(self) -> list[int]:
        return sorted(int(path.name.partition("-")[0]) for path in self.folder.iterdir())


class Shelf:
    """Something that is held."""

    def __init__(self, number: int) -> None:
        self.number = number

    def sum(self, value: int) -> int:
        return self.number + value

    def where(self) -> int:
        return os.getpid()

    def fail(self) -> None:
        raise DataError(f"shelf {self.number} is empty")


@dataclass(frozen=True)
class MakeShelf:
    number: int
    ballast: bytes = b""

    def __call__(self) -> Shelf:
        return Shelf(self.number)


def no_shelf() -> Shelf:
    raise DataError("there is nothing to make a shelf of")


@dataclass(frozen=True)
class Asking:
    """Work that asks what is held."""

    held: object

    def __call__(self, piece: int) -> list[int]:
        return self.held.ask("sum", [(piece,)] * len(self.held))  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Answered:
    """Work that answers some of the queries."""

    answerer: object
    queries: object

    def __call__(self, piece: tuple[int, int]) -> object:
        return self.answerer.answer(self.queries[piece[0] : piece[1]]).labels  # type: ignore[attr-defined, index]
