"""What an area is: one kind of hostile thing, made from a seed, then used as a person would use it.

``prepare`` makes what attacks begin from, once a run; ``plant`` makes one hostile thing, unwatched; ``use`` meets it


d is watched. What ``use`` raises is fine if it is one of ``expected``; an answer is fine too. Anything else is counted.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from fuzz.place import Place
from kcrc.errors import KCRCError

AREAS: dict[str, type[Area]] = {}
A = TypeVar("A", bound="type[Area]")


class Wrong(AssertionError):
    """Raised by ``use`` where the program gave a wrong answer without an error; the text says what was wrong."""

    kind: ClassVar[str] = "wrong"


class Area(ABC):
    """One kind of attack. ``share`` is how many of about 20,000 cases are of it."""

    name: ClassVar[str]
    about: ClassVar[str]
    share: ClassVar[int]
    expected: ClassVar[tuple[type[BaseException], ...]] = (KCRCError,)
    starts_processes: ClassVar[bool] = False  # the attack itself does; then that counts as no failure
    uses_box: ClassVar[bool] = False  # starts workers of the box: Python's audit events tell these from other processes

    def __init__(self, samples: Path) -> None:
        self.samples = samples

    def prepare(self) -> None:  # noqa: B027  # most areas need nothing on disk
        """Make the healthy files of this area in ``samples``; once a run, unwatched."""

    def load(self) -> None:  # noqa: B027
        """Read what ``prepare`` made; once a process, unwatched."""

    @abstractmethod
    def plant(self, place: Place, rng: random.Random) -> Any:
        """One hostile thing; what it returns is handed to ``use``."""

    @abstractmethod
    def use(self, place: Place, planted: Any) -> None:
        """Meet it."""

    def settle(self, place: Place) -> None:  # noqa: B027
        """Clear up after a case, unwatched."""


def register(name: str, *, about: str, share: int) -> Callable[[A], A]:
    """Make an area known under its name."""

    def known(area: A) -> A:
        area.name, area.about, area.share = name, about, share
        AREAS[name] = area
        return area

    return known
