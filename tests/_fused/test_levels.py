"""The build for any CPU and the one for AVX2 give the same answers, to rounding."""

from __future__ import annotations

import copy
import importlib

import numpy as np
import pytest

from _fused import entry_table
from kcrc._fused.native import native, path

pytestmark = pytest.mark.skipif(path() != "avx2", reason="there is one level only")
ROWS = sorted(row for row in entry_table.ENTRIES if row != "nearest__stored")  # its panels are as wide as registers


def test_the_level_says_what_it_is():
    assert native.level == "avx2"
    assert importlib.import_module("kcrc._fused._native").level == "portable"


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("row", ROWS)
def test_both_levels_answer_alike(row, kind):
    plain = importlib.import_module("kcrc._fused._native")
    for seed in range(6):
        arguments = entry_table.ENTRIES[row](np.random.default_rng(seed), kind)
        given = [copy.deepcopy(arguments) for _ in range(2)]
        answers = [
            getattr(module, entry_table.name_of(row))(**own) for module, own in zip((native, plain), given, strict=True)
        ]
        for name in arguments:  # what is written in place
            _alike(given[0][name], given[1][name], kind)
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
