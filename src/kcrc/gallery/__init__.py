"""Labelled images and vectors on disk: add, remove, relabel, undo, verify."""

from kcrc.gallery.acts import Added, Duplicate
from kcrc.gallery.building import building
from kcrc.gallery.examples import Contents, Example
from kcrc.gallery.history import Entry
from kcrc.gallery.store import Gallery

__all__ = ["Added", "Contents", "Duplicate", "Entry", "Example", "Gallery", "building"]
