"""The ways to search by name: which of them suit a distance, and the index each makes."""

from __future__ import annotations

from typing import Any

from kcrc.errors import ParameterError, UnknownName
from kcrc.method.distances.base import Distance
from kcrc.method.neighbours.approximate import LIBRARIES, check_installed, finder_named
from kcrc.method.neighbours.base import NeighbourIndex
from kcrc.method.neighbours.cells import PAY_FROM, PAY_TO, CellsIndex
from kcrc.method.neighbours.scan import ScanIndex, index_for
from kcrc.method.preparation import Prepared

CELLS = "cells"
SEARCHES = ("auto", "exact", CELLS, *LIBRARIES)


def check_search(value: Any) -> None:
    """Raise where there is no such search, or what it needs is not installed."""
    if value not in SEARCHES:
        raise UnknownName("search", str(value), SEARCHES)
    check_installed(value)


def check_searchable(search: str, distance: Distance) -> None:
    """Raise where an approximate search cannot find what is near by this distance."""
    other = [part for part in distance.components.values() if not part.orders_like_euclid]
    if search in LIBRARIES and other:
        raise ParameterError(
            f'search="{search}" is for distances that order like the Euclidean; {type(other[0]).__name__} does not. '
            'Use search="exact".'
        )


def available(search: str) -> str:
    """The search itself, or "exact" where what it needs is not installed: a file that names it opens all the same."""
    return search if search not in LIBRARIES or LIBRARIES[search].is_installed else "exact"


def index_by(
    search: str,
    distance: Distance,
    atoms: Prepared,
    *,
    budget: int,
    k: int,
    n_jobs: int | None,
) -> NeighbourIndex:
    """The index of a search, for k neighbours mostly; ``budget`` bounds what an exact one may keep beyond the examples,
    in bytes. Where an approximate one has nothing to go by, values that single
    precision does not hold or no compiled module, it is an exact one."""
    if search not in LIBRARIES:
        found = index_for(distance, atoms, budget=budget)
        if not isinstance(found, ScanIndex):
            return found
        n, width = atoms["vectors"].shape
        tried = search == CELLS or (search == "auto" and n >= PAY_FROM and width <= PAY_TO)
        return CellsIndex.where_it_pays(found, k) if tried else found
    exact = index_for(distance, atoms, budget=0)
    if not isinstance(exact, ScanIndex):
        return exact
    from kcrc.method.neighbours.approximate.approximate import ApproximateIndex

    return ApproximateIndex.over(finder_named(search), exact, k=k, n_jobs=n_jobs)
