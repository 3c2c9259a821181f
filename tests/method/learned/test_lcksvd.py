"""LC-KSVD: scikit-learn's checks, and the small form against the papers' stack of samples, Q and H."""

import numpy as np
import pytest
from sklearn.utils import check_random_state
from sklearn.utils.estimator_checks import parametrize_with_checks

from kcrc._base.arrays import unit_rows
from kcrc.method.learned import LCKSVDClassifier
from kcrc.method.learned.classifiers import ridge_classifier
from kcrc.method.learned.ksvd import draw_atoms, encode, learn

SMALL = {"n_iter": 10, "init_iter": 5, "random_state": 0}


@parametrize_with_checks([LCKSVDClassifier(variant=1, **SMALL), LCKSVDClassifier(variant=2, **SMALL)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("variant", [1, 2])
@pytest.mark.parametrize("shares", [(4, 4, 4), (2, 5, 3)])
def test_equals_the_stack_of_the_papers(variant, shares):
    """K-SVD on [Y, √α Q, √β H], as published, learns the D, A and W of the small form."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 12)
    X = rng.standard_normal((3, 9))[y] + rng.standard_normal((36, 9))
    alpha, beta, sparsity, n_iter, init_iter = 0.3, 0.2, 3, 6, 4
    model = LCKSVDClassifier(
        list(shares),
        variant=variant,
        alpha=alpha,
        beta=beta,
        ridge=1.0,
        sparsity=sparsity,
        n_iter=n_iter,
        init_iter=init_iter,
        random_state=1,
    ).fit(X, y)

    Y, H = unit_rows(X), np.eye(3)[y]
    owners = np.repeat([0, 1, 2], shares)
    Q = (y[:, None] == owners[None]).astype(float)
    draw = check_random_state(1)
    D = np.concatenate(
        [
            learn(Y[y == c], draw_atoms(Y[y == c], k, draw), sparsity=min(sparsity, k), n_iter=init_iter).atoms
            for c, k in enumerate(shares)
        ]
    )
    codes = encode(Y, D, sparsity=sparsity)
    A, W = ridge_classifier(codes, Q, 1.0), ridge_classifier(codes, H, 1.0)
    label_parts = [np.sqrt(alpha) * Q] + [np.sqrt(beta) * H] * (variant == 2)
    start_parts = [np.sqrt(alpha) * A.T] + [np.sqrt(beta) * W.T] * (variant == 2)
    literal = learn(
        np.hstack([Y, *label_parts]), np.hstack([D, *start_parts]), sparsity=sparsity, n_iter=n_iter, kin=(owners, y)
    )
    norms = np.linalg.norm(literal.atoms[:, :9], axis=1, keepdims=True)
    n_atoms = sum(shares)
    np.testing.assert_allclose(model.components_, literal.atoms[:, :9] / norms, atol=1e-7)
    np.testing.assert_allclose(model.A_, (literal.atoms[:, 9 : 9 + n_atoms] / norms / np.sqrt(alpha)).T, atol=1e-7)
    np.testing.assert_allclose(model.objective_, literal.objective, rtol=1e-7)
    if variant == 2:
        np.testing.assert_allclose(model.coef_, (literal.atoms[:, 9 + n_atoms :] / norms / np.sqrt(beta)).T, atol=1e-7)
    else:
        recoded = encode(Y, model.components_, sparsity=sparsity)
        np.testing.assert_allclose(model.coef_, ridge_classifier(recoded, H, 1.0), atol=1e-10)
