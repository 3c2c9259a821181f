"""Many corrections as one change: some examples get other classes, some are taken out, and one undo takes it back.

They were decided on while looking at the gallery of some moment. Where one of the examples is not as it was then,
nothing is done: the decision was about something else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kcrc.errors import ParameterError, StateError
from kcrc.gallery import summaries
from kcrc.gallery.acts import live, relabelled, removed, retold
from kcrc.gallery.adding import Command
from kcrc.gallery.contract import ExampleRecord, Snapshot, Transaction

_NAMED = 5  # examples that an error names


@dataclass(frozen=True)
class Corrected:
    """What ``correct`` changed.

    Attributes
    ----------
    relabelled : tuple of int
        The ids of what was given another class.
    removed : tuple of int
        The ids of what was taken out.
    """

    relabelled: tuple[int, ...]
    removed: tuple[int, ...]


@dataclass(frozen=True)
class Correct:
    """Give examples other classes and take others out; ``seen`` are the labels they had when that was decided."""

    labels: Mapping[int, str]
    remove: Sequence[int] = ()
    seen: Mapping[int, str] | None = None
    continued: Command | None = None
    """What the same command added before: it and this are one entry of the history."""

    def __call__(self, writing: Transaction) -> Corrected:
        records = self.checked(writing)
        wanted: dict[str, list[ExampleRecord]] = {}
        for example, label in sorted(self.labels.items()):
            if records[example].label != label:
                wanted.setdefault(label, []).append(records[example])
        first = None if self.continued is None else self.continued.act
        begun = writing.settings().revision + 1 if first is None else first
        gone = removed(writing, [records[example] for example in sorted(set(self.remove))], part_of=first)
        if gone:
            first = begun
        changed: list[int] = []
        for label, some in wanted.items():
            changed += relabelled(writing, some, label, "relabel", part_of=first)
            first = begun
        if self.continued is None and len(wanted) + bool(gone) > 1:
            retold(writing, begun, summaries.corrected(len(changed), len(gone)))
        return Corrected(tuple(sorted(changed)), gone)

    def checked(self, reading: Snapshot) -> dict[int, ExampleRecord]:
        """The examples it is about, by id; an error where it cannot be done."""
        both = sorted(set(self.labels) & set(self.remove))
        if both:
            raise ParameterError(f"Example {both[0]} is to be relabelled and removed; say which. Nothing was changed.")
        records = {record.id: record for record in live(reading, [*self.labels, *self.remove])}
        seen = {example: label for example, label in sorted((self.seen or {}).items()) if example in records}
        other = [example for example, label in seen.items() if records[example].label != label]
        if other:
            named = ", ".join(f"{n} (was '{seen[n]}', is '{records[n].label}')" for n in other[:_NAMED])
            more = f" and {len(other) - _NAMED} more" if len(other) > _NAMED else ""
            raise StateError(f"Examples were changed since that was decided: {named}{more}. Nothing was changed.")
        return records
