"""The space a query is represented in: from a kernel (or the vectors) to a dictionary and a target.

raw   D = the examples as columns, y = the query: CRC and its relatives.
gram  D = ΨᵀG with unit columns, y = Ψᵀk (paper, Algorithm 1). Needs no positive definiteness.
rkhs  the same model in the kernel's own space, Ψ absent: DᵀD = G, Dᵀy = k, ‖y‖² = k(y,y). One factorisation
      of G instead of the Gram of the Gram: about a quarter of the work.

``basis`` makes the dictionary, once for all queries (rows None) or one a query; ``target`` the query's side. Both go by
``basis_of`` and ``target_of``, which know of numbers alone, and so does ``problem``, by which tuning states its trials:
this is the one place in Python where a local problem is stated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError, ParameterError, UnknownName
from kcrc.method.coding.base import Dictionary, Target
from kcrc.method.distances import mutual
from kcrc.method.distances.base import prepare_vectors
from kcrc.method.kernels import Kernel, VectorKernel
from kcrc.method.preparation import Prepared, Samples
from kcrc.method.projections.base import Projection

if TYPE_CHECKING:
    from kcrc.method.fitted_model import FittedModel


# Whether a local problem may be solved in single precision, which is twice as fast.

SQUARED_IN_SINGLE = 1e-16, 1e10  # k(x, x) of the longest example
SINGLE_IS_ENOUGH = 2e-3  # largest (condition number of H + μI) × (single precision) that is solved in single precision


def _squares_fit(model: FittedModel) -> bool:
    """Whether squares of the kernel stay in the range of single precision, for much longer queries too."""
    kernel = model.method.kernel
    if kernel.bounded:
        return True
    largest = np.array([model.longest**2])
    if kernel.of_products is not None:
        largest = kernel.of_products.profile(largest.copy(), largest, largest)
    least, most = SQUARED_IN_SINGLE
    return bool(least <= largest[0] <= most)


def error_in_single(atoms: int, mu: float, *, normalize: bool) -> float:
    """The most that rounding in single precision can do to the ridge coder: (condition number of H + μI) × (precision).

    With unit columns the largest eigenvalue of H is at most K, so the condition number at most (K + μ)/μ. Without
    unit columns there is no such bound, nor without a penalty.
    """
    if mu <= 0 or not normalize:
        return np.inf
    return (atoms + mu) / mu * float(np.finfo(np.float32).eps) / 2


def single_will_do(model: FittedModel) -> bool:
    """Whether rounding in single precision stays far below what tells classes apart, for the ridge coder.

    The gram form squares the kernel, which for most kernels is a square already.
    """
    method = model.method
    if method.space.squares_kernel and not _squares_fit(model):
        return False
    mu = method.coder.ridge_penalty or 0.0
    return error_in_single(model.largest_dictionary, mu, normalize=method.space.normalize) <= SINGLE_IS_ENOUGH


def in_double(model: FittedModel) -> bool:
    """Whether problems are posed in double precision: not where single precision will do for the ridge coder, or the
    coder sees to it itself."""
    coder = model.method.coder
    return not (coder.certifies or (coder.ridge_penalty is not None and single_will_do(model)))


KERNELS = {"float32": 1e31, "float64": 1e125}  # the largest: their squares, sums and products with codes are numbers
ENERGIES = {"float32": 1e31, "float64": 1e260}  # the same for ‖y‖²


@dataclass(frozen=True, eq=False)
class Basis:
    """A dictionary, and what the target's side needs of how it was made.

    psi    (1|B, K, c) or None for the identity
    scale  (1|B, K)    what each column was multiplied by to have unit length (1 where not normalised)
    """

    dictionary: Dictionary
    psi: Array | None
    scale: Array


@dataclass(frozen=True, eq=False)
class Numbers:
    """All that problems of B queries with K atoms follow from; a leading 1 where the queries share their atoms.

    labels       (1|B, K)                       the atoms' class numbers, −1 for padding
    gram, row, own  (1|B, K, K), (B, K), (B,)   the kernel among atoms, of queries with them, of queries with themselves
    atoms, queries  (1|B, K, d), (B, d)         the vectors, where the form or the coder reads them
    """

    labels: Array
    gram: Array
    row: Array
    own: Array
    atoms: Array | None = None
    queries: Array | None = None


@dataclass(frozen=True)
class Space(ABC):
    """One of the three forms."""

    normalize: bool

    has_columns: ClassVar[bool] = True
    """Whether the dictionary has entries, for coders that look at them."""

    projects: ClassVar[bool] = False
    """Whether Ψ has a place in it."""

    squares_kernel: ClassVar[bool] = False
    """Whether DᵀD holds products of kernel values."""

    of_vectors: ClassVar[bool] = False
    """Whether it is made of the vectors themselves, whatever the kernel."""

    @property
    @abstractmethod
    def of_kernel(self) -> KernelSpace:
        """The space in which the same problem is one of a kernel, for coders that do not read columns."""

    @abstractmethod
    def basis(self, model: FittedModel, rows: Array | None, *, wide: bool = False) -> Basis:
        """In double precision where ``kcrc.method.local_problem`` says so, or ``wide`` does."""

    @abstractmethod
    def target(
        self,
        model: FittedModel,
        basis: Basis,
        queries: Samples,
        rows: Array | None,
        known: Array | None = None,
        *,
        wide: bool = False,
    ) -> Target:
        """``known`` (B, K): the distances to ``rows`` by the method's distance, where the search has them; ``wide`` as
        in ``basis``."""

    @abstractmethod
    def problem(self, numbers: Numbers, projection: Projection, seed: int) -> tuple[Dictionary, Target]:
        """Dictionary and target from numbers alone, in double precision."""

    def _scale(self, squared_norms: Array, real: Array) -> Array:
        """1/norm of each column; 0 for a column without length (it then takes no part), 1 when not normalising."""
        if not self.normalize:
            return np.asarray(real.astype(squared_norms.dtype))
        norms = np.sqrt(np.maximum(squared_norms, 0.0))
        usable = real & (norms > np.finfo(norms.dtype).tiny ** 0.5)
        return np.asarray(np.divide(1.0, norms, out=np.zeros_like(norms), where=usable))


def _widen(values: Array, wide: bool) -> Array:
    return values.astype(np.float64, copy=False) if wide else values


def _local_kernel(model: FittedModel, wide: bool) -> Kernel:
    """By what local problems are posed. For a ``wide`` one vectors of single precision are doubled before anything is
    computed, a distance among them too: no later step gives back what a product in single precision has lost."""
    kernel = model.method.kernel
    if wide and kernel.of_products is not None and model.examples(kernel)["vectors"].dtype != np.float64:
        return _Doubled(kernel, kernel.of_products)
    return kernel


@dataclass(frozen=True, eq=False)
class _Doubled(Kernel):
    """A kernel of dot products in double precision, of vectors that ``kernel`` keeps in single."""

    kernel: Kernel
    products: VectorKernel

    @property
    def preparation(self) -> Hashable:
        return self.kernel.preparation

    def prepare(self, X: Array) -> Prepared:
        return self.kernel.prepare(X)

    def gram(self, a: Prepared, b: Prepared) -> Array:
        return self.products.gram(self._of(a), self._of(b))

    def diagonal(self, a: Prepared) -> Array:
        return self.products.diagonal(self._of(a))

    def cross(self, queries: Prepared, atoms: Prepared, rows: Array) -> Array:
        return self.products.cross(self._of(queries), *self._near(atoms, rows))

    def local(self, atoms: Prepared, rows: Array) -> Array:
        return self.products.local(*self._near(atoms, rows))

    @staticmethod
    def _of(samples: Prepared) -> Prepared:
        return prepare_vectors(samples["vectors"].astype(np.float64))

    def _near(self, atoms: Prepared, rows: Array) -> tuple[Prepared, Array]:
        used, places = np.unique(rows, return_inverse=True)
        return self._of(Prepared({"vectors": atoms["vectors"][used]})), places.reshape(rows.shape)


def _finite(values: Array, what: str, most: dict[str, float] = KERNELS) -> Array:
    """``values``, where they are finite and so is all that is made of them."""
    if not float(np.abs(values).max(initial=0.0)) <= most[values.dtype.name]:
        raise DataError(
            f"The {what} holds NaN or infinite values. Check the kernel and its parameters (a polynomial of high "
            "degree overflows on unscaled data), and scale the data."
        )
    return values


def _labels(model: FittedModel, rows: Array | None) -> Array:
    """(1|B, K) the atoms' class numbers, −1 at padding."""
    return model.labels[None] if rows is None else np.where(rows >= 0, model.labels[np.maximum(rows, 0)], -1)


