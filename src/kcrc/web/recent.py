"""The answers given last: what a correction would change is shown on them before it is made."""

from __future__ import annotations

import threading
from collections import OrderedDict

from kcrc.web.pictures import SentPicture

KEPT = 200


class Recent:
    """The pictures answered last, each once, the newest last."""

    def __init__(self) -> None:
        self._pictures: OrderedDict[str, SentPicture] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, picture: SentPicture) -> None:
        with self._lock:
            self._pictures[picture.sha256] = picture
            self._pictures.move_to_end(picture.sha256)
            while len(self._pictures) > KEPT:
                self._pictures.popitem(last=False)

    def get(self, name: str) -> SentPicture | None:
        """One of them by its name."""
        return next((one for one in self.pictures() if one.id == name), None)

    def pictures(self) -> list[SentPicture]:
        """The newest first."""
        with self._lock:
            return list(reversed(self._pictures.values()))
