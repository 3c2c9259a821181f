"""``.ci/lowest``: the floors it takes out of pyproject.toml, and that no extra is forgotten."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("lowest_versions", ROOT / ".ci" / "lowest_versions.py")
lowest_versions = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lowest_versions)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_of_several_floors_the_highest_is_taken():
    assert lowest_versions.floors(["a>=1.9", "b[c]>=2", "a>=1.10"]) == {"a": "1.10", "b[c]": "2"}
    with pytest.raises(SystemExit, match=r"NAME>=VERSION; got 'a<2'"):
        lowest_versions.floors(["a<2"])


def test_every_extra_is_tried_or_left_out_for_a_reason():
    extras = PROJECT["optional-dependencies"]
    assert set(lowest_versions.LEFT_OUT) <= set(extras)
    wanted = lowest_versions.wanted(PROJECT, extras=True)
    tried = {name.partition("==")[0] for name in wanted}
    imported = re.findall(r"-c '(import matplotlib[^']*)'", (ROOT / ".ci" / "lowest").read_text("utf-8"))[0]
    modules = {"faiss-cpu": "faiss", "psycopg[binary]": "psycopg", "pillow": "kcrc"}
    assert {modules.get(name, name.replace("-", "_")) for name in tried} <= set(re.findall(r"\w+", imported))
    for extra in set(extras) - set(lowest_versions.LEFT_OUT):
        assert {line.partition(">=")[0] for line in extras[extra]} <= tried, extra


@pytest.mark.parametrize("listed", ["tests_of_extras", "tests_without_extras"])
def test_the_tests_it_runs_are_there(listed):
    words = [word for word in (ROOT / ".ci" / listed).read_text("utf-8").split() if word != "--ignore"]
    named = [word.partition("::") for word in words]
    assert named
    assert [path for path, _, _ in named if not (ROOT / path).exists()] == []
    functions = [(path, name) for path, _, name in named if name]
    assert [one for one in functions if f"def {one[1]}(" not in (ROOT / one[0]).read_text("utf-8")] == []


@pytest.mark.parametrize("step", ["odd", "kernels", "sanitize"])
def test_the_tests_that_a_step_names_are_there(step):
    named = re.findall(r"tests/[\w/.]+", (ROOT / ".ci" / step).read_text("utf-8"))
    assert len(named) > 5
    assert [path for path in named if not (ROOT / path).exists()] == []
