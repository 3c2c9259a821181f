"""Public calls with extreme numbers: an answer, or an error of the library's own; never a crash, a NaN or a warning."""

from __future__ import annotations

import numpy as np
import pytest
import seeded
from extremes import NUMBERS, Case


def test_extreme_numbers_are_answered_or_refused():
    assert seeded.faults("support/extremes.py", 0, 60) == []


@pytest.mark.slow
def test_many_extreme_numbers():
    assert seeded.faults("support/extremes.py", 60, 2000) == []


def test_a_case_follows_from_its_seed():
    for seed in range(30):
        one, other = Case(seed), Case(seed)
        assert repr(one) == repr(other)
        for part in ("examples", "more", "queries", "labels"):
            np.testing.assert_array_equal(getattr(one, part), getattr(other, part))
            assert np.isfinite(getattr(one, part)).all()
    used = {repr(Case(seed)).split()[1] for seed in range(300)}
    assert used == {numbers.__name__ for numbers in NUMBERS}
