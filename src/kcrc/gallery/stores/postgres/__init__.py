"""Galleries on a PostgreSQL server: everything that knows of PostgreSQL stands in this folder."""

from kcrc.gallery.stores.postgres.store import backup, exists, making, open

__all__ = ["backup", "exists", "making", "open"]
