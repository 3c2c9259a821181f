"""Options that the examples settle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from sklearn.datasets import load_digits

from kcrc.errors import ParameterError
from kcrc.method.distances import make
from kcrc.method.distances.base import Distance
from kcrc.method.distances.pair_cache import _candidates, _doubt, clearest
from kcrc.method.preparation import Prepared


@dataclass(frozen=True)
class OneFeature(Distance):
    """Looks at a single feature."""

    formula: ClassVar[str] = "|a_f - b_f|"
    feature: int = 0

    def prepare(self, X):
        return Prepared({"x": X[:, self.feature]})

    def pairwise(self, a, b):
        return np.abs(a["x"][:, None] - b["x"][None, :])


def two_features(n=120):
    """Feature 0 is noise, feature 1 tells the classes apart."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    return np.column_stack([rng.normal(size=n), y + 0.1 * rng.normal(size=n)]), y


def test_the_option_with_the_right_neighbours_wins():
    X, y = two_features()
    assert clearest([OneFeature(feature=0), OneFeature(feature=1)], X, y).feature == 1


def test_the_first_stays_where_nothing_is_better():
    X, y = two_features()
    first = OneFeature(feature=1)
    assert clearest([first, OneFeature(feature=1)], X, y) is first
    assert clearest([first, OneFeature(feature=0)], X, np.zeros_like(y)) is first
    assert clearest([first, OneFeature(feature=0)], X[:1], y[:1]) is first


def test_copies_do_not_vouch_for_each_other():
    """Every example twice: with its copy left in, the noise would look as good as the truth."""
    X, y = two_features(60)
    X, y = np.repeat(X, 2, axis=0), np.repeat(y, 2)
    assert clearest([OneFeature(feature=0), OneFeature(feature=1)], X, y).feature == 1


@dataclass(frozen=True)
class Spread(OneFeature):
    """The same order, the distances farther apart: nothing better is known by it."""

    def pairwise(self, a, b):
        return super().pairwise(a, b) ** 4


def test_distances_that_are_only_farther_apart_are_no_better():
    rng = np.random.default_rng(1)
    y = np.arange(120) % 2
    X = (y + 0.5 * rng.normal(size=120))[:, None]
    asked = np.arange(120)
    near, real = _candidates(X, asked)
    plain, spread = (_doubt(option, X, y, asked, near, real) for option in (OneFeature(), Spread()))
    assert 0.1 < plain < 0.7
    assert spread == pytest.approx(plain, rel=0.01)


def test_small_digits_bear_less_smoothing_than_the_papers():
    X, y = load_digits(return_X_y=True)
    chosen = make("tangent").fit(X[:400], y[:400], sample_shape=(8, 8))
    assert chosen.sigma < 0.7
    assert make("tangent", sigma=0.9).fit(X[:400], y[:400], sample_shape=(8, 8)).sigma == 0.9
    with pytest.raises(ParameterError, match="sigma is a width"):
        make("tangent", sigma="much")
