"""The paper's methods by name: each fits, answers, explains, clones, and is defined on odd input."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

from kcrc import methods
from kcrc.errors import ParameterError

X, Y = load_digits(return_X_y=True)
CHEAP = {name: {} if name.startswith(("D-", "LC-", "NN")) else {"tuning_seconds": 1.0} for name in methods.names()}
EXPECTED = {
    *(f"{space}{coder}-{where}" for space in ("", "K") for coder in ("CRC", "RCRC", "SRC") for where in ("GD", "LCD")),
    *("KCRC-KPCA", "KCRC-KFDA", "KCRC-RP", "KCRC-Graph", "D-KSVD", "LC-KSVD1", "LC-KSVD2", "NN"),
}


def test_all_names_of_the_paper_are_there():
    assert set(methods.names()) == EXPECTED
    with pytest.raises(ParameterError, match="Did you mean 'KCRC-LCD'"):
        methods.make("KCRC-LDC")


@pytest.mark.parametrize("name", methods.names())
def test_a_method_answers_and_explains(name):
    model = methods.make(name, **CHEAP[name])
    assert clone(model).get_params().keys() == model.get_params().keys()
    model.fit(X[:120], Y[:120])
    answers = model.predict(X[120:220])
    assert np.mean(answers == Y[120:220]) > 0.75
    evidence = model.explain(X[120:123])
    np.testing.assert_array_equal(evidence.labels, answers[:3])
    assert len(evidence[0].to_dict()) > 3


@pytest.mark.parametrize("name", methods.names())
def test_odd_input_has_a_defined_answer(name):
    x, y = X[:60].copy(), Y[:60]
    x[1], x[2] = x[0], 0.0  # a duplicate and an all-zero example
    model = methods.make(name, **CHEAP[name]).fit(x, y)
    assert np.isin(model.predict(np.zeros((1, 64))), y).all()
    assert np.isin(model.predict(x[:3]), y).all()
    if not name.startswith(("D-", "LC-")):
        one = methods.make(name, **CHEAP[name]).fit(x, np.ones(60, int))
        assert (one.predict(X[60:62]) == 1).all()
