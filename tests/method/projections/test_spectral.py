"""KPCA, KFDA and the graph against scipy.linalg.eigh on single problems; rank, padding, degenerate input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg
from sklearn.decomposition import KernelPCA

import references
from kcrc import projections
from kcrc.errors import ParameterError

SPECTRAL = ["kpca", "kfda", "graph"]


def atoms(seed, B=3, K=14, d=20, classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(B, K, d))
    labels = np.broadcast_to(np.arange(K) % classes, (B, K))
    squares = ((X[:, :, None] - X[:, None]) ** 2).sum(-1)
    return np.exp(-0.02 * squares), labels, np.ones((B, K), bool)


def made(name, gram, labels, real, **options):
    return projections.make(name, **options).matrix(gram, labels, real, np.random.default_rng(0))


def span(psi):
    """ΨΨᵀ: the same for any signs, and for any basis of equal eigenvalues."""
    return psi @ np.swapaxes(psi, -1, -2)


@pytest.mark.parametrize("name", SPECTRAL)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_equals_the_slow_formula(name, dtype):
    gram, labels, real = atoms(0)
    psi = made(name, gram.astype(dtype), labels, real)
    assert psi.dtype == dtype
    for i in range(3):
        expected = span(references.PROJECTIONS[name](gram[i], labels[i], {}))
        tolerance = 1e-7 if dtype == np.float64 else 5e-3
        np.testing.assert_allclose(span(psi[i]), expected, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("name", SPECTRAL)
def test_a_dictionary_does_not_depend_on_its_batch_and_padding_changes_nothing(name):
    gram, labels, real = atoms(1)
    together = made(name, gram, labels, real, n_components=2)
    for i in range(3):
        alone = made(name, gram[i : i + 1], labels[i : i + 1], real[i : i + 1], n_components=2)
        np.testing.assert_allclose(span(alone[0]), span(together[i]), atol=1e-9)
    padded = np.zeros((3, 17, 17))
    padded[:, :14, :14] = gram
    wide = np.concatenate([labels, np.full((3, 3), -1)], axis=1)
    psi = made(name, padded, wide, np.broadcast_to(np.arange(17) < 14, (3, 17)), n_components=2)
    np.testing.assert_array_equal(psi[:, 14:], 0.0)
    np.testing.assert_allclose(span(psi[:, :14]), span(together), atol=1e-9)


@pytest.mark.parametrize("name", SPECTRAL)
def test_permuting_atoms_permutes_rows(name):
    gram, labels, real = atoms(2, B=1)
    order = np.random.default_rng(0).permutation(14)
    psi = made(name, gram, labels, real, n_components=2)
    moved = made(name, gram[:, order][:, :, order], labels[:, order], real, n_components=2)
    np.testing.assert_allclose(span(moved), span(psi)[:, order][:, :, order], atol=1e-9)


def test_kpca_is_normalised_as_the_paper_says():
    gram, labels, real = atoms(3)
    psi = made("kpca", gram, labels, real, n_components=4)
    assert psi.shape == (3, 14, 4)
    for G, P in zip(gram, psi, strict=True):
        for column in P.T:
            scaled = column @ G @ column / (column @ column) / 14  # λ of nλψ = Gψ
            np.testing.assert_allclose(G @ column, 14 * scaled * column, atol=1e-10)
            assert scaled * column @ column == pytest.approx(1.0)


def test_centred_kpca_equals_scikit_learn():
    gram, labels, real = atoms(4)
    psi = made("kpca", gram, labels, real, n_components=3, centre=True)
    assert psi.shape == (3, 14, 3)
    for G, P in zip(gram, psi, strict=True):
        coordinates = (P.T @ G).T / np.sqrt(14)
        coordinates -= coordinates.mean(axis=0)
        expected = KernelPCA(3, kernel="precomputed", eigen_solver="dense").fit_transform(G)
        np.testing.assert_allclose(np.abs(coordinates), np.abs(expected), atol=1e-9)
        np.testing.assert_allclose(P.sum(axis=0), 0.0, atol=1e-9)


def test_centred_kpca_leaves_padding_out():
    gram, labels, real = atoms(4)
    padded = np.zeros((3, 16, 16))
    padded[:, :14, :14] = gram
    psi = made(
        "kpca",
        padded,
        np.zeros((3, 16), int),
        np.broadcast_to(np.arange(16) < 14, (3, 16)),
        n_components=3,
        centre=True,
    )
    expected = made("kpca", gram, labels, real, n_components=3, centre=True)
    np.testing.assert_allclose(span(psi[:, :14]), span(expected), atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kpca_of_a_rank_deficient_gram(dtype):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2, 12, 4))
    X[1, :, 2:] = 0  # ranks 4 and 2
    gram = (X @ X.transpose(0, 2, 1)).astype(dtype)
    real = np.ones((2, 12), bool)
    for wanted in (None, 30):
        psi = made("kpca", gram, np.zeros((2, 12), int), real, n_components=wanted)
        assert psi.shape == (2, 12, 4)
        np.testing.assert_array_equal(psi[1, :, 2:], 0.0)
        assert np.isfinite(psi).all()
        # Uncentred KPCA with all components keeps every product: DᵀD of D' = ΨᵀG is n·G.
        reduced = psi.transpose(0, 2, 1) @ gram
        np.testing.assert_allclose(reduced.transpose(0, 2, 1) @ reduced, 12 * gram, atol=1e-4 * np.abs(gram).max() * 12)
    assert made("kpca", gram[1:], np.zeros((1, 12), int), real[1:]).shape == (1, 12, 2)
    loose = made("kpca", gram[:1], np.zeros((1, 12), int), real[:1], threshold=0.9)
    assert 1 <= loose.shape[2] < 4


def test_kpca_of_a_kernel_that_is_not_positive_keeps_the_positive_part():
    gram = np.diag([3.0, -2.0, 1.0])[None]
    psi = made("kpca", gram, np.zeros((1, 3), int), np.ones((1, 3), bool))
    assert psi.shape == (1, 3, 2)
    np.testing.assert_allclose(np.abs(psi[0]), [[1, 0], [0, 0], [0, np.sqrt(3)]], atol=1e-12)


def test_kfda_has_one_column_less_than_classes():
    gram, labels, real = atoms(6, classes=4)
    assert made("kfda", gram, labels, real).shape == (3, 14, 3)
    assert made("kfda", gram, labels, real, n_components=2).shape == (3, 14, 2)
    assert made("kfda", gram, labels, real, n_components=50).shape == (3, 14, 3)
    mixed = labels.copy()
    mixed[0] = np.arange(14) % 2 + 2  # this dictionary has two of the classes, the others four
    psi = made("kfda", gram, mixed, real)
    assert psi.shape == (3, 14, 3)
    np.testing.assert_array_equal(psi[0, :, 1:], 0.0)
    np.testing.assert_allclose(span(psi[0]), span(references.PROJECTIONS["kfda"](gram[0], mixed[0], {})), atol=1e-6)


def test_kfda_separates_what_kpca_does_not():
    rng = np.random.default_rng(7)
    labels = np.arange(60) % 2
    X = rng.normal(size=(60, 5)) * [10, 10, 10, 10, 0.1]
    X[:, 4] += labels
    gram = (X @ X.T)[None]
    fisher = made("kfda", gram, labels[None], np.ones((1, 60), bool), ridge=1e-9)[0].T @ gram[0]
    gaps = np.abs(fisher[0, labels == 0].mean() - fisher[0, labels == 1].mean())
    assert gaps > 3 * fisher[0, labels == 0].std()


@pytest.mark.parametrize("name", SPECTRAL)
def test_one_class_duplicates_and_a_single_atom_are_defined(name):
    gram, labels, real = atoms(8)
    same = np.zeros_like(labels)
    assert np.isfinite(made(name, gram, same, real)).all()
    np.testing.assert_array_equal(made("kfda", gram, same, real), 0.0)
    order = np.array([0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9])
    duplicated = gram[:, order][:, :, order]
    assert np.isfinite(made(name, duplicated, labels, real)).all()
    constant = np.ones((1, 5, 5))
    assert np.isfinite(made(name, constant, np.array([[0, 0, 1, 1, 1]]), np.ones((1, 5), bool))).all()
    psi = made(name, np.ones((1, 1, 1)), np.zeros((1, 1), int), np.ones((1, 1), bool))
    assert psi.shape == (1, 1, 1)
    assert np.isfinite(psi).all()
    nothing = made(name, np.zeros((1, 4, 4)), np.array([[0, 0, 1, 1]]), np.ones((1, 4), bool))
    assert np.isfinite(nothing).all()


@pytest.mark.parametrize("options", [{"epsilon": 0.9}, {"n_neighbors": 3}, {"n_neighbors": 100}])
@pytest.mark.parametrize("weights", ["heat", "binary"])
def test_graph_edges_weights_and_eigenvectors(options, weights):
    gram, labels, real = atoms(9, B=2)
    projection = projections.make("graph", weights=weights, t=0.7, n_components=5, **options)
    W = projection.edges(gram, real)
    for G, w in zip(gram, W, strict=True):
        squares = np.diag(G)[:, None] + np.diag(G) - 2 * G
        joined = np.zeros((14, 14), bool)
        for i in range(14):
            others = sorted((squares[i, j], j) for j in range(14) if j != i)
            near = others[: options["n_neighbors"]] if "n_neighbors" in options else [o for o in others if o[0] < 0.9]
            for _, j in near:
                joined[i, j] = joined[j, i] = True
        np.testing.assert_allclose(w, joined * (np.exp(-squares / 0.7) if weights == "heat" else 1.0))
    psi = projection.matrix(gram, labels, real, np.random.default_rng(0))
    assert psi.shape == (2, 14, 5)
    for w, g in zip(W, psi, strict=True):
        degree = np.diag(w.sum(axis=1))
        np.testing.assert_allclose(g.T @ degree @ g, np.eye(5), atol=1e-9)
        np.testing.assert_allclose(np.ones(14) @ degree @ g, 0.0, atol=1e-9)  # the constant vector is not among them
        if (w.sum(axis=1) > 0).all():
            lam = linalg.eigh(degree - w, degree, eigvals_only=True)[1:6]
            np.testing.assert_allclose(g.T @ (degree - w) @ g, np.diag(lam), atol=1e-9)


def test_graph_with_isolated_atoms_and_two_components():
    squares = np.full((7, 7), 10.0)
    squares[:3, :3] = squares[3:6, 3:6] = 0.5  # two triangles, and atom 6 alone
    np.fill_diagonal(squares, 0.0)
    gram = (100 - squares / 2)[None]
    psi = made("graph", gram, np.zeros((1, 7), int), np.ones((1, 7), bool), epsilon=1.0, n_components=7)
    assert psi.shape == (1, 7, 5)  # six linked atoms less the constant vector
    np.testing.assert_array_equal(psi[0, 6], 0.0)
    first = psi[0, :6, 0]  # λ = 0 again: the two components, told apart
    np.testing.assert_allclose(first, np.sign(first[0]) * np.repeat([1, -1], 3) * abs(first[0]), atol=1e-9)
    lonely = made("graph", gram, np.zeros((1, 7), int), np.ones((1, 7), bool), epsilon=1e-3)
    np.testing.assert_array_equal(lonely, 0.0)


def test_clear_errors():
    for name, wrong in (
        ("kpca", {"n_components": 0}),
        ("kpca", {"threshold": -1}),
        ("kfda", {"ridge": 0}),
        ("kfda", {"n_components": 1.5}),
        ("graph", {"n_neighbors": 0}),
        ("graph", {"epsilon": -1.0}),
        ("graph", {"weights": "hot"}),
        ("graph", {"t": 0}),
        ("random", {"n_components": "many"}),
    ):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            projections.make(name, **wrong)


@pytest.mark.parametrize(("name", "most"), [("kpca", 14), ("kfda", 2), ("graph", 14)])
def test_a_float_is_a_share_of_the_most_there_can_be(name, most):
    gram, labels, real = atoms(3)
    for share in (0.1, 0.5, 0.75, 1.0):
        whole = made(name, gram, labels, real, n_components=int(np.ceil(share * most)))
        np.testing.assert_array_equal(made(name, gram, labels, real, n_components=share), whole)


def test_a_share_counts_real_atoms_only():
    gram, labels, real = atoms(4)
    shorter = np.broadcast_to(np.arange(14) < np.array([14, 8, 6])[:, None], (3, 14))
    psi = made("kpca", gram * shorter[:, :, None] * shorter[:, None, :], labels, shorter, n_components=0.5)
    assert psi.any(axis=1).sum(axis=1).tolist() == [7, 4, 3]
    alone = made("kpca", gram[1:2, :8, :8], labels[1:2, :8], real[1:2, :8], n_components=4)
    np.testing.assert_allclose(span(psi[1, :8]), span(alone[0]), atol=1e-8)


@pytest.mark.parametrize("bad", [0.0, 1.5, -0.5, float("nan"), True, "half"])
def test_a_share_is_above_zero_and_at_most_one(bad):
    with pytest.raises(ParameterError, match="n_components is a whole number, 1 or more, or a share"):
        projections.make("kpca", n_components=bad)
