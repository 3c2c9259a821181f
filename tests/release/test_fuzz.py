"""The short form of ``make fuzz``: every area a little; and the harness, which has to notice every misdeed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz_fakes import DEEDS

pytest.importorskip("fcntl", reason="the harness forks workers")
ROOT = Path(__file__).resolve().parents[2]
CASES = {
    "command": 250, "damaged": 200, "images": 400, "kills": 25, "neighbours": 300, "networks": 300, "sessions": 8,
    "tables": 300, "web": 120, "oracle": 250, "threads": 40, "frames": 100, "writers": 4,
}  # fmt: skip


def run(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, cwd=ROOT, timeout=900, env={**os.environ, **more}
    )


@pytest.mark.parametrize("area", CASES)
def test_attacks(area: str) -> None:
    done = run("-m", "fuzz", "--area", area, "--cases", str(CASES[area]), "--jobs", "1")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


NOTICED = {
    "nothing": set(), "refuse": set(), "signal": {"crash"}, "spin": {"hang"}, "swell": {"memory"}, "ask": {"memory"},
    "raise": {"traceback"}, "lie": {"wrong"}, "read": {"file"}, "delete": {"file"}, "make": {"file"},
    "native read": {"file"}, "start": {"process"}, "native start": {"process"}, "connect": {"socket"},
    "native connect": {"socket"},
}  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="native code is watched by means of Linux")
def test_misdeeds_are_noticed(tmp_path: Path) -> None:
    out = tmp_path / "counts.json"
    done = run(str(ROOT / "tests" / "support" / "fuzz_fakes.py"), str(out))
    failed = json.loads(out.read_text())["areas"]["fakes"]["failed"]
    for number, deed in enumerate(DEEDS):
        assert {one["kind"] for one in failed if one["case"] == number} == NOTICED[deed], (deed, done.stdout)
    assert done.returncode == 1
    assert f"python -m fuzz --area fakes --seed 0 --case {DEEDS.index('signal')}" in done.stdout
