"""What fit makes: the method (how) and the examples (what), as one value.

A FittedModel is never changed. Adding or forgetting examples gives a new one that shares all it can, so a failed
update leaves the old one in place, and what a gallery file stores is exactly this.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from kcrc._base import validation
from kcrc._base.arrays import Array, in_double
from kcrc._base.mapped import apply_by_blocks
from kcrc.method.coding.base import Coder
from kcrc.method.distances.base import VECTORS, Distance, prepare_vectors
from kcrc.method.distances.pair_cache import FILL_SECONDS, PairCache, PairCounts, pair_caches, pair_count
from kcrc.method.kernels import Kernel
from kcrc.method.local_problem import Basis, Space
from kcrc.method.neighbours.base import EXACT, NeighbourIndex
from kcrc.method.neighbours.refine import UnionIndex
from kcrc.method.neighbours.searches import index_by
from kcrc.method.preparation import Prepared, PreparedExamples, Preparer, Samples
from kcrc.method.projections.base import Projection
from kcrc.method.scaling import Scaling

RAW = "raw"
_SEARCHED = "searched"  # in a pickle: an index is to be made


@dataclass(frozen=True)
class Method:
    """Every choice that makes a classifier, resolved to parts and numbers."""

    scaling: Scaling
    distance: Distance
    coarse_distance: Distance
    kernel: Kernel
    space: Space
    coder: Coder
    projection: Projection
    n_neighbors: int | None
    n_candidates: int | None
    locality: str
    decision: str
    seed: int
    n_jobs: int | None
    memory_budget: int
    wide_as_data: bool = False
    """Whether the kernel's gamma is "scale": it follows the examples."""
    search: str = "auto"
    """How the nearest examples are found: a name of ``kcrc.method.neighbours.searches``."""
    double_precision: bool = False
    """Whether examples in single precision are computed with in double: they lay ``scaling.far_out`` at the fit."""

    @property
    def search_distance(self) -> Distance:
        """The distance that goes over all examples."""
        return self.coarse_distance if self.n_candidates is not None else self.distance

    @property
    def kernel_of_distance(self) -> bool:
        """Whether the kernel is made from the very distance that finds the neighbours."""
        kernel = self.kernel.by_distance
        if kernel is None:
            return False
        mine, other = self.distance, kernel.distance
        return mine is other or (type(mine) is type(other) and mine.preparation == other.preparation and mine == other)

    @property
    def parts(self) -> tuple[Preparer, ...]:
        """All that keep something of every stored example."""
        if self.n_neighbors is None:
            return (self.kernel, self.distance)
        return (self.kernel, self.distance, self.search_distance)


@dataclass(frozen=True, eq=False)
class GlobalDictionary:
    """The one dictionary of all examples, factorised."""

    basis: Basis
    state: Any


