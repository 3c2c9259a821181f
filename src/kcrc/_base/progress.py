"""Progress bars on stderr: the only place that creates one.

``show`` means the same everywhere: None shows a bar on a terminal once the work has taken two seconds, and removes it
at the end; True shows it at once, wherever stderr goes, and leaves it there; False never shows it.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from kcrc.errors import ParameterError

_SHARE = "{desc} {bar} {percentage:.0f} %, about {remaining} left"

_LEADER = "{desc} {bar} {percentage:.0f} %{postfix}"


def count_bar(what: str, total: int, *, unit: str, show: bool | None = None, **options: Any) -> Any:
    """Return a bar of ``total`` steps for a ``with`` block; ``update(n)`` reports that n more are done."""
    if not _is_shown(show):
        return contextlib.nullcontext(_Hidden())
    from tqdm import tqdm

    # smoothing=0: the time left follows from the average pace; from the pace of the latest steps it would jump.
    return tqdm(
        total=total, desc=what, unit=unit, delay=0.0 if show else 2.0, leave=bool(show), file=sys.stderr, smoothing=0,
        **options,
    )  # fmt: skip


@contextlib.contextmanager
def share_bar(what: str, *, show: bool | None = None) -> Iterator[Callable[[float], None]]:
    """Give ``report(share)``, share from 0 to 1; 0 means that work is still being prepared, and restarts the clock."""
    if not _is_shown(show):
        yield lambda share: None
        return
    with count_bar(what, 100, unit="%", show=show, bar_format=_SHARE) as bar:
        begun = time.time()

        def report(share: float) -> None:
            bar.update(max(0.0, 100.0 * share - bar.n))
            if share <= 0.0:
                if time.time() - begun >= bar.delay:
                    bar.delay = 0.0
                    bar.refresh()
                bar.start_t = time.time()

        yield report


@contextlib.contextmanager
def leader_bar(what: str, *, show: bool | None = None) -> Iterator[Callable[[float, str], None]]:
    """Give ``report(share, leader)``: share from 0 to 1, and the best candidate so far, cut to the space there is."""
    with count_bar(what, 100, unit="%", show=show, bar_format=_LEADER) as bar:
        done = 0.0
        columns = getattr(bar, "ncols", None)
        room = None if columns is None else max(0, columns - len(what) - len(" ██████ 100 %, "))

        def report(share: float, leader: str) -> None:
            nonlocal done
            fits = room is None or len(leader) <= room
            bar.update(100.0 * share - done)
            bar.set_postfix_str(leader if fits else leader[: max(0, (room or 0) - 1)] + "…")
            done = 100.0 * share

        yield report


def bar_of_download(hub: Any, report: Callable[[int], None]) -> dict[str, Any]:
    """Return options for ``hub.hf_hub_download`` whose bar calls ``report(bytes so far)`` before a piece is stored; an
    error in ``report`` ends the download. Versions before 1.1 have no such option, and so no way to end one."""
    if "tqdm_class" not in inspect.signature(hub.hf_hub_download).parameters:
        raise ParameterError(
            f"huggingface_hub {hub.__version__} cannot stop a download that is too large. Install a newer version: "
            "pip install 'huggingface_hub>=1.1'."
        )

    class Bar(hub.utils.tqdm):
        received = 0

        def update(self, n: float | None = 1) -> bool | None:
            self.received += int(n or 0)
            report(self.received)
            return super().update(n)  # type: ignore[no-any-return]

    return {"tqdm_class": Bar}


def _is_shown(show: bool | None) -> bool:
    return sys.stderr is not None and (sys.stderr.isatty() if show is None else show)


class _Hidden:
    """A bar that is not shown; tqdm is not imported for it."""

    def update(self, number: float = 1) -> None:
        pass

    def set_postfix_str(self, text: str, refresh: bool = True) -> None:
        pass
