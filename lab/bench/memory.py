"""Peak memory of classifying, beyond the data: measured in a process of its own, `python -m lab.bench.memory`.

Linux says how much memory a process had at most (VmHWM) and lets the mark be set back; elsewhere the mark since the
start of the process stands in, which counts the imports too.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MARK, STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


@dataclass(frozen=True)
class Peak:
    """Bytes: the examples, the budget given, and the most that was in use beyond what stood before ``fit``."""

    n: int
    width: int
    dtype: str
    data: int
    budget: int
    beyond: int


def measure(n: int, width: int, budget: int, *, dtype: str = "float32", queries: int = 2000, K: int = 50) -> Peak:
    """``fit`` and ``predict`` with ``n`` made-up examples, in a fresh process."""
    arguments = {"n": n, "width": width, "budget": budget, "dtype": dtype, "queries": queries, "K": K}
    done = subprocess.run(
        [sys.executable, "-m", "lab.bench.memory", json.dumps(arguments)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"The memory measurement failed:\n{done.stderr}")
    return Peak(**json.loads(done.stdout))


def mark() -> None:
    """From here on ``highest`` counts, where the system lets the mark be set back."""
    if MARK.exists():
        MARK.write_text("5")


def highest() -> int:
    if STATUS.exists():
        return 1024 * int(STATUS.read_text().split("VmHWM:")[1].split()[0])
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _now() -> int:
    if not STATUS.exists():
        return highest()
    return 1024 * int(STATUS.read_text().split("VmRSS:")[1].split()[0])


def _in_this_process(n: int, width: int, budget: int, dtype: str, queries: int, K: int) -> dict[str, Any]:
    from lab.bench.rivals import ours
    from lab.bench.samples import clusters

    warm = clusters(200, 8, 4)
    ours(warm, 5).predict(warm.queries)  # imports and thread pools are no part of it
    made = clusters(n, width, queries, dtype=dtype)
    mark()
    before = _now()
    ours(made, K, memory_budget=budget).predict(made.queries)
    beyond = highest() - before
    return {"n": n, "width": width, "dtype": dtype, "data": made.atoms.nbytes, "budget": budget, "beyond": beyond}


if __name__ == "__main__":
    print(json.dumps(_in_this_process(**json.loads(sys.argv[1]))))
