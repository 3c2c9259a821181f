"""What may give a stranger away in the evidence of its answer: the features that open-set recognition weighs."""

from __future__ import annotations

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.evidence import CODED, UNANIMOUS, Evidence, contrast

SIGNS = ("log nearest distance", "log distance to the winner's 3 nearest", "log residual", "concentration")
FAR = 1  # the column that tells familiar queries from others of the same class
NEAR = 3


def _of_winner(evidence: Evidence) -> Array:
    """(B, K) which examples are of the class answered."""
    return np.asarray((evidence.neighbour_labels == evidence.winner[:, None]) & (evidence.rows >= 0))


def log_distance(evidence: Evidence) -> Array:
    """(B,) of the query to the nearest NEAR examples of the class answered, the logarithm of the mean."""
    mine = _of_winner(evidence)
    first = mine & (np.cumsum(mine, axis=1) <= NEAR)
    mean = np.where(first, evidence.distances, 0.0).sum(axis=1) / np.maximum(first.sum(axis=1), 1)
    return np.asarray(np.log(np.maximum(mean, np.finfo(np.float64).tiny)))


def leaning(evidence: Evidence) -> Array:
    """(B,) between two classes, from −2 to 2, above 0 for the second: the contrast of their residuals; where only one
    class is near, 1 and more, by how near it is."""
    lead = contrast(evidence.residuals)
    alone = evidence.how == UNANIMOUS
    if alone.any():
        near = 1.0 / (1.0 + np.exp(log_distance(evidence[alone])))
        lead[alone] += np.sign(lead[alone]) * near
    return lead


def signs(evidence: Evidence) -> Array:
    """(B, 4) what may give a stranger away; NaN where nothing was coded."""
    batch = np.arange(len(evidence))
    tiny = np.finfo(np.float64).tiny
    real = evidence.rows >= 0
    mine = _of_winner(evidence)
    nearest = np.fmin.reduce(np.where(real, evidence.distances, np.nan), axis=1)
    coded = evidence.how == CODED
    weight = np.where(real, evidence.coefficients, 0.0) ** 2
    share = np.where(mine, weight, 0.0).sum(axis=1) / np.maximum(weight.sum(axis=1), tiny)
    residual = evidence.residuals[batch, evidence.winner]
    with np.errstate(invalid="ignore"):
        return np.stack(
            [
                np.log(np.maximum(nearest, tiny)),
                log_distance(evidence),
                np.where(coded, np.log(np.maximum(np.where(coded, residual, 1.0), tiny)), np.nan),
                np.where(coded, share, np.nan),
            ],
            axis=1,
        )
