"""A gallery in one SQLite file: everything that knows of SQLite stands in this folder."""

from kcrc.gallery.stores.sqlite.copying import backup
from kcrc.gallery.stores.sqlite.store import exists, making, open

__all__ = ["backup", "exists", "making", "open"]
