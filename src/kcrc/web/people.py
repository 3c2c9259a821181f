"""Whose change was whose, so that undo takes back one's own: for as long as the server runs, and of so many people.

A person is a random name that a page makes for itself; it says nothing about who sits before it.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from starlette.requests import Request

from kcrc.web.guard import Refusal
from kcrc.web.pictures import SentPicture

MOST, KEPT = 1000, 1000  # people; changes of each
HEADER = "x-kcrc-person"


def person_of(request: Request) -> str:
    """The name in the header; one for all who give none."""
    name = request.headers.get(HEADER, "")
    if len(name) > 100 or not name.isprintable():
        raise Refusal(400, "X-Kcrc-Person is a name of at most 100 characters.")
    return name


@dataclass
class Changes:
    """The entries of the history that a person made, and those of them that were undone, each newest last."""

    done: list[int] = field(default_factory=list)
    undone: list[int] = field(default_factory=list)


class People:
    """Who changed what."""

    def __init__(self) -> None:
        self._changes: OrderedDict[str, Changes] = OrderedDict()
        self._made: OrderedDict[int, str] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, person: str) -> Changes:
        with self._lock:
            found = self._changes.setdefault(person, Changes())
            self._changes.move_to_end(person)
            while len(self._changes) > MOST:
                self._changes.popitem(last=False)
            return found

    def did(self, person: str, entry: int) -> None:
        """A new change ends what can be done again."""
        mine = self.of(person)
        mine.done.append(entry)
        mine.undone.clear()
        del mine.done[:-KEPT]
        with self._lock:
            self._made[entry] = person
            while len(self._made) > MOST * 10:
                self._made.popitem(last=False)

    def undid(self, person: str, entry: int) -> None:
        """Whoever made it, it is this person's to be done again."""
        for mine in self._all():
            if entry in mine.done:
                mine.done.remove(entry)
        self.of(person).undone.append(entry)

    def redid(self, person: str, entry: int) -> None:
        for mine in self._all():
            if entry in mine.undone:
                mine.undone.remove(entry)
        self.of(person).done.append(entry)

    def who(self, entry: int) -> str | None:
        """Who made an entry of the history, as others may know them; None where nobody knows."""
        name = self.made(entry)
        return None if name is None else hashlib.sha256(name.encode()).hexdigest()[:8]

    def made(self, entry: int) -> str | None:
        """The name of whoever made an entry."""
        return self._made.get(entry)

    def _all(self) -> list[Changes]:
        with self._lock:
            return list(self._changes.values())


# The answers given last: what a correction would change is shown on them before it is made.

KEPT_PICTURES = 200


class Recent:
    """The pictures answered last, each once, the newest last, and the examples near each at a revision."""

    def __init__(self) -> None:
        self._near: dict[str, tuple[int, frozenset[int]]] = {}
        self._pictures: OrderedDict[str, SentPicture] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, picture: SentPicture, revision: int, near: Iterable[int]) -> None:
        with self._lock:
            old = self._pictures.pop(picture.sha256, None)
            self._pictures[picture.sha256] = picture
            gone = [] if old is None else [old]
            gone += [self._pictures.popitem(last=False)[1]] if len(self._pictures) > KEPT_PICTURES else []
            for one in gone:
                self._near.pop(one.id, None)
            self._near[picture.id] = revision, frozenset(near)

    def near(self, name: str, revision: int) -> frozenset[int] | None:
        """The examples that were near a picture at that revision; None where that is not known."""
        then, found = self._near.get(name, (None, None))
        return found if then == revision else None

    def get(self, name: str) -> SentPicture | None:
        """One of them by its name."""
        return next((one for one in self.pictures() if one.id == name), None)

    def pictures(self) -> list[SentPicture]:
        """The newest first."""
        with self._lock:
            return list(reversed(self._pictures.values()))
