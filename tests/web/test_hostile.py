"""Uploads made to do harm: no crash, memory that stays bounded, and a good picture answered afterwards."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from fuzz import pictures


def held() -> int:
    """Megabytes that this process, and the server in it, has in memory."""
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("this system does not say how much memory a process has")
    found = re.search(r"VmRSS:\s+(\d+)", status.read_text())
    assert found is not None
    return int(found[1]) >> 10


@pytest.mark.parametrize("count", [150, pytest.param(10_000, marks=pytest.mark.slow)])
def test_hostile_uploads(client: httpx.Client, picture: Callable[..., bytes], count: int) -> None:
    rng = random.Random(count)
    statuses: dict[int, int] = {}
    after_some = 0
    for number in range(count):
        answer = client.post("/api/classify", content=pictures.hostile(rng), headers={"Content-Type": "image/png"})
        statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
        if number == count // 3:
            after_some = held()
    assert set(statuses) <= {200, 400, 413}, statuses
    assert statuses[400] > count / 4
    assert held() < after_some + 300
    assert client.post("/api/classify", content=picture("wren")).json()["label"] == "wren"