@dataclass(frozen=True)
class Raw(Space):
    """D = the examples as columns."""

    of_vectors: ClassVar[bool] = True

    @property
    def of_kernel(self) -> KernelSpace:
        return Rkhs(self.normalize)  # of the linear kernel

    def basis(self, model: FittedModel, rows: Array | None, *, wide: bool = False) -> Basis:
        vectors = model.vectors[None] if rows is None else model.vectors[np.maximum(rows, 0)]
        return self.basis_of(_widen(vectors, wide or in_double(model)), _labels(model, rows))

    def basis_of(self, vectors: Array, labels: Array) -> Basis:
        """The dictionary of vectors (1|B, K, d) with the atoms' class numbers (1|B, K), −1 at padding."""
        real = labels >= 0
        scale = self._scale(np.einsum("bkd,bkd->bk", vectors, vectors), real)
        columns = (vectors * scale[:, :, None]).transpose(0, 2, 1)
        return Basis(Dictionary(columns.transpose(0, 2, 1) @ columns, columns, real, labels), None, scale)

    def target(
        self,
        model: FittedModel,
        basis: Basis,
        queries: Samples,
        rows: Array | None,
        known: Array | None = None,
        *,
        wide: bool = False,
    ) -> Target:
        return self.target_of(basis, _widen(queries.X, wide or in_double(model)))

    def target_of(self, basis: Basis, y: Array) -> Target:
        """The side of the queries y (B, d)."""
        return _explicit_target(basis, y)

    def problem(self, numbers: Numbers, projection: Projection, seed: int) -> tuple[Dictionary, Target]:
        assert numbers.atoms is not None and numbers.queries is not None
        basis = self.basis_of(numbers.atoms.astype(np.float64), numbers.labels)
        return basis.dictionary, self.target_of(basis, numbers.queries.astype(np.float64))


