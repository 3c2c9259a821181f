"""The build for any CPU and the one for AVX2 give the same answers, to rounding."""

from __future__ import annotations

import copy
import importlib

import numpy as np
import pytest

from kcrc.native import native, path
from native import entry_table

pytestmark = pytest.mark.skipif(path() != "avx2", reason="there is one level only")
OWN = ("PreparedSingle", "answer_single")  # objects of one module
ROWS = sorted(row for row in entry_table.ENTRIES if not row.startswith(OWN))


def test_the_level_says_what_it_is():
    assert native.level == "avx2"
    assert importlib.import_module("kcrc.native._native").level == "portable"


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("row", ROWS)
def test_both_levels_answer_alike(row, kind):
    plain = importlib.import_module("kcrc.native._native")
    for seed in range(6):
        arguments = entry_table.ENTRIES[row](np.random.default_rng(seed), kind)
        given = [copy.deepcopy(arguments) for _ in range(2)]
        answers = [
            getattr(module, entry_table.name_of(row))(**own) for module, own in zip((native, plain), given, strict=True)
        ]
        for name in arguments:  # what is written in place
            _alike(given[0][name], given[1][name], kind)
        _alike(*answers, kind)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_both_levels_answer_a_single_query_alike(kind):
    plain = importlib.import_module("kcrc.native._native")
    for seed in range(6):
        rng = np.random.default_rng(seed)
        model = entry_table.ENTRIES["PreparedSingle__vectors"](rng, kind)
        query = rng.normal(size=(1, entry_table.D)).astype(kind)
        answers = [module.answer_single(module.PreparedSingle(**model), query, 0.5) for module in (native, plain)]
        assert len(answers[0]) == 11
        _alike(*answers, kind)


def _alike(one, other, kind):
    assert type(one) is type(other)
    if isinstance(one, tuple):
        for a, b in zip(one, other, strict=True):
            _alike(a, b, kind)
    elif isinstance(one, np.ndarray):
        tolerance = 3e-3 if kind is np.float32 else 1e-8
        np.testing.assert_allclose(one.astype(float), other.astype(float), rtol=tolerance, atol=tolerance)
    else:
        assert one == other
