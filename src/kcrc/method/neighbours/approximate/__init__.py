"""Approximate search by libraries made by others, each an extra: the table of them, and whether one is installed."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from kcrc.errors import ParameterError

if TYPE_CHECKING:
    from kcrc.method.neighbours.approximate.base import Finder


@dataclass(frozen=True)
class Library:
    """``package`` is what is imported, ``extra`` how pip knows it here, ``place`` the finder as module:class."""

    package: str
    extra: str
    place: str

    @property
    def is_installed(self) -> bool:
        return find_spec(self.package) is not None


LIBRARIES = {
    "hnsw": Library("faiss", "faiss", "kcrc.method.neighbours.approximate.faiss_library:FaissHNSW"),
    "ivf": Library("faiss", "faiss", "kcrc.method.neighbours.approximate.faiss_library:FaissIVF"),
    "usearch": Library("usearch", "usearch", "kcrc.method.neighbours.approximate.usearch_graph:UsearchGraph"),
}
"""By the name of the search."""


def check_installed(search: str) -> None:
    """Raise where what the search needs is not installed."""
    needed = LIBRARIES.get(search)
    if needed is not None and not needed.is_installed:
        raise ParameterError(
            f'search="{search}" needs {needed.package}, which is not installed. Install it: '
            f"pip install 'kcrc[{needed.extra}]'. search=\"exact\" needs nothing."
        )


def finder_named(search: str) -> type[Finder]:
    """The finder of a search that is installed."""
    check_installed(search)
    module, _, name = LIBRARIES[search].place.partition(":")
    kind: type[Finder] = getattr(importlib.import_module(module), name)
    return kind
