"""The reduced form of the measurement on a PostgreSQL server: what must not be lost is not, whatever it takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab.__main__ import main

SPEED = "a query / the bare SQL search"  # on a busy machine, and of so few examples, it says nothing


@pytest.mark.parametrize("form", [["--quick"], pytest.param([], marks=pytest.mark.slow)])
def test_nothing_acknowledged_is_lost_when_the_server_is_killed(form: list[str], tmp_path: Path) -> None:
    assert main(["bench", *form, "--part", "server", "--out", str(tmp_path / "out")]) == 0
    claims = json.loads((tmp_path / "out" / "bench.json").read_text())["claims"]
    assert len(claims) == 7
    assert [claim["text"] for claim in claims if not claim["holds"] and (claim["text"] != SPEED or not form)] == []