@dataclass(frozen=True, eq=False)
class FittedModel:
    """labels (n,) number the classes; ids (n,) are the row numbers by which users know the examples."""

    method: Method
    classes: Array
    labels: Array
    ids: Array
    stores: Mapping[Hashable, PreparedExamples]
    index: NeighbourIndex | None
    whole: GlobalDictionary | None
    class_means: Samples | None
    pairs: Mapping[str, PairCache] = field(default_factory=dict)
    """Distances between examples by the costly components of the kernel's distance, those measured so far."""

    @property
    def pair_counts(self) -> PairCounts:
        """Pairs measured and looked up since the fit."""
        return sum((cache.counts for cache in self.pairs.values()), PairCounts())

    def examples(self, part: Preparer) -> Prepared:
        """What ``part`` keeps of the stored examples."""
        return self.stores[part.preparation].content

    @property
    def vectors(self) -> Array:
        """The stored examples (n, d), scaled."""
        return self.stores[VECTORS].content["vectors"]

    @property
    def raw(self) -> Array:
        """The stored examples as they were given: what a new choice of scaling starts from."""
        return self.stores[RAW].content["given"] if RAW in self.stores else self.vectors

    @cached_property
    def working_type(self) -> np.dtype[Any]:
        """What queries are turned into: the type of the stored examples, single precision where that is half."""
        return np.promote_types(self.raw.dtype, np.float32)

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def longest(self) -> float:
        """The length of the longest example, scaled."""
        return float(np.sqrt(self.stores[VECTORS].content["squares"].max()))

    @property
    def largest_dictionary(self) -> int:
        """The most examples a query's dictionary can have."""
        wanted = self.method.n_neighbors
        if wanted is None:
            return len(self)
        if self.method.locality == "classes":
            wanted *= int(np.bincount(self.labels).max())
        return min(len(self), wanted * len(self.method.distance.components))  # a union is as wide as all its parts

    @classmethod
    def build(
        cls,
        method: Method,
        given: Array,
        classes: Array,
        labels: Array,
        ids: Array,
        pairs: Mapping[str, PairCache] | None = None,
        *,
        scaled: Array | None = None,
        prepared: Mapping[Hashable, Prepared] | None = None,
        searchable: bool = True,
    ) -> FittedModel:
        """From examples as they were given; ``scaled`` is what the scaling makes of them, where that is known already,
        ``pairs`` are distances between them that are, ``prepared`` what parts keep of them. What searches among them
        may wait (``searchable`` False) until it is needed: see ``with_index``."""
        made = cls._prepare(method, given, ids, scaled, prepared)
        stores = {key: PreparedExamples(prepared) for key, prepared in made.prepared_by_key.items()}
        bare = cls(method, classes, labels, ids, stores, None, None, None)
        paired = replace(bare, pairs=bare._pair_caches(pairs or {}))
        return (paired._fill_pairs() if searchable else paired)._derive(labels, searchable=searchable)

    def _pair_caches(self, known: Mapping[str, PairCache]) -> dict[str, PairCache]:
        """A cache for each costly component, those that are known and empty ones."""
        kernel, method = self.method.kernel.by_distance, self.method
        if method.n_neighbors is None or kernel is None:
            return {}
        distance, n = kernel.distance, len(self)
        caches = pair_caches(distance, n, dtype=self.vectors.dtype, budget=method.memory_budget // 2)
        return {name: known.get(name, empty) for name, empty in caches.items()}

    def _fill_pairs(self) -> FittedModel:
        """The same, its caches of pairs filled where that takes no more than seconds."""
        kernel, method = self.method.kernel.by_distance, self.method
        for name, cache in self.pairs.items():
            assert kernel is not None  # who else has pairs
            part = kernel.distance.components[name]
            seconds = 1e-6 * part.cost * pair_count(len(self), symmetric=part.symmetric)
            if cache.complete and seconds <= FILL_SECONDS:
                cache.fill(part, kernel.distance.part(self.examples(kernel), name), method.n_jobs)
        return self

    @staticmethod
    def _prepare(
        method: Method,
        given: Array,
        ids: Array,
        scaled: Array | None = None,
        known: Mapping[Hashable, Prepared] | None = None,
    ) -> Samples:
        """What all parts keep of new examples, and the examples as given where the scaling changes them. Of a matrix
        that the caller computed, the column of an example is its row number, also when others were forgotten."""
        if method.double_precision and given.dtype != np.float64:
            given = apply_by_blocks(in_double, given)
        vectors = apply_by_blocks(method.scaling.transform, given) if scaled is None else scaled
        if vectors is not given:
            validation.check_scaled(vectors, vectors.dtype, type(method.scaling).__name__)
        wanted = {part.preparation for part in method.parts}
        made = {key: one for key, one in (known or {}).items() if key in wanted}
        made[VECTORS] = prepare_vectors(vectors)
        if vectors is not given:
            made[RAW] = Prepared({"given": given})
        samples = Samples(vectors, made, columns=ids)
        for part in method.parts:
            samples.of(part)
        return samples

    @property
    def searchable(self) -> bool:
        """Whether it can be asked: ``with_index`` gives one that can."""
        return self.index is not None or self.method.n_neighbors is None or self.method.locality == "classes"

    @property
    def search(self) -> str:
        """How the examples of a dictionary are found, as an answer says it."""
        return EXACT if self.index is None else self.index.search

    def with_index(self) -> FittedModel:
        """The same with what searches among its examples."""
        return self if self.searchable else self._fill_pairs()._derive(self.labels)

    def _derive(self, touched: Array, index: NeighbourIndex | None = None, *, searchable: bool = True) -> FittedModel:
        """With the index, the global dictionary and the class means that belong to the examples."""
        method = self.method
        if method.n_neighbors is None:
            bare = replace(self, index=None)
            basis = method.space.basis(bare, None)
            return replace(bare, whole=GlobalDictionary(basis, method.coder.factorise(basis.dictionary)))
        if method.locality == "classes":
            return replace(self, class_means=self._means(np.unique(touched)))
        if index is None and searchable:
            distance, atoms = method.search_distance, self.examples(method.search_distance)
            make = partial(
                index_by,
                method.search,
                budget=method.memory_budget // len(distance.components),
                k=max(method.n_candidates or 0, method.n_neighbors),
                n_jobs=method.n_jobs,
            )
            index = UnionIndex.over(distance, atoms, make) if distance.is_union else make(distance, atoms)
        return replace(self, index=index)

    def _means(self, touched: Array) -> Samples:
        """Class means; only those of the touched classes are computed."""
        means = np.zeros((len(self.classes), self.vectors.shape[1]), self.vectors.dtype)
        old = self.class_means
        for c in range(len(self.classes)):
            rows = np.flatnonzero(self.labels == c) if old is None or c in touched else np.empty(0, np.intp)
            if len(rows):
                means[c] = self.vectors[rows].mean(axis=0)
            elif old is not None and c < len(old):
                means[c] = old.X[c]
        return Samples(means)

    def with_examples(self, given: Array, classes: Array, labels: Array, relabel: Array, ids: Array) -> FittedModel:
        """With new examples behind the old. ``classes`` is the new list, ``labels`` (new examples) and
        ``relabel`` (old class number -> new) point into it. The old examples are not looked at again."""
        new = self._prepare(self.method, given, ids)
        stores = {key: store.append(new.prepared_by_key[key]) for key, store in self.stores.items()}
        means = self.class_means
        if means is not None:
            moved = np.zeros((len(classes), means.X.shape[1]), means.X.dtype)
            moved[relabel] = means.X
            means = Samples(moved)
        grown = replace(
            self,
            classes=classes,
            labels=np.concatenate([relabel[self.labels], labels]),
            ids=np.concatenate([self.ids, ids]),
            stores=stores,
            class_means=means,
            pairs={name: cache.append(len(labels)) for name, cache in self.pairs.items()},
        )
        index = self.index
        if index is not None:
            index = index.append(grown.examples(self.method.search_distance))
        return grown._derive(labels, index, searchable=self.searchable)

    def by(self, method: Method) -> FittedModel:
        """The same examples by another method. Where only the kernel differs, what is kept of them stays."""
        mine = self.method
        same = all(getattr(mine, name) is getattr(method, name) for name in ("scaling", "distance", "coarse_distance"))
        if same and all(part.preparation in self.stores for part in method.parts):
            return replace(self, method=method)._derive(self.labels, self.index)
        return FittedModel.build(method, self.raw, self.classes, self.labels, self.ids)

    def without(self, rows: Array) -> FittedModel:
        """Without the examples at ``rows`` (positions)."""
        keep = np.ones(len(self), bool)
        keep[rows] = False
        left = replace(
            self,
            labels=self.labels[keep],
            ids=self.ids[keep],
            stores={key: store.keep(keep) for key, store in self.stores.items()},
            pairs={name: cache.keep(keep) for name, cache in self.pairs.items()},
        )
        index = self.index
        if index is not None:
            index = index.keep(left.examples(self.method.search_distance), keep)
        return left._derive(self.labels[rows], index, searchable=self.searchable)

    def __getstate__(self) -> dict[str, Any]:
        """All but an index that holds something of forgotten examples: that one is built again where this is read."""
        if self.index is None or self.index.alone:
            return dict(self.__dict__)
        return {**self.__dict__, "index": None, _SEARCHED: True}

    def __setstate__(self, state: dict[str, Any]) -> None:
        searched = state.pop(_SEARCHED, False)
        self.__dict__.update(state)
        if searched:
            self.__dict__["index"] = self._derive(self.labels).index

    def relabel(self, classes: Array, labels: Array) -> FittedModel:
        """The same examples with other labels (n,), which number ``classes``."""
        made = replace(self, classes=classes, labels=labels, class_means=None)
        return made if self.class_means is None else replace(made, class_means=made._means(np.unique(labels)))

    def without_empty_classes(self) -> FittedModel:
        """With only the classes that have examples."""
        present = np.unique(self.labels)
        relabel = np.full(len(self.classes), -1, np.intp)
        relabel[present] = np.arange(len(present))
        means = None if self.class_means is None else Samples(self.class_means.X[present])
        return replace(self, classes=self.classes[present], labels=relabel[self.labels], class_means=means)
