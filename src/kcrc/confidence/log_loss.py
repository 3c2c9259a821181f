"""The temperature and the doubts with the least log-loss over answers whose truth is known, by gradients.

With z_c = −g_c / T, f = softmax(z) and δ = ε + (1 − ε) η (1 − max f), the probabilities are p_c = (1 − δ) f_c + δ / C,
and the loss of an answer is −Σ w_c log p_c: w is 1 − s for the true class and s / (C − 1) for the others, s as small
as Platt's (examples that are all answered right do not make for a temperature of 0). Classes that are not in a
dictionary have f_c = 0, so only those that are in it are looked at: the work grows with them and not with C.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.blas import one_blas_thread

ENTRIES = 1_000_000  # (answers × classes in their dictionaries) looked at; the answers come in a random order
FEWEST = 100
START = np.array([-0.5, -4.0, -2.0])  # log T over the scale of the gaps, and the logits of ε and η
BOUNDS = ((-6.0, 6.0), (-12.0, 0.0), (-12.0, 12.0))


@dataclass(frozen=True, eq=False)
class Coded:
    """Answers as far as they matter: residuals (B, m) rising, ∞ beyond the classes of a dictionary, the place of the
    truth among them (B,), −1 where it is not, and the number C of all classes."""

    residuals: Array
    truth: Array
    n_classes: int

    @classmethod
    def of(cls, residuals: Array, truth: Array) -> Coded:
        """From residuals (B, C) and the numbers of the true classes (B,)."""
        present = np.isfinite(residuals)
        width = int(present.sum(axis=1).max())
        few = max(FEWEST, ENTRIES // width)
        residuals, truth = residuals[:few], truth[:few]
        order = np.argsort(residuals, axis=1, kind="stable")[:, :width]
        near = np.take_along_axis(residuals, order, 1)
        place = (order == truth[:, None]) & np.isfinite(near)
        return cls(near, np.where(place.any(axis=1), place.argmax(axis=1), -1), residuals.shape[1])


def fitted(gaps: Array, coded: Coded) -> tuple[float, float, float, float]:
    """The least mean log-loss, T, ε and η, for gaps g (B, m), each row less its first, of the ``coded`` answers."""
    from scipy.optimize import minimize

    second = gaps[:, 1]
    scale = float(np.median(second)) or float(second.mean()) or 1.0
    loss = _Loss(gaps, coded, scale)
    with one_blas_thread():  # of three numbers: threads cost fifty times what there is to do
        best = minimize(loss, START, jac=True, method="L-BFGS-B", bounds=BOUNDS, options={"maxiter": 100, "ftol": 1e-9})
    return float(best.fun), *loss.parameters(best.x)


class _Loss:
    """point (3,) -> (mean loss, its gradient (3,))."""

    def __init__(self, gaps: Array, coded: Coded, scale: float) -> None:
        self.scale, self.n_classes = scale, coded.n_classes
        self.present = np.isfinite(gaps)
        self.gaps = np.where(self.present, gaps, 0.0)
        soft = 1.0 / (len(gaps) + 2.0)
        other = soft / (self.n_classes - 1)
        inside = coded.truth >= 0
        self.weights = np.where(self.present, other, 0.0)
        self.weights[np.flatnonzero(inside), coded.truth[inside]] = 1.0 - soft
        absent = self.n_classes - self.present.sum(axis=1)
        self.absent_weight = np.where(inside, absent * other, (absent - 1) * other + (1.0 - soft))

    def parameters(self, point: Array) -> tuple[float, float, float]:
        ratio, doubt, growth = point
        return float(self.scale * np.exp(ratio)), float(_logistic(doubt)), float(_logistic(growth))

    def __call__(self, point: Array) -> tuple[float, Array]:
        temperature, doubt, growth = self.parameters(point)
        cooled = self.gaps / temperature
        fit = np.where(self.present, np.exp(-cooled), 0.0)
        fit /= fit.sum(axis=1, keepdims=True)
        unsure = 1.0 - fit[:, 0]
        doubts = doubt + (1.0 - doubt) * growth * unsure
        p = (1.0 - doubts)[:, None] * fit + (doubts / self.n_classes)[:, None]
        loss = -(self.weights * np.log(p)).sum(axis=1) - self.absent_weight * np.log(doubts / self.n_classes)
        slope = -self.weights / p  # of the loss, by p
        by_doubts = (slope * (1.0 / self.n_classes - fit)).sum(axis=1) - self.absent_weight / doubts
        by_fit = slope * (1.0 - doubts)[:, None]
        by_fit[:, 0] -= by_doubts * (1.0 - doubt) * growth
        by_log_temperature = (by_fit * fit * (cooled - (fit * cooled).sum(axis=1, keepdims=True))).sum(axis=1)
        by_doubt = by_doubts * (1.0 - growth * unsure) * doubt * (1.0 - doubt)
        by_growth = by_doubts * (1.0 - doubt) * unsure * growth * (1.0 - growth)
        gradient = np.array([by_log_temperature.mean(), by_doubt.mean(), by_growth.mean()])
        return float(loss.mean()), gradient


def _logistic(value: float) -> float:
    return float(1.0 / (1.0 + np.exp(-value)))