def _explicit_target(basis: Basis, y: Array) -> Target:
    columns = basis.dictionary.columns
    assert columns is not None
    b = y @ columns[0] if len(columns) == 1 else np.einsum("bc,bck->bk", y, columns)
    return Target(b, _finite(np.einsum("bc,bc->b", y, y), "square of the query", ENERGIES), y)


@dataclass(frozen=True)
class KernelSpace(Space):
    """A space made from the kernel among the atoms, G, and of the query with them, k."""

    @property
    def of_kernel(self) -> KernelSpace:
        return self

    @abstractmethod
    def basis_of(self, G: Array, labels: Array, real: Array, projection: Projection, seed: int) -> Basis:
        """The dictionary of G (1|B, K, K), 0 at padding, with the atoms' class numbers (1|B, K), −1 at padding."""

    @abstractmethod
    def target_of(self, basis: Basis, k: Array, energy: Callable[[], Array]) -> Target:
        """The query's side of k (B, K), 0 at padding; ``energy`` gives k(y, y) (B,) where the form asks for it."""

    def problem(self, numbers: Numbers, projection: Projection, seed: int) -> tuple[Dictionary, Target]:
        real = numbers.labels >= 0
        G = np.where(real[:, :, None] & real[:, None, :], numbers.gram, 0.0).astype(np.float64)
        k = np.where(real, numbers.row, 0.0).astype(np.float64)
        basis = self.basis_of(G, numbers.labels, real, projection, seed)
        return basis.dictionary, self.target_of(basis, k, lambda: numbers.own)

    def basis(self, model: FittedModel, rows: Array | None, *, wide: bool = False) -> Basis:
        labels = _labels(model, rows)
        real = labels >= 0
        G = self.gram(model, rows, real, wide or in_double(model))
        return self.basis_of(G, labels, real, model.method.projection, model.method.seed)

    def target(
        self,
        model: FittedModel,
        basis: Basis,
        queries: Samples,
        rows: Array | None,
        known: Array | None = None,
        *,
        wide: bool = False,
    ) -> Target:
        wide = wide or in_double(model)
        kernel = model.method.kernel if rows is None else _local_kernel(model, wide)

        def energy() -> Array:
            return _finite(kernel.diagonal(queries.of(kernel)), "kernel of the query with itself")

        return self.target_of(basis, self.kernel_row(model, queries, rows, known, wide), energy)

    def gram(self, model: FittedModel, rows: Array | None, real: Array, wide: bool = False) -> Array:
        kernel = model.method.kernel if rows is None else _local_kernel(model, wide)
        atoms, by_distance = model.examples(kernel), kernel.by_distance
        if rows is None:
            one_way = by_distance is not None and not by_distance.distance.symmetric  # ``local`` takes the mean
            everyone = np.arange(len(model.labels))[None]
            G = kernel.local(atoms, everyone) if one_way else kernel.gram(atoms, atoms)[None]
        elif model.pairs and by_distance is not None:
            among = mutual.within(by_distance.distance, atoms, rows, model.pairs)
            G = by_distance.local_of(among, atoms, np.maximum(rows, 0))
        else:
            G = kernel.local(atoms, np.maximum(rows, 0))
        G = _finite(_widen(G, wide), f"kernel matrix of the examples ({type(model.method.kernel).__name__})")
        return G if real.all() else np.where(real[:, :, None] & real[:, None, :], G, 0.0)

    def kernel_row(
        self, model: FittedModel, queries: Samples, rows: Array | None, known: Array | None, wide: bool
    ) -> Array:
        kernel = model.method.kernel if rows is None else _local_kernel(model, wide)
        atoms, by_distance = model.examples(kernel), kernel.by_distance
        if rows is None:
            k = kernel.gram(queries.of(kernel), atoms)
        else:
            near, asked = np.maximum(rows, 0), queries.of(kernel)
            if known is not None and by_distance is not None and model.method.kernel_of_distance:
                far = mutual.rowwise(by_distance.distance, asked, atoms, near, known)
                k = by_distance.cross_of(far, asked, atoms, near)
            else:
                k = kernel.cross(asked, atoms, near)
            k = np.where(rows >= 0, k, 0.0)
        return _finite(_widen(k, wide), f"kernel of the query with the examples ({type(model.method.kernel).__name__})")


