"""``kcrc info --system``: what this installation is made of."""

from __future__ import annotations

import platform
import re
from typing import Any

from kcrc._base.parallel import worker_count


def system() -> dict[str, Any]:
    """What this installation is made of: versions, the compiled path in use and why, optional packages by extra."""
    import numpy as np

    from kcrc import __version__
    from kcrc.native import path, why

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
