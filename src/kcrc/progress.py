"""Progress of long work, on a terminal and only when it lasts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(what: str, show: bool | None) -> Iterator[Callable[[float], None]]:
    """Gives ``report(share)``, share from 0 to 1. ``show`` None means: on a terminal; nothing appears for 2 seconds."""
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda share: None
        return
    from tqdm import tqdm

    with tqdm(
        total=100, desc=what, unit="%", delay=2.0, leave=False, bar_format="{desc} {bar} {percentage:.0f} %"
    ) as bar:

        def report(share: float) -> None:
            bar.update(max(0.0, 100.0 * share - bar.n))

        yield report
