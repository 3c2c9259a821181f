"""Products that are kept are those of the vectors themselves, in every geometry, compiled or not."""

from __future__ import annotations

import numpy as np
import pytest

from kcrc.tuning.left_out import products
from kcrc.tuning.left_out.products import DoubleProducts


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("leaves", [False, True])
def test_kept_or_made_anew_they_are_the_same(unit, leaves, compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(products, "native", None)
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(30, 7)).astype(np.float32)
    Z[4] = 0.0
    directions = rng.normal(size=(30, 7)).astype(np.float32) if leaves else None
    strength = rng.random(30).astype(np.float32) if leaves else None
    kept, anew = (DoubleProducts(Z, directions, strength, unit=unit, kept=kept) for kept in (True, False))
    which = np.array([0, 4, 29])
    rows = np.stack([np.append(rng.permutation(30)[:9], i) for i in which])
    found = kept.among(which, rows)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, anew.among(which, rows), rtol=1e-12, atol=1e-13)
    wide = Z.astype(np.float64)
    for among, i, line in zip(found, which, rows, strict=True):
        slow = wide[line] @ wide[line].T
        if leaves:
            along = wide[line] @ directions[i].astype(np.float64)
            slow = slow + float(strength[i]) * np.outer(along, along)
        if unit:
            length = np.sqrt(np.diagonal(slow))
            slow = slow / np.where(np.outer(length, length) > 0, np.outer(length, length), 1.0)
        np.testing.assert_allclose(among, slow, rtol=1e-12, atol=1e-13)
