"""Labelled images and vectors on disk: add, remove, relabel, erase, undo, verify."""

from kcrc.gallery.adding import Added, Duplicate
from kcrc.gallery.building import building
from kcrc.gallery.check import Verdict
from kcrc.gallery.erasing import Erased
from kcrc.gallery.examples import Contents, Example
from kcrc.gallery.gallery import Gallery, verify
from kcrc.gallery.history import Entry
from kcrc.gallery.transfer import restore

__all__ = [
    "Added",
    "Contents",
    "Duplicate",
    "Entry",
    "Erased",
    "Example",
    "Gallery",
    "Verdict",
    "building",
    "restore",
    "verify",
]
