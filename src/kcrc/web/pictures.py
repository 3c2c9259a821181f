"""Pictures that were sent, held for a while under names that cannot be guessed: their vectors and a small copy.

When there are too many, or they take too much memory, those that were not needed for longest are let go."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterable
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


def read_picture(content: bytes, feature: Feature, *, name: str, allowed: Allowed) -> SentPicture:
    """A picture from the bytes of its file; an error if they are none, or too large."""
    picture = decode(content, feature.view, source=name, thumbnail=SIDE, limits=allowed.of_pictures)
    vector = feature.transform_pixels([picture.pixels])[0]
    height, width = picture.original_size
    return SentPicture(vector, picture.sha256, name, (width, height), picture.thumbnail, emptiness(picture.pixels))


def gallery_thumbnail(picture: SentPicture, side: int) -> bytes:
    """Its small copy in the size that galleries keep."""
    return decode(picture.small, View(size=(side, side), fit="inside"), thumbnail=side).thumbnail


class Shelf:
    """The pictures that are held."""

    def __init__(self, allowed: Allowed) -> None:
        self._allowed = allowed
        self._held: OrderedDict[str, SentPicture] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def hold(self, picture: SentPicture) -> SentPicture:
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
            picture = self._held.get(name)
            if picture is None:
                raise Refusal(404, "This picture has been let go, or was never sent. Send it again.")
            self._held.move_to_end(name)
            return picture

    def __contains__(self, name: str) -> bool:
        return name in self._held

    def __len__(self) -> int:
        return len(self._held)


# What a change would change is shown on the latest answers before it is made.

MOST_RECENT = 200  # pictures


class Recent:
    """The pictures of the latest answers, each once, and the examples near each at a revision."""

    def __init__(self) -> None:
        self._near: dict[str, tuple[int, frozenset[int]]] = {}
        self._pictures: OrderedDict[str, SentPicture] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, picture: SentPicture, revision: int, near: Iterable[int]) -> None:
        with self._lock:
            old = self._pictures.pop(picture.sha256, None)
            self._pictures[picture.sha256] = picture
            gone = [] if old is None else [old]
            gone += [self._pictures.popitem(last=False)[1]] if len(self._pictures) > MOST_RECENT else []
            for one in gone:
                self._near.pop(one.id, None)
            self._near[picture.id] = revision, frozenset(near)

    def neighbours(self, name: str, revision: int) -> frozenset[int] | None:
        """The examples that were near a picture at that revision; None if that is not known."""
        then, near = self._near.get(name, (None, None))
        return near if then == revision else None

    def get(self, name: str) -> SentPicture | None:
        """One of them by its name."""
        return next((one for one in self.pictures() if one.id == name), None)

    def pictures(self) -> list[SentPicture]:
        """The newest first."""
        with self._lock:
            return list(reversed(self._pictures.values()))
