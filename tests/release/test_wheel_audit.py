"""``.ci/audit_wheel.py``: what a wheel needs of a machine and what it exports, and that it can fail."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("elftools", reason="it comes with auditwheel")
ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / ".ci" / "audit_wheel.py"
spec = importlib.util.spec_from_file_location("audit_wheel", SCRIPT)
audit_wheel = importlib.util.module_from_spec(spec)
spec.loader.exec_module(audit_wheel)
with_compiler = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("g++") is None, reason="a library is made with g++ on Linux"
)


def library(folder: Path, source: str) -> Path:
    (folder / "m.cpp").write_text(source)
    made = folder / "m.so"
    subprocess.run(
        ["g++", "-shared", "-fPIC", "-fvisibility=hidden", "-o", str(made), str(folder / "m.cpp")], check=True
    )
    return made


SHOWN = 'extern "C" __attribute__((visibility("default"))) '
GOOD = f"{SHOWN} void* PyInit_m() {{ return nullptr; }}\nint helper() {{ return 1; }}\n"
BAD = {
    "a function": GOOD + f"{SHOWN} int helper2() {{ return 2; }}\n",
    "a variable": GOOD + f"{SHOWN} int counter = 3;\n",
    "a weak function": GOOD + '__attribute__((weak, visibility("default"))) int twice(int x) { return 2 * x; }\n',
}


@with_compiler
def test_a_module_that_exports_its_entry_alone_passes(tmp_path):
    assert audit_wheel.wrong_symbols(library(tmp_path, GOOD).read_bytes()) == []


@with_compiler
@pytest.mark.parametrize("what", BAD)
def test_a_module_that_exports_more_is_told(tmp_path, what):
    (found,) = audit_wheel.wrong_symbols(library(tmp_path, BAD[what]).read_bytes())
    assert found in {"helper2", "counter", "_Z5twicei"}


@with_compiler
def test_a_wheel_with_such_a_module_fails(tmp_path):
    wheel = tmp_path / "m-1-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(library(tmp_path, BAD["a function"]), "m.so")
        archive.writestr("m-1.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: cp311-cp311-linux_x86_64\n")
        archive.writestr("m-1.dist-info/RECORD", "")
    done = subprocess.run([sys.executable, str(SCRIPT), str(wheel)], capture_output=True, text=True)
    assert done.returncode == 1
    assert "m.so exports helper2: only its PyInit_* is for others" in done.stdout


def test_what_is_built_here_exports_its_entries_alone():
    built = sorted((ROOT / "src" / "kcrc" / "native").glob("_native*.so"))
    if not built or sys.platform != "linux":
        pytest.skip("nothing is compiled here")
    assert {path.name: audit_wheel.wrong_symbols(path.read_bytes()) for path in built} == {p.name: [] for p in built}


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ('x.whl is consistent with the\nfollowing platform tag: "manylinux_2_28_x86_64".', None),
        ('x.whl is consistent with the\nfollowing platform tag: "manylinux_2_35_x86_64".', None),
        ('x.whl is consistent with the following platform tag:\n"manylinux_2_36_x86_64".', "fit for glibc 2.35"),
        ('x.whl is consistent with the\nfollowing platform tag: "linux_x86_64".', "no manylinux"),
        ("usage: auditwheel", "names no platform tag"),
    ],
)
def test_the_tag_has_to_be_of_machines_that_there_are(told, why):
    found = audit_wheel.wrong_tag(told)
    assert found is None if why is None else why in found
