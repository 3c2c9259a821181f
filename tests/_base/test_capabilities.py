"""Parts say what they can do; nobody outside their package asks what they are.

A contract (``Distance``, ``Kernel``, …) and the abstract classes below it may be asked for: they are what can be done.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

import numpy as np
import pytest
from problems import problem

import kcrc
from kcrc import coding, distances, kernels, projections, scaling
from kcrc.method import local_problem
from kcrc.method.coding.base import Coder, Dictionary, Target
from kcrc.method.coding.ridge import Ridge
from kcrc.method.distances.base import Distance
from kcrc.method.distances.pixel import Cosine, Euclidean
from kcrc.method.kernels import RBF, Exponential, Kernel
from kcrc.method.local_problem import Numbers, Space
from kcrc.method.neighbours.base import NeighbourIndex
from kcrc.method.projections.base import Identity, Projection
from kcrc.method.scaling import Scaling

CONTRACTS = (Coder, Distance, Kernel, Scaling, NeighbourIndex, Projection, Space)
SRC = Path(kcrc.__file__).parent


def parts_below(contract):
    for cls in contract.__subclasses__():
        if cls.__module__.startswith("kcrc."):
            yield cls
            yield from parts_below(cls)


def package_of(module):
    """The folder, or the file, of a part below ``kcrc``: method.kernels of kcrc.method.kernels.vector."""
    return ".".join(module.split(".")[1:3])


def concrete():
    """Every part of the library that is not abstract: name -> the packages that have one of that name."""
    for package in ("coding", "distances", "kernels", "neighbours", "projections"):
        for found in pkgutil.iter_modules([str(SRC / "method" / package)]):
            importlib.import_module(f"kcrc.method.{package}.{found.name}")
    names: dict[str, set[str]] = {}
    for cls in (cls for contract in CONTRACTS for cls in parts_below(contract)):
        if not inspect.isabstract(cls):
            names.setdefault(cls.__name__, set()).add(package_of(cls.__module__))
    return names


def questions(path):
    """The names that a file asks types about: (line, name) for isinstance(x, name) and for type(x) compared to name."""
    tree = ast.parse(path.read_text())
    tuples = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        asked = None
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
            asked = [node.args[1]]
        elif isinstance(node, ast.Compare) and getattr(getattr(node.left, "func", None), "id", "") == "type":
            asked = node.comparators
        for one in asked or ():
            for inner in ast.walk(tuples.get(one.id, one) if isinstance(one, ast.Name) else one):
                if isinstance(inner, ast.Name):
                    yield node.lineno, inner.id
                elif isinstance(inner, ast.Attribute):
                    yield node.lineno, inner.attr


def test_no_file_asks_for_a_concrete_part_of_another_package():
    parts = concrete()
    assert {"Euclidean", "Ridge", "Within", "Raw", "Identity", "RBF", "ScanIndex", "Unified"} <= parts.keys()
    found = []
    for path in sorted(SRC.rglob("*.py")):
        own = ".".join(path.relative_to(SRC).parts[:2]).removesuffix(".py")
        for line, name in questions(path):
            if name in parts and own not in parts[name]:
                found.append(f"{path.relative_to(SRC)}:{line} asks for {name}")
    assert not found


def vectors():
    X, y, _ = problem(8, n=30, d=6, classes=3)
    return np.abs(X), y


def squared_of(kept):
    Z = kept["vectors"].astype(np.float64)
    return ((Z[:, None] - Z[None]) ** 2).sum(axis=-1)


@pytest.mark.parametrize("name", [n for n in distances.names() if n not in ("precomputed", "unified")])
def test_a_distance_that_orders_like_euclid_follows_from_the_vectors_it_prepares(name):
    """And one that says nothing of it may do as it likes: it is searched slowly, never wrongly."""
    X, y = vectors()
    distance = distances.make(name)
    assert not distance.is_union
    assert not distance.given_as_matrix
    assert distance.weights_ is None
    assert distance.orders_like_euclid or not distance.squared_euclidean
    assert distance.squared_euclidean or not distance.is_euclidean
    if distance.orders_like_euclid:
        X[4] = 0.0
        fitted = distance.fit(X, y, sample_shape=(6,))
        kept = fitted.prepare(X)
        there = np.setdiff1d(np.arange(len(X)), fitted.astray(kept))
        expected, squared = fitted.pairwise(kept, kept), squared_of(kept)
        np.testing.assert_allclose(fitted.of_squared(squared)[np.ix_(there, there)], expected[np.ix_(there, there)])
        assert len(there) >= 29
        if distance.squared_euclidean:
            np.testing.assert_allclose(expected**fitted.power, squared)


def test_a_union_and_a_matrix_say_so():
    unified, matrix = distances.make("unified"), distances.make("precomputed")
    assert unified.is_union
    assert unified.sees_views
    assert unified.weights_ is not None
    assert matrix.given_as_matrix
    assert not matrix.is_union
    assert kernels.KernelDistance(kernels.PrecomputedKernel()).given_as_matrix


@pytest.mark.parametrize("name", [n for n in kernels.names() if n != "precomputed"])
@pytest.mark.parametrize("distance", ["euclidean", "mahalanobis", "manhattan"])
def test_a_kernel_is_what_it_says(name, distance):
    X, y = vectors()
    fitted = distances.make(distance).fit(X, y, sample_shape=(6,))
    kernel = kernels.resolve(name, distance=fitted, gamma=0.3, degree=2, coef0=1.0)
    kept = kernel.prepare(X)
    G = kernel.gram(kept, kept)
    if kernel.of_products is not None:
        Z, squares = kept["vectors"].astype(np.float64), kept["squares"].astype(np.float64)
        np.testing.assert_allclose(kernel.of_products.profile(Z @ Z.T, squares[:, None], squares[None]), G, rtol=1e-6)
        assert kernel.of_products.shape is not None
    assert (kernel.of_products is None) == (name == "polarisation" or (name, distance) == ("exp", "manhattan"))
    if kernel.bounded:
        huge = kernel.prepare(1e6 * X)
        assert np.abs(kernel.gram(huge, huge)).max() <= 1.0
    if kernel.definite and distance != "manhattan":
        assert np.linalg.eigvalsh(G)[0] > -1e-9 * np.abs(G).max()
    kernel.check_own_values()


@pytest.mark.parametrize("name", coding.names())
def test_a_coder_says_what_it_costs_and_whether_it_is_the_ridge(name):
    X, _ = vectors()
    D, y = X[:8].T[None] / 3, X[20:21]
    H, b = D.transpose(0, 2, 1) @ D, np.einsum("bc,bck->bk", y, D)
    coder = coding.make(name, mu=0.1)
    state = coder.factorise(Dictionary(H, D, np.ones((1, 8), bool), np.arange(8)[None] % 2))
    code = coder.solve(state, Target(b, np.einsum("bc,bc->b", y, y), y))
    assert coder.iterates == (coder.effort > 1)
    assert coder.iterates <= (coder.ridge_penalty is None)
    assert coder.iterates or code.n_iter[0] == 1
    expected = np.linalg.solve(H[0] + 0.1 * np.eye(8), b[0])
    same = np.allclose(code.coefficients[0], expected, atol=1e-6)
    assert (coder.ridge_penalty == 0.1) == same
    assert coder.ridge_penalty in (None, 0.1)


@pytest.mark.parametrize("name", scaling.names())
def test_a_metric_uses_labels_or_not(name):
    X, y = vectors()
    metric = scaling.make(name)
    fitted, other = metric.fit(X, y), metric.fit(X, y[::-1] ** 2 % 3)
    assert metric.uses_labels != np.allclose(fitted.transform(X), other.transform(X))
    assert metric.keeps_vectors == (fitted.transform(X) is X)
    assert (metric.by_class is None) != metric.uses_labels


@pytest.mark.parametrize("name", projections.names())
def test_a_projection_has_components_or_is_the_identity(name):
    X, y = vectors()
    projection = projections.make(name)
    assert projection.identity == (not projection.has_components) == (projection.cost == 0)
    if projection.has_components:
        half = projection.with_components(0.5)
        psi = half.matrix((X @ X.T)[None], y[None], np.ones((1, 30), bool), np.random.default_rng(0))
        assert psi.shape[:2] == (1, 30)
        assert psi.shape[2] < 30


@pytest.mark.parametrize("form", local_problem.FORMS)
@pytest.mark.parametrize("normalize", [True, False])
def test_a_space_is_of_vectors_or_of_a_kernel(form, normalize):
    X, y = vectors()
    space = local_problem.resolve(form, normalize=normalize)
    atoms, asked = X[None, :9], X[20:21]
    numbers = Numbers(y[None, :9], atoms @ atoms.transpose(0, 2, 1), asked @ X[:9].T, (asked**2).sum(1), atoms, asked)
    dictionary, target = space.problem(numbers, Identity(), 0)
    assert space.has_columns == (dictionary.columns is not None) == (target.vector is not None)
    assert space.of_vectors != (space.of_kernel is space)
    same, aim = space.of_kernel.problem(numbers, Identity(), 0)
    for mine, theirs in zip(
        (dictionary.gram, target.correlation, target.energy), (same.gram, aim.correlation, aim.energy), strict=True
    ):
        np.testing.assert_allclose(mine, theirs)
    if space.squares_kernel and not normalize:
        np.testing.assert_allclose(dictionary.gram, numbers.gram @ numbers.gram)


def test_a_subclass_that_behaves_in_its_own_way_inherits_no_word():
    class Half(Euclidean):
        def pairwise(self, a, b):
            return super().pairwise(a, b) / 2

    class Wider(RBF):
        def profile(self, dot, squares_a, squares_b):
            return 2 * super().profile(dot, squares_a, squares_b)

    class Twice(Exponential):
        def of_distances(self, distances):
            return 2 * super().of_distances(distances)

    class Doubled(Ridge):
        def solve(self, state, target):
            return super().solve(state, target)

    class Same(Cosine):
        formula = "another name alone"

    assert not Half().orders_like_euclid
    assert not Half().is_euclidean
    assert Wider().shape is None
    assert not Wider().bounded
    assert Wider().of_products is not None
    assert Twice(Euclidean()).of_products is None
    assert not Twice(Euclidean()).bounded
    assert Doubled().ridge_penalty is None
    assert Doubled().iterates
    assert Same().orders_like_euclid
