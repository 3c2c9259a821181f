"""The feature of a gallery, as it was when it made the gallery's vectors."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kcrc.errors import DataError, StateError

if TYPE_CHECKING:
    from kcrc.gallery.gallery import Gallery
    from kcrc.images.features.base import Feature


def own_feature(gallery: Gallery, model: str | os.PathLike[str] | None) -> Feature:
    """The fitted feature; ``model`` is the network file that the user named for it. An error where it would make other
    vectors than those stored."""
    from kcrc.images.features import restore

    if gallery.settings.feature == "vectors":
        raise StateError(
            f"The gallery '{gallery.path}' was made from ready vectors, so it cannot look at images. "
            "Give vectors to gallery.classifier().predict."
        )
    made = restore(gallery.feature_state(), model=model)
    if made.dim != gallery.dim:
        raise DataError(
            f"The feature of '{gallery.path}' gives vectors of {made.dim} numbers; those stored have {gallery.dim}. "
            "The file is damaged."
        )
    if made.fingerprint != gallery.fingerprint:
        raise DataError(
            f"The feature of '{gallery.path}' gives other vectors here ({made.fingerprint}) than those stored "
            f"({gallery.fingerprint}). Build the gallery again from the images."
        )
    made.keep()  # a network file that was named is found the next time without
    return made
