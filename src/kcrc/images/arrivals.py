"""Pictures as they arrive in a folder: looked for again and again, each named once, and not before it stopped growing.

Nothing but the folder's listing is needed, so it works on any disk, a network's too. A file has arrived when two looks
found it the same, size and moment of its last change, or when that moment is long ago.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from kcrc.errors import DataError
from kcrc.images.datasets import image_files

SETTLED = 60.0  # seconds without a change: nobody is still writing it


class Arrivals:
    """The pictures of ``folder`` and the folders in it, but for those below ``apart``."""

    def __init__(self, folder: str | os.PathLike[str], *, apart: str | os.PathLike[str] | None = None) -> None:
        self.folder = Path(folder)
        self._apart = None if apart is None else Path(os.path.realpath(apart))
        self._named: set[Path] = set()
        self._last: dict[Path, tuple[int, int]] = {}
        if not self.folder.is_dir():
            raise DataError(f"'{folder}' is not a folder. Give the folder that pictures arrive in.")

    @property
    def growing(self) -> bool:
        """Whether the latest look found a picture that may not be whole yet."""
        return bool(self._last)

    def look(self) -> list[str]:
        """The pictures that have arrived since the look before. One that went away and came again is named again."""
        found, ready = self._found(), []
        self._named &= found.keys()
        waiting: dict[Path, tuple[int, int]] = {}
        for path, state in found.items():
            if path in self._named:
                continue
            long_ago = time.time() - state[1] / 1e9 > SETTLED
            if long_ago or self._last.get(path) == state:
                self._named.add(path)
                ready.append(str(path))
            else:
                waiting[path] = state
        self._last = waiting
        return ready

    def pass_over(self) -> None:
        """Name none of the pictures that are there now."""
        self._named |= self._found().keys()

    def _found(self) -> dict[Path, tuple[int, int]]:
        """Size and last change of each picture."""
        found = {}
        try:
            paths = image_files(self.folder)
        except OSError as problem:
            raise DataError(f"'{self.folder}' cannot be looked at: {problem.strerror or problem}.") from None
        for path in paths:
            if self._apart is not None and Path(os.path.realpath(path.parent)).is_relative_to(self._apart):
                continue
            try:
                status = path.stat()
            except OSError:  # it went away meanwhile
                continue
            found[path] = (status.st_size, status.st_mtime_ns)
        return found
