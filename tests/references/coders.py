"""Slow formulas of the coders, one problem at a time: f(D, y, mu) -> x, by general solvers of other libraries."""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize
from sklearn import linear_model


def ridge(D, y, mu):
    """min ‖y − Dx‖² + μ‖x‖² as one least-squares problem with √μ I stacked below D."""
    stacked = np.vstack([D, math.sqrt(mu) * np.eye(D.shape[1])])
    return np.linalg.lstsq(stacked, np.concatenate([y, np.zeros(D.shape[1])]), rcond=None)[0]


def programme(D, y, *, mu=0.0, lam=0.0):
    """min ‖y − Dx‖₁ + λ‖x‖₁ as a linear programme; with μ‖x‖² as a quadratic one over x and e ≥ |y − Dx|."""
    c, K = D.shape
    if mu == 0:
        matrix = np.hstack([D, -D, np.eye(c), -np.eye(c)])
        found = optimize.linprog(np.r_[np.full(2 * K, lam), np.ones(2 * c)], A_eq=matrix, b_eq=y)
        return found.x[:K] - found.x[K : 2 * K]
    both = np.vstack([np.hstack([D, np.eye(c)]), np.hstack([-D, np.eye(c)])])  # ±(y − Dx) ≤ e
    start = np.r_[np.zeros(K), np.abs(y) + 1.0]
    found = optimize.minimize(
        lambda v: mu * v[:K] @ v[:K] + v[K:].sum(),
        start,
        jac=lambda v: np.r_[2 * mu * v[:K], np.ones(c)],
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda v: both @ v - np.r_[y, -y], "jac": lambda v: both},
        options={"ftol": 1e-16, "maxiter": 1000},
    )
    return found.x[:K]


def lasso(D, y, mu):
    """Coordinate descent by another library, to a tiny duality gap."""
    return linear_model.Lasso(mu / len(y), fit_intercept=False, tol=1e-14, max_iter=1_000_000).fit(D, y).coef_


def constrained(D, y, mu):
    """min ‖x‖₁ with ‖y − Dx‖ ≤ μ‖y‖: the point of the whole lasso path (least angles) where the residual is that."""
    _, _, knots = linear_model.lars_path(D, y, method="lasso")
    off = [np.linalg.norm(y - D @ x) - mu * np.linalg.norm(y) for x in knots.T]
    if off[0] <= 0:
        return np.zeros(D.shape[1])
    at = next(i for i, value in enumerate(off) if value <= 0)
    between = lambda t: (1 - t) * knots[:, at - 1] + t * knots[:, at]  # noqa: E731
    t = optimize.brentq(lambda t: np.linalg.norm(y - D @ between(t)) - mu * np.linalg.norm(y), 0, 1, xtol=1e-15)
    return between(t)


def classes_of(D):
    """The class numbers of atoms in the contract tests: 0 1 2 0 1 2 …"""
    return np.arange(D.shape[1]) % 3


def probabilistic(D, y, mu, gamma=1.0):
    """min ‖y − Dx‖² + μ‖x‖² + (γ/C) Σᵢ ‖Dx − Dᵢxᵢ‖², every term a block of one least-squares problem."""
    classes = classes_of(D)
    names = np.unique(classes)
    others = [math.sqrt(gamma / len(names)) * np.where(classes == c, 0.0, D) for c in names]  # Dx − Dᵢxᵢ
    stacked = np.vstack([D, math.sqrt(mu) * np.eye(D.shape[1]), *others])
    return np.linalg.lstsq(stacked, np.r_[y, np.zeros(len(stacked) - len(y))], rcond=None)[0]


def tikhonov(D, y, mu):
    """min ‖y − Dx‖² + μ Σ ‖y − d_j‖² x_j² as one least-squares problem."""
    weights = [math.sqrt(mu) * np.linalg.norm(y - d) for d in D.T]
    return np.linalg.lstsq(np.vstack([D, np.diag(weights)]), np.r_[y, np.zeros(D.shape[1])], rcond=None)[0]


def by_class(D, y, mu):
    """The same of each class's atoms alone."""
    x = np.zeros(D.shape[1])
    for c in np.unique(classes_of(D)):
        mine = classes_of(D) == c
        x[mine] = tikhonov(D[:, mine], y, mu)
    return x


def nonnegative(D, y, mu):
    """Bounded least squares by another method (a trust region)."""
    stacked = np.vstack([D, math.sqrt(mu) * np.eye(D.shape[1])])
    return optimize.lsq_linear(stacked, np.r_[y, np.zeros(D.shape[1])], bounds=(0, np.inf), tol=1e-15, max_iter=500).x


def augmented(D, y, mu):
    """The ridge plus the pursuit of another library, at length 1."""
    pursued = linear_model.orthogonal_mp(D, y, n_nonzero_coefs=D.shape[1])
    both = ridge(D, y, mu) + pursued
    return both / np.linalg.norm(both)
