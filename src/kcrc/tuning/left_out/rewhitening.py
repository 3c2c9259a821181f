"""Vectors under a metric that forgets an example: what ``Within`` would make of them, fitted without it.

Whitened by all, z = L⁻¹(x − m). Without the example the covariance is L (I − a u uᵀ) Lᵀ
(``kcrc.tuning.left_out.leverage``), so dot products gain β (u·z)(u·z'), β = a / (1 − a‖u‖²), as if z had one more
coordinate √β u·z.
"""

from __future__ import annotations

import numpy as np

from kcrc._base.arrays import Array


def lengthened(z: Array, u: Array | None, strength: float, *, unit: bool) -> Array:
    """Vectors (n, d) in double precision, with the coordinate that makes their dot products those of the geometry
    without the example (none where ``u`` is None), then of length 1 where ``unit``."""
    z = z.astype(np.float64)
    if u is not None:
        z = np.concatenate([z, np.sqrt(strength) * (z @ u.astype(np.float64))[:, None]], axis=1)
    return _of_length_1(z) if unit else z


def rewhitened(z: Array, u: Array, strength: float, *, unit: bool) -> Array:
    """Vectors (n, d) in the very coordinates of the metric without the example, for coders that look at entries.

    They are C⁻¹z, C the lower Cholesky factor of I − a u uᵀ. With s_j = 1 − a Σ_{i≤j} u_i² forward substitution gives

        (C⁻¹z)_j = (z_j + a u_j Σ_{i<j} u_i z_i / s_{j−1}) / √(s_j / s_{j−1})
    """
    z, u = z.astype(np.float64), u.astype(np.float64)
    a = strength / (1.0 + strength * float(u @ u))
    s = np.concatenate([[1.0], 1.0 - a * np.cumsum(u**2)])
    before = np.cumsum(z * u, axis=1) - z * u
    z = (z + a * u * before / s[:-1]) / np.sqrt(s[1:] / s[:-1])
    return _of_length_1(z) if unit else z


def _of_length_1(z: Array) -> Array:
    length = np.sqrt(np.einsum("ij,ij->i", z, z))[:, None]
    return np.asarray(np.divide(z, length, out=np.zeros_like(z), where=length > 0))
