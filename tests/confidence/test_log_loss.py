"""The least log-loss: its gradient, what it looks at, and that it is the least."""

from __future__ import annotations

import numpy as np
import pytest

from kcrc.confidence import calibration
from kcrc.confidence.calibration import Calibration, Coded, _gaps


def answers(seed: int, batch: int, n_classes: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Residuals of which ``width`` a row are finite, and truths that are mostly the smallest."""
    rng = np.random.default_rng(seed)
    residuals = np.full((batch, n_classes), np.inf)
    for row in residuals:
        row[rng.choice(n_classes, width, replace=False)] = rng.lognormal(size=width)
    truth = np.where(rng.random(batch) < 0.8, residuals.argmin(axis=1), rng.integers(n_classes, size=batch))
    return residuals, truth


def slow_loss(residuals: np.ndarray, truth: np.ndarray, T: float, doubt: float, growth: float) -> float:
    """By the definition, over all classes, one answer at a time."""
    batch, n_classes = residuals.shape
    soft, total = 1.0 / (batch + 2.0), 0.0
    for r, t in zip(residuals, truth, strict=True):
        f = np.array([np.exp(-(np.log(v) - np.log(r.min())) / T) if np.isfinite(v) else 0.0 for v in r])
        f /= f.sum()
        delta = doubt + (1 - doubt) * growth * (1 - f.max())
        logs = np.log((1 - delta) * f + delta / n_classes)
        others = (logs.sum() - logs[t]) / (n_classes - 1)
        total -= (1 - soft) * logs[t] + soft * others
    return total / batch


@pytest.mark.parametrize(("n_classes", "width"), [(3, 3), (9, 4), (40, 2)])
def test_the_loss_is_that_of_all_classes_and_its_gradient_is_its_slope(n_classes, width):
    residuals, truth = answers(n_classes, 60, n_classes, width)
    coded = Coded.of(residuals, truth)
    assert coded.residuals.shape == (60, width)
    loss = calibration._Loss(_gaps(coded.residuals, 0), coded, 1.0)
    for point in ([-0.5, -4.0, -2.0], [0.7, -1.0, 1.0]):
        at = np.array(point)
        value, gradient = loss(at)
        assert value == pytest.approx(slow_loss(residuals, truth, *loss.parameters(at)), rel=1e-12)
        slopes = [(loss(at + step)[0] - loss(at - step)[0]) / 2e-6 for step in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-8)


def test_no_point_of_a_grid_has_a_lesser_loss():
    residuals, truth = answers(7, 200, 6, 4)
    coded = Coded.of(residuals, truth)
    gaps = _gaps(coded.residuals, 0)
    least = calibration.fit_parameters(gaps, coded)[0]
    loss = calibration._Loss(gaps, coded, 1.0)
    grid = np.stack(np.meshgrid(np.linspace(-5, 5, 15), np.linspace(-11, 0, 10), np.linspace(-11, 11, 12)), -1)
    assert least <= min(loss(point)[0] for point in grid.reshape(-1, 3)) + 1e-6


def test_classes_outside_a_dictionary_cost_nothing(monkeypatch):
    residuals, truth = answers(3, 50, 2000, 3)
    looked: list[tuple[int, ...]] = []
    original = calibration._Loss.__call__
    monkeypatch.setattr(
        calibration._Loss, "__call__", lambda self, x: looked.append(self.gaps.shape) or original(self, x)
    )
    assert Calibration.fit(residuals, truth).trials == 50
    assert set(looked) == {(50, 3)}
    monkeypatch.setattr(calibration, "ENTRIES", 60)
    monkeypatch.setattr(calibration, "FEWEST", 5)
    assert Coded.of(residuals, truth).residuals.shape == (20, 3)
