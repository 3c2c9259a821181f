"""What changes teach is learned behind them: how sure answers are, anew from the examples as they are now.

A correction counts for the next query at once; until this is done, answers say that their confidence is being learned.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from kcrc.gallery import Gallery

PATIENCE = 5.0  # seconds


class Learner:
    """``learn()`` is called by one thread, and then ``finished(revision)``; ``failed`` is told what went wrong."""

    def __init__(
        self,
        gallery: Gallery,
        *,
        learn: Callable[[], None],
        finished: Callable[[int], None],
        failed: Callable[[str], None],
    ) -> None:
        self._gallery = gallery
        self._learn, self._finished, self._failed = learn, finished, failed
        self._wake = threading.Event()
        self._closing = False
        self.done = gallery.settings.revision
        """The revision up to which there is nothing to learn."""
        self._thread = threading.Thread(target=self._run, name="kcrc-learn", daemon=True)
        self._thread.start()

    def changed(self) -> None:
        """There may be something to learn."""
        self._wake.set()

    def learning(self, revision: int) -> bool:
        """Whether answers of that revision rest on what was learned before it."""
        return not self._gallery.readonly and revision > self.done

    def close(self) -> None:
        """End; what is being learned is let go where it takes long: whoever opens the gallery next can learn it."""
        self._closing = True
        self._wake.set()
        self._thread.join(PATIENCE)

    def _run(self) -> None:
        while not self._closing:
            self._wake.wait()
            self._wake.clear()
            revision = self._gallery.settings.revision
            if self._closing or self._gallery.readonly or revision <= self.done:
                continue
            try:
                self._learn()
            except Exception as problem:  # answers go on by what was learned before
                if self._closing:
                    return
                self._failed(f"what the changes teach cannot be learned ({type(problem).__name__}: {problem})")
            if self._gallery.settings.revision == revision:
                self.done = revision
                self._finished(revision)
            else:
                self._wake.set()
