"""What the server counts, in the text form that Prometheus reads."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcrc.web.service import Service

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)  # seconds


class Metrics:
    """Requests by route and status, and how long they took by route."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._within: Counter[tuple[str, float]] = Counter()
        self._seconds: Counter[str] = Counter()
        self._begun = time.time()

    def count(self, route: str, status: int, seconds: float) -> None:
        """``route`` is one of the table's, or "other": names that clients make up are not counted one by one."""
        with self._lock:
            self._requests[route, status] += 1
            self._seconds[route] += seconds  # type: ignore[assignment]  # a Counter adds any numbers
            for bound in BOUNDS:
                if seconds <= bound:
                    self._within[route, bound] += 1

    def text(self, service: Service) -> str:
        with self._lock:
            requests, within, seconds = dict(self._requests), dict(self._within), dict(self._seconds)
        lines = ["# TYPE kcrc_requests_total counter"]
        lines += [
            f'kcrc_requests_total{{route="{route}",status="{status}"}} {n}' for (route, status), n in requests.items()
        ]
        lines.append("# TYPE kcrc_request_seconds histogram")
        for route, spent in seconds.items():
            total = sum(n for (name, _), n in requests.items() if name == route)
            for bound in BOUNDS:
                n = within.get((route, bound), 0)
                lines.append(f'kcrc_request_seconds_bucket{{route="{route}",le="{bound}"}} {n}')
            lines.append(f'kcrc_request_seconds_bucket{{route="{route}",le="+Inf"}} {total}')
            lines.append(f'kcrc_request_seconds_sum{{route="{route}"}} {spent:.6f}')
            lines.append(f'kcrc_request_seconds_count{{route="{route}"}} {total}')
        values = {
            "kcrc_revision": service.gallery.settings.revision,
            "kcrc_learned_revision": service.learner.done,
            "kcrc_pictures_held": len(service.shelf),
            "kcrc_listeners": service.events.listeners,
            "kcrc_start_time_seconds": self._begun,
            "kcrc_peak_memory_bytes": _peak(),
        }
        counters = {"kcrc_batches_total": service.batcher.batches, "kcrc_vectors_total": service.batcher.vectors}
        for name, value in values.items():
            lines += [f"# TYPE {name} gauge", f"{name} {value}"]
        for name, value in counters.items():
            lines += [f"# TYPE {name} counter", f"{name} {value}"]
        return "\n".join(lines) + "\n"


def _peak() -> int:
    """Bytes; 0 where the system does not say."""
    try:
        import resource
    except ImportError:
        return 0
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else 1024 * used
