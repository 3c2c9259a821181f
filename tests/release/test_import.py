"""What importing costs, told by what it loads: a clock would tell more of the machine than of the code."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("sklearn", "scipy", "matplotlib", "PIL", "pandas", "tqdm", "threadpoolctl", "faiss", "numba", "onnxruntime")


def loaded(code: str) -> set[str]:
    ask = f"{code}\nimport sys\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "code",
    [
        "import kcrc",
        "from kcrc.cli import main; main(['--help'])",
        "from kcrc.cli import main; main(['build', '--help'])",
    ],
)
def test_nothing_heavy_is_loaded_before_it_is_used(code):
    assert not loaded(code) & {*HEAVY, "numpy"}


def test_the_classifier_loads_no_drawing_and_no_optional_library():
    found = loaded("from kcrc import KCRCClassifier")
    assert "sklearn" in found
    assert not found & {"matplotlib", "faiss", "numba", "onnxruntime", "cv2"}


EVERYTHING = """
import importlib, pkgutil
import kcrc
for name in kcrc.__all__:
    getattr(kcrc, name)
modules = [info.name for info in pkgutil.walk_packages(kcrc.__path__, "kcrc.")]
for one in modules:
    module = importlib.import_module(one)
    for name in getattr(module, "__all__", ()):
        getattr(module, name)
for family in (kcrc.coding, kcrc.distances, kcrc.kernels, kcrc.projections, kcrc.scaling):
    for name in family.names():
        family.make(name) if name not in ("exp", "polarisation") else None  # which are made of a distance
kcrc.features.names(), kcrc.methods.names()
print(len(modules))
"""


def test_nothing_warns_when_it_is_imported():
    """Every module and public name, where a warning is an error."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", EVERYTHING], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert int(done.stdout) > 100
