"""The acts that change a gallery: add, remove, relabel, tune. Each runs inside one transaction of the caller.

An example that is removed stays in the file, marked with the act that took it out, until ``compact``; that is
what makes every act undoable at the price of one row.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kcrc.arrays import Array
from kcrc.errors import DataError, ParameterError
from kcrc.gallery import examples, sealed, settings
from kcrc.gallery.settings import Settings

Duplicates = Literal["skip", "error", "keep"]
_AT_ONCE = 500  # keys in one SELECT


@dataclass(frozen=True)
class Duplicate:
    """An example that was not added, and the one that is in the gallery already with the same content."""

    position: int
    source: str
    label: str
    id: int
    existing_label: str


@dataclass(frozen=True)
class Added:
    """The ids given to the new examples, in order, and what was skipped as being there already."""

    ids: tuple[int, ...]
    duplicates: tuple[Duplicate, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Batch:
    """Examples on their way in, checked."""

    labels: Sequence[str]
    vectors: Array
    sources: Sequence[str]
    contents: Sequence[bytes]
    thumbnails: Sequence[bytes | None]


def record(
    db: sqlite3.Connection, had: Settings, action: str, summary: str, *, detail: Any = None, **changes: Any
) -> int:
    """Enter an act in the history and count it; its number."""
    act = had.revision + 1
    sealed.insert(db, "history", [(act, _now(), action, summary[:500], settings.to_json(detail), None)])
    settings.write(db, had.act(**changes), old=had)
    return act


def add(db: sqlite3.Connection, had: Settings, batch: Batch, *, duplicates: Duplicates) -> Added:
    """Store the batch; what is in already (same content) is skipped, refused or kept, as asked."""
    fresh, skipped = _sift(db, batch, duplicates)
    if not fresh:
        return Added((), tuple(skipped))
    ids = tuple(range(had.next_id, had.next_id + len(fresh)))
    classes = sorted({batch.labels[position] for position in fresh})
    named = ", ".join(classes[:3]) + (f" and {len(classes) - 3} more" if len(classes) > 3 else "")
    noun = "example" if len(fresh) == 1 else "examples"
    act = record(db, had, "add", f"added {len(fresh)} {noun} of {named}", new_examples=len(fresh))
    moment = _now()
    rows: list[sealed.Row] = []
    for example, position in zip(ids, fresh, strict=True):
        data, thumbnail = batch.vectors[position].data, batch.thumbnails[position]
        where = (batch.labels[position], batch.sources[position], batch.contents[position], moment, act, None)
        rows.append((example, *where, examples.crc(data.cast("B")), examples.crc(thumbnail)))
    sealed.insert(db, "examples", rows)
    vectors = [(example, batch.vectors[position].tobytes()) for example, position in zip(ids, fresh, strict=True)]
    db.executemany("INSERT INTO vectors VALUES (?, ?)", vectors)
    pictures = [(example, batch.thumbnails[position]) for example, position in zip(ids, fresh, strict=True)]
    db.executemany("INSERT INTO thumbnails VALUES (?, ?)", [pair for pair in pictures if pair[1] is not None])
    return Added(ids, tuple(skipped))


def _sift(db: sqlite3.Connection, batch: Batch, duplicates: Duplicates) -> tuple[list[int], list[Duplicate]]:
    if duplicates not in ("skip", "error", "keep"):
        raise ParameterError(f"duplicates is 'skip', 'error' or 'keep'; given {duplicates!r}.")
    if duplicates == "keep":
        return list(range(len(batch.labels))), []
    seen: dict[bytes, tuple[int, str]] = {}
    for row in by_key(db, "content", set(batch.contents)):
        if row[6] is None:
            seen.setdefault(row[3], (row[0], row[1]))
    fresh: list[int] = []
    skipped: list[Duplicate] = []
    for position, content in enumerate(batch.contents):
        label, source = batch.labels[position], batch.sources[position]
        if content in seen:
            skipped.append(Duplicate(position, source, label, *seen[content]))
        else:
            seen[content] = (0, label)  # 0: a twin within this batch
            fresh.append(position)
    if skipped and duplicates == "error":
        first = skipped[0]
        raise DataError(
            f"{len(skipped)} of {len(batch.labels)} examples are in the gallery already, the first "
            f"'{first.source}' (as '{first.existing_label}'). Nothing was added; duplicates='skip' or 'keep' "
            "adds the others or all."
        )
    return fresh, skipped


def remove(db: sqlite3.Connection, had: Settings, ids: Iterable[int]) -> tuple[int, ...]:
    """Take examples out."""
    rows = live(db, ids)
    if rows:
        noun = "example" if len(rows) == 1 else "examples"
        act = record(db, had, "remove", f"removed {len(rows)} {noun} of {_named(rows)}")
        sealed.replace(db, "examples", rows, [(*row[:6], act, *row[7:]) for row in rows])
    return tuple(row[0] for row in rows)


def relabel(
    db: sqlite3.Connection, had: Settings, rows: Sequence[sealed.Row], label: str, *, action: str = "relabel"
) -> tuple[int, ...]:
    """Give examples another class; those that have it already are left alone."""
    rows = [row for row in rows if row[1] != label]
    if rows:
        noun = "example" if len(rows) == 1 else "examples"
        act = record(db, had, action, f"relabelled {len(rows)} {noun} of {_named(rows)} as {label}")
        sealed.insert(db, "changes", [(act, row[0], row[1]) for row in rows])
        sealed.replace(db, "examples", rows, [(row[0], label, *row[2:]) for row in rows])
    return tuple(row[0] for row in rows)


def fix(db: sqlite3.Connection, had: Settings, parameters: Mapping[str, Any]) -> None:
    """Fix parameters; the others are chosen anew when the gallery is next asked. The history keeps what was before."""
    record(db, had, "tune", "changed the parameters", detail=_parameters_of(had), parameters=dict(parameters), tuned=0)


def tune(
    db: sqlite3.Connection,
    had: Settings,
    summary: str,
    state: Mapping[str, bytes],
    *,
    parameters: Mapping[str, Any] | None,
    asked: bool,
) -> int:
    """Store what tuning chose, beside the ``parameters`` that are fixed (None: as they were).

    One that nobody ``asked`` for (a first question) is not there to be undone.
    """
    changes = {"tuned": had.revision + 1, "parameters": dict(had.parameters if parameters is None else parameters)}
    act = record(db, had, "tune" if asked else "first tune", summary, detail=_parameters_of(had), **changes)
    sealed.insert(db, "tuned", [(act, name, data) for name, data in sorted(state.items())])
    return act


def _parameters_of(had: Settings) -> dict[str, Any]:
    return {"before": dict(had.parameters), "tuned": had.tuned}


def of_class(db: sqlite3.Connection, label: str) -> list[sealed.Row]:
    """The rows of a class that are in."""
    return list(sealed.select(db, "examples", "WHERE label = ? AND removed_by IS NULL ORDER BY id", (label,)))


def live(db: sqlite3.Connection, ids: Iterable[int]) -> list[sealed.Row]:
    """The rows of these ids, all of which have to be in the gallery."""
    try:
        wanted = sorted({int(example) for example in ids})
    except (TypeError, ValueError):
        raise DataError("Examples are named by their ids, whole numbers.") from None
    found = sealed.keyed(row for row in by_key(db, "id", wanted) if row[6] is None)
    missing = [example for example in wanted if example not in found]
    if missing:
        more = f" (nor {len(missing) - 1} others)" if len(missing) > 1 else ""
        raise DataError(f"There is no example {missing[0]} in the gallery{more}. Nothing was changed.")
    return [found[example] for example in wanted]


def by_key(db: sqlite3.Connection, column: str, keys: Iterable[Any]) -> Iterable[sealed.Row]:
    """The rows, in or removed, that have one of these values in a column."""
    keys = list(keys)
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        marks = ", ".join("?" * len(some))
        yield from sealed.select(db, "examples", f"WHERE {column} IN ({marks}) ORDER BY id", some)


def _named(rows: Sequence[sealed.Row]) -> str:
    classes = sorted({row[1] for row in rows})
    return ", ".join(classes[:3]) + (f" and {len(classes) - 3} more" if len(classes) > 3 else "")


def _now() -> int:
    return time.time_ns() // 1000
