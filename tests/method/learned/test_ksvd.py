"""K-SVD: every stage lowers the objective, the update is the best rank-one step, planted atoms are found."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from kcrc._base.arrays import unit_rows
from kcrc.errors import ParameterError
from kcrc.method.learned import KSVD, ksvd
from kcrc.method.learned.ksvd import draw_atoms, learn
from kcrc.native import native


@parametrize_with_checks([KSVD(n_iter=3, random_state=0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(params=["compiled", "numpy"])
def way(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setattr(ksvd, "native", None)
    elif native is None:
        pytest.skip("the compiled module is not built")
    return request.param


def planted(seed, *, n_atoms=20, n_features=12, n_signals=400, sparsity=2):
    """Signals made of few atoms, with the atoms."""
    rng = np.random.default_rng(seed)
    D = unit_rows(rng.standard_normal((n_atoms, n_features)))
    X = np.zeros((n_signals, n_atoms))
    for row in X:
        row[rng.choice(n_atoms, sparsity, replace=False)] = rng.choice([-1, 1], sparsity) * rng.uniform(
            0.5, 2, sparsity
        )
    return X @ D, D


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_stage_raises_the_objective(way, dtype):
    Y = np.random.default_rng(0).standard_normal((120, 15)).astype(dtype)
    learned = learn(Y, draw_atoms(Y, 25, np.random.RandomState(0)), sparsity=4, n_iter=15)
    history = learned.objective.ravel()
    assert np.all(np.diff(history) <= 10 * np.finfo(dtype).eps * history[0])
    assert history[-1] < 0.8 * history[0]
    residual = Y.astype(float) - learned.codes.matrix().toarray().astype(float) @ learned.atoms
    np.testing.assert_allclose(history[-1], (residual**2).sum(), rtol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(learned.atoms, axis=1), 1, rtol=1e-5)
    assert learned.atoms.dtype == dtype


def test_the_update_of_an_atom_is_the_two_minimisers(way):
    """One atom, one pass, from the formula: d = Eᵀg/‖Eᵀg‖ and g = E d, with E all of the signals."""
    rng = np.random.default_rng(1)
    Y = rng.standard_normal((9, 5))
    start = unit_rows(rng.standard_normal((1, 5)))
    learned = learn(Y, start, sparsity=1, n_iter=1)
    d = Y.T @ (Y @ start[0])
    d /= np.linalg.norm(d)
    np.testing.assert_allclose(learned.atoms[0], d, atol=1e-12)
    np.testing.assert_allclose(learned.codes.values[:, 0], Y @ d, atol=1e-12)
    many = learn(Y, start, sparsity=1, n_iter=200)
    np.testing.assert_allclose(np.abs(many.atoms[0] @ np.linalg.svd(Y)[2][0]), 1, atol=1e-8)


@pytest.mark.skipif(native is None, reason="the compiled module is not built")
def test_both_ways_learn_the_same(monkeypatch):
    Y, _ = planted(2, n_signals=100)
    start = draw_atoms(Y, 20, np.random.RandomState(0))
    compiled = learn(Y, start, sparsity=2, n_iter=4)
    monkeypatch.setattr(ksvd, "native", None)
    plain = learn(Y, start, sparsity=2, n_iter=4)
    np.testing.assert_allclose(compiled.atoms, plain.atoms, atol=1e-8)
    np.testing.assert_allclose(compiled.objective, plain.objective, rtol=1e-8)


def test_finds_planted_atoms():
    Y, D = planted(3)
    best = max(
        (KSVD(20, sparsity=2, n_iter=40, random_state=seed).fit(Y) for seed in range(3)),
        key=lambda model: -model.objective_[-1, 1],
    )
    found = np.abs(D @ best.components_.T).max(axis=1) > 0.99
    assert found.mean() >= 0.8
    assert best.objective_[-1, 1] < 0.05 * (Y**2).sum()


def test_an_unused_atom_becomes_a_badly_represented_signal_of_its_class():
    Y = np.abs(np.random.default_rng(4).standard_normal((10, 6)))
    labels = np.repeat([0, 1], 5)
    alternating = unit_rows(np.array([[1.0, -1, 1, -1, 1, -1]]))  # far from positive signals: the mean beats it
    start = np.concatenate([unit_rows(Y.mean(axis=0, keepdims=True)), alternating])
    learned = learn(Y, start, sparsity=1, n_iter=1, kin=(np.array([0, 1]), labels))
    assert (learned.codes.atoms == 0).all()
    cosines = unit_rows(Y) @ learned.atoms[1]
    residual = Y - np.outer(Y @ learned.atoms[0], learned.atoms[0])
    assert cosines.argmax() == 5 + (residual[5:] ** 2).sum(axis=1).argmax()
    np.testing.assert_allclose(cosines.max(), 1)


def test_seeded():
    Y, _ = planted(5, n_signals=60)
    a, b = (KSVD(12, sparsity=2, n_iter=3, random_state=7).fit(Y) for _ in range(2))
    np.testing.assert_array_equal(a.components_, b.components_)
    c = KSVD(12, sparsity=2, n_iter=3, random_state=8).fit(Y)
    assert not np.allclose(a.components_, c.components_)


def test_codes_are_sparse_and_lead_back():
    Y, _ = planted(6)
    model = KSVD(20, sparsity=3, n_iter=20, random_state=0).fit(Y)
    codes = model.transform(Y)
    assert codes.shape == (400, 20)
    assert np.count_nonzero(codes, axis=1).max() <= 3
    error = ((Y - model.inverse_transform(codes)) ** 2).sum()
    assert error < 0.1 * (Y**2).sum()
    assert len(model.get_feature_names_out()) == 20


@pytest.mark.parametrize("Y", [np.zeros((6, 4)), np.ones((6, 4)), np.eye(4)[[0, 0, 1, 1]], np.ones((1, 3))])
def test_degenerate_data_has_a_defined_answer(Y):
    model = KSVD(5, sparsity=2, n_iter=3, random_state=0).fit(Y)
    assert np.isfinite(model.components_).all()
    np.testing.assert_allclose(model.inverse_transform(model.transform(Y)), Y, atol=1e-8)


@pytest.mark.parametrize("bad", [{"n_atoms": 0}, {"n_atoms": 2.5}, {"sparsity": 0}, {"n_iter": 0}, {"n_iter": True}])
def test_a_bad_parameter_is_named(bad):
    (name,) = bad
    with pytest.raises(ParameterError, match=f"{name} is a whole number"):
        KSVD(**bad).fit(np.eye(4))


def test_not_fitted():
    with pytest.raises(NotFittedError):
        KSVD().transform(np.eye(3))


def test_progress_is_shown_on_wish_only(capsys):
    KSVD(2, n_iter=2, verbose=True).fit(np.eye(4))
    assert "2/2" in capsys.readouterr().err
    KSVD(2, n_iter=2).fit(np.eye(4))
    assert capsys.readouterr().err == ""
