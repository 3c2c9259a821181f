"""Many corrections as one change: some examples get other classes, some are removed, and one undo reverts it all.

They were decided on while looking at the gallery at some moment. If one of the examples has changed since, nothing is
done.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kcrc._base.words import one_line
from kcrc.errors import FileError, KCRCError, ParameterError, StateError
from kcrc.files.plain_files import escape_formula, read_json, read_plain, read_table, unescape_formula
from kcrc.gallery import history
from kcrc.gallery.acts import relabel_examples, remove_examples, set_summary
from kcrc.gallery.adding import Command
from kcrc.gallery.contract import ExampleRecord, Snapshot, Transaction
from kcrc.gallery.examples import checked_label, live

if TYPE_CHECKING:
    from kcrc.gallery.gallery import Gallery

_NAMED = 5  # examples that an error names


@dataclass(frozen=True)
class Corrected:
    """What ``correct`` changed.

    Attributes
    ----------
    relabelled : tuple of int
        The ids of the examples that got another class.
    removed : tuple of int
        The ids of the removed examples.
    """

    relabelled: tuple[int, ...]
    removed: tuple[int, ...]


@dataclass(frozen=True)
class Correct:
    """Relabel examples and remove others; ``seen`` are the labels they had when that was decided."""

    labels: Mapping[int, str]
    remove: Sequence[int] = ()
    seen: Mapping[int, str] | None = None
    continued: Command | None = None
    """What the same command added before: both are one entry of the history."""

    def __call__(self, writing: Transaction) -> Corrected:
        records = self.check(writing)
        by_label: dict[str, list[ExampleRecord]] = {}
        for example, label in sorted(self.labels.items()):
            if records[example].label != label:
                by_label.setdefault(label, []).append(records[example])
        first = None if self.continued is None else self.continued.act
        begun = writing.settings().revision + 1 if first is None else first
        gone = remove_examples(writing, [records[example] for example in sorted(set(self.remove))], part_of=first)
        if gone:
            first = begun
        changed: list[int] = []
        for label, some in by_label.items():
            changed += relabel_examples(writing, some, label, "relabel", part_of=first)
            first = begun
        if self.continued is None and len(by_label) + bool(gone) > 1:
            set_summary(writing, begun, history.summarise_correction(len(changed), len(gone)))
        return Corrected(tuple(sorted(changed)), gone)

    def check(self, reading: Snapshot) -> dict[int, ExampleRecord]:
        """Return the examples concerned, by id; raise an error if it cannot be done."""
        both = sorted(set(self.labels) & set(self.remove))
        if both:
            raise ParameterError(f"Example {both[0]} is both relabelled and removed; choose one. Nothing was changed.")
        records = {record.id: record for record in live(reading, [*self.labels, *self.remove])}
        seen = {example: label for example, label in sorted((self.seen or {}).items()) if example in records}
        other = [example for example, label in seen.items() if records[example].label != label]
        if other:
            named = ", ".join(f"{n} (was '{seen[n]}', is '{records[n].label}')" for n in other[:_NAMED])
            more = f" and {len(other) - _NAMED} more" if len(other) > _NAMED else ""
            raise StateError(f"Examples were changed since that was decided: {named}{more}. Nothing was changed.")
        return records


# A person's decisions on the findings of an audit: read from the CSV or JSON that ``kcrc audit`` wrote, edited since.
#
# Each finding has a ``decision``: keep (or nothing), remove, or relabel, as ``new_label`` or, where that is empty, as
# the audit's own answer.

WORDS = ("keep", "relabel", "remove")
_LARGEST = 64_000_000  # bytes of the file


@dataclass
class Decisions:
    """New labels and removals by id; ``seen`` are the labels that were looked at, ``kept`` counts the examples left
    alone."""

    labels: dict[int, str] = field(default_factory=dict)
    remove: set[int] = field(default_factory=set)
    seen: dict[int, str] = field(default_factory=dict)
    kept: int = 0


def read_decisions(gallery: Gallery, path: str | os.PathLike[str]) -> Decisions:
    """Read the decisions in a file; a row that cannot be understood is an error that names its place."""
    content = read_plain(path, limit=_LARGEST, what="file of decisions")
    decisions = Decisions()
    by_cell = {_cell(label): label for label in gallery.classes}
    labels = {row.id: row.label for row in gallery.contents.rows}
    is_json = content.lstrip()[:1] == b"{"
    for place, row in _findings(content, path) if is_json else _lines(path):
        try:
            _take(decisions, row, labels, by_cell if not is_json else {})
        except (KCRCError, ValueError) as problem:
            raise FileError(f"'{path}', {place}: {problem} Nothing was changed.") from None
    return decisions


def _take(decisions: Decisions, row: Mapping[str, Any], labels: Mapping[int, str], by_cell: Mapping[str, str]) -> None:
    """Enter the decision of one finding; ``by_cell`` are class names as a CSV shows them (empty: they are exact)."""
    word = _text(row, "decision").strip().casefold()
    if word in ("", "keep"):
        decisions.kept += 1
        return
    if word not in WORDS:
        raise ValueError(f"A decision must be {', '.join(WORDS)} or nothing; got '{one_line(word)[:40]}'.")
    number = _text(row, "example").strip().lstrip("#")
    if not (number.isascii() and number.isdigit() and len(number) < 19):
        raise ValueError(f"An example must be named by its id, a whole number; got '{one_line(number)[:40]}'.")
    example = int(number)
    if example not in labels:
        raise ValueError(f"Example {example} is no longer in the gallery.")
    new = None
    if word == "relabel":
        label = _text(row, "new_label") or _text(row, "answer")
        if not label:
            raise ValueError(f"Example {example} is to be relabelled, but there is no new_label.")
        new = checked_label(by_cell.get(label, unescape_formula(label)) if by_cell else label)
    if example in decisions.seen and (example in decisions.remove, decisions.labels.get(example)) != (new is None, new):
        raise ValueError(f"Example {example} has two decisions that contradict each other.")
    looked_at = _text(row, "label")
    decisions.seen[example] = labels[example] if by_cell and looked_at == _cell(labels[example]) else looked_at
    if new is not None:
        decisions.labels[example] = new
    else:
        decisions.remove.add(example)


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    return "" if value is None else str(value)


def _cell(label: str) -> str:
    """Return a class name as ``kcrc audit --csv`` shows it."""
    return escape_formula(one_line(label))


def _findings(content: bytes, path: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        findings = read_json(content)["findings"]
    except (ValueError, KeyError):
        findings = None
    if not isinstance(findings, list) or not all(isinstance(finding, dict) for finding in findings):
        raise FileError(f"'{path}' is not what kcrc audit --json writes.")
    for number, row in enumerate(findings, 1):
        yield f"finding {number}", row


def _lines(path: str | os.PathLike[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, row in read_table(path, limit=_LARGEST, what="file of decisions"):
        missing = {"example", "label", "decision"} - row.keys()
        if missing:
            raise FileError(
                f"'{path}' has no column '{sorted(missing)[0]}'. Give a file that kcrc audit --csv or --json wrote, "
                "with the column decision filled in."
            )
        yield f"line {number}", row
