"""Pictures that were sent, held for a while under names nobody can guess: their vectors and a small copy, no more.

Those that nobody asked about for longest are let go when there are too many, or they take too much memory."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from kcrc._base.arrays import Array
from kcrc.images.decoding.reading import decode
from kcrc.images.decoding.resizing import View
from kcrc.images.emptiness import emptiness
from kcrc.images.features.base import Feature
from kcrc.web.bodies import Allowed
from kcrc.web.guard import Refusal

SIDE = 320  # pixels, the longer side of the small copy


@dataclass(frozen=True, eq=False)
class SentPicture:
    """One that was sent: its vector (d,), the SHA-256 of its bytes, its name, (width, height), a small JPEG, and why
    there is nothing to make out on it."""

    vector: Array
    sha256: str
    name: str
    size: tuple[int, int]
    small: bytes
    empty: str | None
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))

    @property
    def held_bytes(self) -> int:
        return self.vector.nbytes + len(self.small) + 1000


def looked_at(content: bytes, feature: Feature, *, name: str, allowed: Allowed) -> SentPicture:
    """A picture from the bytes of its file; an error where it is none, or too large."""
    seen = decode(content, feature.view, source=name, thumbnail=SIDE, limits=allowed.of_pictures)
    vector = feature.transform_pixels([seen.pixels])[0]
    height, width = seen.original_size
    return SentPicture(vector, seen.sha256, name, (width, height), seen.thumbnail, emptiness(seen.pixels))


def thumbnail_of(picture: SentPicture, side: int) -> bytes:
    """Its small copy in the size that galleries keep."""
    return decode(picture.small, View(size=(side, side), fit="inside"), thumbnail=side).thumbnail


class Shelf:
    """The pictures that are held."""

    def __init__(self, allowed: Allowed) -> None:
        self._allowed = allowed
        self._held: OrderedDict[str, SentPicture] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def put(self, picture: SentPicture) -> SentPicture:
        with self._lock:
            if picture.id in self._held:
                return self._held[picture.id]
            self._held[picture.id] = picture
            self._bytes += picture.held_bytes
            while len(self._held) > self._allowed.held or self._bytes > self._allowed.held_bytes:
                self._bytes -= self._held.popitem(last=False)[1].held_bytes
        return picture

    def get(self, name: str) -> SentPicture:
        with self._lock:
            found = self._held.get(name)
            if found is None:
                raise Refusal(404, "This picture has been let go, or was never sent. Send it again.")
            self._held.move_to_end(name)
            return found

    def __contains__(self, name: str) -> bool:
        return name in self._held

    def __len__(self) -> int:
        return len(self._held)
