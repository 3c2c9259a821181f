"""Numbers and names as people read them."""

from __future__ import annotations

import pytest

from kcrc._base.words import plural, with_sign


@pytest.mark.parametrize(
    ("share", "told"),
    [(0.123, "+12.3%"), (-0.123, "-12.3%"), (0.0006, "+0.1%"), (0.0004, "0.0%"), (-0.0004, "0.0%"), (0.0, "0.0%")],
)
def test_a_share_that_rounds_to_nothing_has_no_sign(share, told):
    assert with_sign(share) == told


def test_one_is_not_several():
    assert [plural(n, "time") for n in (0, 1, 2)] == ["0 times", "1 time", "2 times"]
