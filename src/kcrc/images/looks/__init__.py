"""Looks, the ways to compare pictures: ``names``, ``make``, ``register``, ``resolve``, ``of_feature``, ``of_distance``.

Importing this is light; a look's parts are imported when it is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kcrc.images.looks.base import Look, LookDescription, PictureKind, Price, of_distance, of_feature, register

__all__ = ["Look", "PictureKind", "Price", "make", "names", "of_distance", "of_feature", "register", "resolve"]


def names() -> tuple[str, ...]:
    """Return the names of all looks: the library's, and those registered since."""
    import importlib

    importlib.import_module("kcrc.images.looks.table")
    from kcrc.images.looks.base import registry

    return registry.names()


def make(name: str, *, kind: PictureKind) -> Look | None:
    """Return the look of this name for a kind of pictures; None if it makes no sense for them."""
    names()  # the library's own are registered then
    from kcrc.images.looks.base import registry

    return registry.make(name, kind=kind)


def describe(name: str) -> LookDescription:
    """Return what was registered with a look; of another name, such as that of a feature, the name alone."""
    names()
    from kcrc.images.looks.base import LookDescription, descriptions

    return descriptions.get(name, LookDescription(name))


def resolve(spec: str | Look, *, kind: PictureKind) -> Look | None:
    """Return the look that a name stands for; return a look as it is."""
    return make(spec, kind=kind) if isinstance(spec, str) else spec


def __getattr__(name: str) -> Any:
    import importlib

    if name in __all__:
        return getattr(importlib.import_module("kcrc.images.looks.base"), name)
    raise AttributeError(f"module 'kcrc.looks' has no attribute {name!r}")
