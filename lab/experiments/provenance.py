"""Where a number comes from: the commit of the code, the machine, and how busy it was."""

from __future__ import annotations

import functools
import os
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kcrc._base.parallel import worker_count
from lab import machine


@functools.cache
def commit() -> str:
    """The commit of the checkout the package lies in, "-dirty" where its code is not that of the commit (results that
    lie in the checkout are no code); else the version of the installed package."""
    return commit_of(Path(__file__).resolve().parents[3])


def commit_of(root: Path) -> str:
    """The same, of the checkout at ``root``."""
    if (root / ".git").exists():
        try:
            name = _git(root, "rev-parse", "--short=7", "HEAD").strip()
            changed = _git(root, "status", "--porcelain", "--", "src", "setup.py")
            return name + "-dirty" * bool(changed)
        except (OSError, subprocess.SubprocessError):
            pass  # no git at hand: the version has to do
    return f"version {version()}"


def _git(root: Path, *words: str) -> str:
    return subprocess.run(
        ["git", "-C", str(root), *words], capture_output=True, text=True, timeout=20, check=True
    ).stdout


def version() -> str:
    """The version of the installed package, or "unknown" for sources that were never installed."""
    from importlib import metadata

    try:
        return metadata.version("kcrc")
    except metadata.PackageNotFoundError:
        return "unknown"


def others_at_work() -> float | None:
    """Cores other processes kept busy since the last call, of all cores (the first call: over a tenth of a second);
    None where the system does not say."""
    if _Watch.last is None:
        _Watch.last = _busy_seconds()
        time.sleep(0.1)
    before, now = _Watch.last, _busy_seconds()
    _Watch.last = now
    if before is None or now is None:
        return None
    wall, busy, own = (b - a for a, b in zip(before, now, strict=True))
    return max(0.0, busy - own) / max(wall, 1e-3) / worker_count(None)


class _Watch:
    """What ``_busy_seconds`` said last."""

    last: tuple[float, float, float] | None = None


def _busy_seconds() -> tuple[float, float, float] | None:
    """The clock, and the seconds all cores have worked for any process and for this one and its children."""
    try:
        user, nice, system, _idle, _wait, *interrupts = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:8]
        ticks = sum(int(part) for part in (user, nice, system, *interrupts))
        own = sum(os.times()[:4])
        return time.monotonic(), ticks / os.sysconf("SC_CLK_TCK"), own
    except (OSError, ValueError, AttributeError):
        return None


def origin() -> dict[str, Any]:
    """All of it, to be kept beside a result."""
    load = others_at_work()
    return {
        "commit": commit(),
        "machine": machine.summary(),
        "load": None if load is None else round(load, 2),
        "when": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }
