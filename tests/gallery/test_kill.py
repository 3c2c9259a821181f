"""kill −9 at random moments: what was acknowledged is there, what was acknowledged as removed is not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gallery.kill_child import ACTS
from gallery.kills import run_kills

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the workers that are killed are forked")


def test_a_few_kills_lose_nothing(tmp_path: Path) -> None:
    done = run_kills(2 * len(ACTS), seed=1, folder=tmp_path)
    assert done.kills == 2 * len(ACTS)
    assert sum(done.acknowledged.values()) >= done.kills


@pytest.mark.slow
def test_many_kills_lose_nothing(tmp_path: Path) -> None:
    """KCRC_KILLS says how many."""
    count = int(os.environ.get("KCRC_KILLS", "200"))
    done = run_kills(count, seed=2, folder=tmp_path)
    print(f"{sum(done.acknowledged.values())} acts acknowledged, none lost: {done}")
    assert done.acknowledged.keys() == set(ACTS)
    assert done.half_written > 0
