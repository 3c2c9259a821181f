from __future__ import annotations

from kcrc import native
from kcrc._base.parallel import worker_count
from lab import machine


def test_the_facts_say_what_ran() -> None:
    found = machine.facts(3)
    assert found["cores"] == 3
    assert found["compiled"] == native.path()
    assert set(found["versions"]) >= {"kcrc", "python", "numpy", "scipy", "scikit-learn"}


def test_the_summary_is_one_line_of_the_same_facts() -> None:
    line = machine.summary()
    assert f", {worker_count(None)} cores, " in line
    assert f"NumPy {machine.facts(1)['versions']['numpy']}" in line
    assert line.endswith("NumPy only" if native.native is None else "compiled module")
    assert "\n" not in line
