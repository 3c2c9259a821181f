"""What a caller leaves to be chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from kcrc._base.arrays import Array
from kcrc.method import coding, projections
from kcrc.method.distances.base import Distance
from kcrc.method.distances.pair_cache import PairCache
from kcrc.method.kernels import Kernel, VectorKernel
from kcrc.method.preparation import Samples
from kcrc.method.projections.base import Projection

AUTO = "auto"


def is_open(value: Any) -> bool:
    """Whether a parameter is left to be chosen."""
    return isinstance(value, str) and value == AUTO


@dataclass(frozen=True, eq=False)
class Request:
    """What the caller wants: ``params`` by name (AUTO where open), the distance, and a kernel that is not searched."""

    params: Mapping[str, Any]
    distance: Distance
    given_kernel: Kernel | None
    coder: str | coding.Coder
    projection: str | Projection  # by name: its dimension is searched
    groups: Array | None
    seconds: float
    n_jobs: int | None
    seed: int
    progress: Callable[[float], None]
    coarse: tuple[Distance, int] | None = None
    pairs: Mapping[str, PairCache] = field(default_factory=dict)
    normalize: bool = True  # the columns of the dictionary
    samples: Samples | None = None  # the examples with what was prepared of them; None: nothing is kept
    brief: bool = False  # the search does not walk: see ``kcrc.tuning.brief``

    @property
    def whole(self) -> bool:
        """Whether the dictionary is the global one."""
        return self.params["n_neighbors"] is None

    @cached_property
    def projecting(self) -> Projection:
        return projections.resolve(self.projection)

    @property
    def by_products(self) -> bool:
        """Whether all that is tried follows from dot products of vectors: under every metric, whole classes too."""
        of_products = self.given_kernel is None or isinstance(self.given_kernel, VectorKernel)
        return self.distance.is_euclidean and of_products

    @property
    def reads_entries(self) -> bool:
        """Whether the coder looks at the entries of the vectors themselves."""
        return self.params["form"] == "raw" and coding.resolve(self.coder).needs_columns
