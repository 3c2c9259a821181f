"""What an example's leaving does to the within-class metric.

The metric is fitted with labels, so an example that is asked as if it were new must leave the covariance too. With
S = L Lᵀ the shrunk covariance, u = L⁻¹(xᵢ − mean of its class) and S₋ᵢ = S − a (xᵢ − mean)(xᵢ − mean)ᵀ, Sherman and
Morrison give S₋ᵢ⁻¹ exactly: in whitened coordinates every dot product z_j·z_l gains β (u·z_j)(u·z_l),
β = a / (1 − a‖u‖²). No second fit is needed.
"""

from __future__ import annotations

import numpy as np

from kcrc._base.arrays import Array


def removed_weights(sizes: Array, labels: Array, groups: Array, shrinkage: float) -> Array:
    """a (n,): how much of its outer product each example takes along from the shrunk covariance when it leaves."""
    freedom = max(1, len(labels) - len(np.unique(labels)))
    _, first, copies = np.unique(np.stack([groups, labels]), axis=1, return_inverse=True, return_counts=True)
    equal = np.minimum(copies[first.ravel()], np.maximum(sizes - 1, 1))
    # Removing m equal examples from a class of n_c takes m n_c / (n_c − m) of their outer product off the scatter.
    weight = (1.0 - shrinkage) / freedom * equal * sizes / np.maximum(1, sizes - equal)
    return np.where(sizes > 1, weight, 0.0)


def strengths(directions: Array, weights: Array) -> Array:
    """β (n,) = a / (1 − a‖u‖²).

    What remains of the covariance is positive definite by its shrinkage, so 1 − a‖u‖² is above 0, however little is
    left of it where there are fewer examples than features. Only what rounding could have made of it is cut off.
    """
    exact = directions.astype(np.float64)
    reach = weights * np.einsum("ij,ij->i", exact, exact)
    return np.asarray(weights / np.maximum(1.0 - reach, np.sqrt(np.finfo(directions.dtype).eps)))
