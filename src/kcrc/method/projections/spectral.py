"""Ψ from eigenvectors: KPCA, KFDA and the graph of the atoms (paper, "Determining the Pseudo-transformation Matrix").

All take a batch of Gram matrices. Where dictionaries of a batch have fewer directions than asked for, the missing
columns of Ψ are 0: a row of zeros in ΨᵀG and Ψᵀk, which changes no answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import ParameterError
from kcrc.method.coding.base import at_least, count
from kcrc.method.projections.base import Projection, check_components, component_count, register


@register("kpca")
@dataclass(frozen=True)
class KPCA(Projection):
    """The leading eigenvectors of G: nλψ = Gψ, scaled so that λψᵀψ = 1; n the number of atoms.

    ``n_components``: c, or as a float the share of the atoms; None: every one. Only λ above ``threshold`` times the
    largest (or above rounding, where that is more) count.
    ``centre``: eigenvectors of the G of centred samples instead (the paper's G is not centred). Their ψ sum to 0, so
    ΨᵀG and Ψᵀk are the centred coordinates up to one shift common to the atoms and the query.
    """

    n_components: float | None = None
    centre: bool = False
    threshold: float = 1e-10

    def __post_init__(self) -> None:
        check_components(self.n_components)
        at_least("threshold", self.threshold, 0)

    def matrix(self, gram: Array, labels: Array, real: Array, rng: np.random.Generator) -> Array | None:
        n = real.sum(axis=1)[:, None, None]
        if self.centre:
            weight = real[:, :, None] / np.maximum(n, 1)
            rows = gram - real[:, :, None] * (weight.transpose(0, 2, 1) @ gram)
            gram = rows - (rows @ weight) * real[:, None, :]
        values, vectors = np.linalg.eigh((gram + gram.transpose(0, 2, 1)) / 2)
        values, vectors = values[:, ::-1], vectors[:, :, ::-1]
        wanted = component_count(self.n_components, real.sum(axis=1))
        psi = _leading(vectors, values, values, wanted, self.threshold, real)
        return np.asarray(psi * np.sqrt(n).astype(gram.dtype))


@register("kfda")
@dataclass(frozen=True)
class KFDA(Projection):
    """Fisher's discriminant directions: argmax tr(ΨᵀS_bΨ) / tr(Ψᵀ(S_w + ρI)Ψ), at most classes − 1 of them.

    With mᵢ the mean of class i's columns of G (nᵢ of them) and m that of all,
    S_b = Σ nᵢ(mᵢ − m)(mᵢ − m)ᵀ between and S_w = Σᵢ Σ_{j∈i} (g_j − mᵢ)(g_j − mᵢ)ᵀ within the classes (the paper names
    them in swapped order, and forgets a transpose). S_w is singular, so it gets ρ = ``ridge`` · tr(S_b + S_w)/n.
    ψᵀ(S_w + ρI)ψ = 1. One class has no such direction: Ψ is one column of zeros.
    ``n_components``: c, or as a float the share of classes − 1; None: all of them.
    """

    n_components: float | None = None
    ridge: float = 1e-3

    def __post_init__(self) -> None:
        check_components(self.n_components)
        at_least("ridge", self.ridge, 0, strict=True)

    def matrix(self, gram: Array, labels: Array, real: Array, rng: np.random.Generator) -> Array | None:
        classes = np.unique(labels[np.broadcast_to(real, labels.shape)])
        member = ((labels[:, :, None] == classes) & real[:, :, None]).astype(gram.dtype)
        sizes = member.sum(axis=1)
        share = np.divide(member, sizes[:, None, :], out=np.zeros_like(member), where=sizes[:, None, :] > 0)
        means = gram @ share
        n = np.maximum(real.sum(axis=1), 1).astype(gram.dtype)
        overall = gram.sum(axis=2) / n[:, None]
        # S_b = M Mᵀ has the rank of its few columns: ψ = (S_w + ρI)⁻¹M q, q an eigenvector of Mᵀ(S_w + ρI)⁻¹M.
        M = (means - overall[:, :, None]) * np.sqrt(sizes)[:, None, :]
        off = gram - means @ member.transpose(0, 2, 1)
        within = off @ off.transpose(0, 2, 1)
        total = np.einsum("bkk->b", within) + np.einsum("bkc,bkc->b", M, M)
        here = np.arange(gram.shape[-1])
        within[:, here, here] += np.where(total > 0, self.ridge * total / n, 1.0)[:, None]
        solved = np.linalg.solve(within, M)
        inner = M.transpose(0, 2, 1) @ solved
        values, q = np.linalg.eigh((inner + inner.transpose(0, 2, 1)) / 2)
        values, directions = values[:, ::-1], solved @ q[:, :, ::-1]
        most = np.maximum((sizes > 0).sum(axis=1) - 1, 0)
        allowed = np.where(np.arange(len(classes)) < most[:, None], values, 0.0)
        return _leading(directions, allowed, values, component_count(self.n_components, most), 0.0, real)


@register("graph")
@dataclass(frozen=True)
class Graph(Projection):
    """Laplacian eigenmaps of the atoms: the g of least gᵀLg with gᵀDg = 1, that is L g = λ D g, L = D − W.

    Two atoms are joined where ‖dᵢ − dⱼ‖² < ``epsilon``, or where one is among the other's ``n_neighbors`` nearest
    (epsilon None); ‖dᵢ − dⱼ‖² = Gᵢᵢ + Gⱼⱼ − 2Gᵢⱼ. W is exp(−‖dᵢ − dⱼ‖²/t) (``weights`` "heat"; ``t`` None: the mean
    over the edges) or 1 ("binary"); D is the diagonal matrix of degrees. The paper's weight lacks the minus sign and
    its constraint is a number, not a vector. The constant vector (λ = 0) is dropped; an atom without edges has a row
    of zeros. ``n_components``: c, or as a float the share of the atoms, rounded up; None is 0.5.
    """

    n_components: float | None = None
    n_neighbors: int = 5
    epsilon: float | None = None
    weights: str = "heat"
    t: float | None = None

    def __post_init__(self) -> None:
        check_components(self.n_components)
        count("n_neighbors", self.n_neighbors, 1)
        for name, value in (("epsilon", self.epsilon), ("t", self.t)):
            if value is not None:
                at_least(name, value, 0, strict=True)
        if self.weights not in ("heat", "binary"):
            raise ParameterError(f"weights is 'heat' or 'binary'; got {self.weights!r}.")

    def matrix(self, gram: Array, labels: Array, real: Array, rng: np.random.Generator) -> Array | None:
        W = self.edges(gram, real)
        degree = W.sum(axis=2)
        linked = degree > 0
        root = np.where(linked, np.sqrt(degree), 0.0)
        inverse = np.divide(1.0, root, out=np.zeros_like(root), where=linked)
        # L g = λDg  ⇔  N u = (1 − λ)u with N = D^-½ W D^-½, g = D^-½ u. Values of N are within [−1, 1]: what must not
        # come first, the constant vector (u ∝ √degree) and atoms without edges, is moved below.
        N = inverse[:, :, None] * W * inverse[:, None, :]
        length = np.sqrt(degree.sum(axis=1))[:, None]
        constant = np.divide(root, length, out=np.zeros_like(root), where=length > 0)
        N -= 3 * constant[:, :, None] * constant[:, None, :]
        here = np.arange(gram.shape[-1])
        N[:, here, here] -= 3 * ~linked
        values, u = np.linalg.eigh(N)
        values, g = values[:, ::-1], u[:, :, ::-1] * inverse[:, :, None]
        wanted = component_count(0.5 if self.n_components is None else self.n_components, real.sum(axis=1))
        usable = (values > -1.5).astype(gram.dtype)
        return _leading(g, usable, np.ones_like(values), wanted, 0.0, real)

    def edges(self, gram: Array, real: Array) -> Array:
        """W (1|B, K, K): symmetric, 0 on the diagonal, at padding and where there is no edge."""
        squares = np.einsum("bkk->bk", gram)
        distance = np.maximum(squares[:, :, None] + squares[:, None, :] - 2 * gram, 0.0)
        pair = real[:, :, None] & real[:, None, :] & ~np.eye(gram.shape[-1], dtype=bool)
        if self.epsilon is not None:
            joined = pair & (distance < self.epsilon)
        else:
            nearest = np.argsort(np.where(pair, distance, np.inf), axis=2, kind="stable")[:, :, : self.n_neighbors]
            joined = np.zeros(gram.shape, bool)
            np.put_along_axis(joined, nearest, True, axis=2)
            joined &= pair
        joined |= joined.transpose(0, 2, 1)
        if self.weights == "binary":
            return np.asarray(joined, gram.dtype)
        if self.t is not None:
            t = np.full(len(gram), self.t, gram.dtype)
        else:
            edges = np.maximum(joined.sum(axis=(1, 2)), 1)
            t = (np.where(joined, distance, 0.0).sum(axis=(1, 2)) / edges).astype(gram.dtype)
        # t = 0: all joined atoms are equal, and so are their weights.
        exponent = np.divide(-distance, t[:, None, None], out=np.zeros_like(distance), where=t[:, None, None] > 0)
        return np.asarray(np.where(joined, np.exp(exponent), 0.0), gram.dtype)


def _leading(vectors: Array, ranked: Array, scale: Array, wanted: Array, threshold: float, real: Array) -> Array:
    """The first ``wanted`` (1|B,) columns of ``vectors`` (1|B, K, c), each over √scale; 0 where ``ranked`` is not above
    the threshold. As many columns as the dictionary with the most has; at least one.
    """
    floor = max(threshold, vectors.shape[1] * float(np.finfo(vectors.dtype).eps))
    usable = ranked > floor * np.maximum(ranked.max(axis=1, initial=0.0), 0.0)[:, None]
    usable &= np.arange(usable.shape[1]) < wanted[:, None]
    size = max(1, int(usable.sum(axis=1).max(initial=0)))
    usable, vectors, scale = usable[:, :size], vectors[:, :, :size], scale[:, :size]
    over = np.divide(1.0, np.sqrt(np.maximum(scale, 0.0)), out=np.zeros_like(scale), where=usable & (scale > 0))
    return np.asarray(vectors * over[:, None, :] * real[:, :, None])
