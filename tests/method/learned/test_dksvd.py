"""D-KSVD: scikit-learn's checks, and the objective of the paper at the learned matrices."""

import numpy as np
from sklearn.utils.estimator_checks import parametrize_with_checks

from kcrc._base.arrays import unit_rows
from kcrc.method.learned import DKSVDClassifier
from kcrc.method.learned.ksvd import learn


@parametrize_with_checks([DKSVDClassifier(n_iter=10, init_iter=5, random_state=0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_scaling_back_changes_no_representation():
    """x over a stacked atom d is x‖d‖ over d/‖d‖: samples and labels are represented as before."""
    rng = np.random.default_rng(0)
    Y, H = unit_rows(rng.standard_normal((40, 6))), np.eye(2)[rng.integers(0, 2, 40)]
    weights = np.array([0.5, 2.0])
    stacked = learn(np.hstack([Y, H * weights]), rng.standard_normal((7, 8)), sparsity=3, n_iter=5)
    D, W = DKSVDClassifier._unstack(stacked.atoms, 6, weights)
    X = stacked.codes.matrix().toarray()
    rescaled = X * np.linalg.norm(stacked.atoms[:, :6], axis=1)
    np.testing.assert_allclose(np.linalg.norm(D, axis=1), 1)
    np.testing.assert_allclose(rescaled @ D, X @ stacked.atoms[:, :6], atol=1e-12)
    np.testing.assert_allclose(rescaled @ W.T * weights, X @ stacked.atoms[:, 6:], atol=1e-12)
    objective = ((Y - rescaled @ D) ** 2).sum() + (((H - rescaled @ W.T) * weights) ** 2).sum()
    np.testing.assert_allclose(objective, stacked.objective[-1, 1])
