"""What tells the classifier of a gallery from every other: so that work which goes on later goes on with the same."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from kcrc._base.redaction import ServerAddress
from kcrc.errors import StateError
from kcrc.gallery import Gallery
from kcrc.gallery.contract import Snapshot, TunedRecord


def fingerprint(gallery: Gallery) -> str:
    """A digest of all that its answers follow from: the feature, what was tuned, and each example's id, label and
    vector (by its checksum)."""

    def look(reading: Snapshot) -> str:
        settings, contents = gallery.settings, gallery.contents
        digest = hashlib.sha256(f"{settings.identity}\0{settings.fingerprint}\0{settings.tuned}\0".encode())
        for piece in sorted(reading.found(TunedRecord, act=settings.tuned), key=lambda piece: piece.name):
            digest.update(f"{piece.name}\0{len(piece.data)}\0".encode() + piece.data)
        digest.update(contents.ids.tobytes() + contents.vector_crcs.tobytes())
        for row in contents.rows:
            digest.update(f"{row.label}\0".encode())
        return digest.hexdigest()

    return gallery.read(look)


def reachable(address: str | os.PathLike[str]) -> str:
    """An address as another process finds it, whatever folder that is in."""
    if isinstance(address, str) and "://" in address:
        return ServerAddress(address)  # engines write down what work was given when it fails
    return str(Path(address).absolute())


def check_same(gallery: Gallery, known: str) -> None:
    """An error where the gallery is not what it was when the work began."""
    if fingerprint(gallery) != known:
        raise StateError(
            f"The gallery '{gallery.path}' was changed while it was being asked. Ask again from the start."
        )
