"""Who made which change, so that undo takes back one's own: while the server runs, and for so many people.

A person is a random name that a page makes up for itself; it says nothing about who uses the page.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from starlette.requests import Request

from kcrc.web.guard import Refusal

MOST_PEOPLE, MOST_CHANGES = 1000, 1000  # changes of each
HEADER = "x-kcrc-person"


def person_of(request: Request) -> str:
    """The name in the header; all who give none share the empty one."""
    name = request.headers.get(HEADER, "")
    if len(name) > 100 or not name.isprintable():
        raise Refusal(400, f"X-Kcrc-Person must be a name of at most 100 characters; got {len(name)}.")
    return name


@dataclass
class Changes:
    """The entries of the history that a person made, and those that this person took back, each newest last."""

    done: list[int] = field(default_factory=list)
    undone: list[int] = field(default_factory=list)


class People:
    """The latest changes of each person, and the person of each."""

    def __init__(self) -> None:
        self._changes: OrderedDict[str, Changes] = OrderedDict()
        self._authors: OrderedDict[int, str] = OrderedDict()
        self._lock = threading.Lock()

    def changes(self, person: str) -> Changes:
        with self._lock:
            changes = self._changes.setdefault(person, Changes())
            self._changes.move_to_end(person)
            while len(self._changes) > MOST_PEOPLE:
                self._changes.popitem(last=False)
            return changes

    def note_change(self, person: str, entry: int) -> None:
        """A new change, after which nothing of before can be done again."""
        mine = self.changes(person)
        mine.done.append(entry)
        mine.undone.clear()
        del mine.done[:-MOST_CHANGES]
        with self._lock:
            self._authors[entry] = person
            while len(self._authors) > MOST_PEOPLE * 10:
                self._authors.popitem(last=False)

    def note_undo(self, person: str, entry: int) -> None:
        """The change of any person, which is this person's to be done again."""
        for each in self._all():
            if entry in each.done:
                each.done.remove(entry)
        self.changes(person).undone.append(entry)

    def note_redo(self, person: str, entry: int) -> None:
        for each in self._all():
            if entry in each.undone:
                each.undone.remove(entry)
        self.changes(person).done.append(entry)

    def author(self, entry: int) -> str | None:
        """The person who made an entry; None if that is not known."""
        return self._authors.get(entry)

    def alias(self, entry: int) -> str | None:
        """The same, as others may see it."""
        name = self.author(entry)
        return None if name is None else hashlib.sha256(name.encode()).hexdigest()[:8]

    def _all(self) -> list[Changes]:
        with self._lock:
            return list(self._changes.values())
