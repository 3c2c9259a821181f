"""Where a number comes from: the commit of the code, the machine, and how busy it was."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


@functools.cache
def commit() -> str:
    """``git describe`` of the checkout the package lies in, else the version of the installed package."""
    root = Path(__file__).resolve().parents[3]
    if (root / ".git").exists():
        try:
            done = subprocess.run(
                ["git", "-C", str(root), "describe", "--always", "--dirty", "--tags"],
                capture_output=True, text=True, timeout=20, check=True,
            )  # fmt: skip
            return done.stdout.strip()
        except (OSError, subprocess.SubprocessError):
            pass  # no git at hand: the version has to do
    return f"version {version()}"


def version() -> str:
    """The version of the installed package, or "unknown" for sources that were never installed."""
    from importlib import metadata

    try:
        return metadata.version("kcrc")
    except metadata.PackageNotFoundError:
        return "unknown"


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


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def machine() -> str:
    """One line: processor, cores, system, Python and NumPy; and whether the compiled module is there."""
    import numpy as np

    from kcrc._fused.native import native

    compiled = "compiled module" if native is not None else "NumPy only"
    return (
        f"{cpu_model()}, {cores()} cores, {platform.system()}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}, {compiled}"
    )


def others_at_work() -> float | None:
    """Runnable processes a core over the last minute (this one included), None where the system does not say."""
    try:
        return os.getloadavg()[0] / cores()
    except (AttributeError, OSError):
        return None


def origin() -> dict[str, Any]:
    """All of it, to be kept beside a result."""
    load = others_at_work()
    return {
        "commit": commit(),
        "machine": machine(),
        "load": None if load is None else round(load, 2),
        "when": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }
