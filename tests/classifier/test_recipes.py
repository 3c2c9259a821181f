"""The paper's methods by name: each fits, answers, explains, clones, and is defined on odd input."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

from kcrc import methods
from kcrc.errors import ParameterError

X, Y = load_digits(return_X_y=True)
LEARNED = ("D-", "LC-")
CHEAP = {
    name: {"n_iter": 10, "init_iter": 5} if name.startswith(LEARNED) else {"tuning_seconds": 0.2, "n_jobs": 1}
    for name in methods.names()
}
EXPECTED = {
    *(f"{space}{coder}-{where}" for space in ("", "K") for coder in ("CRC", "RCRC", "SRC") for where in ("GD", "LCD")),
    *("KCRC-KPCA", "KCRC-KFDA", "KCRC-RP", "KCRC-Graph", "D-KSVD", "LC-KSVD1", "LC-KSVD2", "NN"),
    # After the paper:
    *("ProCRC-GD", "ProCRC-LCD", "CRT-GD", "CRT-LCD", "KCRT-LCD", "NRS-GD", "NRC-GD", "NRC-LCD"),
    *("SA-CRC-GD", "CROC-GD", "KCRC-Sum-GD", "KCRC-Sum-LCD"),
}


def test_all_names_of_the_family_are_there():
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
    x, y = X[:40].copy(), Y[:40]
    x[1], x[2] = x[0], 0.0  # a duplicate and an all-zero example
    model = methods.make(name, **CHEAP[name]).fit(x, y)
    assert np.isin(model.predict(np.zeros((1, 64))), y).all()
    assert np.isin(model.predict(x[:3]), y).all()
    one = methods.make(name, **CHEAP[name]).fit(x[:12], np.ones(12, int))
    assert (one.predict(X[60:62]) == 1).all()


@pytest.mark.parametrize("name", [n for n in methods.names() if n != "NN"])
def test_what_is_not_given_is_chosen_in_the_training_rows(name):
    """mu, the kernel's width and the dimension after projection; the sparsity of a learned dictionary."""
    model = methods.make(name, **CHEAP[name]).fit(X[:60], Y[:60])
    if name.startswith(LEARNED):
        assert len(model.sparsity_scores_) > 1
        return
    table = model.tuning_.table
    assert len({row["mu"] for row in table}) > 1
    assert (len({row["gamma"] for row in table}) > 1) == name.startswith("K")
    assert (len({row["share"] for row in table}) > 1) == (name in ("KCRC-KPCA", "KCRC-KFDA", "KCRC-RP", "KCRC-Graph"))
