"""What a measurement ran on: the processor, its cores, the versions, and whether the compiled module is there."""

from __future__ import annotations

import functools
import platform
import subprocess
from pathlib import Path
from typing import Any

from kcrc._base.parallel import worker_count


def facts(cores: int) -> dict[str, Any]:
    """Cores and versions; nothing that tells which machine."""
    from importlib.metadata import PackageNotFoundError, version

    from kcrc import __version__, native

    versions = {"kcrc": __version__, "python": platform.python_version()}
    for package in ("numpy", "scipy", "scikit-learn", "faiss-cpu"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {"cores": cores, "architecture": platform.machine(), "compiled": native.path(), "versions": versions}


@functools.cache
def summary() -> str:
    """One line: processor, cores, system, Python and NumPy; and whether the compiled module is there."""
    found = facts(worker_count(None))
    compiled = "NumPy only" if found["compiled"] == "none" else "compiled module"
    cores = "1 core" if found["cores"] == 1 else f"{found['cores']} cores"
    return (
        f"{cpu_model()}, {cores}, {platform.system()}, Python {found['versions']['python']}, "
        f"NumPy {found['versions']['numpy']}, {compiled}"
    )


@functools.cache
def cpu_model() -> str:
    """The processor's own name where the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.lower().startswith(("model name", "hardware")):
                return " ".join(line.split(":", 1)[1].split())
    except OSError:
        pass
    if platform.system() == "Darwin":
        try:
            done = subprocess.run(
                ["sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True, timeout=5, check=True
            )
            return done.stdout.strip()
        except (OSError, subprocess.SubprocessError):
            pass
    return platform.processor() or platform.machine() or "unknown processor"
