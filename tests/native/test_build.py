"""What installing does where the compiled path cannot be built."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def built(folder: Path, compiler: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("setuptools", reason="building needs setuptools, which pip fetches by itself")
    command = [sys.executable, "setup.py", "-q", "build_ext", "--build-temp", str(folder), "--build-lib", str(folder)]
    (folder / "kcrc" / "native").mkdir(parents=True, exist_ok=True)
    chosen = os.environ | {"CC": str(compiler), "CXX": str(compiler), "KCRC_NATIVE": "", **environment}
    return subprocess.run(command, cwd=ROOT, env=chosen, capture_output=True, text=True, timeout=120)


def test_without_a_compiler_it_installs_and_keeps_the_reason(tmp_path):
    done = built(tmp_path, tmp_path / "no compiler")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "kcrc/native/not_built.txt").read_text().startswith("no compiler that works")


def test_it_can_be_left_out(tmp_path):
    assert built(tmp_path, tmp_path / "no compiler", KCRC_NATIVE="0").returncode == 0
    assert (tmp_path / "kcrc/native/not_built.txt").read_text() == "KCRC_NATIVE=0 at installation\n"


@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="what this CPU has is not told here")
def test_it_can_be_built_for_this_cpu_alone(tmp_path):
    pretended = tmp_path / "pretended"  # a compiler that makes an empty file of everything
    pretended.write_text('#!/bin/sh\nwhile [ $# -gt 1 ]; do [ "$1" = -o ] && : > "$2"; shift; done\n')
    pretended.chmod(0o755)
    assert built(tmp_path / "all", pretended).returncode == 0
    both = levels(tmp_path / "all")
    earlier = tmp_path / "own" / "kcrc" / "native"
    earlier.mkdir(parents=True)
    for name in both:
        (earlier / f"{name}.so").write_bytes(b"of an earlier build")
    assert built(tmp_path / "own", pretended, KCRC_LEVELS="own").returncode == 0
    wide = {"avx2", "fma"} <= set(Path("/proc/cpuinfo").read_text().split())
    assert levels(tmp_path / "own") == (both & {"_native_avx2"} if wide else {"_native"})


def levels(folder: Path) -> set[str]:
    return {path.name.partition(".")[0] for path in (folder / "kcrc" / "native").glob("_native*")}


@pytest.mark.skipif(os.name == "nt" or shutil.which("g++") is None, reason="g++ plays the old compiler")
def test_a_compiler_too_old_says_so_and_stops(tmp_path):
    old = tmp_path / "old"
    old.write_text('#!/bin/sh\nexec g++ -U__GNUC__ -D__GNUC__=9 "$@"\n')
    old.chmod(0o755)
    done = built(tmp_path, old)
    assert done.returncode != 0
    assert "kcrc needs GCC 12 or newer" in done.stderr
    assert "KCRC_NATIVE=0" in done.stderr
