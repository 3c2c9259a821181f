"""Features are transformers to scikit-learn, though none of its base classes is theirs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from kcrc import features
from kcrc.errors import ParameterError
from kcrc.images.features.base import Estimator


class Reference(TransformerMixin, BaseEstimator):
    """What scikit-learn makes of a transformer."""

    def __init__(self, *, size=(128, 128), cell=16) -> None:
        self.size, self.cell = size, cell


class Own(Estimator):
    def __init__(self, *, size=(128, 128), cell=16) -> None:
        self.size, self.cell = size, cell


class Bare(Estimator):
    pass


def test_parameters_are_those_scikit_learn_finds() -> None:
    for options in ({}, {"cell": 8}):
        own, reference = Own(**options), Reference(**options)
        assert own.get_params() == reference.get_params() == clone(own).get_params()
        assert repr(own).replace("Own", "Reference") == repr(reference)
        assert get_tags(own) == get_tags(reference)
    assert (Bare().get_params(), repr(Bare())) == ({}, "Bare()")


def test_a_parameter_that_is_none_changes_nothing() -> None:
    own = Own()
    assert own.set_params(cell=8) is own
    with pytest.raises(ParameterError, match=r"Own has no parameter 'cel'\. It takes: cell, size"):
        own.set_params(size=(1, 1), cel=4)
    assert own.get_params() == {"cell": 8, "size": (128, 128)}


def test_a_feature_goes_through_a_pipeline_and_a_pickle() -> None:
    pictures = np.random.default_rng(0).integers(0, 255, (4, 32, 32), np.uint8)
    line = Pipeline([("hog", features.make("hog", size=(32, 32)))]).set_params(hog__cell=8)
    found = line.fit_transform(pictures)
    np.testing.assert_array_equal(found, features.make("hog", size=(32, 32), cell=8).transform(pictures))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(line)).transform(pictures), found)
