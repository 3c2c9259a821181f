"""Every error the library raises on purpose.

::

    KCRCError
    ├── ParameterError   (ValueError)   a parameter is out of range or does not fit the others
    │   └── UnknownName                 a name no registry knows
    ├── DataError        (ValueError)   the data given cannot be used as it is
    │   └── FileError                   a file is damaged, or is not what it should be
    │       └── WriteNeeded             a file has to be opened for writing once before it can be read
    └── StateError       (RuntimeError) the object is not in a state to do this

A message says what was wrong, what was given, and what to do.

What goes on all the same but should be known is a warning: ``UnreadableTuning``, ``LeftOver``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class KCRCError(Exception):
    """The root: ``except KCRCError`` catches all that kcrc raises on purpose."""


class ParameterError(KCRCError, ValueError):
    """A parameter is out of range or does not fit the others."""


class DataError(KCRCError, ValueError):
    """The data given cannot be used as it is."""


class FileError(DataError):
    """A file is damaged, or is not what it should be."""


class WriteNeeded(FileError):
    """A file has to be opened for writing once before it can be read."""


class StateError(KCRCError, RuntimeError):
    """The object is not in a state to do this."""


class UnknownName(ParameterError):
    """A name no registry knows; the message lists the known ones and suggests the nearest."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        by_fold = {k.lower(): k for k in known}
        close = difflib.get_close_matches(str(name).lower(), by_fold, n=1, cutoff=0.5)
        hint = f" Did you mean '{by_fold[close[0]]}'?" if close else ""
        super().__init__(f"Unknown {kind} '{name}'. Known: {', '.join(known)}.{hint}")


class UnreadableTuning(UserWarning):
    """The parameters chosen for a gallery cannot be read, and are chosen again; its examples are whole."""


class LeftOver(UserWarning):
    """What a killed program left beside a gallery was deleted: it may have held examples that were erased since."""


def fault_reference(problem: BaseException) -> str:
    """A short name for a fault: the same wherever the same line of the program fails in the same way."""
    import traceback
    import zlib
    from pathlib import Path

    from kcrc import __version__

    frames = [f for f in traceback.extract_tb(problem.__traceback__) if "kcrc" in Path(f.filename).parts]
    places = [f"{Path(f.filename).name}:{f.lineno}" for f in frames]
    mark = zlib.crc32(" ".join([type(problem).__name__, *places]).encode())
    return f"kcrc-{__version__}-{mark:08x}"