@dataclass(frozen=True)
class Gram(KernelSpace):
    """D = ΨᵀG with unit columns, y = Ψᵀk: Algorithm 1."""

    projects: ClassVar[bool] = True
    squares_kernel: ClassVar[bool] = True

    def basis_of(self, G: Array, labels: Array, real: Array, projection: Projection, seed: int) -> Basis:
        psi = projection.matrix(G, labels, real, np.random.default_rng(seed))
        columns = G if psi is None else psi.transpose(0, 2, 1) @ G
        scale = self._scale(np.einsum("bck,bck->bk", columns, columns), real)
        columns = columns * scale[:, None, :]
        return Basis(Dictionary(columns.transpose(0, 2, 1) @ columns, columns, real, labels), psi, scale)

    def target_of(self, basis: Basis, k: Array, energy: Callable[[], Array]) -> Target:
        if basis.psi is not None:
            k = k @ basis.psi[0] if len(basis.psi) == 1 else np.einsum("bk,bkc->bc", k, basis.psi)
        return _explicit_target(basis, k)


@dataclass(frozen=True)
class Rkhs(KernelSpace):
    """DᵀD = G, Dᵀy = k, ‖y‖² = k(y, y)."""

    has_columns: ClassVar[bool] = False

    def basis_of(self, G: Array, labels: Array, real: Array, projection: Projection, seed: int) -> Basis:
        scale = self._scale(np.einsum("bkk->bk", G), real)
        return Basis(Dictionary(G * scale[:, :, None] * scale[:, None, :], None, real, labels), None, scale)

    def target_of(self, basis: Basis, k: Array, energy: Callable[[], Array]) -> Target:
        return Target(k * basis.scale, np.maximum(energy(), 0.0), None)


FORMS: dict[str, type[Space]] = {"raw": Raw, "gram": Gram, "rkhs": Rkhs}


def name_of(space: Space) -> str:
    """The name of the form that a space is of."""
    return next(name for name, kind in FORMS.items() if type(space) is kind)


def resolve(form: str, *, normalize: bool) -> Space:
    """The name of a form -> the space."""
    if not isinstance(form, str) or form not in FORMS:
        raise UnknownName("form", form, FORMS)
    if not isinstance(normalize, (bool, np.bool_)):
        raise ParameterError(f"normalize_columns is True or False; got {normalize!r}.")
    return FORMS[form](bool(normalize))
