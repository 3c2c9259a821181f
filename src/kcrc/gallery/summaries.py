"""The history's words: what an act says of itself, and how that forgets names.

"added 3 examples of wren, owl" becomes "added 3 examples (names erased)" where the act had to do with an erased
example, or where it names a class of which nothing is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_SHOWN = 3  # classes that are named
_NAMING = ("build", "add", "remove", "relabel", "rename")  # acts whose summary names classes
_SUMMARY = re.compile(
    r"((?:undid: |redid: )*(?:built with|added|removed|relabelled) \d+ examples?)(?: of (.*))?\Z", re.DOTALL
)
_MORE = re.compile(r" and \d+ more\Z")
_ERASED = " (names erased)"


def examples(count: int) -> str:
    return f"{count} example" if count == 1 else f"{count} examples"


def added(count: int, labels: Iterable[str]) -> str:
    return f"added {examples(count)} of {_named(labels)}"


def built(count: int, labels: Iterable[str]) -> str:
    return f"built with {examples(count)} of {_named(labels)}"


def removed(count: int, labels: Iterable[str]) -> str:
    return f"removed {examples(count)} of {_named(labels)}"


def relabelled(count: int, labels: Iterable[str], label: str) -> str:
    return f"relabelled {examples(count)} of {_named(labels)} as {label}"


def corrected(relabelled: int, removed: int) -> str:
    return f"corrected {examples(relabelled + removed)}: {relabelled} relabelled, {removed} removed"


def undone(summary: str) -> str:
    return f"undid: {summary}"


def redone(summary: str) -> str:
    return f"redid: {summary}"


def _named(labels: Iterable[str]) -> str:
    classes = sorted(set(labels))
    more = f" and {len(classes) - _SHOWN} more" if len(classes) > _SHOWN else ""
    return ", ".join(classes[:_SHOWN]) + more


def forgetful(summary: str, action: str, *, known: set[str], touched: bool) -> str:
    """A summary without names, if the act was ``touched`` or it names a class that is not ``known``."""
    found = _SUMMARY.match(summary)
    if found is None:
        plain = summary.endswith(_ERASED) or action not in _NAMING
        return summary if plain or not touched else f"{action}{_ERASED}"
    return found[1] + _ERASED if touched or not _names(found[2] or "") <= known else summary


def _names(text: str) -> set[str]:
    """The classes that the end of a summary names. One whose name looks like two gives names that are not there, and
    is forgotten rather than kept."""
    if not text:
        return set()
    before, _, after = text.rpartition(" as ")
    parts = _MORE.sub("", before or after).split(", ")
    return {*parts, after} if before else set(parts)
