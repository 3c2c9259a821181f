"""What a measurement ran on: the processor, its cores, the versions, and whether the compiled module is there."""

from __future__ import annotations

import functools
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

from kcrc.parallel import worker_count


def facts(cores: int) -> dict[str, Any]:
    """Cores and versions; nothing that tells which machine."""
    from importlib.metadata import PackageNotFoundError, version

    from kcrc import __version__
    from kcrc._fused import native

    versions = {"kcrc": __version__, "python": platform.python_version()}
    for package in ("numpy", "scipy", "scikit-learn", "faiss-cpu"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {"cores": cores, "architecture": platform.machine(), "compiled": native.path(), "versions": versions}


def system() -> dict[str, Any]:
    """What this installation is made of: versions, the compiled path in use and why, optional packages by extra."""
    import numpy as np

    from kcrc import __version__
    from kcrc._fused.native import path, why

    blas = np.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})
    return {
        "kcrc": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "numpy": np.__version__,
        "blas": f"{blas.get('name', 'unknown BLAS')} {blas.get('version', '')}".strip(),
        "native": {"path": path(), "why": why},
        "cores": worker_count(-1),
        "extras": _extras(),
    }


def _extras() -> dict[str, dict[str, str | None]]:
    """The packages of each optional extra for users, with their versions; None where one is not installed."""
    from importlib.metadata import PackageNotFoundError, requires, version

    try:
        wanted = requires("kcrc") or []
    except PackageNotFoundError:  # run from the sources
        return {}
    extras: dict[str, dict[str, str | None]] = {}
    for line in wanted:
        found = re.fullmatch(r"""([\w.-]+)(?:\[[^\]]*\])?[^;\[]*;\s*extra == ["'](\w+)["']""", line)
        if found is None or found[2] == "dev":
            continue
        try:
            installed: str | None = version(found[1])
        except PackageNotFoundError:
            installed = None
        extras.setdefault(found[2], {})[found[1]] = installed
    return extras


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
