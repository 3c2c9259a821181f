"""One table says what every parameter may be: it checks them, and the docs say the same."""

from __future__ import annotations

import ast
import inspect
import re

import numpy as np
import pytest
from problems import given, problem

from kcrc import KCRCClassifier, coding, distances, kernels, projections, scaling
from kcrc.classifier.parameters import TABLE, byte_count
from kcrc.errors import KCRCError, ParameterError
from kcrc.tuning.settings import SEARCHED

ROWS = {row.name: row for row in TABLE}
RIGHT = {
    "n_neighbors": (1, np.int64(50), None),
    "n_candidates": (3, None),
    "distance": ("chi2", distances.make("manhattan"), lambda u, v: 0.0),
    "coarse_distance": ("chi2", distances.make("manhattan"), lambda u, v: 0.0),
    "scaling": ("plain", scaling.Unit()),
    "kernel": ("rbf", kernels.RBF(2.0), lambda A, B: A @ B.T),
    "gamma": ("scale", 0.1, np.float32(3)),
    "degree": (1, 7),
    "coef0": (0, -1.5),
    "mu": (0, 0.01, 3),
    "form": ("raw", "gram", "rkhs"),
    "normalize_columns": (True, np.False_),
    "decision": ("croc", "joint", "ratio", "residual", "sum"),
    "locality": ("atoms", "classes"),
    "coder": ("ridge", coding.make("lasso")),
    "projection": ("kpca", projections.make("random")),
    "search": ("auto", "exact", "cells"),
    "tuning_seconds": (60, 0.5),
    "n_jobs": (None, 1, -1),
    "memory_budget": (2**20, "1.5GB"),
    "random_state": (None, 3, np.random.default_rng(0), np.random.RandomState(0)),
    "verbose": (None, True, 0),
}
WRONG = {
    "n_neighbors": (0, 2.5, True, "many"),
    "n_candidates": (0, "auto"),
    "distance": ("euclidian", 3, "auto"),
    "coarse_distance": ("city", None),
    "scaling": ("units", 3, "precomputed"),
    "kernel": ("gauss", 3),
    "gamma": (0, "wide", np.nan, None),
    "degree": (0, 2.5, "auto"),
    "coef0": ("1", None),
    "mu": (-1, np.inf, "little"),
    "form": ("grem", 3),
    "normalize_columns": (3, "auto"),
    "decision": ("ratios", None),
    "locality": ("class",),
    "coder": ("rigde", 3, "auto"),
    "projection": ("ident", 3),
    "search": ("hsnw", None, 3),
    "tuning_seconds": (0, "auto", -1),
    "n_jobs": (0, 1.5),
    "memory_budget": ("lots", 10, True),
    "random_state": (-1, "seed"),
    "verbose": ("loud",),
}


def test_the_table_is_the_signature():
    signature = list(inspect.signature(KCRCClassifier).parameters)
    assert [row.name for row in TABLE] == signature == list(RIGHT) == list(WRONG)


def test_an_earlier_name_gets_a_sentence_that_says_the_new_one():
    with pytest.raises(ParameterError, match=r"no parameter 'metric' any more; use scaling= "):
        KCRCClassifier(metric="unit")
    with pytest.raises(TypeError, match="unexpected keyword argument 'metrik'"):
        KCRCClassifier(metrik="unit")


def test_a_scaling_of_vectors_is_refused_where_distances_are_given():
    X, y, _ = problem(15)
    with pytest.raises(ParameterError, match="scaling='unit' needs vectors"):
        given(distance="precomputed", kernel="exp", scaling="unit").fit(np.abs(X @ X.T), y)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_takes_what_is_right(name):
    row = ROWS[name]
    taken = [*RIGHT[name], inspect.signature(KCRCClassifier).parameters[name].default, *["auto"] * row.may_be_auto]
    assert [row.check_value(value) for value in taken] == [None] * len(taken)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_a_row_and_fit_refuse_what_is_wrong_and_name_it(name, value):
    with pytest.raises(KCRCError, match=name.removeprefix("coarse_").removesuffix("_columns")):
        ROWS[name].check_value(value)
    X, y, _ = problem(15)
    with pytest.raises(KCRCError, match=value if isinstance(value, str) else re.escape(repr(value))):
        given(**{name: value}).fit(X, y)


def documented():
    """name -> (types, default) as the docstring's section on parameters has them."""
    text = inspect.getdoc(KCRCClassifier)
    section = text[text.index("Parameters\n---") : text.index("Attributes\n---")]
    found = {}
    for names, types, default in re.findall(r"^(\w[\w, ]*) : (.*?)(?:, default=(.*))?$", section, re.M):
        for name in names.split(", "):
            found.setdefault(name, []).append((types, default))
    return found


def test_the_docs_have_the_types_and_defaults_of_the_table():
    told = documented()
    assert set(told) == set(ROWS)
    for name, row in ROWS.items():
        default = inspect.signature(KCRCClassifier).parameters[name].default
        assert len(told[name]) == 1
        assert ast.literal_eval(told[name][0][1]) == default
        assert told[name][0][0] == row.words
        assert not row.may_be_auto or default == "auto"
    assert {name for name, row in ROWS.items() if row.may_be_auto} == set(SEARCHED)


def test_bytes():
    assert byte_count("512MB") == 512 * 10**6
    assert byte_count(" 2 GiB ") == 2**31
    assert byte_count(2**20) == 2**20
