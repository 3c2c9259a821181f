"""The answers given last: what a correction would change is shown on them before it is made."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable

from kcrc.web.pictures import SentPicture

KEPT = 200


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
            gone += [self._pictures.popitem(last=False)[1]] if len(self._pictures) > KEPT else []
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
